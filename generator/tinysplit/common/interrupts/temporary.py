"""Temporary files and folders beside what they are to replace; those of killed commands are deleted by the next one.

A command holds a lock (flock) on each of its own, which the system releases whatever ends the process.
"""

import fcntl
import hashlib
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tinysplit.common.interrupts.signals import uninterrupted

_OLD = ".old"  # what is being replaced


@contextmanager
def temporary_file(target: Path) -> Iterator[Path]:
    """Yield a new, empty file in the folder of `target`, which is deleted unless it has been moved by then."""
    with _temporary(target, is_folder=False) as path:
        yield path


@contextmanager
def temporary_folder(target: Path) -> Iterator[Path]:
    """Yield a new, empty folder in the folder of `target`, which is deleted unless it has been moved by then."""
    with _temporary(target, is_folder=True) as path:
        yield path


@contextmanager
def moved_away(target: Path, fresh: Path) -> Iterator[Path]:
    """Move the folder `target` away for `fresh`, a temporary folder for it; yield where it is, until it is deleted.

    If the block fails, or the process is killed before there is a new `target`, the old one comes back.
    """
    old = fresh.with_name(f"{fresh.name}{_OLD}")
    lock = _lock(target)
    try:
        with uninterrupted():
            target.rename(old)
            try:
                yield old
            except BaseException:
                if not target.exists():
                    old.rename(target)
                raise
            shutil.rmtree(old, ignore_errors=True)
    finally:
        if lock is not None:
            os.close(lock)


@contextmanager
def _temporary(target: Path, *, is_folder: bool) -> Iterator[Path]:
    _delete_left(target)
    made: list[tuple[Path, int | None]] = []
    try:
        with uninterrupted():
            made.append(_new(target, is_folder=is_folder))
        yield made[0][0]
    finally:
        for path, lock in made:
            _delete(path)
            if lock is not None:
                os.close(lock)


def _prefix(target: Path) -> str:
    """Return how the names of all temporary files for `target` begin, and no others do; a long name is no trouble."""
    return f".tinysplit-{hashlib.sha256(target.name.encode()).hexdigest()[:16]}-"


def _new(target: Path, *, is_folder: bool) -> tuple[Path, int | None]:
    """Make a temporary file or folder and return it with its lock."""
    while True:
        if is_folder:
            path = Path(tempfile.mkdtemp(prefix=_prefix(target), dir=target.parent))
            path.chmod(0o755)
        else:
            path = target.with_name(f"{_prefix(target)}{secrets.token_hex(4)}")
            path.open("xb").close()
        lock = _lock(path, waits=True)
        if path.exists():  # else another command has taken it for one that was left, and deleted it meanwhile
            return path, lock
        if lock is not None:
            os.close(lock)


def _lock(path: Path, *, waits: bool = False) -> int | None:
    """Return the descriptor by which this process locks a file or folder, None if it cannot."""
    descriptor = None
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if waits else fcntl.LOCK_NB))
    except OSError:  # locked, gone, or on a file system without locks
        if descriptor is not None:
            os.close(descriptor)
        return None
    return descriptor


def _delete_left(target: Path) -> None:
    """Delete what killed commands have left for `target`: it is this user's, and nobody locks it."""
    for path in target.parent.glob(f"{_prefix(target)}*"):
        with suppress(OSError):
            status = path.lstat()
            is_ours = status.st_uid == os.getuid() and (stat.S_ISDIR(status.st_mode) or stat.S_ISREG(status.st_mode))
            if is_ours and (lock := _lock(path)) is not None:
                if path.name.endswith(_OLD) and not target.exists():
                    path.rename(target)
                else:
                    _delete(path)
                os.close(lock)


def _delete(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()
