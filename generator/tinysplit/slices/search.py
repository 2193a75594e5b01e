"""The search for the best distribution: the best choices of a model over each set of boards, then local search.

Sets whose lower bound is no better than what is known are left out; all boards come first. Each choice is evaluated as
it would be generated: by the kernels of its parts, their memory, and the event graph of the firmware. The lower bound
is that of the exact choice among its options (`distribution_problem.py`).
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from math import inf
from typing import NamedTuple

from tinysplit.network.distribution import SliceAxis
from tinysplit.slices.distribution_problem import DistributionModel
from tinysplit.slices.exact_division import N_BEST, ExactDivision, divide_exactly
from tinysplit.slices.moves import Move, moves_of
from tinysplit.slices.result import SliceResult
from tinysplit.slices.sliced_network import Sliced, SlicedNetwork
from tinysplit.split import clock
from tinysplit.split.problem import is_better
from tinysplit.split.solution import Considered, Placement

EXACT_SHARE = 0.7  # of the time, for all exact searches
NEAR = 0.05  # relative: so much may be gained by local search
WIDE = 0.05  # gap of a choice from which on more of them are evaluated: the model is far from the firmware
MANY = 50
WORTHWHILE = 0.001  # relative: so much another exact choice has to gain


class _Chosen(NamedTuple):
    """A model's best choice, and its lower bound."""

    model: DistributionModel
    division: Sliced
    lower_bound: float

    @property
    def value(self) -> float:
        """The objective of the division."""
        return self.division.figures.value


@dataclass
class SliceSearch:
    """The search for the best division of a network until `deadline_s`, of those with an objective below `limit`."""

    network: SlicedNetwork
    deadline_s: float
    limit: float = inf
    explored: int = 0
    considered: list[Considered] = field(default_factory=list)
    bounds: list[float] = field(default_factory=list)  # of the exact choice in each order of boards

    def run(self, axes: Sequence[SliceAxis]) -> Sliced | None:
        """Return the best distribution found until the deadline, None if none is feasible.

        The best over each number of boards is improved if it is near the best of all, so that more boards are never
        worse where there is time for all.
        """
        found = self._best_by_count(axes)
        least = min((each.value for each in found), default=0.0)
        improved = [self._improved(each) for each in found if each.value <= (1 + NEAR) * least]
        return min(improved, key=lambda each: each.figures.value, default=None)

    def _improved(self, chosen: _Chosen) -> Sliced:
        """Return the division after the steps that may make it better."""
        best = chosen.division
        if chosen.value * (1 - WIDE) > chosen.lower_bound and clock.now() < self.deadline_s:
            best = self._best_of(best, chosen.model, MANY)
        return self._climbed(self._with_borders(chosen.model, best))

    @property
    def lower_bound(self) -> float:
        """The lower bound of the objective among the options of the exact choice, 0 without one."""
        return min(self.bounds, default=0.0)

    def _best_by_count(self, axes: Sequence[SliceAxis]) -> Collection[_Chosen]:
        """Return the model's best choice over each number of boards, in any order, and note lower bounds.

        A bound is 0 where there is no time.
        """
        orders = _halving(tuple(self.network.orders()))
        best: dict[int, _Chosen] = {}
        until_s = clock.after(EXACT_SHARE, self.deadline_s)
        for left, order in zip(range(len(orders), 0, -1), orders, strict=True):
            if self.bounds and clock.now() > until_s:
                self.bounds.append(0.0)
                continue
            limit = min([self.limit, *(each.value for each in best.values())])
            model = self.network.model(order, axes)
            found = divide_exactly(self.network, model, clock.after(1 / left, until_s), limit)
            self._note(found)
            self.bounds.append(found.lower_bound)
            for each in found.divisions:
                before = best.get(len(order))
                if before is None or is_better(each.figures.value, before.value):
                    best[len(order)] = _Chosen(model, each, found.lower_bound)
        return best.values()

    def _best_of(self, known: Sliced, model: DistributionModel, n_best: int) -> Sliced:
        """Return the best of a known division and the `n_best` best choices of a model."""
        value, edges = known.figures.value, known.distributions.edges
        found = divide_exactly(self.network, model, self.deadline_s, value, edges, n_best)
        self._note(found)
        return min((known, *found.divisions), key=lambda each: each.figures.value)

    def _note(self, found: ExactDivision) -> None:
        """Note what was explored, and which divisions are feasible."""
        self.explored += found.explored
        self.considered += (
            Considered(each.figures.value, Placement((each.graph.boards,), each.distributions), each.settings.links)
            for each in found.divisions
        )

    def _with_borders(self, model: DistributionModel, best: Sliced) -> Sliced:
        """Return the division with borders elsewhere, by exact choices around it, until none is better."""
        while clock.now() < self.deadline_s:
            before = best.figures.value
            best = self._best_of(best, model.around(best.distributions.layers), N_BEST)
            if best.figures.value > before * (1 - WORTHWHILE):
                break
        return best

    def _climbed(self, best: Sliced) -> Sliced:
        """Return the division after local search: until no move is left that makes it better."""
        moves = tuple(moves_of(best.distributions))
        unchanged = 0
        for move in cycle(moves):
            if unchanged == len(moves):
                break
            before = best
            while clock.now() < self.deadline_s:
                found = self._moved(best, move)
                if found is None:
                    break
                best = found
            unchanged = unchanged + 1 if best is before else 0
        return best

    def _moved(self, best: Sliced, move: Move) -> Sliced | None:
        """Return the division after a move, if it is better."""
        how = move(best.distributions)
        if how == best.distributions:
            return None
        self.explored += 1
        found = self.network.evaluated(how, best.settings)
        return found if found and is_better(found.figures.value, best.figures.value) else None


def _halving(orders: Sequence[tuple[int, ...]]) -> Sequence[tuple[int, ...]]:
    """Return orders of all boards, half of them, a quarter and so on, then of other numbers, one of each number first.

    So the time limit leaves out none of the very different ones.
    """
    sizes = list(dict.fromkeys(map(len, orders)))
    halves = [size for size in (sizes[0] >> shift for shift in range(sizes[0].bit_length())) if size in sizes]
    ranks = {size: rank for rank, size in enumerate(dict.fromkeys([*halves, *sizes]))}
    places = {order: [each for each in orders if len(each) == len(order)].index(order) for order in orders}
    return sorted(orders, key=lambda order: (places[order], ranks[len(order)]))


def search_exactly(
    network: SlicedNetwork, axes: Sequence[SliceAxis], deadline_s: float, limit: float = inf
) -> SliceResult:
    """Return the best distribution of `SliceSearch`."""
    search = SliceSearch(network, deadline_s, limit)
    best, is_late = search.run(axes), clock.now() > deadline_s
    considered = tuple(search.considered)
    return SliceResult(best, search.lower_bound, search.explored, ended_by_time=is_late, considered=considered)
