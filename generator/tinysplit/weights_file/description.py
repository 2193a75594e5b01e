"""What a configuration file is, as `tinysplit info` shows it."""

from typing import Any

from tinysplit.network.fixed_point.formats import ValueFormat
from tinysplit.weights_file.file import VERSION, WeightsFile
from tinysplit.weights_file.layers import LayerEntry


def describe(file: WeightsFile, signing_key: str | None = None) -> dict[str, Any]:
    """Return the facts of a file by their names; boards and layers count from 1.

    `signing_key` is the public key of the owner in hexadecimal digits, if it is known. Raises ToolError without the
    package that verifies signatures.
    """
    identity = file.identity
    return {
        "weights_file": VERSION,
        "board": identity.board_index + 1,
        "project_hash": f"{identity.structure:08x}",
        "counter": identity.counter,
        "model_sha256": f"{identity.model:08x}...",
        "bytes": file.size_bytes,
        "weights_bytes": len(file.data),
        "encrypted": "AES-GCM" if file.is_encrypted else "no",
        "signed": _signed(file, signing_key),
        "crc32": f"{file.crc:08x}",
        "layers": [_layer(entry) for entry in file.layers],
    }


def _signed(file: WeightsFile, signing_key: str | None) -> str:
    if not file.signature:
        return "no"
    if signing_key is None:
        return "yes (the public key is that of the programs, whose folder is not here)"
    if file.is_signed_by(bytes.fromhex(signing_key)):
        return f"yes (public key {signing_key})"
    return f"not with the key of the programs ({signing_key}), or changed since"


def _layer(entry: LayerEntry) -> str:
    inputs = " and ".join(f"layer {source}" if source else "the input" for source in entry.inputs)
    weights = f", {entry.weight_bits}-bit weights" if entry.weight_bits else ""
    output = ValueFormat.of(entry.bits, entry.scale, entry.zero_point)
    return f"{entry.number} {entry.kind} of {inputs}: {output}{weights}"
