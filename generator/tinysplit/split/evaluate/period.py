"""Ideal periods: the time between two outputs while inputs wait (waiting time, Santamaria 2021, formulas 6 and 7).

There are four definitions beside that of the generated firmware, because Santamaria 2021 gives one, computes its tables
with another, and improves on a third. In all of them a device is busy while it computes, while
it sends or relays, and while it exchanges data with the host if that is counted.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping

from tinysplit.split.evaluate.cuts import powered_devices
from tinysplit.split.evaluate.timeline import steps
from tinysplit.split.problem import Assignment, Period, Problem
from tinysplit.timing.topology import Pair, pair_of

TIE = 1e-9  # relative difference below which devices count as equally busy


def period_s(problem: Problem, assignment: Assignment, definition: Period | None = None) -> float:
    """Return the period of `assignment` in seconds; throughput is its inverse (Santamaria 2021, formula 6).

    `definition`, an ideal one, defaults to the problem's `period_definition`.
    """
    return _DEFINITIONS[definition or problem.period_definition](_Timeline(problem, assignment))


class _Timeline:
    """Times of each device and link during one inference."""

    def __init__(self, problem: Problem, assignment: Assignment) -> None:
        self.computing = dict.fromkeys(
            sorted(powered_devices(problem, assignment)), 0.0
        )  # seconds of computation by device
        self.busy = dict(self.computing)  # seconds of computation, sending and host transfers
        self.shared: dict[Pair, float] = defaultdict(float)  # seconds that each half-duplex link is in use
        self.start: dict[int, float] = {}  # time of the first step of a device
        self.end: dict[int, float] = {}  # end of its last step
        half_duplex = problem.links.half_duplex if problem.links else frozenset()
        clock_s = 0.0
        for step in steps(problem, assignment):
            self.start.setdefault(step.device, clock_s)
            clock_s += step.seconds
            self.end[step.device] = clock_s
            self.busy[step.device] += step.seconds
            if step.computes:
                self.computing[step.device] += step.seconds
            elif step.receiver is not None and (pair := pair_of(step.device, step.receiver)) in half_duplex:
                self.shared[pair] += step.seconds

    def load(self) -> float:
        """Return the busy seconds of the busiest device or half-duplex link, whichever is more."""
        return max(*self.busy.values(), *self.shared.values(), 0.0)

    def span(self, device: int) -> float:
        """Return the seconds from the start of the first sub-model of `device` until the last output is sent."""
        return self.end[device] - self.start[device]


def _most(seconds: Mapping[int, float]) -> list[int]:
    """Return the devices with the most seconds, including ties, so that results do not depend on their order."""
    most = max(seconds.values())
    return [device for device, value in seconds.items() if value >= most * (1 - TIE)]


_DEFINITIONS: Mapping[Period, Callable[[_Timeline], float]] = {
    Period.LOAD: _Timeline.load,
    Period.SPAN: lambda line: max(map(line.span, line.busy)),
    Period.PAPER: lambda line: max(map(line.span, _most(line.busy))),
    Period.OLD: lambda line: max(line.busy[device] for device in _most(line.computing)),
}
