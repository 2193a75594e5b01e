"""What an exploration is asked to do."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import inf, isfinite
from typing import Self

from rich.console import Console

from tinysplit.boards.board import no_energy_model
from tinysplit.common.choices import Slices, check_seconds
from tinysplit.common.errors import InputError, UsageError
from tinysplit.costs.problem_builder import has_currents
from tinysplit.costs.settings import CostSettings
from tinysplit.explore.axes import DEFAULT_AXES, Axis, second_objectives
from tinysplit.explore.candidates import SetCandidate, Space
from tinysplit.explore.evaluate import Solving
from tinysplit.explore.goal import N_BEST, Ranked, RankingGoal
from tinysplit.kernels.cost_table import CycleTable
from tinysplit.network.graph import Graph
from tinysplit.settings.costs import MAX_PRICE, PERIOD
from tinysplit.settings.search import AXIS, OBJECTIVE, TIME_LIMIT, TOTAL_TIME
from tinysplit.settings.setting import either
from tinysplit.split.problem import Period
from tinysplit.split.validate import check_limits

RANKED = either(OBJECTIVE.option, "ranked_by")


@dataclass(frozen=True)
class ExploreRequest:
    """Networks, the space of their candidates, and what is asked of it: fronts over `axes`, or the `n_best` best sets.

    Costs are those of `table`. A set is solved within `time_limit_s`, everything within `total_limit_s`.
    `asks_largest`: also which is the largest network that each set can run. `slices`: see `SliceRequest`.
    """

    table: CycleTable = field(repr=False)
    graphs: tuple[Graph, ...]
    space: Space
    goal: RankingGoal
    axes: tuple[Axis, ...] = DEFAULT_AXES
    n_best: int = N_BEST
    time_limit_s: float = 10.0
    total_limit_s: float = inf
    asks_largest: bool = False
    slices: Slices | None = None

    def __post_init__(self) -> None:
        """Check the request.

        Raises UsageError for limits that exclude all sets, and a ranking of an ideal period, which nothing simulates.
        """
        check_seconds(TIME_LIMIT, self.time_limit_s)
        if self.total_limit_s != inf:
            check_seconds(TOTAL_TIME, self.total_limit_s)
        if not self.goal.max_price > 0:
            raise UsageError(f"{MAX_PRICE} {self.goal.max_price:g}: a price above 0 is needed")
        settings = self.goal.settings
        check_limits(settings.max_latency_s, settings.max_period_s, settings.max_energy_j, settings.frame_period_s)
        if self.goal.ranked_by and settings.period_definition is not Period.FIRMWARE:
            raise UsageError(f"{PERIOD} {settings.period}: {RANKED} simulates the firmware: leave {PERIOD} out")

    @property
    def settings(self) -> CostSettings:
        """The settings of the costs, with the objective of the splits."""
        ranked_by = self.goal.ranked_by
        return replace(self.goal.settings, objective=ranked_by.objective) if ranked_by else self.goal.settings

    @property
    def solving(self) -> Solving:
        """How a candidate is solved."""
        against = () if self.goal.ranked_by else second_objectives(self.axes)
        return Solving(self.time_limit_s, against, self.slices)

    def candidates(self, space: Space | None = None) -> Iterator[SetCandidate]:
        """Yield the candidates of a space, by default the whole one, that keep the limit of the price."""
        for candidate in (space or self.space).candidates():
            if self.goal.is_affordable(candidate.boards):
                yield candidate

    def with_known_energy(self, messages: Console, *, axes_are_chosen: bool) -> Self:
        """Return the request without axes of energy where a board has no currents, and print that.

        Raises InputError if they were chosen, or if energy is limited or ranked by.
        """
        unknown = next((board.name for board in self.space.boards if not has_currents(self.table, board)), None)
        if unknown is None:
            return self
        axes = tuple(axis for axis in self.axes if axis not in {Axis.ENERGY, Axis.POWER})
        is_front = self.goal.ranked_by is None
        needs_energy = isfinite(self.goal.settings.max_energy_j) or self.goal.ranked_by is Ranked.ENERGY
        if needs_energy or (is_front and axes_are_chosen and axes != self.axes):
            raise InputError(no_energy_model(unknown))
        if is_front and axes != self.axes:
            note = f"note: {no_energy_model(unknown)}; the front is without energy"
            messages.print(note, highlight=False, markup=False, soft_wrap=True)
        return replace(self, axes=axes or (Axis.LATENCY,), goal=replace(self.goal, has_energy=False))


def check_asked(axes: Sequence[Axis], ranked_by: Ranked | None) -> None:
    """Raise UsageError where both a Pareto front and a ranking are asked for."""
    if ranked_by and axes:
        raise UsageError(f"{AXIS} is one of a Pareto front, {RANKED} asks for a ranking: use one of them")
