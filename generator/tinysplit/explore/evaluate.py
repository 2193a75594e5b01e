"""One candidate: the splits that answer soonest and that need least energy. This is what workers run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tinysplit.errors import CheckFailedError
from tinysplit.explore.candidates import Candidate
from tinysplit.explore.cost_table import CostTable
from tinysplit.split.link_limits import solve_within_links
from tinysplit.split.problem import Objective
from tinysplit.split.solve import AUTO
from tinysplit.split.split import Split

TableKey = tuple[str, int, int]  # model, bits, baud
Tables = Mapping[TableKey, CostTable]


@dataclass(frozen=True)
class Point:
    """A split of a candidate; `assignment` has the 0-based board of every layer."""

    latency_s: float
    energy_j: float
    period_s: float
    assignment: tuple[int, ...]
    proved: bool


@dataclass(frozen=True)
class Outcome:
    """The points of a candidate, or why there are none."""

    candidate: Candidate
    points: tuple[Point, ...] = ()
    why_not: str = ""


def evaluate(tables: Tables, candidates: Sequence[Candidate], time_limit_s: float) -> list[Outcome]:
    """Return the outcome of each candidate; each of its searches ends after `time_limit_s`."""
    return [_outcome(tables, candidate, time_limit_s) for candidate in candidates]


def _outcome(tables: Tables, candidate: Candidate, time_limit_s: float) -> Outcome:
    table = tables[candidate.model, candidate.bits, candidate.baud]
    problem, links = table.problem_of(candidate.boards), table.links_of(candidate.boards)
    points = []
    for objective in (Objective.LATENCY,):
        try:
            split = solve_within_links(replace(problem, objective=objective), links, AUTO, time_limit_s=time_limit_s)
        except CheckFailedError as error:
            return Outcome(candidate, why_not=str(error))
        points.append(_point(split))
    return Outcome(candidate, tuple(dict.fromkeys(points)))


def _point(split: Split) -> Point:
    energy_j = split.problem.energy_j(split.assignment)
    return Point(split.figures.i_s, energy_j, split.period_s, split.assignment, split.proved)
