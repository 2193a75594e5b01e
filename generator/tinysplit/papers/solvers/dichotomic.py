"""Dichotomic search as published (Santamaria 2021, section 3.2): one run of layers moves to another device.

A root candidate has all layers on one device. Recursive bisection of the layers, down to single layers, gives 2n - 1
runs. Each run of the root candidate is moved to each device, so that a candidate differs from its root in one run only.
For d roots these are d^2 (2n - 1) steps, the counts of Table 4 for its networks of 30, 17, 13 and 7 layers.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf

from tinysplit.common.choices import DEFAULT_TIME_LIMIT_S
from tinysplit.split import clock
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.problem import Assignment, Problem
from tinysplit.split.solution import Split
from tinysplit.split.solvers.lower_bound import lower_bound_without_transfers
from tinysplit.split.solvers.no_split import NoSplitError, check_capacity


@dataclass
class Candidates:
    """Evaluates candidates and stores the best one."""

    problem: Problem
    time_limit_s: float
    best: Assignment = ()
    best_value: float = inf
    explored: int = 0
    start_s: float = field(default_factory=clock.now)

    @property
    def is_time_over(self) -> bool:
        """Whether the time limit is reached; at least one candidate is evaluated."""
        return self.explored > 0 and clock.now() - self.start_s > self.time_limit_s

    def evaluate(self, candidate: Assignment) -> None:
        """Count `candidate` as a step, and store it if it is feasible and better."""
        self.explored += 1
        figures = evaluate(self.problem, candidate)
        if figures.is_feasible and figures.value < self.best_value:
            self.best, self.best_value = candidate, figures.value

    def split(self, solver: str) -> Split:
        """Return the best candidate as a split. Raises NoSplitError if none was feasible."""
        if not self.best:
            raise NoSplitError(proved=False)
        return Split(
            problem=self.problem,
            assignment=self.best,
            lower_bound=min(self.best_value, lower_bound_without_transfers(self.problem)),
            explored=self.explored,
            solver=solver,
            spent_s=clock.now() - self.start_s,
        )


def dichotomic_search(problem: Problem, *, time_limit_s: float = DEFAULT_TIME_LIMIT_S) -> Split:
    """Return the best of d^2 (2n - 1) candidates, which is rarely proved optimal.

    Raises NoSplitError if no candidate is feasible, as with more than two devices that must all be used.
    """
    check_capacity(problem)
    candidates = Candidates(problem, time_limit_s)
    n_layers = len(problem.layers)
    devices = range(len(problem.devices))
    for root in devices:
        for first, end in halves(0, n_layers):
            for device in devices:
                if candidates.is_time_over:
                    break
                candidates.evaluate(with_run((root,) * n_layers, first, end, device))
    return candidates.split("dichotomic")


def halves(first: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the run of layers from `first` to before `end`, its halves, and their halves, depth first."""
    yield first, end
    if end - first > 1:
        middle = (first + end) // 2
        yield from halves(first, middle)
        yield from halves(middle, end)


def with_run(assignment: Assignment, first: int, end: int, device: int) -> Assignment:
    """Return `assignment` with the layers from `first` to before `end` on `device`."""
    return (*assignment[:first], *(device,) * (end - first), *assignment[end:])
