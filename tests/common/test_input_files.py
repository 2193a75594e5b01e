"""Files from others: sizes are checked before memory is allocated, and no mistake in them is a traceback."""

import io
import re
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tinysplit.boards.schema import BoardFile, read_toml
from tinysplit.cli.config.file import read_config
from tinysplit.common.errors import InputError
from tinysplit.common.file_schema import read_json
from tinysplit.common.input_files import arrays, limits, texts
from tinysplit.explore.prices import read_prices
from tinysplit.project.manifest import Project
from tinysplit.split.report.arrivals import Arrivals
from tinysplit.weights_file.file import read_weights_file
from tinysplit_hil.rig.rig_file import read_rig_file


def npy(shape: str, dtype: str = "<f4", data: bytes = b"") -> bytes:
    """Return an .npy file with this header, whatever the data."""
    header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}}}\n".encode()
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


def refusal(read: Callable[[], object]) -> str:
    with pytest.raises((ValueError, zipfile.BadZipFile, EOFError, InputError)) as caught:
        read()
    return str(caught.value)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (npy(f"({2**40},)"), f"header says {4 * 2**40}"),
        (npy(f"({2**62}, {2**62}, 16)"), "header says"),
        (npy("(-1,)", data=bytes(16)), "has the shape"),
        (npy("(4,)", "<V400000000"), "header says 1600000000"),
        (npy("(3,)", data=bytes(11)), "header says 12"),
        (npy("(1" + ",1" * 20000 + ")"), "Header info length"),
        (b"\x93NUMPY\x03\x00" + bytes(9), "version 3.0"),
        (b"\x93NUMPY", "EOF"),
    ],
)
def test_headers_of_arrays(tmp_path: Path, content: bytes, text: str) -> None:
    path = tmp_path / "x.npy"
    path.write_bytes(content)
    assert text in refusal(lambda: arrays.read_array(path))
    archive = tmp_path / "x.npz"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("x.npy", content)
    assert text in refusal(lambda: arrays.read_arrays(archive))


def test_arrays_over_the_limit_are_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "ARRAY_BYTES", 2**19)
    bomb = tmp_path / "bomb.npz"
    np.savez_compressed(bomb, x=np.zeros(2**18, np.float32))
    assert bomb.stat().st_size < 2**12
    monkeypatch.setattr(arrays, "_array", lambda _: pytest.fail("an array was read"))
    assert refusal(lambda: arrays.read_arrays(bomb)) == "its arrays need 1048576 bytes, the limit is 512 KiB"


def test_arrays_up_to_the_limit_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "ARRAY_BYTES", 2**19)
    path = tmp_path / "x.npz"
    np.savez(path, x=np.zeros(2**17, np.uint8), y=np.zeros(2**17, np.uint8))  # as float32, one of them is 2**19 bytes
    assert list(arrays.read_arrays(path, {"x", "z"})) == ["x"]
    assert "the limit is 512 KiB" in refusal(lambda: arrays.read_arrays(path))


def test_members_that_numpy_does_not_write(tmp_path: Path) -> None:
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as file:
        file.writestr("x.npy", npy("(1,)", data=bytes(4)))
    assert "compressed as NumPy does not" in refusal(lambda: arrays.read_arrays(path))


def test_a_directory_of_a_million_members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "_LARGEST_READ", 2**18)
    path = tmp_path / "x.npz"
    with zipfile.ZipFile(path, "w") as file:
        for number in range(6000):
            file.writestr(f"{number}.npy", b"")
    assert "its directory has more than 256 KiB" in refusal(lambda: arrays.array_names(path))


def test_a_member_longer_than_its_directory_says(tmp_path: Path) -> None:
    stream = io.BytesIO()
    np.savez(stream, x=np.arange(100, dtype=np.float32))
    content = bytearray(stream.getvalue())
    place = content.rindex(b"PK\x01\x02") + 24
    content[place : place + 4] = struct.pack("<I", 200)
    path = tmp_path / "x.npz"
    path.write_bytes(content)
    assert re.search("Bad CRC-32|bytes of values", refusal(lambda: arrays.read_arrays(path)))


READERS: dict[str, Callable[[Path], object]] = {
    "config": read_config,
    "prices": lambda path: read_prices(path, ()),
    "rig": read_rig_file,
    "board": lambda path: read_toml(path, BoardFile),
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"#" * (limits.TOML_BYTES + 1), "has more than 256 KiB, the limit for such files: give a smaller one"),
        (b"x = " + b"[" * 20000, "nested too deep"),
        (b"x" + b".x" * 50000 + b" = 1", "a line has more than 200 dots"),
        (b"x = " + b"1" * 5000, "integer string conversion"),
        (b"x = 2020-02-31", "[Ii]nvalid date|Expected|day is out of range"),
    ],
    ids=["large", "deep", "dots", "digits", "date"],
)
def test_toml(tmp_path: Path, name: str, content: bytes, text: str) -> None:
    path = tmp_path / "file.toml"
    path.write_bytes(content)
    with pytest.raises(InputError, match=text) as caught:
        READERS[name](path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_dots_in_comments_and_short_lines_are_none(tmp_path: Path) -> None:
    path = tmp_path / "file.toml"
    path.write_text("#" + "." * 500 + "\n" + "a.b = 1\n" + 'text = "' + "." * 200 + '"\n')
    assert texts.read_toml_file(path) == {"a": {"b": 1}, "text": "." * 200}


def test_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "tinysplit.json"
    path.write_text("[" * 100_000)
    with pytest.raises(InputError, match="nested too deep"):
        Project.read(tmp_path)
    with pytest.raises(InputError, match="is not JSON: make it again"):
        read_json(path, "make it again")
    monkeypatch.setattr(texts, "JSON_BYTES", 1000)
    for read in (lambda: Project.read(tmp_path), lambda: read_json(path, "")):
        assert "has more than 1000 bytes, the limit for such files" in refusal(read)


def test_other_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    with path.open("wb") as file:
        file.truncate(limits.TIMES_BYTES + 1)
    assert "has more than 16 MiB" in refusal(lambda: Arrivals.of_trace(path))
    monkeypatch.setattr("tinysplit.weights_file.file.WEIGHTS_FILE_BYTES", 2**20)
    assert "has more than 1 MiB" in refusal(lambda: read_weights_file(path))


@pytest.mark.parametrize(("n_bytes", "text"), [(2**31, "2 GiB"), (3 * 2**20, "3 MiB"), (1024, "1 KiB"), (7, "7 bytes")])
def test_sizes_as_text(n_bytes: int, text: str) -> None:
    assert limits.size_text(n_bytes) == text
