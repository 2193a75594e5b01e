"""The best split that a search has found so far."""

from dataclasses import dataclass
from itertools import product
from math import inf
from time import perf_counter

from tinysplit.split.problem import Assignment, Problem

ROUNDING = 1e-12  # relative: sums of the same times in another order are no improvement


@dataclass(eq=False)
class Incumbent:
    """The best split so far, and how many partial ways were looked at."""

    problem: Problem
    assignment: Assignment = ()
    value: float = inf
    explored: int = 0
    _improved_from: Assignment = ()

    def offer(self, assignment: Assignment) -> None:
        """Keep `assignment` where it is better."""
        if len(assignment) == len(self.problem.layers) and self.problem.is_feasible(assignment):
            value = self.problem.value(assignment)
            if value < self.value:
                self.assignment, self.value = assignment, value

    def improve(self, deadline: float) -> None:
        """Move single layers to other devices while that helps."""
        while self.assignment != self._improved_from and perf_counter() < deadline:
            self._improved_from = self.assignment
            for layer, device in product(range(len(self.assignment)), range(len(self.problem.devices))):
                self.offer((*self.assignment[:layer], device, *self.assignment[layer + 1 :]))
                if perf_counter() > deadline:
                    return

    def is_proved_by(self, lower_bound: float) -> bool:
        """Return whether nothing better is left, but for rounding."""
        return lower_bound >= self.value * (1 - ROUNDING)
