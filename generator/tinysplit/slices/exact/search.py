"""The search for the best choice: labels stage by stage, within a lower and an upper bound of the value.

A label is a partial choice; the state of a label has the options of all tensors that later stages read. Of the labels
of one state, those that are dominated, that is, nowhere better than another one, are left out; so are those whose bound
(`bounds.py`) is not below the best value known. A pass keeps at most `width` labels of a state: the first pass forgets
the others, so that its best choice is an upper bound; the next passes merge each of them into its nearest one, which
takes the lesser of both in everything, so that no choice is lost and the least value is a lower bound (relaxed decision
diagrams: Bergman, Cire and van Hoeve 2016). Passes get wider until the two bounds meet. A pass that has merged nothing
is exact.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from tinysplit.slices.exact.bounds import remaining
from tinysplit.slices.exact.labels import MOST_COMPARED, Labels
from tinysplit.slices.exact.problem import Choice, DistributionProblem, step, value_of
from tinysplit.split import clock
from tinysplit.split.problem import ROUNDING
from tinysplit.split.topology import NETWORK_INPUT

FIRST_WIDTH, WIDENING = 4, 4
BEAM = 200  # labels of the first pass, of all states

State = tuple[tuple[int, int], ...]  # tensors that are still read, and their options


@dataclass(frozen=True)
class Found:
    """The best choice, its value, and a value that no choice is below; `choice` is empty if there is none."""

    choice: Choice
    value: float
    lower_bound: float
    explored: int


def best_choice(
    problem: DistributionProblem, deadline_s: float, gap: float = 0.0, known: Iterable[Choice] = ()
) -> Found:
    """Return the best choice, or one that is proved to be within `gap` (relative) of it, and no worse than `known`.

    On `deadline_s` (of `split/clock.py`) it is the best so far, with a bound.
    """
    search = _Search(problem, deadline_s)
    for choice in known:
        search.try_choice(choice)
    search.forget_beyond(FIRST_WIDTH)
    enough = 1 - max(gap, ROUNDING)
    width = FIRST_WIDTH
    while (
        search.lower_bound < search.value * enough and width < WIDENING * MOST_COMPARED and search.merge_beyond(width)
    ):
        width *= WIDENING
    return Found(search.choice, search.value, min(search.lower_bound, search.value), search.explored)


class _OutOfTimeError(Exception):
    """A merging pass has reached the deadline: all choices go through its labels, so that none is below `least`."""

    def __init__(self, least: float) -> None:
        super().__init__()
        self.least = least


@dataclass
class _Search:
    problem: DistributionProblem
    deadline_s: float
    choice: Choice = ()
    value: float = np.inf
    lower_bound: float = 0.0
    explored: int = 0

    def __post_init__(self) -> None:
        self.rest = remaining(self.problem)
        most = sum(stage.flash_bytes.max(axis=0) for stage in self.problem.stages)
        self.counts_flash = bool(np.any(most > self.problem.flash_limits))

    def forget_beyond(self, width: int) -> None:
        """Improve the best choice by a pass that forgets labels."""
        self._finish(_Pass(self, width, merges=False))

    def merge_beyond(self, width: int) -> bool:
        """Improve both bounds by a pass that merges labels; return whether there was time for it."""
        own = _Pass(self, width, merges=True)
        try:
            least, is_whole = self._finish(own), True
        except _OutOfTimeError as reached:
            least, is_whole = reached.least, False
        self.lower_bound = max(self.lower_bound, min(least, self.value))
        if is_whole and not own.has_merged:
            self.lower_bound = self.value
        return is_whole

    def _finish(self, own: "_Pass") -> float:
        """Run a pass, and return the least value of its labels."""
        least = np.inf
        for labels in own.run().values():
            for value, node in sorted(zip(labels.bounds, labels.nodes, strict=True), key=lambda each: each[0])[:4]:
                least = min(least, value)
                self.try_choice(own.choice_at(int(node)))
        return least

    def try_choice(self, choice: Choice) -> None:
        """Keep a choice that is better than the best one so far."""
        value = value_of(self.problem, choice)
        if value < self.value:
            self.choice, self.value = choice, value


@dataclass
class _Pass:
    search: _Search
    width: int
    merges: bool
    has_merged: bool = False
    _before: list[int] = field(default_factory=list)  # node before each node of the tree
    _option: list[int] = field(default_factory=list)

    def run(self) -> Mapping[State, Labels]:
        """Return the labels after the last stage. Raises _OutOfTimeError if a merging pass reaches the deadline."""
        problem = self.search.problem
        zeros = np.zeros((1, problem.n_boards))
        labels: dict[State, Labels] = {(): Labels(zeros, zeros, zeros, np.zeros(1), np.full(1, -1))}
        for number in range(len(problem.stages)):
            parts: dict[State, list[Labels]] = {}
            for state, own in labels.items():
                if self.merges and clock.now() > self.search.deadline_s:
                    raise _OutOfTimeError(min(float(each.bounds.min()) for each in labels.values()))
                for after, grown in self._grown(number, state, own):
                    parts.setdefault(after, []).append(grown)
            joined: Mapping[State, Labels] = {state: Labels.joined(each) for state, each in parts.items()}
            if not self.merges:
                joined = self._most_promising(number, joined)
            labels = {state: self._kept(state, each) for state, each in joined.items()}
        return labels

    def _most_promising(self, number: int, labels: Mapping[State, Labels]) -> Mapping[State, Labels]:
        """Return `BEAM` of all labels: where the busiest board and an equal share of what is left are least."""
        rest = self.search.rest[number].together
        estimates = {
            state: own.clock.max(axis=1) + rest[state[-1][1]] / self.search.problem.n_boards
            for state, own in labels.items()
        }
        every = np.concatenate([*estimates.values(), [np.inf]])
        limit = np.partition(every, min(BEAM, len(every)) - 1)[min(BEAM, len(every)) - 1]
        kept = {state: np.flatnonzero(each <= limit) for state, each in estimates.items()}
        return {state: labels[state].taken(indices) for state, indices in kept.items() if len(indices)}

    def _grown(self, number: int, state: State, labels: Labels) -> Iterator[tuple[State, Labels]]:
        """Yield the labels of a state after a stage, by their new states, without those that cannot be better."""
        problem, known = self.search.problem, dict(state)
        stage, rest = problem.stages[number], self.search.rest[number]
        sources = [0 if each.source == NETWORK_INPUT else known[each.source] for each in stage.transitions]
        ways = [each.allowed[source] for each, source in zip(stage.transitions, sources, strict=True)]
        options = np.flatnonzero(np.logical_and.reduce(ways))
        if not len(options):
            return
        begin, clocks = step(stage, sources, options, labels.begin, labels.clock)
        flash = labels.flash[:, None] + stage.flash_bytes[options]
        bounds = np.maximum(rest.bounds(options, begin, clocks), labels.bounds[:, None])
        better = (bounds < self.search.value * (1 - ROUNDING)) & (flash <= problem.flash_limits).all(axis=2)
        self.search.explored += bounds.size
        left = tuple(each for each in state if problem.last_readers[each[0]] > number)
        for index in np.flatnonzero(better.any(axis=0)):
            rows = np.flatnonzero(better[:, index])
            own = (begin[rows, index], clocks[rows, index], flash[rows, index], bounds[rows, index])
            yield (*left, (number, int(options[index]))), Labels(*own, labels.nodes[rows])

    def _kept(self, state: State, labels: Labels) -> Labels:
        """Return the labels of a state that are kept, as nodes of the tree."""
        if not self.search.counts_flash:
            labels = Labels(labels.begin, labels.clock, np.zeros_like(labels.flash), labels.bounds, labels.nodes)
        kept, others = labels.best(self.width) if len(labels) > 1 else (labels, labels.taken(np.arange(0)))
        if self.merges and len(others):
            kept, self.has_merged = kept.merged(others), True
        option = state[-1][1]
        first = len(self._before)
        self._before += kept.nodes.tolist()
        self._option += [option] * len(kept)
        return Labels(kept.begin, kept.clock, kept.flash, kept.bounds, np.arange(first, first + len(kept)))

    def choice_at(self, node: int) -> Choice:
        """Return the options of all stages up to a node."""
        options = []
        while node >= 0:
            options.append(self._option[node])
            node = self._before[node]
        return tuple(reversed(options))
