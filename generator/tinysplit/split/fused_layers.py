"""Layers that fit a device only fused with their neighbour: what solvers do not know, who see one RAM figure a layer.

Solvers see each layer with the least RAM and time, as if its neighbour were on the same device. Where a split with it
does not fit or is slower because two layers are apart, both possibilities are searched: joined on any device, and each
alone.
This is a branch and bound, best bound first.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from math import inf

from tinysplit.split import clock
from tinysplit.split.evaluate.fused import skips_rows
from tinysplit.split.problem import FusedLayers, Problem, is_better
from tinysplit.split.solution import Split
from tinysplit.split.solvers.no_split import NoSplitError

Find = Callable[[Problem], Split]


def find_fused(problem: Problem, find: Find, deadline: float = inf) -> Split:
    """Return the best split of `problem`, whose layers may be fused, by `find`, for which none are.

    No search begins after `deadline` (of `clock`), but the first. Raises NoSplitError where `find` does, and where no
    split that fits was found in time.
    """
    search = _Search(problem, find)
    search.look_at(problem, -inf)
    if search.waiting:
        search.begin_with_all_joined()
    while search.waiting and (search.best is None or search.can_improve) and clock.now() < deadline:
        search.branch()
    return search.result()


@dataclass(order=True, frozen=True)
class _Node:
    """A problem in which some pairs are decided, its split with the least RAM, and the pair that is apart in it."""

    bound: float
    number: int  # in the order of the search: breaks ties
    problem: Problem = field(compare=False)
    apart: FusedLayers = field(compare=False)


@dataclass
class _Search:
    problem: Problem
    find: Find
    waiting: list[_Node] = field(default_factory=list)
    best: Split | None = None
    bound: float = inf  # of all splits that were looked at and not ruled out
    explored: int = 0
    spent_s: float = 0.0
    is_proved: bool = True

    @property
    def can_improve(self) -> bool:
        """Whether a problem that waits may have a better split than the best one."""
        return self.best is None or is_better(self.waiting[0].bound, self.best.objective)

    def look_at(self, problem: Problem, bound: float) -> None:
        """Search `problem`, which has no split below `bound`."""
        try:
            found = self.find(with_least_costs(problem))
        except NoSplitError as error:
            if not error.proved:
                self.bound, self.is_proved = min(self.bound, bound), False
            return
        self.explored += found.explored
        self.spent_s += found.spent_s
        own_bound = max(bound, found.lower_bound)
        apart = needed_apart(problem, found)
        if apart:
            heappush(self.waiting, _Node(own_bound, self.explored, problem, apart))
            return
        found = replace(found, problem=problem)
        if self.best is None or is_better(found.objective, self.best.objective):
            self.best = found
        slower = _slower_apart(problem, found)
        if slower:
            heappush(self.waiting, _Node(own_bound, self.explored, problem, slower))
        else:
            self.bound = min(self.bound, own_bound)

    def begin_with_all_joined(self) -> None:
        """Look at the best split in which no pair is apart, if there is one."""
        joined = self.problem.joined | {fused.producer for fused in self.problem.fused}
        try:
            found = self.find(replace(with_least_costs(self.problem), joined=joined))
        except NoSplitError:
            return
        if self.best is None or is_better(found.objective, self.best.objective):
            self.best = found
        self.explored += found.explored
        self.spent_s += found.spent_s

    def branch(self) -> None:
        """Search both possibilities of the pair that is apart in the problem with the least bound."""
        node = heappop(self.waiting)
        for problem in _decided(node.problem, node.apart):
            self.look_at(problem, node.bound)

    def result(self) -> Split:
        """Return the best split, with what is known of all others. Raises NoSplitError if there is none."""
        if self.best is None:
            raise NoSplitError(proved=self.is_proved and not self.waiting)
        bound = min([self.bound, self.best.objective, *(node.bound for node in self.waiting)])
        explored, spent_s = self.explored, self.spent_s
        return replace(self.best, problem=self.problem, lower_bound=bound, explored=explored, spent_s=spent_s)


def with_least_costs(problem: Problem) -> Problem:
    """Return `problem` without fused layers: each layer takes the least RAM and time that it takes fused or alone."""
    layers = list(problem.layers)
    for fused in problem.fused:
        if fused.producer_seconds:
            layers[fused.producer] = replace(layers[fused.producer], seconds=fused.producer_seconds)
        for layer, ram_bytes in zip(fused.layers, fused.ram_bytes, strict=True):
            layers[layer] = replace(layers[layer], ram_bytes=tuple(map(min, layers[layer].ram_bytes, ram_bytes)))
    return replace(problem, layers=tuple(layers), fused=())


def needed_apart(problem: Problem, found: Split) -> FusedLayers | None:
    """Return fused layers that `found`, of the least RAM, has on two devices although it does not fit so.

    Those come first of which one does not fit its device alone.
    """
    if replace(found, problem=problem).figures.is_feasible:
        return None

    def fits(layer: int) -> bool:
        device = found.assignment[layer]
        return problem.layers[layer].ram_bytes[device] <= problem.devices[device].ram_bytes

    apart = [fused for fused in problem.fused if len({found.assignment[layer] for layer in fused.layers}) > 1]
    return min(apart, key=lambda fused: all(map(fits, fused.layers)), default=None)


def _slower_apart(problem: Problem, found: Split) -> FusedLayers | None:
    """Return fused layers that `found` has on two devices, where they take more time."""
    pairs = (fused for fused in problem.fused if fused.producer_seconds)
    return next((fused for fused in pairs if not skips_rows(fused, found.assignment)), None)


def _decided(problem: Problem, pair: FusedLayers) -> Iterator[Problem]:
    """Yield the problem with `pair` joined on any device, and with each of its layers alone."""
    others = tuple(fused for fused in problem.fused if fused is not pair)
    joined = with_least_costs(replace(problem, fused=(pair,)))
    yield replace(joined, fused=others, joined=problem.joined | {pair.producer})
    yield replace(problem, fused=others)
