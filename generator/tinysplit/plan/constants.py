"""The constants of a plan that are copied to RAM, once the weights are quantized and their sizes known."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from tinysplit.memory.constants_in_ram import LayerConstants, place_shared_constants
from tinysplit.network.bit_widths import Widths
from tinysplit.network.graph import Graph
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.plan.plan import BoardPlan, Plan


def with_constants_in_ram(plan: Plan, quantized: QuantizedGraph) -> Plan:
    """Return the plan with copies of constants in the idle RAM of every board."""
    return replace(plan, boards=tuple(_with_copies(board_plan, quantized) for board_plan in plan.boards))


def _with_copies(board_plan: BoardPlan, quantized: QuantizedGraph) -> BoardPlan:
    constants = dict(_constants(board_plan, quantized))
    sharing = list(_sharing(board_plan, quantized.graph, constants))
    own = (constants, board_plan.memory.in_use, board_plan.constants_space)
    copies = place_shared_constants(board_plan.board, *own, sharing)
    with_copies = replace(board_plan, constants=copies)
    by_bytes = with_copies.stages_begin_bytes - board_plan.stages_begin_bytes
    return replace(with_copies, stages=board_plan.stages.moved(by_bytes))


def _sharing(board_plan: BoardPlan, graph: Graph, constants: Mapping[int, LayerConstants]) -> Iterator[tuple[int, ...]]:
    """Yield the layers with constants, those together that have the same ones."""
    kernels, left = board_plan.memory.kernels, dict.fromkeys(constants)
    while left:
        number = next(iter(left))
        own = tuple(
            each
            for each in graph.siblings(number)
            if each in left and kernels[each] is kernels[number] and constants[each].sizes == constants[number].sizes
        )
        left = {each: None for each in left if each not in own}
        yield own


def _constants(board_plan: BoardPlan, quantized: QuantizedGraph) -> Iterator[tuple[int, LayerConstants]]:
    memory = board_plan.memory
    for number in board_plan.layers:
        kernel, own = memory.kernels[number], quantized.layers[number]
        sizes = {name: array.nbytes for name, array in kernel.constants(own).items()}
        if sizes:
            read_bytes = kernel.loads(own.layer, Widths.of(own.formats)).flash_bytes
            yield number, LayerConstants(sizes, read_bytes)
