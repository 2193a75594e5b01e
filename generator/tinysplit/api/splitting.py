"""Splits: which board computes which layers, as `tinysplit split` finds it."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from typing_extensions import override

from tinysplit import pipeline
from tinysplit.api.arguments import for_scripts
from tinysplit.api.given import GivenBoards, GivenCosts, GivenModel, GivenPath, GivenSearch, context_of
from tinysplit.api.result import Result
from tinysplit.boards.board import ClockSource
from tinysplit.common.choices import Copies
from tinysplit.common.output_file import check_output_file
from tinysplit.common.progress import Listener
from tinysplit.costs.settings import CostSettings
from tinysplit.network.graph import Graph
from tinysplit.papers.published_costs import check_published
from tinysplit.plan.predicted_split import predict_programs
from tinysplit.project.split_file import SplitFile, write_split
from tinysplit.slices.settings import Search
from tinysplit.split.solution import Split

AS_THE_COMMAND = Search(copies=Copies.IF_BETTER)


@dataclass(frozen=True)
class SplitLayer:
    """A layer, or of divided layers a part, with the number of its board and its estimated seconds there."""

    layer: int  # from 1; 0 for a part of the network's input
    name: str
    board: int  # from 1, in the order in which boards were given
    board_name: str
    seconds: float


@dataclass(frozen=True)
class SplitResult(Result):
    """A split with its estimated figures: times in seconds, joules an inference (None where currents are not known).

    With `copies`, numbers of boards with the whole network each, L, T, I and the layers are those of the slowest one.
    """

    l_s: float
    t_s: float
    latency_s: float  # I
    period_s: float
    energy_j: float | None
    lower_bound: float  # of what was minimised: seconds or joules
    is_proved: bool  # to be optimal
    copies: tuple[int, ...]
    layers: tuple[SplitLayer, ...]
    file: SplitFile = field(repr=False)  # what `tinysplit split` writes
    search: dict[str, Any] = field(repr=False)  # what the split file has not

    @classmethod
    def of(cls, split: Split, file: SplitFile, graph: Graph) -> Self:
        """Return a split of `graph` as scripts get it."""
        figures = file.figures
        return cls(
            l_s=figures.L,
            t_s=figures.T,
            latency_s=figures.I,
            period_s=figures.period_s,
            energy_j=figures.energy_j,
            lower_bound=split.lower_bound,
            is_proved=split.proved,
            copies=file.copies,
            layers=tuple(_layers(split, file, graph)),
            file=file,
            search=dict(split.report.data),
        )

    @property
    def assignment(self) -> tuple[int, ...]:
        """Number of the board of each layer; of a divided layer, that of its first part."""
        return self.file.assignment

    @override
    def to_json(self) -> dict[str, Any]:
        """Return what `tinysplit split --json` prints."""
        return {**self.file.model_dump(mode="json"), **self.search}

    @override
    def to_rows(self) -> list[dict[str, Any]]:
        """Return a row for each layer, or part of one."""
        return [asdict(layer) for layer in self.layers]

    @for_scripts
    def write(self, path: GivenPath, *, force: bool = False) -> None:
        """Write the split file. Raises InputError where it cannot be written, or is a file of the user's."""
        check_output_file(Path(path), force=force)
        write_split(Path(path), self.file)


@for_scripts
def split(
    model: GivenModel,
    boards: GivenBoards,
    settings: GivenCosts = CostSettings(),
    search: GivenSearch = AS_THE_COMMAND,
    *,
    clock: ClockSource = ClockSource.HSI,
    cost_table: GivenPath | None = None,
    progress: Listener | None = None,
) -> SplitResult:
    """Find the best split of a network over boards, as `tinysplit split` does; trained weights are not needed.

    `settings` say what is minimised, with limits, bits and links, `search` how; `Search(assignment="1-4:1,5-7:2")`
    takes a given split; `cost_table` is a file of `tinysplit calibrate`. Raises CheckFailedError where none is feasible
    or was found in time, UsageError for a baud rate that a board cannot generate and for arguments that make no sense,
    InputError for a network that cannot be imported.
    """
    check_published(settings, search, has_cost_table=cost_table is not None)
    context = context_of(model, boards, settings, clock, cost_table, progress).of_quantized_file()
    search.check(len(context.boards))
    found = pipeline.split_network(context, search)
    predicted = predict_programs(context.table, context.graph, context.boards, found, settings)
    return SplitResult.of(found, pipeline.describe_split(context, found).with_predictions(predicted), context.graph)


def _layers(split: Split, file: SplitFile, graph: Graph) -> Iterator[SplitLayer]:
    layers, origins = split.problem.layers, split.problem.origins
    numbers = [origin + 1 for origin in origins] if split.distributions else range(1, len(graph.layers) + 1)
    for number, layer, device, seconds in zip(
        numbers, layers, split.figures.assignment, split.figures.layer_seconds, strict=True
    ):
        yield SplitLayer(number, layer.name, device + 1, file.boards[device].name, seconds)
