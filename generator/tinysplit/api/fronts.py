"""Pareto fronts of latency and energy or throughput, as `tinysplit pareto` finds them."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from typing_extensions import override

from tinysplit import pipeline
from tinysplit.api.arguments import for_scripts
from tinysplit.api.given import GivenBoards, GivenCosts, GivenModel, GivenPath, GivenSearch, context_of
from tinysplit.api.result import Result
from tinysplit.boards.board import ClockSource
from tinysplit.common.choices import DEFAULT_FRONT_LIMIT_S, SecondObjective
from tinysplit.common.progress import Listener
from tinysplit.costs.settings import CostSettings
from tinysplit.slices.settings import Search
from tinysplit.split.pareto import Front

AS_THE_COMMAND = Search(time_limit_s=DEFAULT_FRONT_LIMIT_S)


@dataclass(frozen=True)
class ParetoPoint:
    """A split, or copies of the whole network: seconds, joules an inference (None for copies); boards count from 1."""

    latency_s: float
    period_s: float
    energy_j: float | None
    assignment: tuple[int, ...]  # number of the board of each layer, empty for copies and divided layers
    copies: tuple[int, ...]
    placement: str  # which layers are where, in words
    is_proved: bool


@dataclass(frozen=True)
class ParetoResult(Result):
    """The points by latency; `is_complete`: it is proved that there are no more."""

    points: tuple[ParetoPoint, ...]
    is_complete: bool
    front: Front = field(repr=False)

    @classmethod
    def of(cls, front: Front) -> Self:
        """Return a front as scripts get it."""
        return cls(tuple(_points(front)), front.complete, front)

    @override
    def to_json(self) -> dict[str, Any]:
        """Return what `tinysplit pareto --json` prints."""
        return self.front.to_json()

    @override
    def to_rows(self) -> list[dict[str, Any]]:
        """Return a row for each point."""
        return [asdict(point) for point in self.points]


@for_scripts
def pareto(
    model: GivenModel,
    boards: GivenBoards,
    second_objective: SecondObjective,
    settings: GivenCosts = CostSettings(),
    search: GivenSearch = AS_THE_COMMAND,
    *,
    clock: ClockSource = ClockSource.HSI,
    cost_table: GivenPath | None = None,
    progress: Listener | None = None,
) -> ParetoResult:
    """Find the Pareto front of latency and "energy" or "throughput", as `tinysplit pareto` does.

    Raises CheckFailedError where no
    split is feasible or none was found in time, InputError for energy where the currents of a board are not known, and
    for a `cost_table` (a file of `tinysplit calibrate`) of other boards.
    """
    context = context_of(model, boards, settings, clock, cost_table, progress).of_quantized_file()
    search.check(len(context.boards))
    return ParetoResult.of(pipeline.pareto_front(context, second_objective, search))


def _points(front: Front) -> Iterator[ParetoPoint]:
    for point in front.to_json()["points"]:
        yield ParetoPoint(
            latency_s=point["latency_s"],
            period_s=point["period_s"],
            energy_j=point["energy_j"],
            assignment=tuple(point["assignment"]),
            copies=tuple(point["copies"]),
            placement=point["placement"],
            is_proved=point["proved"],
        )
