"""The layers of a board with their kernels and constants, and its program as far as its memory goes."""

from collections.abc import Sequence
from dataclasses import replace

from tinysplit.codegen.layer_source import LayerSource
from tinysplit.codegen.row_hooks import RowHooks
from tinysplit.codegen.shared_constants import with_shared_constants
from tinysplit.memory.constants_in_ram import Decrypted
from tinysplit.network.bit_widths import Widths
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.plan.plan import BoardPlan, Plan
from tinysplit.plan.predicted_memory import LayerProgram, PlannedProgram


def layer_sources(quantized: QuantizedGraph, plan: Plan, *, in_file: bool = False) -> tuple[LayerSource, ...]:
    """Return every layer with its kernel, with the calibrated weights and the shapes of one call of the kernel.

    `in_file`: the weights are in configuration files.
    """
    boards = {board_plan.index: board_plan for board_plan in plan.boards}
    sources = []
    for index, (own, device) in enumerate(zip(quantized.layers, plan.assignment, strict=True)):
        memory, constants = boards[device].memory, boards[device].constants.get(index)
        called = replace(own, layer=memory.layer(quantized.graph, index))
        offsets = constants.offsets if constants else {}
        decrypts = constants is not None and constants.decrypted is Decrypted.EACH_TIME
        source = LayerSource(called, memory.kernels[index], _hooks(plan, index), offsets, in_file=in_file)
        sources.append(replace(source, decrypts=decrypts))
    return tuple(with_shared_constants(quantized.graph, sources))


def _hooks(plan: Plan, layer: int) -> RowHooks:
    """Return the hooks of a layer; fused ones have none, as network.c calls them tile by tile."""
    return RowHooks(
        awaits=any(each.takes is not None and each.takes.layers == (layer,) for each in plan.hand_offs),
        announces=any(each.gives is not None and each.gives.layers == (layer,) for each in plan.hand_offs),
    )


def board_program(
    quantized: QuantizedGraph, plan: Plan, board_plan: BoardPlan, sources: Sequence[LayerSource]
) -> PlannedProgram:
    """Return the program of a board; `sources` are all layers of its copy of the network."""
    own = (index for index in board_plan.layers if not quantized.graph.layers[index].is_view)
    return PlannedProgram(plan, board_plan, quantized.graph, {index: _layer_program(sources[index]) for index in own})


def _layer_program(source: LayerSource) -> LayerProgram:
    widths, layer = Widths.of(source.quantized.formats), source.quantized.layer
    return LayerProgram(
        kind=source.kernel.cost_kind(layer),
        bits=max(widths.x, widths.w),
        code=source.kernel.exact_code(source.quantized),
        weights_bytes=source.weights_bytes,
    )
