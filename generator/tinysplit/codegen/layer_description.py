"""A layer in the manifest: its formats, its memory, and the time that it is estimated to take."""

from tinysplit.codegen.layer_source import LayerSource
from tinysplit.codegen.memory_report import describe_memory
from tinysplit.common.alignment import WORD_BYTES
from tinysplit.kernels.code_waits import code_waits
from tinysplit.kernels.cycle_prediction import kernel_cycles
from tinysplit.memory.code_in_ram import remaining_waits
from tinysplit.memory.kernel_choice import KernelChoice
from tinysplit.memory.layout import MOVE_CYCLES
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.plan.plan import BoardPlan
from tinysplit.project.layer_formats import ProjectFormats
from tinysplit.project.manifest import ProjectLayer, ProjectPart


def describe_layer(
    index: int, quantized: QuantizedGraph, source: LayerSource, choice: KernelChoice, board_plan: BoardPlan
) -> ProjectLayer:
    """Return what the manifest says of layer `index` (from 0), which `board_plan` computes."""
    graph, layer, planned = choice.graph, quantized.layers[index], board_plan.memory
    memory = describe_memory(choice, board_plan, index)
    board, own, layer_widths = board_plan.board, planned.layer(graph, index), choice.widths.of_layer(layer.layer)
    times = planned.calls(graph, index)
    cycles = kernel_cycles(board_plan.table, own, board.device.core, layer_widths, source.kernel, times, layer)
    waits = code_waits(board_plan.table, own, board, layer_widths, source.kernel, times, layer)
    cycles += remaining_waits(waits, board_plan.code.in_ram)
    cycles += memory.moved_bytes / WORD_BYTES * MOVE_CYCLES + _constant_cycles(quantized, index, board_plan)
    if board_plan.takes_input and index == board_plan.layers[0]:
        cycles += board_plan.table.handoff[board.device.family].taking
    return ProjectLayer(
        number=index + 1,
        name=layer.layer.name,
        kind=layer.layer.kind,
        board=board_plan.number,
        inputs=tuple(tensor + 1 for tensor in graph.predecessors[index]),
        macc=layer.layer.macc,
        formats=ProjectFormats.of(source.fixed_formats),
        weights_bytes=source.weights_bytes,
        memory=memory,
        estimated_cycles=round(cycles),
        estimated_s=cycles / board.clock.core_hz,
        part=ProjectPart.of(graph.parts[index]) if graph.is_distributed else None,
    )


def _constant_cycles(quantized: QuantizedGraph, index: int, board_plan: BoardPlan) -> float:
    """Return the cycles that constants cost in the time of a layer: of fused ones, the producer's copies all."""
    memory, graph = board_plan.memory, quantized.graph
    own = board_plan.constants.get(index)
    waits = own.cost_cycles if own and not own.is_copied else 0.0
    if memory.producer(graph, index) is not None:
        return waits
    layers = (index, memory.consumer(graph, index)) if index in memory.fused else (index,)
    placed = (board_plan.constants[layer] for layer in layers if layer in board_plan.constants)
    return waits + sum(each.cost_cycles for each in placed if each.is_copied)
