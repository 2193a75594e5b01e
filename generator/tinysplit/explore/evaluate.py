"""The Pareto front of latency and energy of a candidate, which workers compute."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tinysplit.common.errors import CheckFailedError
from tinysplit.explore.candidates import Candidate
from tinysplit.explore.problem_table import ProblemTable
from tinysplit.split.link_limits import solve_within_links
from tinysplit.split.pareto import SecondObjective, pareto_front
from tinysplit.split.problem import Problem
from tinysplit.split.solution import Split
from tinysplit.split.solvers.dispatch import AUTO

TableKey = tuple[str, int, int]  # model, bits, baud
Tables = Mapping[TableKey, ProblemTable]


@dataclass(frozen=True)
class Point:
    """A split of a candidate; `assignment` has the 0-based board of each layer."""

    latency_s: float
    energy_j: float
    period_s: float
    assignment: tuple[int, ...]
    proved: bool


@dataclass(frozen=True)
class Outcome:
    """The front of a candidate, or the reason why there is no feasible split."""

    candidate: Candidate
    points: tuple[Point, ...] = ()
    why_not: str = ""
    complete: bool = True  # proved that no point is missing


def evaluate_candidates(tables: Tables, candidates: Sequence[Candidate], time_limit_s: float) -> list[Outcome]:
    """Return the outcome of each candidate, with at most `time_limit_s` for each."""
    return [_outcome(tables, candidate, time_limit_s) for candidate in candidates]


def _outcome(tables: Tables, candidate: Candidate, time_limit_s: float) -> Outcome:
    table = tables[candidate.model, candidate.bits, candidate.baud]
    links = table.links_of(candidate.boards)

    def solve(problem: Problem, left_s: float) -> Split:
        return solve_within_links(problem, links, AUTO, time_limit_s=left_s)

    try:
        front = pareto_front(table.problem_of(candidate.boards), SecondObjective.ENERGY, solve, time_limit_s)
    except CheckFailedError as error:
        return Outcome(candidate, why_not=str(error))
    points = (
        Point(each.latency_s, each.energy_j, each.period_s, each.assignment, each.proved) for each in front.points
    )
    return Outcome(candidate, tuple(points), complete=front.complete)
