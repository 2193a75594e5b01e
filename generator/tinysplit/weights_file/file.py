"""`weights.bin`: header, layer graph, constants of the layers, the owner's signature if it is signed, CRC-32 of all.

Numbers are little endian. The firmware reads the constants where they lie (firmware/common/weights_file.h).
"""

import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tinysplit.common.alignment import aligned
from tinysplit.common.errors import InputError
from tinysplit.common.input_files.limits import WEIGHTS_FILE_BYTES, read_limited
from tinysplit.common.secret_key import SecretKey
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.weights_file.layers import LayerEntry, decode_layers, encode_layers
from tinysplit.weights_file.signing_key import SIGNATURE_BYTES, SigningKey, is_signed_by

MODEL_DIGITS = 8  # of the SHA-256 of the network, in hexadecimal
MAGIC, VERSION = b"TSWF", 1
_HEADER = struct.Struct("<4sBBHIIIIHH")  # the last numbers: layers, flags
_ENCRYPTED = 1  # a flag: the arrays are encrypted, and a block before them has nonce and tag
_SIGNED = 2  # a flag: a signature of all bytes before it comes before the CRC
SECURITY_BYTES = 32
HEADER_BYTES = _HEADER.size
_CRC = struct.Struct("<I")
CRC_BYTES = _CRC.size
ARRAYS_ALIGNMENT = 32  # of the first array: a cache line


@dataclass(frozen=True)
class FileIdentity:
    """For what a file is: the index of its board, the structure of the programs, and which of its files it is.

    `structure` is the hash of the programs of all boards (`network_project_hash`); `counter` rises with each network of
    that structure; `model` are the first four bytes of the SHA-256 of the network.
    """

    board_index: int
    structure: int
    counter: int
    model: int


@dataclass(frozen=True)
class ArrayLayout:
    """Where the arrays of a file lie: offset and bytes by symbol; the file has `size_bytes` with signature and CRC."""

    first_array: int
    arrays: Mapping[str, tuple[int, int]]
    arrays_end: int
    size_bytes: int

    @classmethod
    def of(
        cls, layers: bytes, arrays: Mapping[str, IntArray], *, is_encrypted: bool = False, is_signed: bool = False
    ) -> Self:
        """Place arrays, each in whole words, behind the layer graph."""
        begin = offset = _first_array(len(layers)) + (SECURITY_BYTES if is_encrypted else 0)
        places = {}
        for symbol, values in arrays.items():
            places[symbol] = (offset, values.nbytes)
            offset += aligned(values.nbytes)
        return cls(begin, places, offset, offset + is_signed * SIGNATURE_BYTES + _CRC.size)

    @property
    def arrays_bytes(self) -> int:
        """Bytes of all arrays, with what is between them."""
        return self.arrays_end - self.first_array


@dataclass(frozen=True)
class WeightsFile:
    """The contents of a file."""

    identity: FileIdentity
    layers: tuple[LayerEntry, ...]
    data: bytes  # the arrays, from the first one to the signature or the CRC
    crc: int

    manifest: bytes  # all bytes before signature and CRC
    signature: bytes = b""  # of the manifest, b"" if it is not signed
    is_encrypted: bool = False

    @property
    def size_bytes(self) -> int:
        """Bytes of the whole file."""
        return len(self.manifest) + len(self.signature) + _CRC.size

    @property
    def contents(self) -> bytes:
        """All bytes of the file."""
        return self.manifest + self.signature + _CRC.pack(self.crc)

    def is_signed_by(self, public_key: bytes) -> bool:
        """Return whether the owner of a key has signed it. Raises ToolError without the package `cryptography`."""
        return bool(self.signature) and is_signed_by(public_key, self.signature, self.manifest)


