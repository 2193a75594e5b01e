"""Adaptive dichotomic search: runs are bisected by the profile of the network instead of in the middle.

Santamaria 2021, section 6, asks for "an adaptive bisection which splits the current candidate based on the network's
profiles instead of fixed points". Three binary trees of runs are traversed breadth first in parallel: they bisect a run
at its smallest tensor, at half of its computation and at half of its flash. The first half of the steps assigns runs of
the root candidates to another device, as the published search does. The second half does the same with the best
candidate found, repeatedly, so that the result may have any number of runs and devices. No candidate is evaluated
twice, and there are at most as many steps as published, d^2 (2n - 1).
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate, product
from math import inf, isfinite

from tinysplit.common.choices import DEFAULT_TIME_LIMIT_S
from tinysplit.papers.solvers.dichotomic import Candidates, with_run
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.problem import Assignment, Problem
from tinysplit.split.solution import Split
from tinysplit.split.solvers.no_split import check_capacity

Run = tuple[int, int]  # first layer, and the one after the last
CutPoint = Callable[[int, int], int]  # layer at which a run of several layers is bisected


def adaptive_dichotomic_search(problem: Problem, *, time_limit_s: float = DEFAULT_TIME_LIMIT_S) -> Split:
    """Return the best of at most d^2 (2n - 1) candidates, which is rarely proved optimal.

    Raises NoSplitError if no candidate is feasible.
    """
    check_capacity(problem)
    return _DichotomicSearch(problem, time_limit_s).run()


class _DichotomicSearch:
    """The evaluated candidates, and the current one: the best, or the least infeasible until one is feasible."""

    def __init__(self, problem: Problem, time_limit_s: float) -> None:
        self.problem = problem
        self.devices = range(len(problem.devices))
        self.runs = profile_runs(problem)
        self.max_steps = len(self.devices) ** 2 * (2 * len(problem.layers) - 1)
        self.candidates = Candidates(problem, time_limit_s)
        self.seen: set[Assignment] = set()
        self.current: Assignment = ()
        self.current_rank = (inf, inf)

    def run(self) -> Split:
        """Move runs of the roots, then runs of the best candidate until none improves it or the steps are used up."""
        n_layers = len(self.problem.layers)
        roots = [(root,) * n_layers for root in self.devices]
        self._evaluate_moves(((run, root) for run, root in product(self.runs, roots)), self.max_steps // 2)
        before: Assignment = ()
        while self.current != before:
            before = self.current
            self._evaluate_moves(((run, before) for run in self.runs), self.max_steps)
        return self.candidates.split("adaptive-dichotomic")

    def _evaluate_moves(self, moves: Iterable[tuple[Run, Assignment]], max_steps: int) -> None:
        for (first, end), base in moves:
            for device in self.devices:
                if self.candidates.explored >= max_steps or self.candidates.is_time_over:
                    return
                self._evaluate(with_run(base, first, end, device))

    def _evaluate(self, candidate: Assignment) -> None:
        if candidate in self.seen:
            return
        self.seen.add(candidate)
        self.candidates.evaluate(candidate)
        rank = (infeasibility(self.problem, candidate), evaluate(self.problem, candidate).value)
        if rank < self.current_rank:
            self.current, self.current_rank = candidate, rank


def profile_runs(problem: Problem) -> tuple[Run, ...]:
    """Return the distinct runs of the three trees, the longest first."""
    computing = [min((s for s in layer.seconds if isfinite(s)), default=0.0) for layer in problem.layers]
    flash_bytes = [max(layer.flash_bytes) for layer in problem.layers]
    trees = (
        _tree(len(problem.layers), lambda first, end: _smallest_tensor(problem, first, end)),
        _tree(len(problem.layers), lambda first, end: _half_of(computing, first, end)),
        _tree(len(problem.layers), lambda first, end: _half_of(flash_bytes, first, end)),
    )
    return tuple(dict.fromkeys(run for level in zip(*trees, strict=True) for run in level))


def infeasibility(problem: Problem, assignment: Assignment) -> float:
    """Return 0 for a feasible `assignment`, else 1 plus the number of violations and the share of excess flash."""
    if evaluate(problem, assignment).is_feasible:
        return 0.0
    flash_bytes = evaluate(problem, assignment).flash_bytes
    excess = sum(max(0, used - limit.flash_bytes) for used, limit in zip(flash_bytes, problem.devices, strict=True))
    misplaced = sum(
        not isfinite(seconds[device]) for seconds, device in zip(problem.usable_seconds, assignment, strict=True)
    )
    unused = len(problem.devices) - len(set(assignment)) if problem.must_use_all else 0
    cut_apart = sum(assignment[layer] != assignment[layer + 1] for layer in problem.joined)
    return 1 + excess / max(1, sum(flash_bytes)) + misplaced + unused + cut_apart


def _tree(n_layers: int, cut_point: CutPoint) -> Iterator[Run]:
    """Yield the 2n - 1 runs of a tree breadth first, down to single layers."""
    queue = deque([(0, n_layers)])
    while queue:
        first, end = queue.popleft()
        yield first, end
        if end - first > 1:
            middle = cut_point(first, end)
            queue += ((first, middle), (middle, end))


def _smallest_tensor(problem: Problem, first: int, end: int) -> int:
    """Return the layer after the smallest tensor inside the run; ties go to the most central one."""
    centre = (first + end) / 2
    return min(range(first + 1, end), key=lambda cut: (problem.layers[cut - 1].out_bytes, abs(cut - centre)))


def _half_of(costs: Iterable[float], first: int, end: int) -> int:
    """Return the layer that divides the costs of the run into two halves that are nearly equal."""
    sums = [0.0, *accumulate(costs)]
    half = (sums[first] + sums[end]) / 2
    return min(range(first + 1, end), key=lambda cut: abs(sums[cut] - half))
