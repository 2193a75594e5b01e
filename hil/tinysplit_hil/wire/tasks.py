"""Tasks of the host: generators that yield while they wait for a board, run side by side in one thread."""

import time
from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Protocol, TypeVar

from typing_extensions import override

T = TypeVar("T")
Task = Generator[None, None, T]

POLL_S = 0.0005  # between two looks at real ports
LONGEST_WAIT_S = 0.01  # after which waiting tasks look at the clock again


class Clock(Protocol):
    """The time of a rig: virtual seconds on virtual boards, real ones on real boards."""

    def now_s(self) -> float:
        """Return the time in seconds."""

    def wait(self, timeout_s: float) -> None:
        """Return when bytes have arrived at a port of the rig, at the latest after `timeout_s`."""


class WaitingPort(Protocol):
    """The part of a pyserial port that tells whether bytes have arrived."""

    @property
    def in_waiting(self) -> int:
        """Number of bytes that have arrived."""


class RealClock(Clock):
    """The host's monotonic clock."""

    def __init__(self, ports: Sequence[WaitingPort]) -> None:
        """`ports` are all ports of the rig."""
        self._ports = ports

    @override
    def now_s(self) -> float:
        return time.monotonic()

    @override
    def wait(self, timeout_s: float) -> None:
        """Look at all ports every POLL_S: select() does not work on all kinds of ports that pyserial knows."""
        end_s = self.now_s() + timeout_s
        while not any(map(_has_bytes, self._ports)) and self.now_s() < end_s:
            time.sleep(POLL_S)


def _has_bytes(port: WaitingPort) -> bool:
    try:
        return port.in_waiting > 0
    except OSError:
        return True  # disconnected: the next read says so


def run_tasks(
    clock: Clock, poll: Callable[[], None], tasks: Iterable[Task[None]], background: Iterable[Task[None]] = ()
) -> None:
    """Run `tasks` until all have ended, and `background` beside them. An error of one task ends all.

    `poll` takes what has arrived at the ports, before each round.
    """
    running, beside = list(tasks), list(background)
    try:
        while running:
            poll()
            beside = [task for task in beside if _goes_on(task)]
            running = [task for task in running if _goes_on(task)]
            if running:
                clock.wait(LONGEST_WAIT_S)
    finally:
        for task in (*running, *beside):
            task.close()


def _goes_on(task: Task[None]) -> bool:
    """Let a task run until it waits; return False when it has ended."""
    try:
        next(task)
    except StopIteration:
        return False
    return True


def run_task(clock: Clock, poll: Callable[[], None], task: Task[T]) -> T:
    """Run one task and return its result."""
    results: list[T] = []

    def keep() -> Task[None]:
        results.append((yield from task))

    run_tasks(clock, poll, [keep()])
    return results[0]


def pause(clock: Clock, seconds: float) -> Task[None]:
    """Wait `seconds`."""
    end_s = clock.now_s() + seconds
    while clock.now_s() < end_s:
        yield
