"""Adaptive dichotomic search: runs are cut where the network's profile says, in place of the middle.

Santamaria 2021, section 6, asks for "an adaptive bisection which splits the current candidate based on the network's
profiles instead of fixed points". Three trees of runs are walked breadth first, side by side: one cuts each run at its
smallest tensor, one where half of its computation is done, one where half of its flash is placed. The first half of the
steps gives runs of the root candidates to another device, as the published search does. The second does that to the
best candidate so far, again and again, which may so get any number of runs and devices. No candidate is looked at
twice, and there are never more than the published d^2 (2n - 1).
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate, product
from math import inf, isfinite

from tinysplit.reproduce.dichotomic import Candidates, with_run
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.problem import Assignment, Problem
from tinysplit.split.solution import DEFAULT_TIME_LIMIT_S, Split
from tinysplit.split.solvers.no_split import check_capacity

Run = tuple[int, int]  # first layer, and the one behind the last
CutPoint = Callable[[int, int], int]  # where a run of several layers is cut


def adaptive_dichotomic_search(problem: Problem, *, time_limit_s: float = DEFAULT_TIME_LIMIT_S) -> Split:
    """Return the best of at most d^2 (2n - 1) candidates; rarely proved, never infeasible.

    CheckFailedError says when nothing fits, or nothing was found that does.
    """
    check_capacity(problem)
    return _Search(problem, time_limit_s).run()


class _Search:
    """The candidates seen, and the one to go on from: the best, or while none is feasible the one nearest to that."""

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
        """Look at runs of the roots, then at runs of the best until none improves it or the steps are used up."""
        n_layers = len(self.problem.layers)
        roots = [(root,) * n_layers for root in self.devices]
        self._walk(((run, root) for run, root in product(self.runs, roots)), self.max_steps // 2)
        before: Assignment = ()
        while self.current != before:
            before = self.current
            self._walk(((run, before) for run in self.runs), self.max_steps)
        return self.candidates.split("adaptive-dichotomic")

    def _walk(self, moves: Iterable[tuple[Run, Assignment]], max_steps: int) -> None:
        for (first, end), home in moves:
            for device in self.devices:
                if self.candidates.explored >= max_steps or self.candidates.is_time_over:
                    return
                self._look_at(with_run(home, first, end, device))

    def _look_at(self, candidate: Assignment) -> None:
        if candidate in self.seen:
            return
        self.seen.add(candidate)
        self.candidates.look_at(candidate)
        rank = (misfit(self.problem, candidate), evaluate(self.problem, candidate).value)
        if rank < self.current_rank:
            self.current, self.current_rank = candidate, rank


def profile_runs(problem: Problem) -> tuple[Run, ...]:
    """Return the runs of the three trees, each once, the large ones first."""
    computing = [min((s for s in layer.seconds if isfinite(s)), default=0.0) for layer in problem.layers]
    flash_bytes = [max(layer.flash_bytes) for layer in problem.layers]
    trees = (
        _tree(len(problem.layers), lambda first, end: _smallest_tensor(problem, first, end)),
        _tree(len(problem.layers), lambda first, end: _half_of(computing, first, end)),
        _tree(len(problem.layers), lambda first, end: _half_of(flash_bytes, first, end)),
    )
    return tuple(dict.fromkeys(run for level in zip(*trees, strict=True) for run in level))


def misfit(problem: Problem, assignment: Assignment) -> float:
    """Return 0 for a feasible `assignment`, else 1 and what is wrong: layers, devices, and the share of flash."""
    if evaluate(problem, assignment).is_feasible:
        return 0.0
    flash_bytes = evaluate(problem, assignment).flash_bytes
    excess = sum(max(0, used - limit.flash_bytes) for used, limit in zip(flash_bytes, problem.devices, strict=True))
    homeless = sum(
        not isfinite(seconds[device]) for seconds, device in zip(problem.usable_seconds, assignment, strict=True)
    )
    unused = len(problem.devices) - len(set(assignment)) if problem.must_use_all else 0
    torn = problem.keep_last_two and len(set(assignment[-2:])) > 1
    return 1 + excess / max(1, sum(flash_bytes)) + homeless + unused + torn


def _tree(n_layers: int, cut_point: CutPoint) -> Iterator[Run]:
    """Yield the runs of a tree breadth first, down to single layers: always 2n - 1."""
    waiting = deque([(0, n_layers)])
    while waiting:
        first, end = waiting.popleft()
        yield first, end
        if end - first > 1:
            middle = cut_point(first, end)
            waiting += ((first, middle), (middle, end))


def _smallest_tensor(problem: Problem, first: int, end: int) -> int:
    """Return the layer behind the smallest tensor inside of the run, the middle one of equals."""
    centre = (first + end) / 2
    return min(range(first + 1, end), key=lambda cut: (problem.layers[cut - 1].out_bytes, abs(cut - centre)))


def _half_of(costs: Iterable[float], first: int, end: int) -> int:
    """Return the layer before which the run has about half of its costs behind it."""
    sums = [0.0, *accumulate(costs)]
    half = (sums[first] + sums[end]) / 2
    return min(range(first + 1, end), key=lambda cut: abs(sums[cut] - half))
