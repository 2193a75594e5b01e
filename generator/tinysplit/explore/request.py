"""What an exploration is asked to do."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf

from tinysplit.common.errors import UsageError
from tinysplit.costs.problem_builder import CostSettings
from tinysplit.explore.axes import DEFAULT_AXES, Axis, second_objectives
from tinysplit.explore.candidates import Candidate, Space
from tinysplit.explore.evaluate import Solving
from tinysplit.explore.goal import Goal
from tinysplit.network.graph import Graph
from tinysplit.split.problem import Period

N_BEST = 10


@dataclass(frozen=True)
class Request:
    """Networks, the space of their candidates, and what is asked of it: fronts over `axes`, or the `n_best` best sets.

    A set is solved within `time_limit_s`, everything within `total_limit_s`. `asks_largest`: also which is the largest
    network that each set can run.
    """

    graphs: tuple[Graph, ...]
    space: Space
    goal: Goal
    axes: tuple[Axis, ...] = DEFAULT_AXES
    n_best: int = N_BEST
    time_limit_s: float = 10.0
    total_limit_s: float = inf
    asks_largest: bool = False

    def __post_init__(self) -> None:
        """Check the request. Raises UsageError for a ranking of an ideal period, which nothing simulates."""
        settings = self.goal.settings
        if self.goal.ranked_by and settings.period_definition is not Period.FIRMWARE:
            raise UsageError(f"--period {settings.period}: --objective simulates the firmware, leave --period out")

    @property
    def settings(self) -> CostSettings:
        """The settings of the costs, with the objective of the splits."""
        ranked_by = self.goal.ranked_by
        return replace(self.goal.settings, objective=ranked_by.objective) if ranked_by else self.goal.settings

    @property
    def solving(self) -> Solving:
        """How a candidate is solved."""
        return Solving(self.time_limit_s, () if self.goal.ranked_by else second_objectives(self.axes))

    def candidates(self, space: Space | None = None) -> Iterator[Candidate]:
        """Yield the candidates of a space, by default the whole one, that keep the limit of the price."""
        for candidate in (space or self.space).candidates():
            if self.goal.is_affordable(candidate.boards):
                yield candidate
