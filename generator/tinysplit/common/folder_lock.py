"""A lock of a folder between processes: only one generates or builds in it."""

import fcntl
import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tinysplit.common.errors import ToolError


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Hold the lock of `folder`, which need not exist. Raises ToolError while another process holds it.

    The lock is a file in the temporary folder: the folder itself may be replaced meanwhile.
    """
    locks = Path(tempfile.gettempdir(), f"tinysplit-{os.getuid()}", "locks")
    locks.mkdir(parents=True, exist_ok=True)
    name = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:16]
    with (locks / name).open("a+", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            raise ToolError(
                f"{folder} is in use by another tinysplit command (process {lock.read()}): wait until it ends, or name "
                "another folder"
            ) from None
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield
