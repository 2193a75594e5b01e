"""The best sets of boards by an objective, and how they were found."""

from dataclasses import dataclass
from math import isnan
from typing import Any

from tinysplit.common.tables import counted
from tinysplit.explore.candidates import SetCandidate
from tinysplit.explore.evaluate import EvaluatedSplit
from tinysplit.explore.figures import Figures
from tinysplit.explore.rank_correlation import kendall_tau_b
from tinysplit.settings.search import TIME_LIMIT


@dataclass(frozen=True)
class RankedSet:
    """A set with its best split by the simulation, and its place in phase 1 among all sets that are ranked."""

    candidate: SetCandidate
    point: EvaluatedSplit  # analytical
    simulated: Figures
    phase_1_rank: int  # from 1


@dataclass(frozen=True)
class Ranking:
    """The best sets of one network and bit width, and what the phases found.

    `phase_1_ranks` are those of all sets that were simulated and keep the limits, in the order of the simulation. Of
    `n_sets`, `n_ruled_out` have bounds beyond memories or limits, `n_pruned` bounds that the best sets are not beyond,
    and of `n_solved`, `n_infeasible` have no split. `n_open` may be among the best, but were not simulated; of
    `n_unproved`, the split may not be the best one by its analytical figures.
    """

    best: tuple[RankedSet, ...]
    phase_1_ranks: tuple[int, ...]
    n_sets: int
    n_ruled_out: int
    n_pruned: int
    n_solved: int
    n_infeasible: int
    n_open: int
    n_unproved: int
    n_splits: int
    rounds: int
    phase_1_s: float
    phase_2_s: float

    @property
    def n_moved(self) -> int:
        """How many of the best sets have another place than by phase 1."""
        return sum(place != each.phase_1_rank for place, each in enumerate(self.best, 1))

    @property
    def is_best_changed(self) -> bool:
        """Whether phase 1 has another best set."""
        return bool(self.best) and self.best[0].phase_1_rank != 1

    @property
    def rank_correlation(self) -> float:
        """Kendall's tau-b of all simulated sets by both phases; NaN of a single set."""
        return kendall_tau_b(self.phase_1_ranks, range(len(self.phase_1_ranks)))

    def to_json(self) -> dict[str, Any]:
        """Return what the phases found; times in seconds."""
        correlation = self.rank_correlation
        return {
            "sets": self.n_sets,
            "ruled_out": self.n_ruled_out,
            "pruned": self.n_pruned,
            "solved": self.n_solved,
            "infeasible": self.n_infeasible,
            "simulated_splits": self.n_splits,
            "simulated_sets": len(self.phase_1_ranks),
            "rounds": self.rounds,
            "moved": self.n_moved,
            "best_changed": self.is_best_changed,
            "rank_correlation": None if isnan(correlation) else correlation,
            "open": self.n_open,
            "not_proved": self.n_unproved,
            "phase_1_s": self.phase_1_s,
            "phase_2_s": self.phase_2_s,
        }

    def lines(self) -> tuple[str, ...]:
        """Return what to print of the phases: a line each, and what is not proved."""
        phase_1 = (
            f"phase 1, best-case models: {counted(self.n_sets, 'set')}, {self.n_ruled_out} ruled out, "
            f"{self.n_pruned} pruned, {self.n_solved} solved ({self.n_infeasible} infeasible) in {self.phase_1_s:.2f} s"
        )
        moved = f"{self.n_moved} of the best {len(self.best)} moved" if len(self.best) > 1 else ""
        best = f"the best one {'changed' if self.is_best_changed else 'stayed'}" if self.best else ""
        correlation = "" if isnan(self.rank_correlation) else f"rank correlation {self.rank_correlation:.2f}"
        summary = ", ".join(filter(None, (moved, best, correlation)))
        phase_2 = (
            f"phase 2, simulation: {counted(self.n_splits, 'split')} of {counted(len(self.phase_1_ranks), 'set')} in "
            f"{counted(self.rounds, 'round')}, {self.phase_2_s:.2f} s{': ' if summary else ''}{summary}"
        )
        lines = [phase_1, phase_2]
        if self.n_open:
            lines.append(f"{counted(self.n_open, 'set')} that may be better were not simulated")
        if self.n_unproved:
            lines.append(f"{counted(self.n_unproved, 'set')} without a proof of the best split: increase {TIME_LIMIT}")
        return tuple(lines)
