"""The file of a network as an ONNX model: read, sorted, and with float operators and float ends."""
