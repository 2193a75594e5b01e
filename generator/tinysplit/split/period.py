"""The period: seconds between two answers when inputs wait in line (waiting time, seed 000, formulas 6 and 7).

Four definitions, because the document gives one, computes its tables with another, and improves on a third. All count
a device as busy while it computes and while it sends.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tinysplit.split.problem import Assignment, Problem

TIE = 1e-9  # relative: devices that are equally busy but for rounding


class Period(StrEnum):
    """How often answers can come.

    `load`: boards have queues between them, so the busiest one sets the pace. `span`: no queues, a device takes the
    next input only when its last sub-model is done (seed 000, section 2.2: without this two inferences overlap on one
    device). `paper`: the span of the busiest device alone, which is what seed 000's Table 4 was computed with. `old`:
    the definition that seed 000 improves on, the device with most computation and what it sends. Where devices are
    equally busy the largest period counts.
    """

    LOAD = "load"
    SPAN = "span"
    PAPER = "paper"
    OLD = "old"


def period_s(problem: "Problem", assignment: "Assignment", definition: Period) -> float:
    """Return the period of `assignment` in seconds; throughput is its inverse (formula 6)."""
    return _DEFINITIONS[definition](_Timeline(problem, assignment))


class _Timeline:
    """One inference on its own: every layer computes, then a device that is done with its sub-model sends."""

    def __init__(self, problem: "Problem", assignment: "Assignment") -> None:
        self.computing = dict.fromkeys(sorted(set(assignment)), 0.0)  # seconds that a device computes
        self.busy = dict(self.computing)  # computes and sends
        self.start: dict[int, float] = {}  # of the first sub-model
        self.end: dict[int, float] = {}  # of the last sub-model, what it sends included
        clock_s = 0.0
        for layer, (device, after) in enumerate(zip(assignment, (*assignment[1:], assignment[-1]), strict=True)):
            self.start.setdefault(device, clock_s)
            computing_s = problem.layers[layer].seconds[device]
            sending_s = problem.transfer_seconds[layer][device][after]
            self.computing[device] += computing_s
            self.busy[device] += computing_s + sending_s
            clock_s += computing_s + sending_s
            self.end[device] = clock_s

    def span(self, device: int) -> float:
        """Return the seconds from the start of the first sub-model of `device` until its last one has been sent."""
        return self.end[device] - self.start[device]


def _most(seconds: Mapping[int, float]) -> list[int]:
    """Return the device with the most seconds, and those that tie with it: no figure may hang on their order."""
    most = max(seconds.values())
    return [device for device, value in seconds.items() if value >= most * (1 - TIE)]


_DEFINITIONS: Mapping[Period, Callable[[_Timeline], float]] = {
    Period.LOAD: lambda line: max(line.busy.values()),
    Period.SPAN: lambda line: max(map(line.span, line.busy)),
    Period.PAPER: lambda line: max(map(line.span, _most(line.busy))),
    Period.OLD: lambda line: max(line.busy[device] for device in _most(line.computing)),
}
