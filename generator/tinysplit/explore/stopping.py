"""What stops an exploration before its end: Ctrl-C, or its time limit."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from math import isfinite
from threading import current_thread, main_thread
from types import FrameType
from typing import NoReturn

_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)
SIGNAL_EXIT = 128  # exit code of a process that a signal has ended, as of a shell, less the number of the signal


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


@contextmanager
def orderly_termination() -> Iterator[None]:
    """End the process by SystemExit on SIGTERM, so that the block can end what it has started. Main thread only."""
    before = signal.signal(signal.SIGTERM, _exit)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let Ctrl-C, SIGTERM and the time limit wait for the end of the block: then their handlers run.

    A process that is being started is known to nobody yet: what ended its start would leave it behind. Handlers of
    signals belong to the main thread, and nothing is done in others.
    """
    if current_thread() is not main_thread():
        yield
        return
    came: dict[int, None] = {}
    before = {each: handler for each in _STOPPING if (handler := signal.getsignal(each)) is not None}
    for each in before:
        signal.signal(each, lambda number, _frame: came.update({number: None}))
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
        for number in came:
            signal.raise_signal(number)


def _exit(number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(SIGNAL_EXIT + number)


def _raise(_number: int, _frame: FrameType | None) -> NoReturn:
    raise TimeIsUpError
