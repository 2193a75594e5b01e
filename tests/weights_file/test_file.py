"""Configuration files: what is written is read again, and no changed byte goes unnoticed, on the host and on boards."""

import struct
import subprocess
import zlib
from collections import Counter
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from example_folders.weights_folders import KEY, signer
from programs.firmware_on_host import compile_host
from session.profiles import cases
from tinysplit.common.errors import InputError
from tinysplit.common.secret_key import SecretKey
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.layers import KINDS
from tinysplit.weights_file.file import ArrayLayout, FileIdentity, decode, encode, read_weights_file
from tinysplit.weights_file.layers import LayerEntry, decode_layers, encode_layers
from tinysplit.weights_file.signing_key import is_signed_by

IDENTITY = FileIdentity(board_index=1, structure=0x12345678, counter=3, model=0xCAFE0001)
LAYERS = (
    LayerEntry(2, "conv", (0,), 8, 0.03125, 0, 8, (1, 12)),
    LayerEntry(3, "add", (2, 0), 16, 2.0**-14, 0, None, (0, 9)),
    LayerEntry(300, "lookup", (3,), 8, 0.75, -128, None, None),
    LayerEntry(301, "concat", (300, 2, 3), 8, 0.5, 7, 16, (31, 31)),
)
RNG = np.random.default_rng(7)
ARRAYS: dict[str, IntArray] = {
    "layer_2_weights": RNG.integers(-128, 128, 301).astype(np.int8),
    "layer_2_bias": RNG.integers(-(2**31), 2**31, 7).astype(np.int32),
    "layer_301_corrections": RNG.integers(0, 2**16, 5).astype(np.uint16),
}
FILE = encode(IDENTITY, LAYERS, ARRAYS)
CODES = (  # of kinds in files that exist: an entry that changes makes them unreadable
    *("conv", "depthwise_conv", "dense", "conv_transpose", "max_pool", "average_pool", "add", "mul", "concat"),
    *("softmax", "lookup", "prelu", "pad", "permute", "upsample", "row_slice", "row_join", "partial_sum"),
    *("average_of_sums", "normalization", "matmul", "recurrent", "arg_max"),
)
EMPTY = encode(IDENTITY, (), {})
REASONS = ("good", "missing", "other version", "other board", "other structure", "wrong length", "corrupt")
CHANGES = 5000


def with_crc(data: bytes) -> bytes:
    """Return a file whose CRC is right again."""
    return data[:-4] + struct.pack("<I", zlib.crc32(data[:-4]))


def changed(offset: int, value: int, size: int = 1) -> bytes:
    """Return the file with another number at an offset, and the CRC that belongs to it."""
    return with_crc(FILE[:offset] + value.to_bytes(size, "little") + FILE[offset + size :])


def test_a_file_has_all_that_was_written() -> None:
    found = decode(FILE)
    assert (found.identity, found.layers, found.size_bytes) == (IDENTITY, LAYERS, len(FILE))
    assert found.crc == zlib.crc32(FILE[:-4]) == struct.unpack("<I", FILE[-4:])[0]
    layout = ArrayLayout.of(encode_layers(LAYERS), ARRAYS)
    for symbol, (offset, size) in layout.arrays.items():
        assert offset % 4 == 0
        assert FILE[offset : offset + size] == ARRAYS[symbol].tobytes()
        begin = offset - layout.first_array
        assert found.data[begin : begin + size] == ARRAYS[symbol].tobytes()
    assert layout.first_array % 32 == 0


@pytest.mark.parametrize(("code", "kind"), list(enumerate(CODES)))
def test_the_code_of_a_kind_never_changes(code: int, kind: str) -> None:
    entry = LayerEntry(1, kind, (0,), 8, 0.5, 0, None, None)
    data = encode_layers([entry])
    assert data[1] == code
    assert decode_layers(data, 1) == (entry,)


def test_every_kind_of_layer_has_a_code() -> None:
    assert set(CODES) == set(KINDS)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "no weights file"),
        (b"TSWF", "no weights file"),
        (b"\x7fELF" + FILE[4:], "no weights file"),
        (changed(4, 2), "of version 2: this program knows version 1"),
        (FILE[:-1], f"has {len(FILE) - 1} bytes, its header says {len(FILE)}"),
        (FILE + b"\0", f"has {len(FILE) + 1} bytes, its header says {len(FILE)}"),
        (FILE[:-1] + bytes([FILE[-1] ^ 1]), "has changed: its CRC-32 is"),
        (changed(24, 999, 2), "the list of its layers is not whole"),
        (changed(26, 4, 2), "a header that this version does not know"),
        (with_crc(EMPTY[:26] + b"\2" + EMPTY[27:]), "a header that this version does not know"),  # no room to sign
        (changed(29, len(KINDS)), "kind 23, which this version does not know"),
    ],
)
def test_a_bad_file_is_refused_with_its_name_and_the_reason(data: bytes, reason: str, tmp_path: Path) -> None:
    path = tmp_path / "weights.bin"
    path.write_bytes(data)
    with pytest.raises(InputError, match=rf"weights\.bin: .*{reason}"):
        read_weights_file(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"absent\.bin cannot be read"):
        read_weights_file(tmp_path / "absent.bin")


