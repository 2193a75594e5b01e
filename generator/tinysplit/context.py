"""What all stages of `pipeline` have in common: a network, the boards that run it, and the costs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from rich.console import Console

from tinysplit.boards.board import Board, ClockSource, check_baud
from tinysplit.boards.catalog import load_all
from tinysplit.boards.probe_port import check_probe_baud
from tinysplit.calibration.conditions import table_for
from tinysplit.codegen.program_options import PLAIN, ProgramOptions
from tinysplit.common.choices import USUAL_MAX_TIME_INCREASE
from tinysplit.common.errors import InputError, UsageError
from tinysplit.common.protocol_limits import USUAL_HOST_BAUD
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels import KERNELS
from tinysplit.kernels.cost_table import CycleTable
from tinysplit.network.graph import Graph
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.network.removal.reduced_network import reduced_graph, removal_line
from tinysplit.network.removal.removable_channels import Channels, removable_channels
from tinysplit.onnx_import.reading import read_network
from tinysplit.plan.named_kernels import check_possible
from tinysplit.project.removed_channels import channels_of
from tinysplit.project.split_file import SplitFile
from tinysplit.quantize.choose_formats import quantized_by_file
from tinysplit.settings.programs import KERNEL, WEIGHTS
from tinysplit.split.validate import check_boards


@dataclass(frozen=True, kw_only=True)
class Context:
    """Input of all stages: a network, the boards that run it, the costs with their settings, and a console."""

    model: Path  # the ONNX file of `graph`, which has all channels
    graph: Graph
    boards: tuple[Board, ...]
    table: CycleTable
    settings: CostSettings
    messages: Console  # progress, notes and warnings
    programs: ProgramOptions = PLAIN
    max_time_increase: float = USUAL_MAX_TIME_INCREASE  # percent, by free scales
    removed: Channels | None = None  # channels that `graph` lacks, None where the quantized network is not known

    @classmethod
    def load(
        cls,
        model: Path,
        board_names: Sequence[str],
        settings: CostSettings,
        messages: Console,
        clock: ClockSource = ClockSource.HSI,
        *,
        needs_weights: bool = True,
        cost_table: str | Path | None = None,
    ) -> Self:
        """Import the ONNX file, load the boards, and take their costs from a file, or from this installation.

        Raises InputError or UsageError where that fails.
        """
        graph = read_network(model, messages, needs_weights=needs_weights)
        check_boards(len(board_names))
        boards = tuple(board.with_clock(clock) for board in load_all(board_names))
        host_baud = settings.host_baud_on(boards)
        for board in boards:
            check_probe_baud(board.name, host_baud)
            check_baud(board, board.host_uart, host_baud)
        if host_baud < USUAL_HOST_BAUD and settings.host_baud is None:
            note = f"note: host ports at {host_baud} baud, the highest usual rate that all boards make"
            messages.print(note, highlight=False, soft_wrap=True)
        check_possible(graph, boards, settings.kernels)
        table = table_for(boards, cost_table)
        context = cls(model=model, graph=graph, boards=boards, table=table, settings=settings, messages=messages)
        context.print_assumed_rates()
        return context

    def print_assumed_rates(self) -> None:
        """Print the baud rates of links that nobody has chosen or tested, if there are any."""
        if note := self.settings.assumed_rates(self.boards):
            self.messages.print(note, highlight=False, soft_wrap=True)

    def for_programs(self) -> Self:
        """Return the context of programs whose weights are in files, where others may follow, for such programs.

        Their constants stay in flash, and they have no kernels whose code depends on weights.

        Raises UsageError where such a kernel is named for a layer.
        """
        if self.programs.weights_counter is None:
            return self
        dependent = {kernel.name for kernel in KERNELS if kernel.depends_on_weights}
        for number, name in self.settings.kernels:
            if name in dependent:
                raise UsageError(
                    f"{KERNEL} {number + 1}={name}: its code depends on the weights, which a file has that others can "
                    f"replace: name another kernel, or use {WEIGHTS('arrays')}"
                )
        settings = replace(self.settings, has_weights_file=True)
        return replace(self, table=self.table.without(dependent), settings=settings)

    @property
    def title(self) -> str:
        """Network and boards, as in progress messages."""
        return f"{self.graph.name} over {', '.join(board.name for board in self.boards)}"

    def of_quantized_file(self) -> Self:
        """Return the context without pixels that nobody reads, and channels where the file tells how it is quantized.

        Networks that have to be calibrated first keep their channels, and costs of publications are of all of it.
        """
        if self.settings.cost_model:
            return self
        graph, removed = reduced_by_file(self.graph, self.settings.bits)
        if graph.macc < self.graph.macc:
            self.messages.print(removal_line(self.graph, graph, removed or {}), highlight=False, soft_wrap=True)
        return replace(self, graph=graph, removed=removed)

    def of_quantized(self, quantized: QuantizedGraph) -> Self:
        """Return the context of a quantized network, with the channels and pixels that it has."""
        return replace(self, graph=quantized.graph, removed=quantized.removed)

    def of_split(self, split: SplitFile) -> Self:
        """Return the context of the network that was split, with the channels and pixels that it had.

        Splits by the costs of a publication are of all of it. Raises InputError for channels that the network has not,
        or without which its layers do not fit.
        """
        if split.settings.cost_model:
            return self
        try:
            removed = channels_of(split.removed_channels or {}, self.graph)
            graph = reduced_graph(self.graph, removed)
            return replace(self, graph=graph, removed=None if split.removed_channels is None else removed)
        except ValueError as error:
            raise InputError(f"the split does not fit {self.graph.name} ({error}): split again") from None


def reduced_by_file(graph: Graph, bits: int) -> tuple[Graph, Channels | None]:
    """Return a network without pixels that nobody reads, and without channels that it can lack, and these channels.

    Networks whose file does not say how they are quantized have all channels, with None.
    """
    quantized = quantized_by_file(graph, bits)
    if quantized is None:
        return reduced_graph(graph, {}), None
    removed = removable_channels(quantized)
    return reduced_graph(graph, removed), removed
