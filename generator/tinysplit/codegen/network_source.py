"""`src/network.c` of a board: its arena, the steps in their order, and the kernel calls of every layer."""

from collections.abc import Sequence
from dataclasses import dataclass

from tinysplit.common.alignment import WORD_BYTES
from tinysplit.common.templates import render
from tinysplit.memory.fused_rows import FusedRows
from tinysplit.memory.layout import BoardMemory, BufferId
from tinysplit.memory.schedule import StepKind
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.graph import NETWORK_INPUT
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.plan.plan import BoardPlan, Plan


@dataclass(frozen=True)
class WordMove:
    """A tensor that moves in the arena before a layer runs; offsets in bytes."""

    source: int
    target: int
    words: int


@dataclass(frozen=True)
class KernelCall:
    """A call of the function of layer `number` (from 1); `offsets` of its arguments in the arena, in bytes."""

    number: int
    offsets: tuple[int, ...]


@dataclass(frozen=True)
class FusedCalls:
    """A layer that is fused with its consumer: tiles, and strides in bytes; `zeros` is a word of padding."""

    rows: FusedRows
    in_row_bytes: int
    row_bytes: int
    out_tile_bytes: int
    zeros: int


@dataclass(frozen=True)
class LayerStep:
    """What the step of layer `number` (from 1) does: moves, then calls; none for a layer that its producer runs."""

    number: int
    moves: tuple[WordMove, ...]
    calls: tuple[KernelCall, ...]
    fused: FusedCalls | None


@dataclass(frozen=True)
class RunStep:
    """An entry of `network_steps` that runs layer `index` (from 1)."""

    kind: str
    index: int
    comment: str


@dataclass(frozen=True)
class TransferStep:
    """An entry of `network_steps` that sends or receives cut `index` (from 0) over link `link` (from 0)."""

    kind: str
    index: int
    comment: str
    link: int
    offset: int
    bytes: int


@dataclass(frozen=True)
class NetworkContext:
    """The names of `project/network.c.j2`: offsets and sizes in bytes; 0 for an input or output of another board."""

    number: int
    board_count: int
    title: str
    model_name: str
    bits: str | int
    arena_bytes: int
    network_input_bytes: int
    network_input_offset: int
    network_output_bytes: int
    network_output_offset: int
    time_count: int  # records of a run: one per layer and per sent tensor
    layers: Sequence[LayerStep]
    steps: Sequence[RunStep | TransferStep]


def render_network(quantized: QuantizedGraph, board_plan: BoardPlan, plan: Plan) -> str:
    """Return the text of a board's `network.c`."""
    return render("project/network.c.j2", _network_context(quantized, board_plan, plan))


def _network_context(quantized: QuantizedGraph, board_plan: BoardPlan, plan: Plan) -> NetworkContext:
    memory, steps, output = board_plan.memory, board_plan.steps, len(quantized.layers) - 1
    has_output = plan.assignment[output] == board_plan.index
    widths = BitWidths.of_quantized(quantized)
    return NetworkContext(
        number=board_plan.number,
        board_count=len(plan.boards),
        title=board_plan.board.title,
        model_name=quantized.graph.name,
        bits=quantized.bits,
        arena_bytes=max(board_plan.arena.size_bytes, 1),
        network_input_bytes=widths.size_bytes(quantized.graph, NETWORK_INPUT) if board_plan.takes_input else 0,
        network_input_offset=memory.offset(NETWORK_INPUT, 0) if board_plan.takes_input else 0,
        network_output_bytes=widths.size_bytes(quantized.graph, output) if has_output else 0,
        network_output_offset=memory.offset(output, len(steps)) if has_output else 0,
        time_count=sum(step.kind is not StepKind.RECEIVE for step in steps),
        layers=[_layer_step(quantized, widths, layer, board_plan) for layer in board_plan.layers],
        steps=[_step(quantized, index, board_plan, plan) for index in range(len(steps))],
    )


def _layer_step(quantized: QuantizedGraph, widths: BitWidths, layer: int, board_plan: BoardPlan) -> LayerStep:
    memory = board_plan.memory
    index = next(index for index, step in enumerate(board_plan.steps) if step[:2] == (StepKind.RUN, layer))
    moves = tuple(
        WordMove(
            source=memory.offset(move.tensor, index - 1),
            target=memory.offset(move.tensor, index),
            words=-(-widths.size_bytes(quantized.graph, move.tensor) // WORD_BYTES),
        )
        for move in memory.moves
        if move.step == index
    )
    calls, fused = _calls(quantized, layer, memory, index), _fused_calls(quantized, layer, memory)
    return LayerStep(number=layer + 1, moves=moves, calls=calls, fused=fused)


def _calls(quantized: QuantizedGraph, layer: int, memory: BoardMemory, index: int) -> tuple[KernelCall, ...]:
    """Return the kernel calls of step `index`, in which `layer` runs."""
    graph = quantized.graph
    output = memory.offset(layer, index)
    call = _call(memory, layer, *(memory.offset(source, index) for source in graph.predecessors[layer]), output)
    if layer in memory.fused:
        consumer = memory.consumer(graph, layer)
        return call, _call(memory, consumer, output, memory.offset(consumer, index))
    return (call,) if memory.producer(graph, layer) is None else ()


def _call(memory: BoardMemory, layer: int, *offsets: int) -> KernelCall:
    scratch = memory.arena.offsets.get(BufferId(layer, is_scratch=True))
    return KernelCall(number=layer + 1, offsets=offsets if scratch is None else (*offsets, scratch))


def _fused_calls(quantized: QuantizedGraph, layer: int, memory: BoardMemory) -> FusedCalls | None:
    if layer not in memory.fused:
        return None
    rows, formats = memory.fused[layer], quantized.layers[layer].formats
    consumer = quantized.layers[memory.consumer(quantized.graph, layer)]
    bits = formats.y.bits
    zero = formats.y.zero_point % (1 << bits)
    return FusedCalls(
        rows=rows,
        in_row_bytes=rows.in_row_stride * formats.x.bits // 8,
        row_bytes=rows.row_size * bits // 8,
        out_tile_bytes=rows.out_tile_stride * consumer.formats.y.bits // 8,
        zeros=sum(zero << shift for shift in range(0, 8 * WORD_BYTES, bits)),
    )


def _step(quantized: QuantizedGraph, index: int, board_plan: BoardPlan, plan: Plan) -> RunStep | TransferStep:
    step = board_plan.steps[index]
    if step.kind is StepKind.RUN:
        layer = quantized.layers[step.item].layer
        return RunStep(kind=step.kind.value, index=step.item + 1, comment=f"{layer.kind} {layer.out_shape}")
    cut = plan.cuts[step.item]
    peer, direction = (cut.receiver, "to") if step.kind is StepKind.SEND else (cut.sender, "from")
    return TransferStep(
        kind=step.kind.value,
        index=step.item,
        comment=f"output of layer {step.tensor + 1} {direction} board {peer + 1}",
        link=[link.peer for link in board_plan.links].index(peer),
        offset=board_plan.memory.offset(step.tensor, index),
        bytes=cut.payload_bytes,
    )
