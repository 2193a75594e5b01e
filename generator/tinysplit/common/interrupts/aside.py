"""Calls that run in another thread, so that the main thread can be interrupted meanwhile.

Python runs handlers of signals in the main thread, between two of its instructions. What they raise comes late while C
code runs, and is lost where C code calls Python: ctypes prints it and goes on.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Thread, current_thread, main_thread
from typing import Any, Generic, TypeVar

T = TypeVar("T")
_LOOK_S = 0.01  # at a call that is to stop


class _Call(Generic[T]):
    """A call, and what came of it."""

    def __init__(self, function: Callable[[], T]) -> None:
        self._function = function
        self._results: list[T] = []
        self._error: BaseException | None = None
        self.is_done = False

    def run(self) -> None:
        try:
            self._results.append(self._function())
        except BaseException as error:  # noqa: BLE001 (result() raises it in the main thread)
            self._error = error
        self.is_done = True

    def result(self) -> T:
        if self._error:
            raise self._error
        return self._results[0]


class _Worker:
    """A thread that runs calls one after the other: to start one for each would take ten times as long."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[_Call[Any] | None] = SimpleQueue()
        self._ends: SimpleQueue[None] = SimpleQueue()
        self._thread = Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while call := self._calls.get():
            call.run()
            del call  # and what it refers to
            self._ends.put(None)

    @property
    def is_alive(self) -> bool:
        """Not in a fork of the process that it was started in."""
        return self._thread.is_alive()

    def run(self, call: _Call[Any]) -> None:
        self._calls.put(call)
        self._ends.get()

    def leave(self) -> None:
        self._calls.put(None)


_idle: list[_Worker] = []


def run_aside(function: Callable[[], T], stop: Callable[[], None] | None = None) -> T:
    """Return what `function` returns, run in another thread while the main thread waits for it.

    Where a signal raises an exception in the main thread, `stop` is called, and the exception is raised as soon as
    `function` has ended; without `stop` at once, and `function` goes on in the background. In other threads, where
    signals raise nothing, it is just called.
    """
    if current_thread() is not main_thread():
        return function()
    worker = _idle.pop() if _idle and _idle[-1].is_alive else _Worker()
    call = _Call(function)
    try:
        worker.run(call)
    except BaseException:
        worker.leave()
        if stop:
            stop()
            while not call.is_done:
                with suppress(BaseException):  # the first one counts
                    time.sleep(_LOOK_S)
        raise
    _idle[:] = [worker]
    return call.result()
