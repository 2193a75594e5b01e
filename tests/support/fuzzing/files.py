"""Files for readers that want a path, in memory where the system has such a folder."""

import atexit
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

_IN_MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of its own is made there


@cache
def scratch_folder() -> Path:
    """Return a folder of this process, which is removed at its end."""
    folder = Path(mkdtemp(prefix="tinysplit-fuzz-", dir=_IN_MEMORY if _IN_MEMORY.is_dir() else None))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def from_file(name: str, read: Callable[[Path], object]) -> Callable[[bytes], object]:
    """Return a parser of bytes that reads them from a file with this name, which messages have to name."""

    def parse(content: bytes) -> object:
        path = scratch_folder() / name
        path.write_bytes(content)
        return read(path)

    return parse
