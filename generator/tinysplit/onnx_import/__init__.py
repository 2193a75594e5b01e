"""Read a float ONNX network, as exporters leave it, into the project's `Graph`."""

from tinysplit.onnx_import.importer import import_model

__all__ = ["import_model"]
