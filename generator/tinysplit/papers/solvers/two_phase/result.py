"""The answer of the search in two phases, and what its phases say of each other."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tinysplit.explore.rank_correlation import kendall_tau_b
from tinysplit.papers.solvers.two_phase.analytical_phase import AnalyticalPhase, clusterings_of
from tinysplit.slices.result import SliceResult
from tinysplit.slices.sliced_network import Sliced
from tinysplit.split.solution import SearchReport


class Evaluated(NamedTuple):
    """A choice that both phases have evaluated: seconds by the model, and the objective by the event timeline.

    `timeline` is infinite where it cannot be generated, exceeds a memory or breaks a limit.
    """

    model_s: float
    timeline: float


@dataclass(frozen=True)
class TwoPhaseResult:
    """The best division found, None if none is feasible; `evaluated` are in the order of phase 1.

    No choice has less than `lower_bound`, in the unit of the objective, by the model; 0 where it has no such unit.
    """

    best: Sliced | None
    lower_bound: float
    phase_1: AnalyticalPhase
    evaluated: tuple[Evaluated, ...]
    phase_1_s: float
    phase_2_s: float

    @property
    def explored(self) -> int:
        """Partial choices of phase 1 and choices of phase 2."""
        return self.phase_1.explored + len(self.evaluated)

    @property
    def feasible(self) -> tuple[Evaluated, ...]:
        """The choices that the event timeline finds feasible, in the order of phase 1."""
        return tuple(each for each in self.evaluated if each.timeline < np.inf)

    @property
    def rank_of_best(self) -> int:
        """Rank of the answer by phase 1, from 1; 0 without an answer."""
        values = [each.timeline for each in self.evaluated]
        return 1 + values.index(min(values)) if self.feasible else 0

    @property
    def rank_correlation(self) -> float:
        """Kendall's tau-b of the feasible choices by model and by timeline; NaN where either has one value only."""
        return kendall_tau_b(*zip(*self.feasible, strict=True)) if self.feasible else np.nan

    def as_slices(self) -> SliceResult:
        """Return it as what solvers of divided layers return."""
        data = {
            "explored": self.phase_1.explored,
            "pruned": self.phase_1.pruned,
            "kept": len(self.phase_1.kept),
            "evaluated": len(self.evaluated),
            "feasible": len(self.feasible),
            "rank_of_best": self.rank_of_best,
            "rank_correlation": None if np.isnan(self.rank_correlation) else self.rank_correlation,
            "phase_1_s": self.phase_1_s,
            "phase_2_s": self.phase_2_s,
        }
        return SliceResult(self.best, self.lower_bound, self.explored, SearchReport(self.lines(), {"phases": data}))

    def lines(self) -> tuple[str, str]:
        """Return what to print of the phases: a line each."""
        first, n_feasible = self.phase_1, len(self.feasible)
        n_clusterings = len({clusterings_of(each.layers) for each in first.kept})
        counts = f"{first.explored} partial choices explored, {first.pruned} pruned"
        proof = "proved best" if first.is_proved else "best so far"
        kept = f"{len(first.kept)} kept (clusterings: {n_clusterings}, {proof})"
        timeline = f"{len(self.evaluated)} evaluated in {self.phase_2_s:.2f} s, {n_feasible} feasible"
        if self.feasible:
            timeline += f", the best one is number {self.rank_of_best} of phase 1"
        if not np.isnan(self.rank_correlation):
            timeline += f", rank correlation {self.rank_correlation:.2f}"
        return f"phase 1, model: {counts}, {kept} in {self.phase_1_s:.2f} s", f"phase 2, event timeline: {timeline}"
