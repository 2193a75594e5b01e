"""Reading of NumPy's .npy and .npz files: sizes are checked before memory is allocated."""

import warnings
import zipfile
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from io import BufferedReader, BytesIO, FileIO, RawIOBase
from math import prod
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any, cast

from numpy.lib import format as npy
from numpy.typing import NDArray
from typing_extensions import override

from tinysplit.common.input_files.limits import ARRAY_BYTES, MIB, size_text

_ZIP_MAGIC = b"PK"
_SUFFIX = ".npy"
_LARGEST_READ = 4 * MIB  # of a zip archive: its directory, which is read at once, or a part of a member
_FLOAT32_BYTES = 4
_ENCRYPTED = 1  # bit of a zip member's flags
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


class _Reader(BufferedReader):
    """A file of which not more than `_LARGEST_READ` bytes are read at once."""

    @override
    def read(self, size: int | None = -1, /) -> bytes:
        is_all = size is None or size < 0
        contents = super().read(_LARGEST_READ + 1 if is_all else min(size or 0, _LARGEST_READ + 1))
        if len(contents) > _LARGEST_READ:
            raise zipfile.BadZipFile(f"its directory has more than {size_text(_LARGEST_READ)}")
        return contents


def array_names(path: Path) -> tuple[str, ...] | None:
    """Return the names of the arrays of an .npz file, None for an .npy file.

    Raises OSError, EOFError, zipfile.BadZipFile or ValueError where it is neither.
    """
    with path.open("rb") as stream:
        begin = stream.read(npy.MAGIC_LEN)
    if not begin:
        raise EOFError("No data left in file")
    if not begin.startswith(_ZIP_MAGIC):
        if not begin.startswith(npy.MAGIC_PREFIX):
            raise ValueError
        return None
    with _archive(FileIO(path)) as archive:
        return tuple(name.removesuffix(_SUFFIX) for name in archive.namelist())


def read_array(path: Path) -> NDArray[Any]:
    """Return the array of an .npy file.

    Raises OSError, EOFError or ValueError, with the reason, where it cannot be read or is too large.
    """
    with path.open("rb") as stream:
        _check_limit(_needed_bytes(stream, path.stat().st_size))
        stream.seek(0)
        return _array(stream)


def read_arrays(source: Path | bytes, names: Collection[str] | None = None) -> dict[str, NDArray[Any]]:
    """Return the arrays with these names of an .npz file, which may lack some; without `names`, all.

    Raises OSError, EOFError, zipfile.BadZipFile or ValueError, with the reason, where they cannot be read or are too
    large.
    """
    raw = FileIO(source) if isinstance(source, Path) else cast("RawIOBase", BytesIO(source))
    with _archive(raw) as archive:
        members = {info.filename.removesuffix(_SUFFIX): info for info in archive.infolist()}
        wanted = {name: info for name, info in members.items() if names is None or name in names}
        needed_bytes = 0
        for info in wanted.values():
            _check_member(info)
            with archive.open(info) as stream:
                needed_bytes += _needed_bytes(stream, info.file_size)
            _check_limit(needed_bytes)
        arrays = {}
        for name, info in wanted.items():
            with archive.open(info) as stream:
                arrays[name] = _array(stream)
        return arrays


@contextmanager
def _archive(raw: RawIOBase) -> Iterator[zipfile.ZipFile]:
    try:
        with _Reader(raw) as stream, zipfile.ZipFile(stream) as archive:
            yield archive
    except (NotImplementedError, RuntimeError, zlib.error) as error:  # what the module zipfile lets pass
        raise zipfile.BadZipFile(str(error)) from None


def _check_member(info: zipfile.ZipInfo) -> None:
    """Raise BadZipFile for what NumPy does not write."""
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or info.flag_bits & _ENCRYPTED:
        raise zipfile.BadZipFile(f"{info.filename} is encrypted, or compressed as NumPy does not")


def _needed_bytes(stream: IO[bytes], size_bytes: int) -> int:
    """Return the memory of the array that begins here, the larger of that as it is stored and as float32.

    Raises ValueError where `size_bytes`, which the file or the zip directory has, do not hold it.
    """
    version = npy.read_magic(stream)
    if version not in _HEADERS:
        raise ValueError(f"version {'.'.join(map(str, version))} of the format, which has names of fields")
    try:
        with _without_warnings():
            shape, _, dtype = _HEADERS[version](stream)
    except (TokenError, SyntaxError, TypeError, RecursionError, MemoryError) as error:  # of Python's own parser
        raise ValueError(f"its header is damaged: {error}") from None
    if any(type(size) is not int or size < 0 for size in shape):  # NumPy lets true and false pass
        raise ValueError(f"its header has the shape {shape}")
    count = prod(shape)
    held_bytes = size_bytes - stream.tell()
    if not dtype.hasobject and count * dtype.itemsize > held_bytes:
        raise ValueError(f"it has {held_bytes} bytes of values, its header says {count * dtype.itemsize}")
    return count * max(dtype.itemsize, _FLOAT32_BYTES)


def _check_limit(needed_bytes: int) -> None:
    if needed_bytes > ARRAY_BYTES:
        raise ValueError(f"its arrays need {needed_bytes} bytes, the limit is {size_text(ARRAY_BYTES)}")


def _array(stream: IO[bytes]) -> NDArray[Any]:
    with _without_warnings():
        array: NDArray[Any] = npy.read_array(stream, allow_pickle=False)
    return array


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Leave out NumPy's advice to save files of Python 2 again."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield
