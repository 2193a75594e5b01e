"""Where constants of a plan lie, once weights are quantized and their sizes known: flash, external memory, or RAM."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from tinysplit.boards.board import Board
from tinysplit.common.choices import Optimize
from tinysplit.kernels import Kernel
from tinysplit.kernels.cost_table import CycleTable
from tinysplit.kernels.cycle_prediction import kernel_cycles
from tinysplit.kernels.selection import code_bytes
from tinysplit.memory.constants_in_ram import LayerConstants, PlacedConstants, place_shared_constants
from tinysplit.memory.external_weights import Movable, choose_external
from tinysplit.memory.resident_constants import resident_rooms, with_residents
from tinysplit.network.bit_widths import Widths
from tinysplit.network.quantized_graph import QuantizedGraph, QuantizedLayer
from tinysplit.plan.plan import BoardPlan, Plan


def with_constants_in_ram(plan: Plan, quantized: QuantizedGraph) -> Plan:
    """Return the plan with copies of constants in the idle RAM of every board."""
    return replace(plan, boards=tuple(_with_copies(board_plan, quantized) for board_plan in plan.boards))


def _with_copies(board_plan: BoardPlan, quantized: QuantizedGraph) -> BoardPlan:
    constants = dict(layer_constants(board_plan, quantized))
    sharing = list(sharing_layers(board_plan, quantized, constants))
    outside = _external(board_plan, quantized, constants, sharing)
    copies = _placed(board_plan, {**constants, **outside}, sharing)
    return replace(board_plan, external=frozenset(outside)).with_constants(copies)


def with_resident_constants(plan: Plan, quantized: QuantizedGraph) -> Plan:
    """Return the plan with constants that lie in RAM from the start of the program, where no copy was worth it."""
    return replace(plan, boards=tuple(_with_residents(board_plan, quantized) for board_plan in plan.boards))


def _with_residents(board_plan: BoardPlan, quantized: QuantizedGraph) -> BoardPlan:
    if board_plan.optimize is Optimize.RAM:
        return board_plan
    constants, core = dict(layer_constants(board_plan, quantized)), board_plan.board.device.core
    cycles = sum(own.cost_cycles for own in board_plan.constants.values())
    for number in board_plan.layers:
        own, kernel = quantized.layers[number], board_plan.memory.kernels[number]
        widths = Widths.of(own.formats)
        cycles += kernel_cycles(board_plan.table, own.layer, core, widths, kernel, quantized=own)
    sharing = list(sharing_layers(board_plan, quantized, constants))
    rooms = resident_rooms(board_plan.board, board_plan.free_near_bytes, board_plan.far_ram)
    return board_plan.with_constants(with_residents(board_plan.constants, constants, sharing, rooms, cycles))


def _placed(
    board_plan: BoardPlan, constants: Mapping[int, LayerConstants], sharing: Sequence[Sequence[int]]
) -> Mapping[int, PlacedConstants]:
    own = (constants, board_plan.memory.in_use, board_plan.constants_space)
    return place_shared_constants(board_plan.board, *own, sharing)


def _external(
    board_plan: BoardPlan,
    quantized: QuantizedGraph,
    constants: Mapping[int, LayerConstants],
    sharing: Sequence[Sequence[int]],
) -> Mapping[int, LayerConstants]:
    """Return the constants that lie in the external memory: fewer than planned, as now sizes and layers are known."""
    external, memory = board_plan.board.external, board_plan.memory
    if external is None or not board_plan.external:
        return {}
    outside = {
        number: _in_external(board_plan.table, own, quantized.layers[number], memory.kernels[number], board_plan.board)
        for number, own in constants.items()
    }

    def movable(own: Sequence[int]) -> Movable:
        costs = (
            sum(_placed(board_plan, each, [own])[number].cost_cycles for number in own) for each in (outside, constants)
        )
        return Movable(own[0], constants[own[0]].size_bytes, next(costs) - next(costs))

    free_bytes = _free_flash_bytes(board_plan, quantized) - sum(constants[own[0]].size_bytes for own in sharing)
    chosen = choose_external([movable(own) for own in sharing], free_bytes, external.memory.size_bytes)
    return {number: outside[number] for own in sharing if own[0] in chosen for number in own}


def _free_flash_bytes(board_plan: BoardPlan, quantized: QuantizedGraph) -> int:
    """Return the bytes of flash that firmware and code of the layers surely leave free."""
    board, kernels = board_plan.board, board_plan.memory.kernels
    firmware = board_plan.table.firmware[board.device.family]
    layers = [quantized.layers[number] for number in board_plan.layers]
    code = (
        code_bytes(board_plan.table, kernels[number], own.layer, board.device.core, Widths.of(own.formats))
        for number, own in zip(board_plan.layers, layers, strict=True)
    )
    link_bytes = firmware.link_flash_bytes if board_plan.links else 0
    return board.usable_flash_bytes - firmware.flash_bytes - link_bytes - sum(code)


def sharing_layers(
    board_plan: BoardPlan, quantized: QuantizedGraph, constants: Mapping[int, LayerConstants]
) -> Iterator[tuple[int, ...]]:
    """Yield the layers with constants, those together that have the same ones.

    Tiles with one kernel may have others: it orders the weights by the shape of the tile.
    """
    kernels, left = board_plan.memory.kernels, dict.fromkeys(constants)

    def are_equal(one: int, other: int) -> bool:
        if kernels[one] is not kernels[other] or constants[one].sizes != constants[other].sizes:
            return False
        own, its = (kernels[each].constants(quantized.layers[each]) for each in (one, other))
        return all(np.array_equal(values, its[name]) for name, values in own.items())

    while left:
        number = next(iter(left))
        alike = (each for each in quantized.graph.siblings(number) if each in left)
        own = tuple(each for each in alike if each == number or are_equal(number, each))
        left = {each: None for each in left if each not in own}
        yield own


def layer_constants(board_plan: BoardPlan, quantized: QuantizedGraph) -> Iterator[tuple[int, LayerConstants]]:
    """Yield the layers of a board that have constants, with their sizes."""
    memory = board_plan.memory
    for number in board_plan.layers:
        kernel, own = memory.kernels[number], quantized.layers[number]
        sizes = {name: array.nbytes for name, array in kernel.constants(own).items()}
        if sizes:
            widths = Widths.of(own.formats)
            read_bytes = kernel.loads(own.layer, widths).flash_bytes
            yield number, LayerConstants(sizes, read_bytes, kernel.load_bytes(own.layer, widths))


def _in_external(
    table: CycleTable, constants: LayerConstants, own: QuantizedLayer, kernel: Kernel, board: Board
) -> LayerConstants:
    """Return constants that lie in the external memory; `read_bytes` are of the largest that they may be."""
    widths, core = Widths.of(own.formats), board.device.core
    return constants.in_external(
        constants.sizes,
        kernel_cycles(table, own.layer, core, widths, kernel, quantized=own),
        reads_forward=kernel.reads_forward,
        bound_bytes=kernel.weights_bytes(own.layer, widths),
    )
