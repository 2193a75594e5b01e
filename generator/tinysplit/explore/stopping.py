"""What stops an exploration before its end: Ctrl-C, or its time limit."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from math import isfinite
from types import FrameType

from tinysplit.common.interrupts.signals import interrupt


class Stopped(StrEnum):
    """Why an exploration ended early."""

    INTERRUPTED = "interrupted"
    OUT_OF_TIME = "out of time"


class TimeIsUpError(BaseException):
    """The time limit is over; like KeyboardInterrupt, it may be raised anywhere."""


@contextmanager
def total_time(seconds: float) -> Iterator[None]:
    """Raise TimeIsUpError in the block after so many seconds, inf for never. Only for the main thread."""
    if not isfinite(seconds):
        yield
        return
    before = signal.signal(signal.SIGALRM, _raise)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _raise(_number: int, _frame: FrameType | None) -> None:
    interrupt(TimeIsUpError())
