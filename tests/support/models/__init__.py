"""Networks for tests, in ONNX and as graphs, and references that share no code with ours."""
