"""The memory that the programs of a split are expected to take, before weights and values have formats."""

from collections.abc import Mapping, Sequence

from tinysplit.boards.board import Board
from tinysplit.common.errors import TinysplitError
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import CycleTable
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.graph import Graph
from tinysplit.plan.plan import BoardPlan, Plan
from tinysplit.plan.planned_split import PlacedNetwork
from tinysplit.plan.predicted_memory import LayerProgram, PlannedProgram, PredictedMemory
from tinysplit.split.solution import Split


def predict_programs(
    table: CycleTable, graph: Graph, boards: Sequence[Board], split: Split, settings: CostSettings
) -> Mapping[int, PredictedMemory]:
    """Return the same as `predict_split`, none by a cost model, and none without a plan, as `generate` tells."""
    if settings.cost_model:
        return {}
    try:
        return predict_split(table, graph, boards, split, settings)
    except TinysplitError:
        return {}


def predict_split(
    table: CycleTable, graph: Graph, boards: Sequence[Board], split: Split, settings: CostSettings
) -> Mapping[int, PredictedMemory]:
    """Return the memory of every program by number of its board, without the copies of constants in idle RAM.

    Which constants are copied depends on the formats. The errors are those of `make_plan`.
    """
    widths = BitWidths.of(graph, settings.bits)
    placed = PlacedNetwork.of(graph, widths, len(boards), split.placement)
    plans = placed.plans(table, boards, split.problem, settings)
    graph, widths = placed.graph, placed.widths
    programs = ((own.number, _program(graph, widths, plan, own)) for plan in plans for own in plan.boards)
    return {number: program.predicted for number, program in programs}


def _program(graph: Graph, widths: BitWidths, plan: Plan, board_plan: BoardPlan) -> PlannedProgram:
    layers: Mapping[int, LayerProgram] = {
        number: _layer(graph, widths, board_plan, number)
        for number in board_plan.layers
        if not graph.layers[number].is_view
    }
    return PlannedProgram(plan, board_plan, graph, layers)


def _layer(graph: Graph, widths: BitWidths, board_plan: BoardPlan, number: int) -> LayerProgram:
    """Return what a layer adds to a program; tiles share the constants of the first one."""
    memory, own = board_plan.memory, widths.of_layer(graph.layers[number])
    kernel, layer = memory.kernels[number], memory.layer(graph, number)
    is_first = number == min(each for each in graph.siblings(number) if each in board_plan.layers)
    weights_bytes = kernel.expected_weights_bytes(layer, own) if is_first else 0
    return LayerProgram(kernel.cost_kind(layer), max(own.x, own.w), kernel.code(layer, own), weights_bytes)
