"""The incumbent: the best split found by a search."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from math import inf

from tinysplit.split import clock
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.problem import Assignment, Problem
from tinysplit.split.solvers.labels.links import neighbours
from tinysplit.timing.topology import Cut

ROUNDING = 1e-12  # relative: smaller differences are rounding errors of sums


@dataclass(eq=False)
class Incumbent:
    """The best split found, and the number of labels created."""

    problem: Problem
    link_counts: Sequence[int] = ()  # most neighbours by device, empty for any number
    assignment: Assignment = ()
    value: float = inf
    explored: int = 0
    _improved_from: Assignment = ()

    def offer(self, assignment: Assignment) -> None:
        """Replace the incumbent by `assignment` if that is better."""
        if len(assignment) == len(self.problem.layers):
            figures = evaluate(self.problem, assignment)
            if figures.value < self.value and figures.is_feasible and self._has_uarts(figures.cuts):
                self.assignment, self.value = assignment, figures.value

    def _has_uarts(self, cuts: Iterable[Cut]) -> bool:
        if not self.link_counts:
            return True
        peers = neighbours(len(self.problem.devices), (hop for cut in cuts for hop in self.problem.hops(cut)))
        return all(each.bit_count() <= count for each, count in zip(peers, self.link_counts, strict=True))

    def offer_pipelines(self, deadline: float) -> None:
        """Offer pipelines over the first one, two, three, ... devices, with balanced times as far as flash allows.

        They are found quickly for any number of devices.
        """
        for n_devices in range(1, min(len(self.problem.devices), len(self.problem.layers)) + 1):
            self.offer(_pipeline(self.problem, n_devices))
            if clock.now() > deadline:
                return

    def improve(self, deadline: float) -> None:
        """Local search: move single layers to other devices while that improves the split."""
        while self.assignment != self._improved_from and clock.now() < deadline:
            self._improved_from = self.assignment
            for layer, device in product(range(len(self.assignment)), range(len(self.problem.devices))):
                self.offer((*self.assignment[:layer], device, *self.assignment[layer + 1 :]))
                if clock.now() > deadline:
                    return

    def is_proved_by(self, lower_bound: float) -> bool:
        """Return whether the lower bound proves the incumbent optimal, up to rounding."""
        return lower_bound >= self.value * (1 - ROUNDING)


def _pipeline(problem: Problem, n_devices: int) -> Assignment:
    """Return one run of layers on each of the first devices, ended by its share of the time or by the flash."""
    least = [min(layer.seconds) for layer in problem.layers]
    share_s, device, taken_s, taken_bytes = sum(least) / n_devices, 0, 0.0, 0
    assignment: list[int] = []
    for number, (layer, seconds) in enumerate(zip(problem.layers, least, strict=True)):
        is_full = taken_bytes + layer.flash_bytes[device] > problem.devices[device].flash_bytes
        is_late = taken_s + seconds / 2 > (device + 1) * share_s
        has_to = len(problem.layers) - number <= n_devices - 1 - device  # every other device needs a layer
        if assignment and assignment[-1] == device and device + 1 < n_devices and (is_full or is_late or has_to):
            device, taken_bytes = device + 1, 0
        taken_s, taken_bytes = taken_s + seconds, taken_bytes + layer.flash_bytes[device]
        assignment.append(device)
    return tuple(assignment)
