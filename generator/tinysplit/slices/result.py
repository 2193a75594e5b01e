"""What a solver of divided layers returns."""

from dataclasses import dataclass, field
from math import inf

from tinysplit.slices.sliced_network import Sliced
from tinysplit.split.solution import Considered, SearchReport, Split


@dataclass(frozen=True, eq=False)
class SliceResult:
    """The best division found, None if none is feasible; `notes` are lines for the user, for example why not.

    No division that the solver could choose has an objective below `lower_bound`; 0 if it has none. `explored` are
    divisions evaluated, or choices. `beyond` is the objective of one that breaks its limit, where none keeps it.
    """

    best: Sliced | None
    lower_bound: float
    explored: int
    report: SearchReport = field(default_factory=SearchReport)
    notes: tuple[str, ...] = ()
    spent_s: float = 0.0
    ended_by_time: bool = False
    considered: tuple[Considered, ...] = ()
    beyond: float = inf

    def split(self, solver: str) -> Split | None:
        """Return the best division as a split of its parts."""
        if self.best is None:
            return None
        figures = self.best.figures
        return Split(
            problem=figures.problem,
            assignment=self.best.graph.boards,
            lower_bound=min(self.lower_bound, figures.value),
            explored=self.explored,
            solver=solver,
            spent_s=self.spent_s,
            ended_by_time=self.ended_by_time,
            considered=self.considered,
            distributions=self.best.distributions,
            among_options=True,
            report=self.report,
        )
