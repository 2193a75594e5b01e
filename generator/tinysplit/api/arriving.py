"""Inputs that arrive at a rate or at given times, as `tinysplit arrivals` simulates them."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Self

from typing_extensions import override

from tinysplit import pipeline
from tinysplit.api.arguments import for_scripts, takes
from tinysplit.api.given import GivenModel, GivenPath, context_of
from tinysplit.api.programs import GivenSplit, split_file_of
from tinysplit.api.result import Result
from tinysplit.common.choices import InputSource
from tinysplit.common.errors import UsageError
from tinysplit.common.file_schema import in_range
from tinysplit.common.progress import Listener, late_step
from tinysplit.settings.search import FRAME_RATE, INPUT_COUNT
from tinysplit.split.report.arrivals import ArrivalReport, Arrivals
from tinysplit.timing.loss import Loss

GivenTimes = Annotated[
    Sequence[float] | str | Path | None,
    takes("a list of seconds, or the path of a text file", list, tuple, str, Path, NoneType),
]


@dataclass(frozen=True)
class ArrivalTimes:
    """Latency from arrival to output and waiting time from arrival to start, in seconds, over all inputs."""

    placement: str  # "split" or "copies", "whole networks" for comparison
    mean_latency_s: float
    max_latency_s: float
    mean_waiting_s: float
    max_waiting_s: float


@dataclass(frozen=True)
class ArrivalResult(Result):
    """Inputs on a split and, if boards can run it, on whole networks; `why_not` says why no board can."""

    placements: tuple[ArrivalTimes, ...]
    why_not: str
    report: ArrivalReport = field(repr=False)

    @classmethod
    def of(cls, report: ArrivalReport) -> Self:
        """Return a simulation as scripts get it."""
        names = ("mean_latency_s", "max_latency_s", "mean_waiting_s", "max_waiting_s")
        placements = (
            ArrivalTimes(placement, **{name: data[name] for name in names})
            for placement, data in report.to_json()["placements"].items()
        )
        return cls(tuple(placements), report.why_not, report)

    @override
    def to_json(self) -> dict[str, Any]:
        """Return what `tinysplit arrivals --json` prints."""
        return self.report.to_json()

    @override
    def to_rows(self) -> list[dict[str, Any]]:
        """Return a row for each placement."""
        return [asdict(each) for each in self.placements]


@for_scripts
def arrivals(
    model: GivenModel,
    split: GivenSplit,
    frame_rate: Annotated[float, in_range(FRAME_RATE)] | None = None,
    *,
    times_s: GivenTimes = None,
    input_count: Annotated[int, in_range(INPUT_COUNT)] = 50,
    input_source: InputSource | None = None,
    loss_rate: float = Loss.rate,
    loss_seed: int = Loss.seed,
    cost_table: GivenPath | None = None,
    progress: Listener | None = None,
) -> ArrivalResult:
    """Simulate inputs that arrive on a split, as `tinysplit arrivals` does.

    They come `frame_rate` times a second, `input_count` of them, or at `times_s`, ascending seconds or a file of them.
    `input_source` is by default that of the split. Links lose the share `loss_rate` of their bytes, drawn from
    `loss_seed`. Raises UsageError for both or none of these, and for rates out of range; InputError for a split of
    another network or other boards, and for wrong times.
    """
    if (frame_rate is None) == (times_s is None):
        raise UsageError("give either frame_rate or times_s")
    inputs = _inputs(frame_rate, times_s, input_count)
    loss = Loss(loss_rate, loss_seed)
    file, title = split_file_of(split, model)
    if input_source:
        file = file.model_copy(update={"input_source": input_source})
    context = context_of(model, file.board_names, file.settings, file.clock, cost_table, progress)
    with late_step(context.messages, f"simulating {context.title}"):
        file = pipeline.reassign(context, file, title=title)
        return ArrivalResult.of(pipeline.simulate(context, file, inputs, loss))


def _inputs(frame_rate: float | None, times_s: Sequence[float] | str | Path | None, count: int) -> Arrivals:
    if isinstance(times_s, str | Path):
        return Arrivals.of_trace(Path(times_s))
    return Arrivals.at_rate(frame_rate or 0.0, count) if times_s is None else Arrivals.at_times(times_s, "times_s")
