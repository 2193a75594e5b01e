"""The program of a board: all that its files and its part of the manifest are made of."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

from tinysplit.boards.board import Board
from tinysplit.boards.marker_pins import MarkerPins
from tinysplit.codegen.board_firmware import BoardFirmware
from tinysplit.codegen.layer_description import describe_layer
from tinysplit.codegen.layer_source import LayerSource
from tinysplit.codegen.program_options import PLAIN, ProgramOptions
from tinysplit.codegen.row_hooks import RowHooks
from tinysplit.codegen.shared_constants import with_shared_constants
from tinysplit.codegen.weights_source import BoardWeights
from tinysplit.common.host_protocol import HostProtocol
from tinysplit.memory.constants_in_ram import Decrypted
from tinysplit.network.bit_widths import BitWidths, Widths
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.plan.plan import BoardPlan, Plan
from tinysplit.plan.predicted_memory import LayerProgram, PlannedProgram, PredictedMemory
from tinysplit.plan.wake_up import WakeUp
from tinysplit.project.manifest import ProjectLayer


def board_directory(number: int, board: Board) -> str:
    """Return the name of the folder of a board's project."""
    return f"board{number}_{board.name}"


@dataclass(frozen=True, eq=False)
class BoardProgram:
    """The program of a board that computes `quantized`, or layers of it, as `plan` says for its copy of the network.

    `sources` are the layers of the board by index from 0: with their kernels, the calibrated weights, and the shapes of
    one call of the kernel. `weights` is its configuration file, None with weights in C arrays.
    """

    quantized: QuantizedGraph
    plan: Plan
    board_plan: BoardPlan
    host_baud: int
    options: ProgramOptions
    sources: Mapping[int, LayerSource]
    weights: BoardWeights | None

    @classmethod
    def of(
        cls,
        quantized: QuantizedGraph,
        plan: Plan,
        board_plan: BoardPlan,
        host_baud: int,
        options: ProgramOptions = PLAIN,
    ) -> Self:
        """Return the program of one of the boards of `plan`. The errors are those of `BoardWeights.of`."""
        in_file = options.weights_counter is not None
        sources = with_shared_constants(
            quantized.graph,
            {index: _source(quantized, plan, board_plan, index, in_file=in_file) for index in board_plan.layers},
        )
        weights = None
        if in_file:
            weights = BoardWeights.of(quantized, board_plan, sources, options.weights_key, options.weights_signer)
        return cls(quantized, plan, board_plan, host_baud, options, sources, weights)

    @property
    def board(self) -> Board:
        """The board that runs it."""
        return self.board_plan.board

    @property
    def number(self) -> int:
        """Number of the board, from 1."""
        return self.board_plan.number

    @property
    def directory(self) -> str:
        """Name of the folder of the board's project."""
        return board_directory(self.number, self.board)

    @property
    def host(self) -> HostProtocol:
        """The protocol of its host port: of MLPerf Tiny's runner, only the board that reads the input has it."""
        return self.options.host_protocol if self.board_plan.takes_input else HostProtocol.TINYSPLIT

    @property
    def gives_output(self) -> bool:
        """Whether the host gets the network's output from this board."""
        return self.plan.output_board == self.board_plan.index

    @property
    def computed(self) -> Mapping[int, LayerSource]:
        """The layers for which there is code: all but views."""
        return {index: source for index, source in self.sources.items() if not source.quantized.layer.is_view}

    @cached_property
    def widths(self) -> BitWidths:
        """The bit widths of the network."""
        return BitWidths.of_quantized(self.quantized)

    @cached_property
    def layers(self) -> tuple[ProjectLayer, ...]:
        """What the manifest says of the layers for which there is code."""
        choice = self.board_plan.kernel_choice(self.quantized.dequantized, self.widths)
        return tuple(
            describe_layer(index, self.quantized, source, choice, self.board_plan)
            for index, source in self.computed.items()
        )

    @property
    def longest_layer_s(self) -> float:
        """Estimated time of the longest layer in seconds, 0 for a board that only relays."""
        return max((layer.estimated_s for layer in self.layers), default=0.0)

    @property
    def firmware(self) -> BoardFirmware:
        """The program without the network."""
        plan = self.board_plan
        return BoardFirmware(
            board=self.board,
            host_baud=self.host_baud,
            driving=plan.link_driving,
            arena=plan.arena_memory,
            links=tuple((link.uart, link.baud) for link in plan.links),
            host=self.host,
            code=plan.code,
            external_layers=plan.external,
            resident_layers=plan.residents(are_far=False),
            far_layers=plan.residents(are_far=True),
            far_ram=plan.far_ram,
            weights=self.weights,
            kept=plan.kept_memory,
            markers=MarkerPins.of(self.board.name) if self.options.has_markers else None,
            has_diagnostics=self.options.has_diagnostics,
            is_standalone=self.options.standalone is not None,
            wake_up=self.wake_up,
        )

    @cached_property
    def wake_up(self) -> WakeUp | None:
        """What wakes the board from stop mode, None without it. Raises UsageError where it cannot wake."""
        standalone = self.options.standalone
        if standalone is None or not standalone.stops:
            return None
        return WakeUp.of(self.board_plan)

    @property
    def planned(self) -> PlannedProgram:
        """The program as far as its memory goes, without what a configuration file adds."""
        return PlannedProgram(
            plan=self.plan,
            board_plan=self.board_plan,
            graph=self.quantized.graph,
            layers={index: _layer_program(source) for index, source in self.computed.items()},
            host=self.host,
            host_ram_bytes=self._host_ram_bytes,
            has_markers=self.options.has_markers,
            has_diagnostics=self.options.has_diagnostics,
            is_standalone=self.options.standalone is not None,
            has_stop_mode=self.wake_up is not None,
        )

    @property
    def _host_ram_bytes(self) -> int:
        mlperf = self.options.mlperf
        return mlperf.ram_bytes(self.quantized.graph) if mlperf and self.host is HostProtocol.MLPERF else 0

    @property
    def predicted(self) -> PredictedMemory:
        """The memory that the program is expected to take."""
        planned = self.planned.predicted
        if self.weights is None:
            return planned
        return PredictedMemory(
            planned.flash_bytes + self.weights.added_bytes, planned.ram_bytes + self.weights.added_ram_bytes
        )


def _source(quantized: QuantizedGraph, plan: Plan, board_plan: BoardPlan, index: int, *, in_file: bool) -> LayerSource:
    memory, constants = board_plan.memory, board_plan.constants.get(index)
    return LayerSource(
        quantized=replace(quantized.layers[index], layer=memory.layer(quantized.graph, index)),
        kernel=memory.kernels[index],
        hooks=_hooks(plan, index),
        offsets=constants.offsets if constants else {},
        in_file=in_file,
        decrypts=constants is not None and constants.decrypted is Decrypted.EACH_TIME,
    )


def _hooks(plan: Plan, layer: int) -> RowHooks:
    """Return the hooks of a layer; fused ones have none, as network.c calls them tile by tile."""
    hand_offs = [each.hand_off for each in plan.cuts]
    return RowHooks(
        awaits=any(each.takes is not None and each.takes.layers == (layer,) for each in hand_offs),
        announces=any(each.gives is not None and each.gives.layers == (layer,) for each in hand_offs),
    )


def _layer_program(source: LayerSource) -> LayerProgram:
    widths, layer = Widths.of(source.quantized.formats), source.quantized.layer
    return LayerProgram(
        kind=source.kernel.cost_kind(layer),
        bits=max(widths.x, widths.w),
        code=source.kernel.exact_code(source.quantized),
        weights_bytes=source.weights_bytes,
    )
