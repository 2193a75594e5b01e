"""Locks between processes: only one generates or builds in a folder, writes a file, or measures virtual boards."""

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from tinysplit.common.errors import ToolError
from tinysplit.common.private.folder import private_folder, runtime_folder


def locked_folder(folder: Path) -> AbstractContextManager[None]:
    """Hold the lock of `folder`, which need not exist. Raises ToolError while another process holds it."""
    return _locked(folder, f"{folder} is", "name another folder")


def locked_file(file: Path) -> AbstractContextManager[None]:
    """Hold the lock of `file`, which need not exist. Raises ToolError while another process holds it."""
    return _locked(file, f"{file} is", "name another file")


def locked_boards(time_file: Path) -> AbstractContextManager[None]:
    """Hold the lock of virtual boards by the file of their time. Raises ToolError while another process holds it."""
    return _locked(time_file, "the virtual boards are", "start others with `tinysplit virtual`")


@contextmanager
def _locked(path: Path, what_is: str, instead: str) -> Iterator[None]:
    # The lock is a file elsewhere: what is locked may be replaced meanwhile.
    locks = private_folder(runtime_folder() / "locks")
    name = hashlib.sha256(os.fsencode(path.resolve())).hexdigest()[:16]
    with open(locks / name, "a+", encoding="utf-8", opener=_open_no_link) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise ToolError(
                f"{what_is} in use by another tinysplit command (process {lock.read()}): wait until it ends, or "
                f"{instead}"
            ) from None
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield


def _open_no_link(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)