@pytest.mark.parametrize("key", [None, KEY])
def test_a_signature_covers_all_before_it(key: SecretKey | None) -> None:
    data = encode(IDENTITY, LAYERS, ARRAYS, key, signer())
    found, public_key = decode(data), signer().public_key
    layout = ArrayLayout.of(encode_layers(LAYERS), ARRAYS, is_encrypted=key is not None, is_signed=True)
    assert (found.identity, found.layers, found.size_bytes) == (IDENTITY, LAYERS, len(data))
    assert (layout.size_bytes, layout.arrays_bytes) == (len(data), len(found.data))
    assert (found.is_encrypted, data[26]) == (key is not None, 3 if key else 2)
    assert (found.manifest, found.signature) == (data[:-68], data[-68:-4])
    assert is_signed_by(public_key, found.signature, data[:-68])
    assert found.is_signed_by(public_key)
    assert not found.is_signed_by(signer(2).public_key)
    assert not decode(FILE).is_signed_by(public_key)
    rng = np.random.default_rng(2)
    for _ in range(cases(quick=20, full=200, nightly=5000)):
        offset = int(rng.integers(5, len(data) - 4))
        changed = data[:offset] + bytes([data[offset] ^ int(rng.integers(1, 256))]) + data[offset + 1 :]
        with suppress(ValueError):  # of the header and the layers
            assert not decode(with_crc(changed)).is_signed_by(public_key)


def changes() -> list[tuple[int, int]]:
    """Return offsets and what is added to the byte there by exclusive or: every bit, and random ones."""
    rng = np.random.default_rng(1)
    bits = [(bit // 8, 1 << bit % 8) for bit in range(8 * len(FILE))]
    return [*bits, *((int(rng.integers(len(FILE))), int(rng.integers(1, 256))) for _ in range(CHANGES))]


def test_the_host_refuses_every_changed_byte() -> None:
    data = bytearray(FILE)
    for offset, flipped in changes():
        data[offset] ^= flipped
        with pytest.raises(ValueError, match=r"weights file|list of its layers"):
            decode(bytes(data))
        data[offset] ^= flipped


def board_reasons(program: Path, files: list[bytes]) -> list[str]:
    """Return why the firmware refuses each of these files, which all have the length of `FILE`."""
    done = subprocess.run([program], input=b"".join(files), capture_output=True, check=True)
    return [REASONS[reason] for reason in done.stdout]


@pytest.fixture(scope="module")
def board(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A board that expects FILE."""
    own = (f"BOARD_INDEX={IDENTITY.board_index}", f"STRUCTURE=0x{IDENTITY.structure:x}u")
    header = int.from_bytes(FILE[6:8], "little"), int.from_bytes(FILE[24:26], "little")
    macros = (f"FILE_BYTES={len(FILE)}", *own, f"FIRST_ARRAY={header[0]}", f"LAYERS={header[1]}")
    return compile_host(tmp_path_factory.mktemp("board"), "weights_check", "weights_file.c", "crc32.c", defines=macros)


def test_a_board_names_what_is_wrong(board: Path) -> None:
    files = {
        "good": FILE,
        "missing": b"\xff" * len(FILE),
        "other version": changed(4, 2),
        "other board": changed(5, 0),
        "other structure": changed(12, 0x12345679, 4),
        "wrong length": changed(8, len(FILE) + 4, 4),
        "corrupt": FILE[:-1] + bytes([FILE[-1] ^ 0x80]),
    }
    assert board_reasons(board, list(files.values())) == list(files)


@pytest.mark.parametrize(
    ("offset", "size", "value"), [(6, 2, 0), (6, 2, 64), (6, 2, 65535), (24, 2, 9999), (26, 2, 1), (26, 2, 2)]
)
def test_a_board_takes_no_header_of_another_layout(offset: int, size: int, value: int, board: Path) -> None:
    assert board_reasons(board, [changed(offset, value, size)]) == ["other structure"]


def test_a_board_refuses_every_changed_byte(board: Path) -> None:
    files = []
    for offset, flipped in changes():
        data = bytearray(FILE)
        data[offset] ^= flipped
        files.append(bytes(data))
    found = Counter(board_reasons(board, files))
    assert "good" not in found
    assert found.total() == len(files)
    assert found["corrupt"] > len(files) * 0.9
