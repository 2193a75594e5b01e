"""Import of .tflite files: they become ONNX models in memory, which the ONNX import reads."""

from tinysplit.tflite_import.translate import translated

__all__ = ["translated"]
