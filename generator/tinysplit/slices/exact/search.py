"""The search for the best choice, or the n best ones: a beam search, then labels stage by stage within two bounds.

A label is a partial choice; the state of a label has the options of all tensors that later stages read. Of the labels
of one state, those that are dominated, that is, nowhere better than another one (n other ones), are left out; so are
those whose bound (`bounds.py`) is not below the best value known (the n-th best). A pass keeps `width` labels of a
state and merges each of the others into its nearest one, which takes the lesser of both in everything, so that no
choice is lost and the least value is a lower bound (relaxed decision diagrams: Bergman, Cire and van Hoeve 2016).
Passes get wider until the bound meets the best value. A pass that has merged nothing is exact.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from tinysplit.slices.exact.beam import promising_choices
from tinysplit.slices.exact.bounds import remaining
from tinysplit.slices.exact.labels import MOST_COMPARED, Labels
from tinysplit.slices.exact.problem import Choice, DistributionProblem, step, value_of
from tinysplit.split import clock
from tinysplit.split.problem import ROUNDING
from tinysplit.timing.topology import NETWORK_INPUT

FIRST_WIDTH, WIDENING = 16, 16
N_PROMISING = 2

State = tuple[tuple[int, int], ...]  # tensors that are still read, and their options


@dataclass(frozen=True)
class Found:
    """The best choices and their values, the best one first, and a value that no choice is below.

    `is_proved` if no other choice is better than they are. Partial choices were `explored` in all passes; of these,
    `pruned` by bounds, dominance and flash. `promising` are the first of the beam search.
    """

    choices: tuple[Choice, ...]
    values: tuple[float, ...]
    lower_bound: float
    is_proved: bool
    explored: int
    pruned: int
    promising: tuple[Choice, ...] = ()

    @property
    def choice(self) -> Choice:
        """The best choice, empty if there is none."""
        return self.choices[0] if self.choices else ()

    @property
    def value(self) -> float:
        """The value of the best choice, infinite if there is none."""
        return self.values[0] if self.values else np.inf


def best_choice(problem: DistributionProblem, deadline_s: float) -> Found:
    """Return the best choice; see `best_choices`."""
    return best_choices(problem, deadline_s, 1)


def best_choices(
    problem: DistributionProblem,
    deadline_s: float,
    n_best: int,
    gap: float = 0.0,
    known: Iterable[Choice] = (),
    limit: float = np.inf,
) -> Found:
    """Return the `n_best` best choices below a `limit`, `known` ones among them, or all if there are fewer.

    The search ends when they are proved, when the best one is within `gap` (relative, not 0) of the bound, or on
    `deadline_s` (of `split/clock.py`): then they are the best so far.
    """
    search = _Search(problem, deadline_s, n_best, limit)
    for choice in known:
        search.try_choice(choice, value_of(problem, choice))
    promising = tuple(promising_choices(problem, search.rest, search.limit, n_best))
    for choice, value in promising:
        search.try_choice(choice, value)
    width = FIRST_WIDTH
    while not search.is_proved and not search.is_within(gap) and width < WIDENING * MOST_COMPARED:
        if not search.merge_beyond(width):
            break
        width *= WIDENING
    ranked = sorted(search.known.items(), key=lambda each: each[1])
    choices, values = tuple(choice for choice, _ in ranked), tuple(value for _, value in ranked)
    lower_bound, first = min(search.lower_bound, search.value), tuple(choice for choice, _ in promising[:N_PROMISING])
    return Found(choices, values, lower_bound, search.is_proved, search.explored, search.pruned, first)


class _OutOfTimeError(Exception):
    """A pass has reached the deadline: all choices go through its labels, so that none is below `least`."""

    def __init__(self, least: float) -> None:
        super().__init__()
        self.least = least


@dataclass
class _Search:
    problem: DistributionProblem
    deadline_s: float
    n_best: int
    most: float = np.inf
    known: dict[Choice, float] = field(default_factory=dict)  # the best choices, with their values
    lower_bound: float = 0.0
    is_exact: bool = False  # whether a pass has merged nothing
    explored: int = 0
    pruned: int = 0

    def __post_init__(self) -> None:
        self.rest = remaining(self.problem)
        nothing = np.zeros((1, self.problem.stages[0].n_options, self.problem.n_boards))
        self.lower_bound = float(self.rest[0].bounds(np.arange(nothing.shape[1]), nothing, nothing).min())
        most = sum(stage.flash_bytes.max(axis=0) for stage in self.problem.stages)
        self.counts_flash = bool(np.any(most > self.problem.flash_limits))

    @property
    def value(self) -> float:
        """The best value, infinite if there is none."""
        return min(self.known.values(), default=np.inf)

    @property
    def limit(self) -> float:
        """The value below which a choice is one of the best ones: the n-th best value, `most` if there are fewer."""
        return max(self.known.values()) if len(self.known) == self.n_best else self.most

    @property
    def is_proved(self) -> bool:
        """Whether no other choice is better than the best ones."""
        return self.is_exact or self.lower_bound >= self.limit * (1 - ROUNDING)

    def is_within(self, gap: float) -> bool:
        """Return whether the best value is within a gap, if that is not 0, of the bound."""
        return gap > 0 and self.lower_bound >= self.value * (1 - gap)

    def merge_beyond(self, width: int) -> bool:
        """Improve both bounds by a pass that merges labels; return whether there was time for it."""
        own = _Pass(self, width)
        try:
            least, is_whole = self._finish(own), True
        except _OutOfTimeError as reached:
            least, is_whole = reached.least, False
        self.lower_bound = max(self.lower_bound, min(least, self.value))
        if is_whole and not own.has_merged:
            self.lower_bound, self.is_exact = self.value, True
        return is_whole

    def _finish(self, own: "_Pass") -> float:
        """Run a pass, and return the least value of its labels."""
        least = np.inf
        for labels in own.run().values():
            ranked = sorted(zip(labels.bounds, labels.nodes, strict=True), key=lambda each: each[0])
            for value, node in ranked[: self.n_best]:
                least = min(least, value)
                choice = own.choice_at(int(node))
                self.try_choice(choice, value_of(self.problem, choice))
        return least

    def try_choice(self, choice: Choice, value: float) -> None:
        """Take a choice for one of the best ones if it is."""
        if value < self.limit and choice not in self.known:
            if len(self.known) == self.n_best:
                del self.known[max(self.known, key=lambda each: self.known[each])]
            self.known[choice] = value


@dataclass
class _Pass:
    search: _Search
    width: int
    has_merged: bool = False
    _before: list[int] = field(default_factory=list)  # node before each node of the tree
    _option: list[int] = field(default_factory=list)

    def run(self) -> Mapping[State, Labels]:
        """Return the labels after the last stage. Raises _OutOfTimeError at the deadline."""
        problem = self.search.problem
        zeros = np.zeros((1, problem.n_boards))
        labels: dict[State, Labels] = {(): Labels(zeros, zeros, zeros, np.zeros(1), np.full(1, -1))}
        for number in range(len(problem.stages)):
            parts: dict[State, list[Labels]] = {}
            for state, own in labels.items():
                if clock.now() > self.search.deadline_s:
                    raise _OutOfTimeError(min(float(each.bounds.min()) for each in labels.values()))
                for after, grown in self._grown(number, state, own):
                    parts.setdefault(after, []).append(grown)
            labels = {state: self._kept(state, Labels.joined(each)) for state, each in parts.items()}
        return labels

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
        better = (bounds < self.search.limit * (1 - ROUNDING)) & (flash <= problem.flash_limits).all(axis=2)
        self.search.explored += bounds.size
        self.search.pruned += bounds.size - int(better.sum())
        left = tuple(each for each in state if problem.last_readers[each[0]] > number)
        for index in np.flatnonzero(better.any(axis=0)):
            rows = np.flatnonzero(better[:, index])
            own = (begin[rows, index], clocks[rows, index], flash[rows, index], bounds[rows, index])
            yield (*left, (number, int(options[index]))), Labels(*own, labels.nodes[rows])

    def _kept(self, state: State, labels: Labels) -> Labels:
        """Return the labels of a state that are kept, as nodes of the tree."""
        if not self.search.counts_flash:
            labels = Labels(labels.begin, labels.clock, np.zeros_like(labels.flash), labels.bounds, labels.nodes)
        kept, others = labels, labels.taken(np.arange(0))
        if len(labels) > 1:
            kept, others = labels.best(self.width, self.search.n_best)
        self.search.pruned += len(labels) - len(kept) - len(others)
        if len(others):
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
