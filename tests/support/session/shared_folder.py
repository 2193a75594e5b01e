"""Folders that several tests only read, such as built projects: made once, for all tests and workers."""

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from tempfile import mkdtemp

VARIABLE = "TINYSPLIT_TEST_SHARED"


def begin() -> bool:
    """Make the folder of this session, unless the process that started this one has; return whether it was made."""
    if VARIABLE in os.environ:
        return False
    os.environ[VARIABLE] = mkdtemp(prefix="tinysplit-tests-")
    return True


def end() -> None:
    """Remove the folder of this session."""
    shutil.rmtree(os.environ.pop(VARIABLE), ignore_errors=True)


def path() -> Path:
    """Return the folder of this session."""
    return Path(os.environ[VARIABLE])


def made_once(name: str, make: Callable[[Path], object]) -> Path:
    """Return the folder of that name; `make` fills it if no test of this session, in any worker, has done so before."""
    folder = path() / name
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        done = folder.with_suffix(".done")
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)
            make(folder)
            done.touch()
    return folder
