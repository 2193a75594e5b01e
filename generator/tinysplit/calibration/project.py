"""Networks of the calibration, planned, generated and built."""

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import onnx
from rich.console import Console

from tinysplit.boards.board import Board, CodeMemory
from tinysplit.build.folder import build_folder
from tinysplit.build.report import BuildReport
from tinysplit.codegen.board_program import BoardProgram
from tinysplit.codegen.program_options import PLAIN, ProgramOptions
from tinysplit.codegen.projects import generate
from tinysplit.common.errors import CheckFailedError
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels import KERNELS, candidates
from tinysplit.kernels.cost_table import CycleTable
from tinysplit.network.bit_widths import Widths
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.plan.constants import with_constants_in_ram, with_resident_constants
from tinysplit.plan.plan import BoardPlan, Plan, make_plan
from tinysplit.project.manifest import Project
from tinysplit.split.problem import Assignment


@dataclass(frozen=True, eq=False)
class PlannedNetwork:
    """A quantized network on boards, with the settings and the plan that were made for them."""

    quantized: QuantizedGraph
    settings: CostSettings
    plan: Plan
    boards: tuple[Board, ...]

    @property
    def host_baud(self) -> int:
        """Baud rate of the host ports."""
        return self.settings.host_baud_on(self.boards)

    def program(self, board_plan: BoardPlan, options: ProgramOptions = PLAIN) -> BoardProgram:
        """Return the program of one of the boards of the plan."""
        return BoardProgram.of(self.quantized, self.plan, board_plan, self.host_baud, options)

    def build(self, folder: Path, options: ProgramOptions = PLAIN) -> tuple[Project, BuildReport]:
        """Generate and build all projects. Raises CheckFailedError where a program does not fit its board."""
        bauds = (self.settings.link_settings_on(self.boards).baud, self.host_baud)
        project = generate(self.quantized, (self.plan,), bauds, 0, onnx.ModelProto(), folder, options)
        report = build_folder(project, folder, Console(quiet=True))
        report.check()
        return project, report


def plan_network(
    table: CycleTable,
    quantized: QuantizedGraph,
    boards: Sequence[Board],
    assignment: Assignment,
    settings: CostSettings,
) -> PlannedNetwork:
    """Return the plan of a network whose layers are on the boards of `assignment` (from 0), in the network's bits.

    Raises CheckFailedError where it does not fit the boards.
    """
    graph, settings = quantized.dequantized, replace(settings, bits=quantized.bits)
    problem = make_problem(table, graph, boards, settings)
    chosen = (settings.link_settings_on(boards), settings.optimize, settings.kernels, settings.code_memory)
    plan = make_plan(table, graph, settings.bits, boards, problem, assignment, *chosen)
    placed = with_resident_constants(with_constants_in_ram(plan, quantized), quantized)
    return PlannedNetwork(quantized, settings, placed, tuple(boards))


def plan_kernels(
    table: CycleTable, quantized: QuantizedGraph, board: Board, wanted: Container[str] | None
) -> Iterator[tuple[PlannedNetwork, frozenset[int]]]:
    """Yield plans of a network on one board with different kernels, and the layers (from 0) that no plan had so before.

    The first plan has the kernels that are chosen, the others all those of one name. `wanted`: kinds of the cost table,
    None for all. Plans that do not fit the board and layers that are computed tile by tile are left out.
    """
    layers, seen = quantized.dequantized.layers, set()
    for name in (None, *(kernel.name for kernel in KERNELS)):
        named = tuple((number, name) for number in _computed_by(quantized, board, name, wanted)) if name else ()
        if name and not named:
            continue
        settings = CostSettings(kernels=named, code_memory=CodeMemory.FLASH)
        try:
            planned = plan_network(table, quantized, (board,), (0,) * len(layers), settings)
        except CheckFailedError:
            continue
        memory = planned.plan.boards[0].memory
        new = frozenset(
            number
            for number, kernel in memory.kernels.items()
            if (number, kernel.name) not in seen
            and not layers[number].is_view
            and memory.calls(quantized.dequantized, number) == 1
            and (wanted is None or kernel.cost_kind(layers[number]) in wanted)
        )
        seen |= {(number, memory.kernels[number].name) for number in new}
        if new:
            yield planned, new


def _computed_by(quantized: QuantizedGraph, board: Board, name: str, wanted: Container[str] | None) -> Iterator[int]:
    """Yield the layers, from 0, that a wanted kernel of that name can compute on a board."""
    core = board.device.core
    for number, layer in enumerate(quantized.layers):
        every = candidates(layer.dequantized, core, Widths.of(layer.formats))
        wanted_kernel = next((kernel for kernel in every if kernel.name == name), None)
        if wanted_kernel and (wanted is None or wanted_kernel.cost_kind(layer.layer) in wanted):
            yield number
