"""The search for the best distribution: the exact choice by a model, other candidates, then local search.

Each is evaluated as it would be generated: by the kernels of its parts, their memory, and the event graph of the
firmware. The lower bound is that of the exact choice among its options (`distribution_problem.py`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import permutations, product

from tinysplit.costs.settings import CostSettings
from tinysplit.network.distribution import Distributions, SliceAxis
from tinysplit.network.graph import Graph
from tinysplit.slices.candidates import Candidate, ends_of_tiles
from tinysplit.slices.exact_division import divide_exactly
from tinysplit.slices.result import SliceResult
from tinysplit.slices.sliced_network import Sliced, SlicedNetwork
from tinysplit.split import clock
from tinysplit.split.problem import Objective, is_better

EXACT_SHARE = 0.5  # of the time that is left, for all exact searches


@dataclass
class SliceSearch:
    """The search for the best division of a network until `deadline_s`."""

    network: SlicedNetwork
    deadline_s: float
    explored: int = 0
    candidate: Sliced | None = None  # the best of them
    choice: Sliced | None = None  # the best of exact choices and their neighbours
    bounds: list[float] = field(default_factory=list)  # of the exact choice in each order of boards

    def run(self, axes: Sequence[SliceAxis]) -> Sliced | None:
        """Return the best distribution found until the deadline, None if none is feasible.

        Few boards come first, so that more of them are never worse where there is time for all.
        """
        best: Sliced | None = None
        most = len(self.network.boards)
        for n_boards in range(2, most + 1):
            self.candidate = self.choice = None
            self._search_over(n_boards, axes, self._after(1 / (most + 1 - n_boards), self.deadline_s))
            best = min((each for each in (best, self.best) if each), key=lambda each: each.figures.value, default=None)
        return best

    def _search_over(self, n_boards: int, axes: Sequence[SliceAxis], until_s: float) -> None:
        """Search the distributions over sets of so many boards."""
        orders = [order for order in self.network.orders() if len(order) == n_boards]
        self._choose_exactly(orders, axes, until_s)
        for candidate in self._first_candidates(orders, axes):
            if clock.now() > until_s and self.explored:
                break
            self._try(candidate)
        while clock.now() < until_s and (self._improve(self.choice, until_s) | self._improve(self.candidate, until_s)):
            pass

    @property
    def lower_bound(self) -> float:
        """The lower bound of the objective among the options of the exact choice, 0 without one."""
        return min(self.bounds, default=0.0)

    @property
    def best(self) -> Sliced | None:
        """The best distribution of so many boards so far."""
        found = [each for each in (self.choice, self.candidate) if each]
        return min(found, key=lambda each: each.figures.value, default=None)

    def _first_candidates(self, orders: Sequence[tuple[int, ...]], axes: Sequence[SliceAxis]) -> Iterator[Candidate]:
        """Yield candidates with shares by the boards' clocks, of rows with all edges apart and with none."""
        ends = (self.network.input_board, self.network.output_board)
        for axis, order in product(axes, orders):
            shares = self._shares(order)
            if axis is SliceAxis.CHANNELS:
                yield Candidate(axis, len(self.network.graph.layers), order, shares, *ends, frozenset())
                continue
            for end in ends_of_tiles(self.network.graph, len(order)):
                for edges in (frozenset(range(end)), frozenset[int]()):
                    yield Candidate(axis, end, order, shares, *ends, edges)

    def _shares(self, order: Sequence[int]) -> tuple[float, ...]:
        speeds = [self.network.boards[board].clock.core_hz for board in order]
        return tuple(speed / sum(speeds) for speed in speeds)

    def _choose_exactly(self, orders: Sequence[tuple[int, ...]], axes: Sequence[SliceAxis], until_s: float) -> None:
        """Try the model's best choice in each order, and note its lower bound, 0 where there is no time for it.

        The model has seconds, no joules.
        """
        if self.network.settings.objective is Objective.ENERGY:
            return
        exact_until_s = self._after(EXACT_SHARE, until_s)
        for left, order in zip(range(len(orders), 0, -1), orders, strict=True):
            is_in_time = clock.now() < exact_until_s or not self.bounds
            own_until_s = self._after(1 / left, exact_until_s)
            self.bounds.append(self._choose_in_order(order, axes, own_until_s) if is_in_time else 0.0)

    def _after(self, share: float, until_s: float) -> float:
        """Return when a share of the time until then will be over."""
        now = clock.now()
        return now + share * max(0.0, until_s - now)

    def _choose_in_order(self, order: tuple[int, ...], axes: Sequence[SliceAxis], until_s: float) -> float:
        """Try the model's best choice of boards in `order`; return its lower bound."""
        found = divide_exactly(self.network, order, axes, until_s)
        self.explored += found.explored
        for each in found.divisions:
            self._keep(each)
        return found.lower_bound

    def _try(self, candidate: Candidate) -> bool:
        """Evaluate a candidate; return whether it is the best so far."""
        how = candidate.distributions(self.network.graph, len(self.network.boards))
        return self._evaluate(how, self.network.linked(candidate.order), candidate)

    def _evaluate(self, how: Distributions, settings: CostSettings, candidate: Candidate | None) -> bool:
        """Evaluate distributions; return whether they are the best of their kind so far."""
        self.explored += 1
        found = self.network.evaluated(how, settings, candidate)
        return found is not None and self._keep(found)

    def _keep(self, found: Sliced) -> bool:
        """Return whether distributions are the best of their kind so far, and keep them then."""
        before = self.candidate if found.candidate else self.choice
        if before and not is_better(found.figures.value, before.figures.value):
            return False
        if found.candidate:
            self.candidate = found
        else:
            self.choice = found
        return True

    def _improve(self, found: Sliced | None, until_s: float) -> bool:
        """Try neighbours until one is better, or until then; return whether one is."""
        if found is None:
            return False
        if found.candidate:
            attempts = (partial(self._try, each) for each in _neighbours(self.network.graph, found.candidate))
        else:
            attempts = (partial(self._evaluate, how, found.settings, None) for how in _other_edges(found.distributions))
        return any(attempt() for attempt in attempts if clock.now() < until_s)


def _neighbours(graph: Graph, candidate: Candidate) -> Iterator[Candidate]:
    """Yield candidates in which one board gives a row, or half of one, to another, or with other edges."""
    heights = [graph.layers[number].out_shape.height for number in range(candidate.n_divided)]
    row = 1 / max(heights)
    for giver, taker in permutations(range(len(candidate.order)), 2):
        for step in (row / 2, row, 1 / min(heights)):
            if candidate.shares[giver] > 2 * step:
                yield candidate.moved(giver, taker, step)
    if candidate.axis is SliceAxis.ROWS:
        for number in range(candidate.n_divided):
            yield replace(candidate, edges=candidate.edges ^ {number})


def _other_edges(how: Distributions) -> Iterator[Distributions]:
    """Yield distributions in which the edges of one layer are computed apart, or no longer."""
    for number, divided in enumerate(how.layers):
        if divided.axis is SliceAxis.ROWS and not divided.is_whole:
            yield replace(how, edges=how.edges ^ {number})


def search_exactly(network: SlicedNetwork, axes: Sequence[SliceAxis], deadline_s: float) -> SliceResult:
    """Return the best distribution of `SliceSearch`."""
    search = SliceSearch(network, deadline_s)
    best = search.run(axes)
    return SliceResult(best, search.lower_bound, search.explored)
