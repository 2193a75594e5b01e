"""The best sets of boards by an objective, in the two phases of Dariol 2023.

Phase 1 knows a lower bound of each set by best-case models (`best_case.py`) and solves sets in the order of their
bounds, until no other set can be among the `N_KEPT` best splits by the analytical figures of the solvers. Phase 2
simulates these splits. Bounds hold for simulated figures, too: as long as a set that was left out, or splits of a set,
may be among the best sets, further rounds open them, again in the order of their bounds.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from heapq import nsmallest
from itertools import chain

from tinysplit.explore.candidates import SetCandidate
from tinysplit.explore.evaluate import EvaluatedSplit
from tinysplit.explore.evaluator import Evaluator
from tinysplit.explore.goal import FIRST, LAST, Key, RankingGoal, may_be_better
from tinysplit.explore.ranking import RankedSet, Ranking
from tinysplit.split import clock

N_KEPT = 50

FIRST_SETS = 16  # that phase 1 solves before it prunes; then twice as many, and so on

Split = tuple[SetCandidate, EvaluatedSplit]


class TwoPhaseSearch:
    """The search; `ranking` may be asked for at any time, with what is known by then."""

    def __init__(
        self,
        evaluator: Evaluator,
        goal: RankingGoal,
        candidates: Sequence[SetCandidate],
        n_best: int,
        n_kept: int = N_KEPT,
    ) -> None:
        """Search for the `n_best` best sets of `candidates`, all of one network and bit width."""
        self._evaluator = evaluator
        self._goal = goal
        self._candidates = candidates
        self._n_best = n_best
        self._n_kept = n_kept
        self._bounds = dict.fromkeys(candidates, FIRST)  # of those that may be feasible, ascending
        self._simulated: dict[Split, Key] = {}  # LAST where a limit is broken
        self._rounds = 0
        self._phases_s = [0.0, 0.0]

    def run(self) -> None:
        """Search to the end. The errors are those of workers."""
        with self._timed(0):
            self._bounds = self._bound()
            self._prune()
        with self._timed(1):
            self._simulate(self._kept())
            while opened := self._open()[: self._n_kept]:
                self._evaluator.solve(opened)
                self._simulate([each for candidate in opened for each in self._splits(candidate)])

    def ranking(self) -> Ranking:
        """Return the best sets so far. If phase 1 was interrupted, the splits that it keeps are simulated now."""
        if not self._rounds:
            with self._timed(1):
                self._simulate(self._kept())
        best = self._best_splits()
        by_model = sorted(best, key=lambda split: self._goal.key(split[1], split[0].boards))
        ranked = [
            RankedSet(candidate, point, self._evaluator.simulated(candidate, point), by_model.index(split) + 1)
            for split in best
            for candidate, point in [split]
        ]
        solved = [each for each in self._candidates if self._evaluator.is_solved(each)]
        left = {each for each in self._bounds if not self._evaluator.is_solved(each)}
        opened = self._open()
        return Ranking(
            best=tuple(ranked[: self._n_best]),
            phase_1_ranks=tuple(each.phase_1_rank for each in ranked),
            n_sets=len(self._candidates),
            n_solved=len(solved),
            n_pruned=len(left.difference(opened)),
            n_ruled_out=len(self._candidates) - len(left) - len(solved),
            n_infeasible=sum(not self._splits(each) for each in solved),
            n_open=len(opened),
            n_unproved=sum(not self._evaluator.outcome(each.candidate).complete for each in ranked),
            n_splits=len(self._simulated),
            rounds=self._rounds,
            phase_1_s=self._phases_s[0],
            phase_2_s=self._phases_s[1],
        )

    @contextmanager
    def _timed(self, phase: int) -> Iterator[None]:
        start = clock.now()
        try:
            yield
        finally:
            self._phases_s[phase] += clock.now() - start

    def _bound(self) -> dict[SetCandidate, Key]:
        """Return the least place in the ranking of each set that may be feasible, ascending."""
        bounds = ((each, self._evaluator.bound(each)) for each in self._candidates)
        keys = {each: self._goal.key(bound, each.boards) for each, bound in bounds if self._goal.keeps_limits(bound)}
        return dict(sorted(keys.items(), key=lambda item: item[1]))

    def _prune(self) -> None:
        """Solve sets until no other one can have one of the best splits by the analytical figures."""
        count = FIRST_SETS
        while opened := self._below(self._last_kept(), self._evaluator.is_solved)[:count]:
            self._evaluator.solve(opened)
            count *= 2

    def _below(self, last: Key, is_done: Callable[[SetCandidate], bool]) -> list[SetCandidate]:
        return [each for each, bound in self._bounds.items() if may_be_better(bound, last) and not is_done(each)]

    def _open(self) -> list[SetCandidate]:
        """Return the sets that may be better than the last of the best ones, and are not simulated."""
        best = self._best_splits()
        last = self._simulated[best[self._n_best - 1]] if len(best) >= self._n_best else LAST
        return self._below(last, self._is_simulated)

    def _is_simulated(self, candidate: SetCandidate) -> bool:
        is_solved = self._evaluator.is_solved(candidate)
        return is_solved and all(split in self._simulated for split in self._splits(candidate))

    def _splits(self, candidate: SetCandidate) -> list[Split]:
        return [(candidate, point) for point in self._evaluator.outcome(candidate).points]

    def _kept(self) -> list[Split]:
        """Return the best splits by their analytical figures."""
        solved = filter(self._evaluator.is_solved, self._bounds)
        splits = chain.from_iterable(map(self._splits, solved))
        return nsmallest(self._n_kept, splits, key=lambda split: self._goal.key(split[1], split[0].boards))

    def _last_kept(self) -> Key:
        kept = self._kept()
        return self._goal.key(kept[-1][1], kept[-1][0].boards) if len(kept) == self._n_kept else LAST

    def _simulate(self, splits: Sequence[Split]) -> None:
        self._rounds += 1
        for candidate, point in splits:
            figures = self._evaluator.simulated(candidate, point)
            key = self._goal.key(figures, candidate.boards) if self._goal.keeps_limits(figures) else LAST
            self._simulated[candidate, point] = key

    def _best_splits(self) -> list[Split]:
        """Return the best simulated split of each set, ascending."""
        best: dict[SetCandidate, Split] = {}
        for split in sorted(self._simulated, key=lambda split: self._simulated[split]):
            if self._simulated[split] != LAST:
                best.setdefault(split[0], split)
        return list(best.values())
