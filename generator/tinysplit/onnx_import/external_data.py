"""Weights in files beside an ONNX file: only files of its own folder are read."""

import hashlib
from pathlib import Path, PurePath, PureWindowsPath

import onnx
from onnx import ModelProto, TensorProto, external_data_helper

from tinysplit.common.errors import InputError, one_line
from tinysplit.common.input_files.limits import MODEL_BYTES, read_limited, size_text
from tinysplit.onnx_import.size_limits import all_tensors
from tinysplit.onnx_import.stand_ins import fill_tensors

_KEYS = {"location", "offset", "length", "checksum"}


def load_weights(model: ModelProto, path: Path, contents: bytes, *, needs_weights: bool) -> tuple[str, bool]:
    """Load the weights from external data files; return the hash over all files, and whether there was none missing.

    `contents` is the ONNX file. Raises InputError for files outside its folder, and for more than the limit.
    """
    digest = hashlib.sha256(contents)
    has_weights = True
    size_bytes = len(contents)
    for name, tensors in sorted(_outside(model, path).items()):
        weights = path.parent / name
        if weights.is_file():
            _check_folder(path, name)
            outside = read_limited(weights, MODEL_BYTES, "give a smaller network")
            digest.update(outside)
            size_bytes += sum(_n_bytes(tensor, len(outside)) for tensor in tensors)
        elif needs_weights or any(tensor.data_type != TensorProto.FLOAT for tensor in tensors):
            raise InputError(f"{path} keeps weights in {name}, which is missing: put it beside the model")
        else:
            fill_tensors(tensors)
            has_weights = False
    if size_bytes > MODEL_BYTES:
        raise InputError(
            f"{path} and its files of weights have {size_bytes} bytes, the limit is {size_text(MODEL_BYTES)}: "
            "give a smaller network"
        )
    try:
        external_data_helper.load_external_data_for_model(model, str(path.parent))
    except (
        OSError,
        ValueError,
        TypeError,
        onnx.checker.ValidationError,
    ) as error:  # TypeError: names that are no UTF-8
        raise InputError(f"{path} keeps weights in other files that cannot be read: {one_line(error)}") from None
    return digest.hexdigest(), has_weights


def _outside(model: ModelProto, path: Path) -> dict[str, list[TensorProto]]:
    """Return the tensors in other files by the names of these. Raises InputError for names outside the folder."""
    outside: dict[str, list[TensorProto]] = {}
    for tensor in filter(external_data_helper.uses_external_data, all_tensors(model)):
        name = _location(tensor, path)
        if PurePath(name).is_absolute() or PureWindowsPath(name).drive or ".." in PureWindowsPath(name).parts:
            raise _foreign(path, name)
        outside.setdefault(name, []).append(tensor)
    return outside


def _location(tensor: TensorProto, path: Path) -> str:
    """Return the name of a tensor's file.

    Raises InputError without a name, for an offset or length that is none, and for what ONNX does not define.
    """
    entries = {entry.key: entry.value for entry in tensor.external_data}
    numbers = (entries[key] for key in ("offset", "length") if key in entries)
    name = str(entries.get("location", ""))
    is_known = entries.keys() <= _KEYS
    if not name or "\0" in name or not is_known or not all(number.isascii() and number.isdigit() for number in numbers):
        raise InputError(f"{path} does not say where the weights '{tensor.name}' are: export the network again")
    return name


def _check_folder(path: Path, name: str) -> None:
    """Raise InputError where links lead out of the model's folder."""
    if not (path.parent / name).resolve().is_relative_to(path.parent.resolve()):
        raise _foreign(path, name)


def _foreign(path: Path, name: str) -> InputError:
    return InputError(
        f"{path} keeps weights in {name}, outside its own folder, which is not read: put the file beside the model and "
        "export it again"
    )


def _n_bytes(tensor: TensorProto, file_bytes: int) -> int:
    """Return how many bytes of its file a tensor takes."""
    entries = {entry.key: entry.value for entry in tensor.external_data}
    rest = max(0, file_bytes - int(entries.get("offset", "0")))
    return min(rest, int(entries["length"])) if "length" in entries else rest
