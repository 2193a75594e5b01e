"""Latency, period, energy and power of a split: analytical, simulated, or bounds of them."""

from dataclasses import dataclass, replace
from math import isfinite

from tinysplit.split.problem import Assignment, Problem
from tinysplit.split.simulation.power import Waiting, board_w
from tinysplit.split.simulation.results import Simulated
from tinysplit.split.simulation.run import simulate

IN_FLIGHT = 16  # inputs that wait when the period is simulated: it is that of the second half


@dataclass(frozen=True)
class Figures:
    """I and the time between two outputs while inputs wait, in seconds, and joules per inference."""

    latency_s: float
    period_s: float
    energy_j: float

    @property
    def fits(self) -> bool:
        """Whether a split may exist: lower bounds are infinite where none does."""
        return isfinite(self.latency_s)

    def power_w(self, frame_period_s: float) -> float:
        """Return the mean power of all boards with an input every `frame_period_s`; 0: whenever one is taken."""
        interval_s = frame_period_s or self.period_s
        return self.energy_j / interval_s if interval_s else 0.0


def simulated_figures(problem: Problem, assignment: Assignment) -> Figures:
    """Return the figures of the event simulation, with boards that wait as the firmware does.

    Latency is that of one inference on boards at rest, with host transfers where `problem` counts them.
    """
    alone = simulate(problem if problem.host_seconds else _without_host(problem), assignment, (0.0,))
    interval_s = problem.frame_period_s
    stream = simulate(problem, assignment, [number * interval_s for number in range(IN_FLIGHT)])
    waiting = simulate(problem, assignment, (0.0,) * IN_FLIGHT) if interval_s else stream
    period_s = _period_s(waiting)
    return Figures(alone.passages[0].latency_s, period_s, _energy_j(problem, stream, interval_s or period_s))


def _period_s(waiting: Simulated) -> float:
    """Return the time between outputs, but no less than a board computes for: buffers before it may still fill up."""
    computing_s = max(times.computing_s for times in waiting.boards) / len(waiting.passages)
    return max(waiting.period_s or 0.0, computing_s)


def _without_host(problem: Problem) -> Problem:
    """Return `problem` with a host that takes no time: I is the same, but where several boards read the input."""
    parts = problem.handoff_parts
    none = (0.0,) * len(problem.devices)
    send_s, receive_s = (*parts.send_s[:-1], none), (*parts.receive_s[:-1], none)
    free = replace(parts, host_s=((0.0, 0.0),) * len(none), send_s=send_s, receive_s=receive_s)
    return replace(problem, handoff=free)


def _energy_j(problem: Problem, stream: Simulated, interval_s: float) -> float:
    """Return the joules of an inference, with an output every `interval_s`."""
    span_s = interval_s * len(stream.passages)
    powers_w = [board_w(times, problem.devices[times.device], span_s, Waiting.SLEEP) for times in stream.boards]
    return interval_s * sum(powers_w)
