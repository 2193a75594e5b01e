"""The Pareto front of latency against energy or throughput, by the epsilon-constraint method.

The fastest split comes first; of those that are as fast, the one that is best in the other figure. The next point is
the fastest one of all that are better in the other figure than the last, until no split is left. A point is proved when
both of its solves are; the front is complete when its end is.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from math import inf
from typing import Any

from tinysplit.common.errors import CheckFailedError
from tinysplit.split import clock
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.explain.infeasible import InfeasibleError
from tinysplit.split.problem import Assignment, Objective, Problem
from tinysplit.split.solution import Split

DEFAULT_FRONT_LIMIT_S = 60.0
NO_TIME_S = 1e-12  # a limit on latency has to be above zero
STEP = 1e-6  # relative: figures nearer than this are the same point

Solve = Callable[[Problem, float], Split]


class Against(StrEnum):
    """The second objective of the front."""

    ENERGY = "energy"
    THROUGHPUT = "throughput"


@dataclass(frozen=True)
class Point:
    """A compromise: a split, or copies of the whole network on several devices, each taking the next input.

    `copies` are their devices, empty for a split; `assignment` is empty for copies, which need no energy figure: the
    best board alone never needs more.
    """

    latency_s: float
    period_s: float
    energy_j: float
    assignment: Assignment
    copies: tuple[int, ...]
    proved: bool

    def other(self, against: Against) -> float:
        """Return the figure that latency is weighed against: less is better."""
        return self.energy_j if against is Against.ENERGY else self.period_s


@dataclass(frozen=True)
class Front:
    """The points by latency; `complete` says whether it is proved that there are no more."""

    problem: Problem
    against: Against
    points: tuple[Point, ...]
    complete: bool

    def to_json(self) -> dict[str, Any]:
        """Return seconds, joules and answers a second, with layers' boards counted from 1."""
        return {
            "against": self.against.value,
            "complete": self.complete,
            "boards": [device.name for device in self.problem.devices],
            "points": [
                {
                    "latency_s": point.latency_s,
                    "period_s": point.period_s,
                    "throughput": 1 / point.period_s if point.period_s else None,
                    "energy_j": None if point.copies else point.energy_j,
                    "assignment": [device + 1 for device in point.assignment],
                    "copies": [device + 1 for device in point.copies],
                    "proved": point.proved,
                }
                for point in self.points
            ],
        }


def pareto_front(
    problem: Problem, against: Against, solve: Solve, time_limit_s: float = DEFAULT_FRONT_LIMIT_S
) -> Front:
    """Return the front of `problem`, whose limits hold for every point and whose objective does not matter.

    `solve` takes a problem and seconds and returns a Split. Raises its CheckFailedError where there is none at all.
    """
    deadline = clock.now() + time_limit_s
    points = [_fastest(problem, against, solve, deadline)]
    complete = not points[-1].other(against)  # nothing is less than nothing
    while not complete and clock.now() < deadline:
        better = _limited(problem, against, points[-1].other(against) * (1 - STEP))
        try:
            points.append(_fastest(better, against, solve, deadline))
        except InfeasibleError:
            complete = True
        except CheckFailedError:  # out of time
            break
        complete = complete or not points[-1].other(against)
    return Front(problem, against, _best([*points, *_copies(problem, against)], against), complete)


def _limited(problem: Problem, against: Against, limit: float) -> Problem:
    if against is Against.ENERGY:
        return replace(problem, max_energy_j=limit)
    return replace(problem, max_period_s=limit)


def _fastest(problem: Problem, against: Against, solve: Solve, deadline: float) -> Point:
    """Return the split with the least latency and, of those, with the least other figure."""
    fast = solve(replace(problem, objective=Objective.LATENCY), deadline - clock.now())
    asked = replace(problem, objective=Objective(against.value), max_latency_s=max(fast.figures.i_s, NO_TIME_S))
    best, proved = fast, False
    left_s = deadline - clock.now()
    if left_s > 0:
        try:
            best = solve(asked, left_s)
            proved = fast.proved and best.proved
        except CheckFailedError:
            best = fast
    return Point(best.figures.i_s, best.period_s, best.energy_j, best.assignment, (), proved)


def _copies(problem: Problem, against: Against) -> list[Point]:
    """Return the whole network on the two, three, ... fastest devices that hold it, where throughput is asked for."""
    if against is Against.ENERGY:
        return []
    free = replace(problem, must_use_all=False, max_period_s=inf, frame_period_s=0.0)
    whole = {device: (device,) * len(problem.layers) for device in range(len(problem.devices))}
    seconds = sorted(
        (evaluate(problem, assignment).i_s, device)
        for device, assignment in whole.items()
        if evaluate(free, assignment).is_feasible
    )
    fewest = len(problem.devices) if problem.must_use_all else 2
    counts = range(fewest, len(seconds) + 1) if all(s for s, _ in seconds) else ()
    points = [
        Point(
            latency_s=seconds[count - 1][0],
            period_s=1 / sum(1 / s for s, _ in seconds[:count]),
            energy_j=inf,
            assignment=(),
            copies=tuple(sorted(device for _, device in seconds[:count])),
            proved=True,
        )
        for count in counts
    ]
    return [point for point in points if point.period_s <= problem.longest_period_s]


def _best(points: list[Point], against: Against) -> tuple[Point, ...]:
    """Return the points that no other one equals or beats in both figures, by latency."""
    best: list[Point] = []
    for point in sorted(points, key=lambda point: (point.latency_s, point.other(against), point.copies)):
        if not best or point.other(against) < best[-1].other(against) * (1 - STEP):
            best.append(point)
    return tuple(best)
