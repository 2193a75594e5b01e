"""The search for the best distribution: the exact choice by a model, other candidates, then local search.

Each is evaluated as it would be generated: by the kernels of its parts, their memory, and the event graph of the
firmware. The lower bound is that of the exact choice among its options (`distribution_problem.py`).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
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
    lower_bound: float = 0.0  # of the objective, among the options of the exact choice

    def run(self, axes: Sequence[SliceAxis]) -> Sliced | None:
        """Return the best distribution found until the deadline, None if none is feasible."""
        self._choose_exactly(axes)
        for candidate in self._first_candidates(axes):
            if clock.now() > self.deadline_s and self.explored:
                break
            self._try(candidate)
        while clock.now() < self.deadline_s and (self._improve(self.choice) | self._improve(self.candidate)):
            pass
        return self.best

    @property
    def best(self) -> Sliced | None:
        """The best distribution so far."""
        found = [each for each in (self.choice, self.candidate) if each]
        return min(found, key=lambda each: each.figures.value, default=None)

    def _first_candidates(self, axes: Sequence[SliceAxis]) -> Iterator[Candidate]:
        """Yield candidates with shares by the boards' clocks, of rows with all edges apart and with none."""
        ends = (self.network.input_board, self.network.output_board)
        for axis, order in product(axes, self.network.orders()):
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

    def _choose_exactly(self, axes: Sequence[SliceAxis]) -> None:
        """Try the model's best choice in each order of all boards, and note the lower bound.

        The model has seconds, no joules.
        """
        if self.network.settings.objective is Objective.ENERGY:
            return
        orders = [order for order in self.network.orders() if len(order) == len(self.network.boards)]
        until_s = self._after(EXACT_SHARE, self.deadline_s)
        bounds: list[float] = []
        for left, order in zip(range(len(orders), 0, -1), orders, strict=True):
            if not bounds or clock.now() < until_s:
                bounds.append(self._choose_in_order(order, axes, self._after(1 / left, until_s)))
        self.lower_bound = min(bounds)

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

    def _improve(self, found: Sliced | None) -> bool:
        """Try neighbours until one is better, or until the deadline; return whether one is."""
        if found is None:
            return False
        if found.candidate:
            attempts = (partial(self._try, each) for each in _neighbours(self.network.graph, found.candidate))
        else:
            attempts = (partial(self._evaluate, how, found.settings, None) for how in _other_edges(found.distributions))
        return any(attempt() for attempt in attempts if clock.now() < self.deadline_s)


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
