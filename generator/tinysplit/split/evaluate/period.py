"""The period: seconds between two answers when inputs wait in line (waiting time, seed 000, formulas 6 and 7).

Four definitions, because the document gives one, computes its tables with another, and improves on a third. All count
a device as busy while it computes, while it sends, its own or what it passes on, and while it talks to the host where
that counts.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping

from tinysplit.split.evaluate.cuts import powered_devices
from tinysplit.split.evaluate.timeline import steps
from tinysplit.split.problem import Assignment, Period, Problem
from tinysplit.split.topology import Pair, pair_of

TIE = 1e-9  # relative: devices that are equally busy but for rounding


def period_s(problem: Problem, assignment: Assignment, definition: Period | None = None) -> float:
    """Return the period of `assignment` in seconds; throughput is its inverse (formula 6).

    `definition` takes the place of the problem's own `period_definition`.
    """
    return _DEFINITIONS[definition or problem.period_definition](_Timeline(problem, assignment))


class _Timeline:
    """One inference on its own, one step after the other."""

    def __init__(self, problem: Problem, assignment: Assignment) -> None:
        self.computing = dict.fromkeys(
            sorted(powered_devices(problem, assignment)), 0.0
        )  # seconds that a device computes
        self.busy = dict(self.computing)  # computes, sends, and talks to the host
        self.shared: dict[Pair, float] = defaultdict(float)  # seconds that each half-duplex link is taken
        self.start: dict[int, float] = {}  # of the first thing that a device does
        self.end: dict[int, float] = {}  # of the last
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
        """Return the seconds of the busiest device or, where that is more, of the half-duplex link in most use."""
        return max(*self.busy.values(), *self.shared.values(), 0.0)

    def span(self, device: int) -> float:
        """Return the seconds from the start of the first sub-model of `device` until its last one has been sent."""
        return self.end[device] - self.start[device]


def _most(seconds: Mapping[int, float]) -> list[int]:
    """Return the device with the most seconds, and those that tie with it: no figure may hang on their order."""
    most = max(seconds.values())
    return [device for device, value in seconds.items() if value >= most * (1 - TIE)]


_DEFINITIONS: Mapping[Period, Callable[[_Timeline], float]] = {
    Period.LOAD: _Timeline.load,
    Period.SPAN: lambda line: max(map(line.span, line.busy)),
    Period.PAPER: lambda line: max(map(line.span, _most(line.busy))),
    Period.OLD: lambda line: max(line.busy[device] for device in _most(line.computing)),
}