def _first_array(layers_bytes: int) -> int:
    """Return the offset of the first array behind a layer graph of so many bytes."""
    return -(-(_HEADER.size + layers_bytes) // ARRAYS_ALIGNMENT) * ARRAYS_ALIGNMENT


def encode(
    identity: FileIdentity,
    layers: Sequence[LayerEntry],
    arrays: Mapping[str, IntArray],
    key: SecretKey | None = None,
    signer: SigningKey | None = None,
) -> bytes:
    """Return the bytes of a file; `arrays` by symbol, in the order of their places.

    The arrays are encrypted if there is a `key`; then the file is signed if there is a `signer`.
    """
    graph = encode_layers(layers)
    layout = ArrayLayout.of(graph, arrays, is_encrypted=key is not None, is_signed=signer is not None)
    fields = (VERSION, identity.board_index, layout.first_array, layout.size_bytes)
    flags = header_flags(is_encrypted=key is not None, is_signed=signer is not None)
    header = _HEADER.pack(MAGIC, *fields, identity.structure, identity.counter, identity.model, len(layers), flags)
    data = bytearray(layout.arrays_end)
    data[: len(header) + len(graph)] = header + graph
    for symbol, values in arrays.items():
        offset, n_bytes = layout.arrays[symbol]
        data[offset : offset + n_bytes] = values.astype(values.dtype.newbyteorder("<"), copy=False).tobytes()
    if key:
        _encrypt(data, layout.first_array, key)
    if signer:
        data += signer.sign(bytes(data))
    return bytes(data) + _CRC.pack(zlib.crc32(data))


def header_flags(*, is_encrypted: bool, is_signed: bool) -> int:
    """Return the flags in the header of a file."""
    return (_ENCRYPTED if is_encrypted else 0) | (_SIGNED if is_signed else 0)


def _encrypt(data: bytearray, first_array: int, key: SecretKey) -> None:
    """Encrypt the arrays, and authenticate them with all that is before the block of nonce and tag."""
    added = bytes(data[: first_array - SECURITY_BYTES])
    message = key.encrypt(bytes(data[first_array:]), added)
    block = (message.nonce + message.tag).ljust(SECURITY_BYTES, b"\0")
    data[first_array - SECURITY_BYTES :] = block + message.text


def read_weights_file(path: Path) -> WeightsFile:
    """Return the contents of a file. Raises InputError with the reason where it cannot be used."""
    try:
        return decode(read_limited(path, WEIGHTS_FILE_BYTES))
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror})") from None
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None


def decode(data: bytes) -> WeightsFile:
    """Return the contents of a file. Raises ValueError with the reason where it cannot be used."""
    if len(data) < _HEADER.size + _CRC.size or data[: len(MAGIC)] != MAGIC:
        raise ValueError(f"no weights file: it does not begin with {MAGIC.decode()}")
    _, version, board_index, first_array, size, structure, counter, model, count, flags = _HEADER.unpack_from(data)
    if version != VERSION:
        raise ValueError(f"a weights file of version {version}: this program knows version {VERSION}")
    if size != len(data):
        raise ValueError(f"the weights file has {len(data)} bytes, its header says {size}: copy or generate it again")
    (crc,) = _CRC.unpack_from(data, len(data) - _CRC.size)
    computed_crc = zlib.crc32(data[: -_CRC.size])
    if crc != computed_crc:
        raise ValueError(f"the weights file has changed: its CRC-32 is {computed_crc:08x} instead of {crc:08x}")
    end = size - _CRC.size - (SIGNATURE_BYTES if flags & _SIGNED else 0)  # of the arrays
    if not _HEADER.size <= first_array <= end or flags & ~(_ENCRYPTED | _SIGNED):
        raise ValueError("the weights file has a header that this version does not know")
    layers = decode_layers(data[_HEADER.size : first_array], count)
    identity = FileIdentity(board_index, structure, counter, model)
    manifest, signature = data[:end], data[end : -_CRC.size]
    return WeightsFile(identity, layers, data[first_array:end], crc, manifest, signature, bool(flags & _ENCRYPTED))
