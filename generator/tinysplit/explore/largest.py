"""The largest network of a family that each set of boards can run."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

from tinysplit.explore.candidates import SetCandidate, Space
from tinysplit.explore.evaluate import EvaluatedSplit
from tinysplit.explore.evaluator import Evaluator
from tinysplit.explore.goal import RankingGoal
from tinysplit.network.graph import Graph


@dataclass(frozen=True)
class Largest:
    """The largest network (by MACC) in a bit width that fits a set within the limits, and a split; None: no network."""

    bits: int
    boards: tuple[str, ...]
    graph: Graph | None = None
    candidate: SetCandidate | None = None
    point: EvaluatedSplit | None = None


def largest_networks(
    graphs: Sequence[Graph], space: Space, goal: RankingGoal, evaluator: Evaluator
) -> tuple[Largest, ...]:
    """Return the largest network for each set and bit width, at the highest baud rate at which it fits.

    The errors are those of workers.
    """
    names = [board.name for board in space.boards]
    sets = [
        boards
        for count in range(1, space.max_boards + 1)
        for boards in combinations_with_replacement(names, count)
        if goal.is_affordable(boards)
    ]
    known = frozenset(space.candidates())
    largest = {(bits, boards): Largest(bits, boards) for bits in space.bits for boards in sets}
    for graph in sorted(graphs, key=lambda graph: graph.macc, reverse=True):
        for baud in sorted({each.baud for each in known}, reverse=True):
            without = [
                SetCandidate(graph.sha256, each.bits, baud if len(each.boards) > 1 else 0, each.boards)
                for each in largest.values()
                if each.graph is None
            ]
            for candidate, point in _feasible([each for each in without if each in known], goal, evaluator):
                largest[candidate.bits, candidate.boards] = Largest(
                    candidate.bits, candidate.boards, graph, candidate, point
                )
    return tuple(largest.values())


def _feasible(
    candidates: Sequence[SetCandidate], goal: RankingGoal, evaluator: Evaluator
) -> Iterator[tuple[SetCandidate, EvaluatedSplit]]:
    possible = [each for each in candidates if goal.keeps_limits(evaluator.bound(each))]
    evaluator.solve(possible)
    for candidate in possible:
        points = evaluator.outcome(candidate).points
        if points:
            yield candidate, points[0]
