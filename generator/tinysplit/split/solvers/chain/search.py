"""Exact label setting on chains, by beam search that is widened until nothing was pruned by width.

A pass (`beam_pass.py`) goes through the layers and keeps at most `width` labels (partial assignments) after each. A
pass that dropped nothing below the incumbent has proved it; otherwise the smallest bound dropped is a lower bound, and
a wider pass follows, with more Lagrangian bounds: multipliers fitted to dropped labels by subgradient steps
(`subgradient.py`). The shortest paths met on the way are splits, too, if they keep the limits, and `local_search.py`
improves them.

Where idle power counts there is one such search for each set of boards that may be powered, and the one with the least
bound goes on (best first).
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import inf

import numpy as np

from tinysplit.common.errors import UsageError
from tinysplit.split import clock
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.problem import Assignment, Period, Problem
from tinysplit.split.solution import DEFAULT_TIME_LIMIT_S, Split
from tinysplit.split.solvers.chain.beam_pass import BeamPass, Dropped, Rules, limits_below
from tinysplit.split.solvers.chain.lagrangian import ROUNDING, Completions, Runs, States
from tinysplit.split.solvers.chain.local_search import Found, LocalSearch
from tinysplit.split.solvers.chain.resources import ChainResources, StepCosts
from tinysplit.split.solvers.chain.subgradient import SubgradientAscent
from tinysplit.split.solvers.no_split import NoSplitError, check_capacity
from tinysplit.split.solvers.symmetry import earlier_interchangeable

FIRST_WIDTH = 32
WIDENING = 6
KNAPSACK_WIDTH = 64  # times devices squared; narrower passes take less time than the tables of knapsacks
LABEL_MEMORY_BYTES = 250_000_000
FIRST_STEPS = 12
STEPS = 40
MAX_LEARNED = 32  # states at once
MAX_BOUNDS = 100
LOCAL_SEARCH_GAP = 0.02  # where less is open, wider passes close it
LOCAL_SEARCH_BOUNDS = 3
MAX_DEVICES_IN_SETS = 10  # 2^10 sets


def chain_label_search(problem: Problem, *, time_limit_s: float = DEFAULT_TIME_LIMIT_S) -> Split:
    """Return an optimal split, or after `time_limit_s` seconds the best one found, with its lower bound.

    The first pass takes milliseconds and is always finished.

    Raises:
        UsageError: the network has branches, the period is not `load`, or idle power counts on more than ten boards.
        NoSplitError: the problem is infeasible, or no split was found in time.
    """
    _check_scope(problem)
    check_capacity(problem)
    start = clock.now()
    search = _LabelSearch(problem, start + time_limit_s)
    search.run()
    if not search.best.assignment:
        raise NoSplitError(proved=search.lower_bound == inf)
    return Split(
        problem=problem,
        assignment=search.best.assignment,
        lower_bound=min(search.lower_bound, search.best.value),
        explored=search.explored,
        solver="chain-labels",
        spent_s=clock.now() - start,
    )


def _check_scope(problem: Problem) -> None:
    if not problem.is_chain:
        raise UsageError("chain-labels solves chains only, and this network has branches: take --solver dag-labels")
    if problem.asks_for_period and problem.period_definition is not Period.LOAD:
        raise UsageError(
            f"chain-labels knows the period load only, not {problem.period_definition}: take --solver dag-labels"
        )
    if has_too_many_powered_sets(problem):
        raise UsageError(
            f"chain-labels solves once for each set of powered boards where idle power counts, and more than "
            f"{MAX_DEVICES_IN_SETS} boards have too many sets: take --solver dag-labels"
        )


def has_too_many_powered_sets(problem: Problem) -> bool:
    """Return whether there are too many sets of boards that may be powered, each of which labels would look at."""
    return _idle_counts(problem) and len(problem.devices) > MAX_DEVICES_IN_SETS


def _idle_counts(problem: Problem) -> bool:
    return problem.asks_for_energy and any(device.idle_w for device in problem.devices)


class _Incumbent:
    """The best split so far."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.assignment: Assignment = ()
        self.value = inf

    def offer(self, assignment: Assignment) -> None:
        """Take `assignment` if it is feasible and better."""
        figures = evaluate(self.problem, assignment)
        if figures.value < self.value and figures.is_feasible:
            self.assignment, self.value = assignment, figures.value


