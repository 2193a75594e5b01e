"""Results that are kept from one command to the next, in files of the cache folder: compiled once, and read again.

Nothing depends on them. A file that cannot be read or written, or is not what was written, counts as missing.
"""

import hashlib
from contextlib import suppress
from pathlib import Path

from tinysplit.common.cache import cache_directory
from tinysplit.common.errors import ToolError
from tinysplit.common.interrupts.temporary import temporary_file

MOST_FILES = 256  # of a kind; beyond, the oldest half is deleted
_DIGEST_BYTES = hashlib.sha256().digest_size


def read_kept(kind: str, key: bytes) -> bytes | None:
    """Return what `keep` has written for a kind of results and a key, which names all that they follow from."""
    try:
        content = _path(kind, key).read_bytes()
    except (OSError, ToolError):
        return None
    digest, result = content[:_DIGEST_BYTES], content[_DIGEST_BYTES:]
    return result if digest == hashlib.sha256(result).digest() else None


def keep(kind: str, key: bytes, result: bytes) -> None:
    """Write a result for later commands, whole or not at all: others may write the same at the same time."""
    with suppress(OSError, ToolError):
        path = _path(kind, key)
        path.parent.mkdir(mode=0o700, exist_ok=True)
        with temporary_file(path) as fresh:
            fresh.write_bytes(hashlib.sha256(result).digest() + result)
            fresh.replace(path)
        files = sorted(path.parent.iterdir(), key=lambda each: each.stat().st_mtime)
        for old in files[: len(files) - MOST_FILES // 2] if len(files) > MOST_FILES else ():
            old.unlink(missing_ok=True)


def _path(kind: str, key: bytes) -> Path:
    return cache_directory() / kind / hashlib.sha256(key).hexdigest()
