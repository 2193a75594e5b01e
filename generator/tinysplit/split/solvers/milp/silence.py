"""Keeps what a C library prints off stdout: HiGHS prints debugging output whatever its options say."""

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

STDOUT = 1  # file descriptor


@contextmanager
def silenced_stdout() -> Iterator[None]:
    """Send file descriptor 1 to the null device meanwhile, for the whole process; buffers are flushed on both sides."""
    flush = ctypes.CDLL(None).fflush
    sys.stdout.flush()
    flush(None)
    saved, nowhere = os.dup(STDOUT), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, STDOUT)
        yield
        flush(None)  # what C has buffered so far
    finally:
        os.dup2(saved, STDOUT)
        os.close(saved)
        os.close(nowhere)
