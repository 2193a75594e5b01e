"""The period: seconds between two answers when inputs wait in line (waiting time, seed 000, formulas 6 and 7).

Four definitions, because the document gives one, computes its tables with another, and improves on a third. All count
a device as busy while it computes and while it sends.
"""

from collections.abc import Callable, Mapping
from enum import StrEnum
from itertools import pairwise

from tinysplit.split.problem import Assignment, Problem, SubModel, sub_models


class Period(StrEnum):
    """How often answers can come.

    `load`: boards have queues between them, so the busiest one sets the pace. `span`: no queues, a device takes the
    next input only when its last sub-model is done (seed 000, section 2.2: without this two inferences overlap on one
    device). `paper`: the span of the busiest device alone, which is what seed 000's Table 4 was computed with. `old`:
    the definition that seed 000 improves on, the device with most computation and what it sends.
    """

    LOAD = "load"
    SPAN = "span"
    PAPER = "paper"
    OLD = "old"


def period_s(problem: Problem, assignment: Assignment, definition: Period) -> float:
    """Return the period of `assignment` in seconds; throughput is its inverse (formula 6)."""
    return _DEFINITIONS[definition](_Timeline(problem, assignment))


class _Timeline:
    """One inference on its own: every sub-model computes, then sends."""

    def __init__(self, problem: Problem, assignment: Assignment) -> None:
        self.runs: tuple[SubModel, ...] = sub_models(assignment)
        self.compute = [
            sum(problem.layers[layer].seconds[run.device] for layer in range(run.first, run.last + 1))
            for run in self.runs
        ]
        self.send = [
            *(problem.transfer_seconds[run.last][run.device][after.device] for run, after in pairwise(self.runs)),
            0.0,
        ]
        self.devices = sorted({run.device for run in self.runs})

    def own(self, device: int) -> list[int]:
        """Return the positions of the sub-models of `device`."""
        return [position for position, run in enumerate(self.runs) if run.device == device]

    def computing(self, device: int) -> float:
        """Return the seconds that `device` computes."""
        return sum(self.compute[position] for position in self.own(device))

    def busy(self, device: int) -> float:
        """Return the seconds that `device` computes and sends."""
        return sum(self.compute[position] + self.send[position] for position in self.own(device))

    def span(self, device: int) -> float:
        """Return the seconds from the start of the first sub-model of `device` until its last one has been sent."""
        own = self.own(device)
        between = range(own[0], own[-1] + 1)
        return sum(self.compute[position] + self.send[position] for position in between)


_DEFINITIONS: Mapping[Period, Callable[[_Timeline], float]] = {
    Period.LOAD: lambda line: max(map(line.busy, line.devices)),
    Period.SPAN: lambda line: max(map(line.span, line.devices)),
    Period.PAPER: lambda line: line.span(max(line.devices, key=line.busy)),
    Period.OLD: lambda line: line.busy(max(line.devices, key=line.computing)),
}
