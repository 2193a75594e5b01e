"""The cache: what is built once and used again by later commands, in a private folder of the user.

PlatformIO's core folder and the virtual boards' library lie there, and results: compiled templates, decoded
instructions. Nothing depends on those: a result that cannot be read, loaded or written counts as missing.
"""

import hashlib
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from platformdirs import user_cache_path

from tinysplit.common.errors import ToolError
from tinysplit.common.interrupts.temporary import temporary_file
from tinysplit.common.private.folder import private_folder, runtime_folder

APPLICATION = "tinysplit"
MOST_FILES, MOST_BYTES = 256, 1 << 26  # of a kind of results; beyond, those that were used last stay
_DIGEST_BYTES = hashlib.sha256().digest_size

_T = TypeVar("_T")


def cache_directory() -> Path:
    """Return a private folder (`private_folder`): the user's cache folder, or a temporary one if that cannot be used.

    Programs are loaded from it. Raises ToolError if neither can be used.
    """
    reasons = []
    for find in (_users, _temporary):
        try:
            directory = private_folder(find())
        except ToolError as error:
            reasons.append(str(error))
            continue
        if os.access(directory, os.W_OK):
            return directory
        reasons.append(f"{directory} is not writable")
    raise ToolError(f"there is no folder for a cache: {'; '.join(reasons)}")


def read_cached(kind: str, key: bytes, load: Callable[[bytes], _T]) -> _T | None:
    """Return what `load` makes of the result that `write_cached` has written for a kind and a key, None without one.

    The key names all that the result follows from.
    """
    try:
        path = _result_path(kind, key)
        content = path.read_bytes()
    except (OSError, ToolError):
        return None
    digest, result = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
    if digest != hashlib.sha256(result).digest():
        return None
    with suppress(OSError):
        os.utime(path)  # the time of its last use
    with suppress(Exception):  # unpickling can raise any
        return load(result)
    return None


def write_cached(kind: str, key: bytes, result: bytes) -> None:
    """Write a result for later commands, whole or not at all: others may write the same at the same time."""
    with suppress(OSError, ToolError):
        path = _result_path(kind, key)
        with temporary_file(path) as fresh:
            fresh.write_bytes(hashlib.sha256(result).digest() + result)
            fresh.replace(path)
        _delete_oldest(path.parent)


def _result_path(kind: str, key: bytes) -> Path:
    return private_folder(cache_directory() / kind) / hashlib.sha256(key).hexdigest()


def _delete_oldest(folder: Path) -> None:
    """Delete the files that exceed the bounds, from the latest use to the earliest."""
    files: list[tuple[int, int, Path]] = []
    for path in folder.iterdir():
        with suppress(FileNotFoundError):  # another command has deleted it
            status = path.lstat()
            if stat.S_ISREG(status.st_mode):
                files.append((status.st_mtime_ns, status.st_size, path))
    kept_files = kept_bytes = 0
    for _, size_bytes, path in sorted(files, reverse=True):
        if kept_files < MOST_FILES and kept_bytes + size_bytes <= MOST_BYTES:
            kept_files += 1
            kept_bytes += size_bytes
        else:
            path.unlink(missing_ok=True)


def _users() -> Path:
    return user_cache_path(APPLICATION)


def _temporary() -> Path:
    return runtime_folder() / "cache"
