"""Import of .tflite files: they become ONNX models in memory, which the ONNX import reads."""
