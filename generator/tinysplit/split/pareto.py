"""The Pareto front of latency against energy or throughput, by the epsilon-constraint method.

The first point is the split with the lowest latency, ties broken by the second objective. Each further point has the
lowest latency of all splits that are better in the second objective than the point before, until the problem is
infeasible. A point is proved if both of its solves are proved; the front is complete if the final problem is proved
infeasible, where layers may be divided as far as the options of that search go.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf
from typing import Any

from tinysplit.boards.less_sure import less_sure_json
from tinysplit.common.choices import DEFAULT_FRONT_LIMIT_S, SecondObjective
from tinysplit.common.errors import CheckFailedError
from tinysplit.split import clock
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.evaluate.replication import replicate_on
from tinysplit.split.explain.infeasible import InfeasibleError
from tinysplit.split.explain.reasons import placement_text
from tinysplit.split.problem import Assignment, Objective, Problem
from tinysplit.split.solution import GIVEN, Placement, Split

NO_TIME_S = 1e-12  # a limit on latency has to be above zero
STEP = 1e-6  # relative: points that are closer are equal
DIVIDED_STEP = 0.01  # the same where layers may be divided: there are very many ways, and each search takes seconds

Solve = Callable[[Problem, float], Split]


@dataclass(frozen=True)
class Point:
    """A point of the front: where the network runs.

    The figures are those of the generated programs; `known` are latency and second objective as the search knew them.
    Copies of the network have no energy figure: the best board alone never needs more.
    """

    latency_s: float
    period_s: float
    energy_j: float
    placement: Placement
    proved: bool
    known: tuple[float, float]

    @property
    def assignment(self) -> Assignment:
        """The device of each layer, empty for copies and where layers are divided."""
        placement = self.placement
        return () if self.copies or placement.distributions else placement.devices

    @property
    def copies(self) -> tuple[int, ...]:
        """The devices with a copy of the whole network each, empty for one pipeline."""
        return self.placement.copies


@dataclass(frozen=True)
class Front:
    """The points by latency; `complete`: it is proved that there are no more."""

    problem: Problem
    against: SecondObjective
    points: tuple[Point, ...]
    complete: bool

    def to_json(self) -> dict[str, Any]:
        """Return the points in seconds, joules and outputs per second, with boards numbered from 1."""
        return {
            "against": self.against.value,
            "complete": self.complete,
            "input_source": self.problem.handoff_parts.input_source.value,
            "boards": [device.name for device in self.problem.devices],
            **less_sure_json(self.problem.devices),
            "points": [
                {
                    "latency_s": point.latency_s,
                    "period_s": point.period_s,
                    "throughput": 1 / point.period_s if point.period_s else None,
                    "energy_j": None if point.copies else point.energy_j,
                    "assignment": [device + 1 for device in point.assignment],
                    "copies": [device + 1 for device in point.copies],
                    "placement": placement_text(point.placement),
                    "proved": point.proved,
                }
                for point in self.points
            ],
        }


def pareto_front(
    problem: Problem,
    against: SecondObjective,
    solve: Solve,
    time_limit_s: float = DEFAULT_FRONT_LIMIT_S,
    *,
    divides: bool = False,
) -> Front:
    """Return the front of `problem`, whose limits hold for every point and whose objective is ignored.

    `solve` takes a problem and a time limit in seconds and returns a Split, of which layers may be divided
    if it `divides`. Raises CheckFailedError, from `solve`, if there is no split.
    """
    step = DIVIDED_STEP if divides else STEP
    deadline = clock.now() + time_limit_s
    points = [_fastest(problem, against, solve, deadline)]
    complete = not points[-1].known[1]  # zero cannot be improved
    while not complete and clock.now() < deadline:
        better = _limited(problem, against, points[-1].known[1] * (1 - step))
        try:
            points.append(_fastest(better, against, solve, deadline))
        except InfeasibleError:
            complete = True
        except CheckFailedError:  # out of time
            break
        complete = complete or not points[-1].known[1]
    return Front(problem, against, _best([*points, *_copies(problem, against)]), complete)


def _limited(problem: Problem, against: SecondObjective, limit: float) -> Problem:
    limits: dict[str, Any] = {Objective(against.value).limit: limit}
    return replace(problem, **limits)


def _fastest(problem: Problem, against: SecondObjective, solve: Solve, deadline: float) -> Point:
    """Return the split with the least latency, ties broken by the second objective."""
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
    figures = best.figures
    known = figures.i_s, figures.energy_j if against is SecondObjective.ENERGY else figures.period_s
    return Point(best.i_s, best.period_s, best.energy_j, best.placement, proved, known)


def _copies(problem: Problem, against: SecondObjective) -> list[Point]:
    """Return the whole network replicated on the two, three, ... fastest feasible devices; none against energy."""
    if against is SecondObjective.ENERGY:
        return []
    free = replace(problem, must_use_all=False, max_period_s=inf, frame_period_s=0.0)
    whole = {device: (device,) * len(problem.layers) for device in range(len(problem.devices))}
    seconds = sorted(
        (evaluate(problem, assignment).i_s, device)
        for device, assignment in whole.items()
        if evaluate(free, assignment).is_feasible
    )
    fewest = len(problem.devices) if problem.must_use_all else 2
    counts = range(fewest, len(seconds) + 1)
    points = []
    for count in counts:
        copies = replicate_on(problem, sorted(device for _, device in seconds[:count]))
        if copies:
            found = Split(problem, whole[copies.devices[0]], 0.0, 0, GIVEN, 0.0, copies=copies.devices)
            known = copies.latency_s, copies.period_s
            points.append(Point(found.i_s, found.period_s, inf, found.placement, proved=True, known=known))
    return [point for point in points if point.known[1] <= problem.longest_period_s]


def _best(points: list[Point]) -> tuple[Point, ...]:
    """Return the points that are not dominated, by latency."""
    best: list[Point] = []
    for point in sorted(points, key=lambda point: (point.known, point.copies)):
        if not best or point.known[1] < best[-1].known[1] * (1 - STEP):
            best.append(point)
    return tuple(best)