class _LabelSearch:
    """One search for each set of devices that may be powered."""

    def __init__(self, problem: Problem, deadline: float) -> None:
        self.best = _Incumbent(problem)
        self.deadline = deadline
        costs, rules = StepCosts(problem), Rules(problem.must_use_all, earlier_interchangeable(problem))
        self.parts = [_PoweredSet(self.best, costs, rules, powered) for powered in _powered_sets(problem, rules)]

    def run(self) -> None:
        """Widen passes of the part with the least bound until none can be better, or the time is over."""
        self.parts[0].advance(inf, self.deadline)
        while clock.now() <= self.deadline:
            part = min(self.parts, key=lambda part: part.lower_bound)
            if part.is_done:
                return
            part.advance(self.deadline, self.deadline)

    @property
    def lower_bound(self) -> float:
        """No split is below, whatever is powered; infinite where there is none."""
        return min(part.lower_bound for part in self.parts)

    @property
    def explored(self) -> int:
        """Labels kept in all passes."""
        return sum(part.explored for part in self.parts)


def _powered_sets(problem: Problem, rules: Rules) -> Iterator[Sequence[int]]:
    """Yield all devices, and where idle power counts all sets that hold the network, twins in their order."""
    devices = range(len(problem.devices))
    yield devices
    if problem.must_use_all or not _idle_counts(problem):
        return
    for size in devices[1:]:
        for powered in combinations(devices, size):
            if _holds_all(problem, powered) and all(set(rules.twins[device]) <= set(powered) for device in powered):
                yield powered


def _holds_all(problem: Problem, powered: Sequence[int]) -> bool:
    needed_bytes = sum(min(layer.flash_bytes[device] for device in powered) for layer in problem.layers)
    return needed_bytes <= sum(problem.devices[device].flash_bytes for device in powered)


