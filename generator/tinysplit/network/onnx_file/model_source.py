"""The file of a network as an ONNX model: an ONNX file as it is, a .tflite file translated."""

from pathlib import Path

import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from onnx import ModelProto

from tinysplit.common.errors import InputError
from tinysplit.common.input_files.limits import MODEL_BYTES, read_limited

_KERAS = "model.export('saved'), then python -m tf2onnx.convert --saved-model saved --output model.onnx"
_TORCH = "torch.onnx.export(model, (sample,), 'model.onnx', external_data=False)"
EXPORTS = {  # what a file is by its suffix, and the command that exports its network
    **dict.fromkeys((".keras", ".h5", ".hdf5"), ("a model of Keras", _KERAS)),
    **dict.fromkeys((".pt", ".pth", ".ckpt"), ("a model or weights of PyTorch", _TORCH)),
}
SAVED_MODEL = "saved_model.pb"


def load_source(path: Path) -> ModelProto:
    """Return the model with its weights. Raises InputError where the file cannot be read."""
    return parse_source(path, read_source(path)) if _is_tflite(path) else onnx.load(path)


def read_source(path: Path) -> bytes:
    """Return the contents of a network's file. Raises InputError, with the export command for other formats."""
    if path.is_dir() and (path / SAVED_MODEL).is_file():
        command = f"python -m tf2onnx.convert --saved-model {path} --output model.onnx"
        raise InputError(f"{path} is a SavedModel of TensorFlow: export it by {command}")
    if not path.is_file():
        what = f"a folder without {SAVED_MODEL}" if path.is_dir() else "missing"
        raise InputError(f"{path} is {what}: an ONNX or .tflite file is needed")
    if export := EXPORTS.get(path.suffix.lower()):
        raise InputError(f"{path} is {export[0]}, no ONNX or .tflite file: export the network by {export[1]}")
    try:
        return read_limited(path, MODEL_BYTES, "give a smaller network")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None


def parse_source(path: Path, contents: bytes) -> ModelProto:
    """Return the model in the contents of a file; weights in other files are not loaded. Raises InputError."""
    if _is_tflite(path):
        from tinysplit.tflite_import.translate import translated  # noqa: PLC0415 (its parser takes 0.1 s)

        return translated(path, contents)
    try:
        return onnx.load_model_from_string(contents, format="protobuf")
    except DecodeError:
        raise InputError(f"{path} is no ONNX file, or a damaged one: export the network again") from None


def _is_tflite(path: Path) -> bool:
    return path.suffix.lower() == ".tflite"
