"""Mean power of a simulated split: P(t) = P_static + P_comp(t) + P_comm(t) (Dariol 2023).

P_static is the power of Sleep mode, P_comp and P_comm are what a board draws beyond it while it computes, and while its
core moves tensors or is awake while it waits: the power of Run mode.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

from tinysplit.timing.results import BoardTimes, Simulated


class Powered(Protocol):
    """A device with the power of its MCU in W: while it runs (0: not known), and while it sleeps."""

    @property
    def run_w(self) -> float:
        """In Run mode."""

    @property
    def idle_w(self) -> float:
        """In Sleep mode."""

    @property
    def stop_w(self) -> float | None:
        """In stop mode, None if that is not known."""


class Waiting(StrEnum):
    """What boards do while they wait: poll, without power management, or sleep, as the firmware does."""

    POLL = "poll"
    SLEEP = "sleep"


def awake_s(times: BoardTimes, span_s: float, waiting: Waiting = Waiting.SLEEP) -> float:
    """Return the seconds of `span_s` in which a board waits and does not sleep."""
    waits_s = times.waiting_s(span_s) - times.stopped_s
    if waiting is Waiting.POLL or times.polls:
        return waits_s
    return times.awake_s + times.tick_share * max(0.0, waits_s - times.awake_s)


def board_w(times: BoardTimes, device: Powered, span_s: float, waiting: Waiting) -> float:
    """Return the mean power of a board in W over `span_s` seconds."""
    running_s = times.computing_s + times.moving_s + awake_s(times, span_s, waiting)
    return device.idle_w + (device.run_w - device.idle_w) * running_s / span_s


def split_w(simulated: Simulated, devices: Sequence[Powered], waiting: Waiting) -> float | None:
    """Return the mean power in W of all boards that take part, None if the current of one is not known."""
    own = [(times, devices[times.device]) for times in simulated.boards]
    if not all(device.run_w for _, device in own):
        return None
    return sum(board_w(times, device, simulated.end_s, waiting) for times, device in own)
