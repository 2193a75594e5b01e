"""Exact search for latency: partial assignments of all lengths at once in arrays, widened until nothing was left out.

A pass goes through the layers and keeps at most `width` partial assignments (labels) after each: of those with the
same device, the same saturated free flash min(free, flash still to place), and the same devices used where that
matters, the fastest; of the others those with the smallest bound. A pass that dropped nothing below its best split
has proved it; otherwise the smallest bound dropped is a lower bound, and a wider pass follows, with more bounds:
prices for flash that were fitted to what was dropped.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from tinysplit.errors import UsageError
from tinysplit.split.bounds import earlier_twins
from tinysplit.split.infeasible import check_memories, explain, explain_timeout
from tinysplit.split.priced_chain import Chain, Floats, PricedBound, State, raise_bound, start_of
from tinysplit.split.problem import Assignment, Problem
from tinysplit.split.split import DEFAULT_TIME_LIMIT_S, Split

FIRST_WIDTH = 32
WIDENING = 6
LABEL_MEMORY_BYTES = 250_000_000
BLOCK = 16384  # labels that are opened between two looks at the clock
FIRST_STEPS = 40
STEPS = 60
LEARNING_SHARE = 0.25  # of the time of the pass before
MIN_LEARNED = 3  # states looked at, also where the pass took no time
WORTH_KEEPING = 0.005  # of what is left: smaller rises are not worth a bound more
BOUNDS_A_LAYER = 6
SAMPLE = 256  # labels that show which bounds are strongest behind a layer
ROUNDING = 1e-12  # relative: sums of the same times in another order are no improvement

Ints = NDArray[np.intp]


def label_search(problem: Problem, *, time_limit_s: float = DEFAULT_TIME_LIMIT_S) -> Split:
    """Return a fastest split, or after `time_limit_s` the best one found, with a bound and `proved` False.

    The first pass, of milliseconds, is always finished. CheckFailedError says why nothing fits, UsageError that
    throughput and limits are for other solvers.
    """
    if problem.asks_for_period or problem.is_limited:
        raise UsageError("labels knows neither throughput nor limits: take --solver branch-and-bound")
    check_memories(problem)
    start = perf_counter()
    search = _Search(problem, start + time_limit_s)
    search.run()
    if not search.best:
        raise explain(problem) if search.lower_bound == inf else explain_timeout(problem, time_limit_s)
    return Split(
        problem=problem,
        assignment=search.best,
        lower_bound=min(search.lower_bound, problem.figures(search.best).i_s),
        explored=search.explored,
        solver="labels",
        spent_s=perf_counter() - start,
    )


@dataclass(frozen=True, eq=False)
class _Labels:
    """Partial assignments of the same number of layers, one a row."""

    seconds: Floats
    bounds: Floats
    device: Ints  # of the last layer
    free: Floats  # label x device: bytes
    used: NDArray[np.bool_]  # label x device

    def __len__(self) -> int:
        return len(self.seconds)

    def state(self, row: int, done: int) -> State:
        return State(done, int(self.device[row]), self.free[row], float(self.seconds[row]), float(self.bounds[row]))

    def take(self, rows: Ints) -> "_Labels":
        return _Labels(self.seconds[rows], self.bounds[rows], self.device[rows], self.free[rows], self.used[rows])


@dataclass(eq=False)
class _Pass:
    """What one pass leaves behind."""

    dropped: list[State] = field(default_factory=list)  # of each layer the one with the smallest bound, and one more
    lower_bound: float = inf  # of all that was dropped or, out of time, not opened
    devices: list[int] = field(default_factory=list)  # of the best split, empty for none
    seconds: float = inf


class _Search:
    def __init__(self, problem: Problem, deadline: float) -> None:
        self.problem, self.deadline = problem, deadline
        self.chain = Chain.of(problem)
        self.n_devices = len(problem.devices)
        self.twins = earlier_twins(problem)
        self.needs_used = problem.must_use_all or any(self.twins)
        # Any numbers will do that seldom give different states the same sum; equal sums are compared.
        self.mix = np.random.default_rng(0).integers(1, 2**62, 2 * self.n_devices + 1)
        unpriced = PricedBound.at(self.chain, np.zeros(self.n_devices))
        self.bounds = [unpriced]
        self.best: Assignment = ()
        self.best_s = inf
        self.lower_bound = float(unpriced.rest[0].min())
        self.explored = 0

    def run(self) -> None:
        """Widen passes until one drops nothing that matters, or the time is over."""
        max_width = LABEL_MEMORY_BYTES // (5 * self.chain.n_layers + 100 * self.n_devices)
        width, deadline = FIRST_WIDTH, inf
        self._learn_from(start_of(self.chain), FIRST_STEPS)
        while True:
            start = perf_counter()
            done = self._run_pass(width, deadline)
            if done.seconds < self.best_s:
                self.best, self.best_s = self.chain.assignment(done.devices), done.seconds
            self.lower_bound = max(self.lower_bound, min(self.best_s, done.lower_bound))
            deadline = self.deadline
            if self.lower_bound >= self.best_s * (1 - ROUNDING) or perf_counter() > deadline:
                return
            self._learn(done.dropped, perf_counter() - start)
            width = min(width * WIDENING, max_width)

    def _learn(self, dropped: Sequence[State], pass_s: float) -> None:
        """Fit bounds to the start and to dropped labels, the most promising first."""
        end = min(self.deadline, perf_counter() + LEARNING_SHARE * pass_s)
        root = start_of(self.chain)
        self._learn_from(root, STEPS)
        self.lower_bound = max(self.lower_bound, min(self.best_s, self._strongest(root).seconds_left(root)))
        for number, state in enumerate(sorted(dropped, key=lambda state: state.bound)):
            if perf_counter() > (end if number >= MIN_LEARNED else self.deadline):
                return
            self._learn_from(state, STEPS)

    def _strongest(self, state: State) -> PricedBound:
        return max(self.bounds, key=lambda bound: bound.seconds_left(state))

    def _learn_from(self, state: State, steps: int) -> None:
        before = self._strongest(state)
        aim_s = self.best_s - state.seconds
        learned = raise_bound(self.chain, state, before.prices, aim_s, steps)
        seconds = learned.seconds_left(state)
        if seconds > before.seconds_left(state) + WORTH_KEEPING * seconds:
            self.bounds.append(learned)

    def _run_pass(self, width: int, deadline: float) -> _Pass:
        result = _Pass()
        labels = self._first()
        history: list[tuple[NDArray[np.signedinteger], NDArray[np.uint8]]] = []
        for layer in range(self.chain.n_layers):
            opened = self._open(layer, labels, width, deadline, result)
            if opened is None:
                result.lower_bound = min(result.lower_bound, float(labels.bounds.min()))
                return result
            parents, labels = opened
            self.explored += len(labels)
            if not len(labels):
                return result
            history.append((parents.astype(np.int32), labels.device.astype(np.uint8)))
        row = int(labels.seconds.argmin())
        result.seconds = float(labels.seconds[row])
        for parents, devices in reversed(history):
            result.devices.insert(0, int(devices[row]))
            row = int(parents[row])
        return result

    def _first(self) -> _Labels:
        root = start_of(self.chain)
        nothing_used = np.zeros((1, self.n_devices), dtype=bool)
        nothing = np.zeros(1)
        return _Labels(nothing, np.array([self.lower_bound]), np.zeros(1, dtype=np.intp), root.free[None], nothing_used)

    def _open(
        self, layer: int, labels: _Labels, width: int, deadline: float, result: _Pass
    ) -> tuple[Ints, _Labels] | None:
        """Return the parents and labels one layer on, at most `width`, or None when the time is over."""
        bounds = self._bounds_for(layer, labels)
        found = []
        for first in range(0, len(labels), BLOCK):
            if perf_counter() > deadline:
                return None
            rows, device, value = self._children(
                layer, labels.take(np.arange(first, min(first + BLOCK, len(labels)))), bounds
            )
            found.append((rows + first, device, value))
        rows, device, value = (np.concatenate(column) for column in zip(*found, strict=True))
        # Half of the labels are seldom duplicates; more need not be looked at.
        kept = self._narrow(layer, labels, (rows, device, value), 2 * width, result)
        rows, device, value = rows[kept], device[kept], value[kept]
        children = self._make(layer, labels, rows, device, value)
        fastest = self._fastest_of_equals(layer, children)
        rows, device, value = rows[fastest], device[fastest], value[fastest]
        kept = self._narrow(layer, labels, (rows, device, value), width, result)
        return rows[kept], children.take(fastest[kept])

    def _bounds_for(self, layer: int, labels: _Labels) -> list[PricedBound]:
        """Return the bounds that are most often the largest on a sample of the labels."""
        if len(self.bounds) <= BOUNDS_A_LAYER:
            return self.bounds
        sample = labels.take(np.arange(0, len(labels), -(-len(labels) // SAMPLE)))
        values = np.stack([bound.rest[layer, sample.device] - sample.free @ bound.prices for bound in self.bounds])
        wins = np.bincount(values.argmax(axis=0), minlength=len(self.bounds))
        return [self.bounds[index] for index in np.argsort(-wins, kind="stable")[:BOUNDS_A_LAYER]]

    def _children(self, layer: int, labels: _Labels, bounds: Sequence[PricedBound]) -> tuple[Ints, Ints, Floats]:
        """Return rows, devices and bounds of the children that can still lead to something better."""
        value = np.full((len(labels), self.n_devices), -inf)
        for bound in bounds:
            onward = bound.rest[layer + 1] + bound.prices * self.chain.flash_bytes[layer]
            np.maximum(value, onward - (labels.free @ bound.prices)[:, None], out=value)
        value += labels.seconds[:, None] + self.chain.step_seconds[layer][labels.device]
        good = (value < self.best_s * (1 - ROUNDING)) & (labels.free >= self.chain.flash_bytes[layer])
        if self.needs_used:
            good &= self._keeps_rules(layer, labels.used)
        rows, device = np.nonzero(good)
        return rows, device, value[rows, device]

    def _keeps_rules(self, layer: int, used: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return [label][device]: twins are taken in their order, and all devices can still be used where they must."""
        good = np.ones_like(used)
        for device, twins in enumerate(self.twins):
            good[:, device] = used[:, list(twins)].all(axis=1)
        if self.problem.must_use_all:
            unused = self.n_devices - used.sum(axis=1)[:, None] - ~used
            good &= unused <= self.chain.n_layers - 1 - layer
        return good

    def _make(self, layer: int, labels: _Labels, rows: Ints, device: Ints, bounds: Floats) -> _Labels:
        everyone = np.arange(len(rows))
        free, used = labels.free[rows], labels.used[rows]
        free[everyone, device] -= self.chain.flash_bytes[layer]
        used[everyone, device] = True
        seconds = labels.seconds[rows] + self.chain.step_seconds[layer, labels.device[rows], device]
        return _Labels(seconds, bounds, device, free, used)

    def _fastest_of_equals(self, layer: int, labels: _Labels) -> Ints:
        """Return one row of each state: more free flash than all that is left needs makes no difference."""
        columns = [np.minimum(labels.free, self.chain.flash_left[layer + 1]).astype(np.int64), labels.device[:, None]]
        if self.needs_used:
            columns.append(labels.used)
        states = np.hstack(columns)
        keys = states @ self.mix[: states.shape[1]]
        order = np.lexsort((labels.seconds, keys))
        again = np.flatnonzero(keys[order[1:]] == keys[order[:-1]])
        again = again[(states[order[again]] == states[order[again + 1]]).all(axis=1)]
        return np.delete(order, again + 1)

    def _narrow(
        self, layer: int, labels: _Labels, children: tuple[Ints, Ints, Floats], width: int, result: _Pass
    ) -> Ints:
        """Return the rows of the `width` smallest bounds; note what is dropped."""
        rows, device, value = children
        if len(value) <= width:
            return np.arange(len(value))
        order = np.argpartition(value, width)
        out = order[width:]
        examples = np.array([out[value[out].argmin()], out[len(out) // 2]])
        made = self._make(layer, labels, rows[examples], device[examples], value[examples])
        result.dropped += [made.state(0, layer + 1), made.state(1, layer + 1)]
        result.lower_bound = min(result.lower_bound, float(made.bounds[0]))
        return order[:width]
