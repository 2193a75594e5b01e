"""Suppresses output of a C library on stdout: HiGHS prints debug messages regardless of its options."""

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

STDOUT = 1  # file descriptor


@contextmanager
def silenced_stdout() -> Iterator[None]:
    """Redirect file descriptor 1 of the process to the null device; C and Python buffers are flushed around it."""
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
