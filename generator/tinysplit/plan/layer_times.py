"""What the memory of a plan adds to the times of layers: tiles of fused layers, and moved tensors."""

from collections.abc import Iterable
from dataclasses import replace

from tinysplit.common.alignment import WORD_BYTES
from tinysplit.kernels.cost_table import CycleTable
from tinysplit.kernels.cycle_prediction import kernel_cycles
from tinysplit.memory.layout import MOVE_CYCLES
from tinysplit.memory.schedule import StepKind
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.graph import Graph
from tinysplit.plan.program import BoardSteps
from tinysplit.split.problem import Problem


def as_planned(
    table: CycleTable, problem: Problem, graph: Graph, widths: BitWidths, boards: Iterable[BoardSteps]
) -> Problem:
    """Return `problem` with the times that layers take in their plans; it counts each alone."""
    layers = list(problem.layers)
    for board in boards:
        for index, step in enumerate(board.steps):
            if step.kind is StepKind.RUN:
                more_s = _more_cycles(table, graph, widths, board, index, step.item) / board.board.clock.core_hz
                seconds = list(layers[step.item].seconds)
                seconds[board.index] += more_s
                layers[step.item] = replace(layers[step.item], seconds=tuple(seconds))
    return replace(problem, layers=tuple(layers))


def _more_cycles(
    table: CycleTable, graph: Graph, widths: BitWidths, board: BoardSteps, step: int, number: int
) -> float:
    memory, core, layer = board.memory, board.board.device.core, graph.layers[number]
    kernel, own, calls = memory.kernels[number], memory.layer(graph, number), memory.calls(graph, number)
    moved_bytes = sum(widths.size_bytes(graph, move.tensor) for move in memory.moves if move.step == step)
    moving_cycles = moved_bytes / WORD_BYTES * MOVE_CYCLES
    if own is layer and calls == 1:
        return moving_cycles
    layer_widths = widths.of_layer(layer)
    alone = kernel_cycles(table, layer, core, layer_widths, kernel)
    return moving_cycles + kernel_cycles(table, own, core, layer_widths, kernel, calls) - alone
