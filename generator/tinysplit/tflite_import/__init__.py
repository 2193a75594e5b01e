"""Import of .tflite files: they become ONNX models in memory, which the ONNX import reads."""

from tinysplit.tflite_import.translate import translated
from tinysplit.tflite_import.translation import operators_of

__all__ = ["operators_of", "translated"]
