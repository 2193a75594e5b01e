"""Exact label setting on chains, as a beam search with increasing width.

A pass (`beam_pass.py`) extends labels (partial assignments) layer by layer and keeps at most `width` of them. A pass
that drops no label with a bound below the incumbent proves it optimal. Otherwise the smallest dropped bound is a lower
bound, and a wider pass follows, with Lagrangian multipliers fitted to dropped labels by subgradient steps
(`subgradient.py`). The shortest paths of these steps are feasible splits if they are within the limits, and
`local_search.py` improves them.

Where idle power matters, there is one such search for each set of powered boards, and the one with the smallest lower
bound is continued (best first).
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import inf

import numpy as np

from tinysplit.common.choices import DEFAULT_TIME_LIMIT_S
from tinysplit.common.errors import UsageError
from tinysplit.settings.search import SOLVER
from tinysplit.split import clock
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.problem import Assignment, Period, Problem
from tinysplit.split.solution import Split
from tinysplit.split.solvers.chain.beam_pass import BeamPass, Dropped, Rules, limits_below
from tinysplit.split.solvers.chain.lagrangian import ROUNDING, Completions, Runs, States
from tinysplit.split.solvers.chain.local_search import Found, LocalSearch
from tinysplit.split.solvers.chain.resources import ChainResources, StepCosts
from tinysplit.split.solvers.chain.subgradient import SubgradientAscent
from tinysplit.split.solvers.no_split import NoSplitError, check_capacity
from tinysplit.split.solvers.symmetry import earlier_interchangeable

FIRST_WIDTH = 32
WIDENING = 6
KNAPSACK_WIDTH = 64  # times devices squared: narrower passes take less time than knapsack tables
LABEL_MEMORY_BYTES = 250_000_000
FIRST_STEPS = 12  # subgradient steps before the first pass
STEPS = 40  # and before the others
MAX_FITTED = 32  # states that multipliers are fitted to together
MAX_BOUNDS = 100  # sets of multipliers kept
LOCAL_SEARCH_GAP = 0.02  # optimality gap: a wider pass closes smaller ones
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
        raise UsageError(
            f"chain-labels solves chains only, and this network has branches: use {SOLVER('dag-labels')}", SOLVER
        )
    if problem.asks_for_period and problem.period_definition is not Period.LOAD:
        raise UsageError(
            f"chain-labels supports the period load only, not {problem.period_definition}: use {SOLVER('dag-labels')}"
        )
    if has_too_many_powered_sets(problem):
        raise UsageError(
            f"chain-labels searches each set of powered boards where idle power matters, and supports at most "
            f"{MAX_DEVICES_IN_SETS} boards then: use {SOLVER('dag-labels')}"
        )


def has_too_many_powered_sets(problem: Problem) -> bool:
    """Return whether the number of sets of powered boards is too large for one search per set."""
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
        """Replace the incumbent by `assignment` if that is feasible and better."""
        figures = evaluate(self.problem, assignment)
        if figures.value < self.value and figures.is_feasible:
            self.assignment, self.value = assignment, figures.value


class _LabelSearch:
    """One search for each set of powered devices."""

    def __init__(self, problem: Problem, deadline: float) -> None:
        self.best = _Incumbent(problem)
        self.deadline = deadline
        costs, rules = StepCosts(problem), Rules(problem.must_use_all, earlier_interchangeable(problem))
        self.searches = [_PoweredSet(self.best, costs, rules, powered) for powered in _powered_sets(problem, rules)]

    def run(self) -> None:
        """Continue the search with the smallest lower bound, until none can improve or the time is over."""
        self.searches[0].advance(inf, self.deadline)
        while clock.now() <= self.deadline:
            search = min(self.searches, key=lambda search: search.lower_bound)
            if search.is_done:
                return
            search.advance(self.deadline, self.deadline)

    @property
    def lower_bound(self) -> float:
        """Lower bound over all sets of powered devices; infinite if the problem is infeasible."""
        return min(search.lower_bound for search in self.searches)

    @property
    def explored(self) -> int:
        """Number of labels kept in all passes."""
        return sum(search.explored for search in self.searches)


def _powered_sets(problem: Problem, rules: Rules) -> Iterator[Sequence[int]]:
    """Yield all devices and, where idle power matters, every subset with enough flash, up to symmetry."""
    devices = range(len(problem.devices))
    yield devices
    if problem.must_use_all or not _idle_counts(problem):
        return
    for size in devices[1:]:
        for powered in combinations(devices, size):
            if _holds_all(problem, powered) and all(
                set(rules.earlier_interchangeable[device]) <= set(powered) for device in powered
            ):
                yield powered


def _holds_all(problem: Problem, powered: Sequence[int]) -> bool:
    needed_bytes = sum(min(layer.flash_bytes[device] for device in powered) for layer in problem.layers)
    return needed_bytes <= sum(problem.devices[device].flash_bytes for device in powered)


class _PoweredSet:
    """Passes and multipliers for one set of powered devices; `lower_bound` is infinite if it is infeasible."""

    def __init__(self, best: _Incumbent, costs: StepCosts, rules: Rules, powered: Sequence[int]) -> None:
        self.best, self.costs, self.rules, self.powered = best, costs, rules, powered
        self.width = FIRST_WIDTH
        self.knapsack_devices: Sequence[int] = range(costs.n_devices)
        self.lower_bound = 0.0
        self.explored = 0
        self.multipliers = np.empty((0, 0))
        self.dropped: list[Dropped] = []

    def advance(self, pass_deadline: float, deadline: float) -> None:
        """Fit multipliers to the labels that the last pass dropped, and run a wider pass."""
        runs = Runs(ChainResources.of(self.costs, self.powered))  # not stored: there may be hundreds of sets
        if not len(self.multipliers):
            n = runs.resources.n_objective
            self.multipliers = np.append(np.full(n, 1 / n), np.zeros(len(runs.resources.limits) - n))[None]
            self._fit_multipliers(runs, FIRST_STEPS, deadline)
        else:
            self._fit_multipliers(runs, STEPS, deadline)
        if not self.is_done:
            self._pass(runs, pass_deadline, deadline)

    @property
    def is_done(self) -> bool:
        """Whether no better split exists for this set."""
        return self.lower_bound >= self.best.value * (1 - ROUNDING)

    def _pass(self, runs: Runs, pass_deadline: float, deadline: float) -> None:
        start = clock.now()
        knapsack_devices = self.knapsack_devices if self.width > KNAPSACK_WIDTH * runs.resources.n_devices**2 else ()
        done = BeamPass(
            runs, self.multipliers, self.rules, self.best.value, self.width, pass_deadline, knapsack_devices
        )
        done.run()
        if knapsack_devices:
            self.knapsack_devices = done.knapsack.helpful
        self.explored += done.explored
        if done.devices:
            self.best.offer(runs.resources.assignment(done.devices))
        self.lower_bound = max(self.lower_bound, min(self.best.value, done.dropped_bound))
        if self.is_done:
            return
        self.dropped = sorted(done.dropped(), key=lambda drop: drop.bound)
        self.multipliers = self.multipliers[np.argsort(-done.wins, kind="stable")[: MAX_BOUNDS - MAX_FITTED]]
        most = LABEL_MEMORY_BYTES // (5 * runs.resources.n_layers + 50 * len(runs.resources.limits) + 200)
        self.width = min(self.width * WIDENING, most)
        now = clock.now()
        took_s = now - start
        is_last = now + WIDENING * took_s > deadline  # an interrupted pass proves nothing
        self._search_locally(runs, deadline if is_last else now + took_s)

    def _search_locally(self, runs: Runs, deadline: float) -> None:
        """Improve the incumbent and completions of dropped labels by local search, while the gap is large."""
        local = LocalSearch(runs.resources, self.rules, deadline)
        for found in self._starts(runs, local):
            if local.is_time_over or self.lower_bound >= self.best.value * (1 - LOCAL_SEARCH_GAP):
                return
            _, devices = local.paired(found, self.multipliers[:LOCAL_SEARCH_BOUNDS])
            self.best.offer(runs.resources.assignment(devices))

    def _starts(self, runs: Runs, local: LocalSearch) -> Iterator[Found]:
        if self.best.assignment:
            yield self.best.value, list(self.best.assignment[: runs.resources.n_layers])
        for drop in self._examples(runs):
            if local.is_time_over:
                return
            multipliers = np.vstack([drop.multipliers, self.multipliers[:LOCAL_SEARCH_BOUNDS]])
            found = local.ended(drop.devices, multipliers, self.best.value)
            if found[1]:
                yield found

    def _fit_multipliers(self, runs: Runs, steps: int, deadline: float) -> None:
        """Fit multipliers to the empty and to dropped labels; offer the shortest paths found as splits."""
        chosen = self._examples(runs)
        prefixes = [[], *(drop.devices for drop in chosen)]
        states = States(
            done=np.array([len(prefix) for prefix in prefixes]),
            device=np.array([prefix[-1] if prefix else 0 for prefix in prefixes]),
            totals=np.stack([np.zeros(len(runs.resources.limits)), *(drop.totals for drop in chosen)]),
        )
        before = np.stack([self.multipliers[0], *(drop.multipliers for drop in chosen)])
        ascent = SubgradientAscent(runs, states, before, limits_below(runs, self.best.value), self.best.value)
        for paths in ascent.steps(steps):
            self._offer_best(runs.resources, prefixes, paths)
            if clock.now() > deadline:
                break
        self.lower_bound = max(self.lower_bound, min(self.best.value, float(ascent.values[0])))
        self.multipliers = np.vstack([ascent.multipliers, self.multipliers])

    def _examples(self, runs: Runs) -> list[Dropped]:
        """Return at most MAX_FITTED dropped labels that could still improve on the incumbent."""
        caps = limits_below(runs, self.best.value)
        promising = [
            drop for drop in self.dropped if drop.bound < self.best.value and bool((drop.totals <= caps).all())
        ]
        return promising[:: -(-len(promising) // MAX_FITTED)] if promising else []

    def _offer_best(self, resources: ChainResources, prefixes: Sequence[list[int]], paths: Completions) -> None:
        """Offer the best feasible split that a prefix and its shortest path form."""
        values = paths.totals[:, : resources.n_objective].max(axis=1)
        values[~paths.exists | (paths.totals > resources.limits).any(axis=1)] = inf
        best = int(values.argmin())
        if values[best] < self.best.value * (1 - ROUNDING):
            self.best.offer(resources.assignment(prefixes[best] + paths.devices(best, len(prefixes[best]))))