class _PoweredSet:
    """Passes and multipliers with some devices powered; `lower_bound` is infinite where nothing fits."""

    def __init__(self, best: _Incumbent, costs: StepCosts, rules: Rules, powered: Sequence[int]) -> None:
        self.best, self.costs, self.rules, self.powered = best, costs, rules, powered
        self.width = FIRST_WIDTH
        self.packed: Sequence[int] = range(costs.n_devices)
        self.lower_bound = 0.0
        self.explored = 0
        self.multipliers = np.empty((0, 0))
        self.dropped: list[Dropped] = []

    def advance(self, pass_deadline: float, deadline: float) -> None:
        """Learn from what the last pass dropped, and go through the layers once more, with more labels."""
        runs = Runs(ChainResources.of(self.costs, self.powered))  # not kept: there may be hundreds of parts
        if not len(self.multipliers):
            n = runs.rows.n_objective
            self.multipliers = np.append(np.full(n, 1 / n), np.zeros(len(runs.rows.limits) - n))[None]
            self._learn(runs, FIRST_STEPS, deadline)
        else:
            self._learn(runs, STEPS, deadline)
        if not self.is_done:
            self._pass(runs, pass_deadline, deadline)

    @property
    def is_done(self) -> bool:
        """Whether nothing better is left."""
        return self.lower_bound >= self.best.value * (1 - ROUNDING)

    def _pass(self, runs: Runs, pass_deadline: float, deadline: float) -> None:
        start = clock.now()
        packed = self.packed if self.width > KNAPSACK_WIDTH * runs.rows.n_devices**2 else ()
        done = BeamPass(runs, self.multipliers, self.rules, self.best.value, self.width, pass_deadline, packed)
        done.run()
        if packed:
            self.packed = done.packing.helpful
        self.explored += done.explored
        if done.devices:
            self.best.offer(runs.rows.assignment(done.devices))
        self.lower_bound = max(self.lower_bound, min(self.best.value, done.low))
        if self.is_done:
            return
        self.dropped = sorted(done.dropped(), key=lambda drop: drop.bound)
        self.multipliers = self.multipliers[np.argsort(-done.wins, kind="stable")[: MAX_BOUNDS - MAX_LEARNED]]
        most = LABEL_MEMORY_BYTES // (5 * runs.rows.n_layers + 50 * len(runs.rows.limits) + 200)
        self.width = min(self.width * WIDENING, most)
        now = clock.now()
        took_s = now - start
        is_last = now + WIDENING * took_s > deadline  # a pass that does not end proves nothing
        self._look_around(runs, deadline if is_last else now + took_s)

    def _look_around(self, runs: Runs, deadline: float) -> None:
        """Look for better splits near the best one and near what was dropped, while the gap is large."""
        near = LocalSearch(runs.rows, self.rules, deadline)
        for found in self._starts(runs, near):
            if near.is_time_over or self.lower_bound >= self.best.value * (1 - LOCAL_SEARCH_GAP):
                return
            _, devices = near.paired(found, self.multipliers[:LOCAL_SEARCH_BOUNDS])
            self.best.offer(runs.rows.assignment(devices))

    def _starts(self, runs: Runs, near: LocalSearch) -> Iterator[Found]:
        if self.best.assignment:
            yield self.best.value, list(self.best.assignment[: runs.rows.n_layers])
        for drop in self._examples(runs):
            if near.is_time_over:
                return
            multipliers = np.vstack([drop.multipliers, self.multipliers[:LOCAL_SEARCH_BOUNDS]])
            found = near.ended(drop.devices, multipliers, self.best.value)
            if found[1]:
                yield found

    def _learn(self, runs: Runs, steps: int, deadline: float) -> None:
        """Fit multipliers to the start and to dropped labels; whatever split is met on the way counts."""
        chosen = self._examples(runs)
        prefixes = [[], *(drop.devices for drop in chosen)]
        states = States(
            done=np.array([len(prefix) for prefix in prefixes]),
            device=np.array([prefix[-1] if prefix else 0 for prefix in prefixes]),
            totals=np.stack([np.zeros(len(runs.rows.limits)), *(drop.totals for drop in chosen)]),
        )
        before = np.stack([self.multipliers[0], *(drop.multipliers for drop in chosen)])
        ascent = SubgradientAscent(runs, states, before, limits_below(runs, self.best.value), self.best.value)
        for ways in ascent.steps(steps):
            self._look_at(runs.rows, prefixes, ways)
            if clock.now() > deadline:
                break
        self.lower_bound = max(self.lower_bound, min(self.best.value, float(ascent.values[0])))
        self.multipliers = np.vstack([ascent.multipliers, self.multipliers])

    def _examples(self, runs: Runs) -> list[Dropped]:
        """Return at most as many dropped labels as may be learned from, of all that could still be better."""
        caps = limits_below(runs, self.best.value)
        hopeful = [drop for drop in self.dropped if drop.bound < self.best.value and bool((drop.totals <= caps).all())]
        return hopeful[:: -(-len(hopeful) // MAX_LEARNED)] if hopeful else []

    def _look_at(self, rows: ChainResources, prefixes: Sequence[list[int]], ways: Completions) -> None:
        """Offer the best of the splits that the prefixes and the ways make, if it keeps the limits."""
        values = ways.totals[:, : rows.n_objective].max(axis=1)
        values[~ways.open | (ways.totals > rows.limits).any(axis=1)] = inf
        best = int(values.argmin())
        if values[best] < self.best.value * (1 - ROUNDING):
            self.best.offer(rows.assignment(prefixes[best] + ways.devices(best, len(prefixes[best]))))
