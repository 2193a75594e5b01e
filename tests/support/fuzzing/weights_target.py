"""The parser of weights files, signed or not, with changed bytes behind a right length and CRC, too."""

import struct
import zlib
from pathlib import Path
from random import Random

import numpy as np

from example_folders.weights_folders import signer
from fuzzing.files import from_file
from fuzzing.target import FindingError, Target
from tinysplit.weights_file.description import describe
from tinysplit.weights_file.file import FileIdentity, encode, read_weights_file
from tinysplit.weights_file.layers import LayerEntry
from tinysplit.weights_file.signing_key import SigningKey

_STRANGER = signer(2).public_key


def weights_target() -> Target:
    """Return the parser of weights files."""
    return Target(
        "weights",
        from_file("weights.bin", _read_weights),
        lambda: [_weights(), _weights(signer())],
        changes=(_sealed,) * 2,
    )


def _weights(owner: SigningKey | None = None) -> bytes:
    entries = (
        LayerEntry(2, "conv", (0,), 8, 0.03125, 0, 8, (1, 12)),
        LayerEntry(3, "add", (2, 0), 16, 2.0**-14, 0, None, (0, 9)),
    )
    identity = FileIdentity(board_index=1, structure=5, counter=3, model=7)
    return encode(identity, entries, {"layer_2_weights": np.arange(9, dtype=np.int8)}, signer=owner)


def _read_weights(path: Path) -> object:
    file = read_weights_file(path)
    if file.is_signed_by(_STRANGER):
        raise FindingError("a file is taken for one that another key has signed")
    return describe(file)


def _sealed(random: Random, content: bytes) -> bytes:
    """Return a weights file with changed bytes, but the right length and CRC."""
    data = bytearray(content)
    for _ in range(1 + int(random.random() * 4)):
        at = int(random.random() * (len(data) + 1))
        data[at : at + int(random.random() * 5)] = random.randbytes(int(random.random() * 5))
    if len(data) < 17:
        return bytes(data)
    data[8:12] = struct.pack("<I", len(data))
    return bytes(data[:-4]) + struct.pack("<I", zlib.crc32(data[:-4]))
