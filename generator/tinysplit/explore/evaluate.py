"""The splits of a candidate, which workers compute: its Pareto fronts, or its best splits by the objective."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from heapq import nsmallest

from rich.console import Console

from tinysplit.common.choices import AUTO, SecondObjective, Slices
from tinysplit.common.errors import CheckFailedError
from tinysplit.explore.candidates import SetCandidate
from tinysplit.explore.figures import Figures
from tinysplit.explore.problem_table import ProblemTable
from tinysplit.split.copies import bound_of_others, may_help
from tinysplit.split.evaluate.cuts import cuts
from tinysplit.split.evaluate.evaluation import Evaluation, evaluate
from tinysplit.split.evaluate.replication import CopiesEvaluation, replicate
from tinysplit.split.explain.reasons import placement_text
from tinysplit.split.link_limits import solve_within_links
from tinysplit.split.pareto import pareto_front
from tinysplit.split.problem import Assignment, Problem
from tinysplit.split.solution import Placement, Split, assignments
from tinysplit.timing.topology import Pair, pair_of

N_NEAR = 4  # splits of a candidate beside the best one

TableKey = tuple[str, int, int]  # model, bits, baud
Tables = Mapping[TableKey, ProblemTable]


def key_of(candidate: SetCandidate) -> TableKey:
    """Return the key of the table that has the costs of a candidate."""
    return candidate.model, candidate.bits, candidate.baud


@dataclass(frozen=True)
class EvaluatedSplit(Figures):
    """A split of a candidate; `assignment` has the 0-based board of each layer.

    With `copies`, each of these boards has the whole network, and `assignment` is that of the slowest one. Where layers
    are divided, `assignment` has the first board of each, `division` says which boards have it, and the figures are
    those of the event engine.
    """

    assignment: Assignment
    proved: bool
    copies: tuple[int, ...] = ()
    division: str = ""

    @property
    def placement(self) -> str:
        """Which layers are where."""
        return self.division or placement_text(Placement(assignments(self.assignment, self.copies)))


@dataclass(frozen=True)
class Outcome:
    """The splits of a candidate, or the reason why there is no feasible one."""

    candidate: SetCandidate
    points: tuple[EvaluatedSplit, ...] = ()
    why_not: str = ""
    complete: bool = True  # proved that no point is missing, or that no split is better


@dataclass(frozen=True)
class Solving:
    """How a candidate is solved, in at most `time_limit_s`.

    Its points are the fronts of latency `against` each of these; of none, the best split by the problem's objective
    and splits near it. `slices`: see `SliceRequest`.
    """

    time_limit_s: float
    against: tuple[SecondObjective, ...] = (SecondObjective.ENERGY,)
    slices: Slices | None = None


def evaluate_candidates(tables: Tables, candidates: Sequence[SetCandidate], solving: Solving) -> list[Outcome]:
    """Return the outcome of each candidate."""
    return [_outcome(tables, candidate, solving) for candidate in candidates]


def _outcome(tables: Tables, candidate: SetCandidate, solving: Solving) -> Outcome:
    table = tables[key_of(candidate)]
    links, problem = table.links_of(candidate.boards), table.problem_of(candidate.boards)
    division = table.division_of(candidate.boards, solving.slices, solving.time_limit_s)
    divides = division.may_divide(Console(quiet=True))

    def whole(problem: Problem, left_s: float) -> Split:
        return solve_within_links(problem, links, AUTO, time_limit_s=left_s)

    solve = partial(division.best_within, solve=whole, planned=lambda found: found) if divides else whole
    try:
        if not solving.against:
            return _ranked(candidate, problem, lambda each: solve(each, solving.time_limit_s))
        share_s = solving.time_limit_s / len(solving.against)
        fronts = [pareto_front(problem, against, solve, share_s, divides=divides) for against in solving.against]
    except CheckFailedError as error:
        return Outcome(candidate, why_not=error.message)
    points = dict.fromkeys(
        _placed(Figures(each.latency_s, each.period_s, each.energy_j), each.placement, proved=each.proved)
        for front in fronts
        for each in front.points
        if not each.copies
    )
    return Outcome(candidate, tuple(points), complete=all(front.complete for front in fronts))


def _ranked(candidate: SetCandidate, problem: Problem, solve: Callable[[Problem], Split]) -> Outcome:
    """Return the best split, those near it, and copies on all boards: what `split` may take on this set.

    Raises CheckFailedError where there is none of them.
    """
    copies = replicate(problem) if len(problem.devices) > 1 and may_help(problem) else None
    points = [] if copies is None else [_point(CopiesEvaluation.of(copies), proved=False, copies=copies.devices)]
    try:
        best = solve(problem)
    except CheckFailedError:
        if copies is None:
            raise
        return Outcome(candidate, tuple(points), complete=False)
    least = min(best.objective, copies.value) if copies else best.objective
    is_best = best.proved and bound_of_others(problem, has_copies=copies is not None) >= least
    is_complete = is_best or (best.among_options and not best.ended_by_time)  # more time finds nothing else
    points = [replace(each, proved=is_best and copies is not None and copies.value == least) for each in points]
    if best.distributions:
        own = _placed(Figures(best.i_s, best.period_s, best.energy_j), best.placement, proved=False)
        return Outcome(candidate, (own, *points), complete=is_complete)
    own = _point(best.figures, proved=is_best and best.objective == least)
    return Outcome(candidate, (own, *_near(problem, best), *points), complete=is_complete)


def _point(figures: Evaluation, *, proved: bool, copies: tuple[int, ...] = ()) -> EvaluatedSplit:
    return EvaluatedSplit(figures.i_s, figures.period_s, figures.energy_j, figures.assignment, proved, copies)


def _placed(figures: Figures, placement: Placement, *, proved: bool) -> EvaluatedSplit:
    division = placement_text(placement) if placement.distributions else ""
    return EvaluatedSplit(**asdict(figures), assignment=placement.devices, proved=proved, division=division)


def _near(problem: Problem, best: Split) -> Iterator[EvaluatedSplit]:
    """Yield the best splits in which the layer at one end of a cut is on the board at its other end."""
    links = _links(problem, best.assignment)
    moved = [evaluate(problem, each) for each in _moved(problem, best.assignment)]
    usable = [each for each in moved if each.is_feasible and _links(problem, each.assignment) <= links]
    for each in nsmallest(N_NEAR, usable, key=lambda each: each.value):
        yield _point(each, proved=False)


def _moved(problem: Problem, assignment: Assignment) -> set[Assignment]:
    """Return the assignments with one end of a cut moved."""
    return {
        (*assignment[:layer], assignment[other], *assignment[layer + 1 :])
        for reader, inputs in enumerate(problem.predecessors)
        for written in inputs
        if written >= 0
        for layer, other in ((reader, written), (written, reader))
        if assignment[layer] != assignment[other]
    }


def _links(problem: Problem, assignment: Assignment) -> set[Pair]:
    return {pair_of(cut.sender, cut.receiver) for cut in cuts(problem, assignment)}
