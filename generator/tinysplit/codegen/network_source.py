"""`src/network.c` of a board: its arena, the steps in their order, and the kernel calls of every layer."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

from tinysplit.codegen.board_program import BoardProgram
from tinysplit.codegen.layer_source import copy_function_name
from tinysplit.common.alignment import WORD_BYTES
from tinysplit.common.templates import render
from tinysplit.memory.arena import NEAR_BEGIN
from tinysplit.memory.fused_rows import FusedRows
from tinysplit.memory.layout import BoardMemory, BufferId
from tinysplit.memory.schedule import PlanStep, StepKind
from tinysplit.network.bit_widths import Widths
from tinysplit.network.graph import NETWORK_INPUT
from tinysplit.network.layers.recurrent import keeps_state
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.plan.streams import HandOff
from tinysplit.plan.wake_up import wake_bytes
from tinysplit.plan.wiring import BoardLink

WATCHDOG_FACTOR = 5  # time-out as a multiple of the estimated time of the longest layer
SHORTEST_WATCHDOG_S, LONGEST_WATCHDOG_S = 2.0, 30.0
LONGEST_PATIENCE_MS = 60_000
LONG_CYCLES = 1 << 30  # of a layer: beyond, the cycle counter may wrap around while it runs


_MEASURED = (StepKind.SEND, StepKind.RECEIVE)
_AT_SENDER = (StepKind.SEND, StepKind.SENT)
_DISTRIBUTED = {
    StepKind.GRANT: "transfers_grant",
    StepKind.RECEIVE: "transfers_await",
    StepKind.SEND: "transfers_begin_send",
    StepKind.SENT: "transfers_await_sent",
}


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
class LayerStream:
    """The streamed input and output of a step, as indices in `network_transfers`, and the bytes of their rows.

    Tile t of fused layers needs `first_needed + t * needed_step` rows of the input and ends a multiple of `tile_rows`.
    """

    input: int | None
    output: int | None
    in_row_bytes: int
    out_row_bytes: int
    first_needed: int
    needed_step: int
    tile_rows: int


@dataclass(frozen=True)
class LayerStep:
    """What the step of layer `number` (from 1) does: moves, copies of constants by the functions `copies`, then calls.

    A layer that its producer runs has none of them.
    """

    number: int
    moves: tuple[WordMove, ...]
    copies: tuple[str, ...]
    calls: tuple[KernelCall, ...]
    fused: FusedCalls | None
    stream: LayerStream | None


@dataclass(frozen=True)
class BufferedTensor:
    """A tensor that comes or goes: offsets in bytes, in the arena and of its buffer (the same without one)."""

    offset: int
    stage: int
    bytes: int


ABSENT = BufferedTensor(0, 0, 0)  # the network's input or output on another board


@dataclass(frozen=True)
class KeptState:
    """Where a layer keeps its state from one inference to the next: offset in the arena, in bytes."""

    offset: int
    bytes: int


@dataclass(frozen=True)
class StepEntry:
    """An entry of `network_steps`: `index` of a layer from 1 or of a cut from 0, and the transfer as a C expression."""

    kind: str
    index: int
    comment: str
    transfer: str = ""


@dataclass(frozen=True)
class TransferEntry:
    """An entry of `network_transfers`: `take` is the function of its step, `record` the step's index."""

    take: str
    comment: str
    tensor: BufferedTensor
    link: int
    cut: int
    record: int


@dataclass(frozen=True)
class LinkChannel:
    """A tensor on a link."""

    cut: int
    is_out: bool
    frame_share: int
    bytes: int


@dataclass(frozen=True)
class LinkEntry:
    """A link to board `peer` (from 0), which may answer nothing for `patience_ms` and be well.

    `wake_bytes` wake it from stop mode, None without that.
    """

    peer: int
    baud: int
    patience_ms: int
    wake_bytes: int | None
    channels: Sequence[LinkChannel]


@dataclass(frozen=True)
class NetworkContext:
    """The names of `project/network.c.j2`; sizes in bytes."""

    number: int
    title: str
    model_name: str
    bits: str | int
    arena_bytes: int
    near_bytes: int
    near_begin: int  # offset of the first of these bytes
    network_input: BufferedTensor
    network_output: BufferedTensor
    watchdog_ms: int
    has_long_layers: bool
    layers: Sequence[LayerStep]
    states: Sequence[KeptState]
    steps: Sequence[StepEntry]
    transfers: Sequence[TransferEntry]
    waits: Sequence[TransferEntry]  # other steps of transfers
    links: Sequence[LinkEntry]


def render_network(program: BoardProgram, longest_s: Mapping[int, float]) -> str:
    """Return the text of a board's `network.c`; `longest_s` has the estimated time of each board's longest layer."""
    return render("project/network.c.j2", _network_context(program, longest_s))


def _network_context(program: BoardProgram, longest_s: Mapping[int, float]) -> NetworkContext:
    board_plan, quantized = program.board_plan, program.quantized
    own_input, own_output = network_input(program), _output(program)
    begin = [StepEntry("input", 0, "")] if own_input != ABSENT else []
    end = [StepEntry("output", 0, "")] if own_output != ABSENT else []
    entries = board_transfers(program, len(begin))
    transfers = [entry for kind, entry in entries if kind in _MEASURED]
    waits = [entry for kind, entry in entries if kind not in _MEASURED]
    return NetworkContext(
        number=program.number,
        title=program.board.title,
        model_name=quantized.graph.name,
        bits=quantized.bits,
        arena_bytes=max(board_plan.arena_bytes, 1),
        near_bytes=board_plan.near_arena_bytes,
        near_begin=NEAR_BEGIN,
        network_input=own_input,
        network_output=own_output,
        watchdog_ms=watchdog_ms(program.longest_layer_s),
        has_long_layers=program.longest_layer_s * program.board.clock.core_hz > LONG_CYCLES,
        layers=[_layer_step(program, layer) for layer in program.computed],
        states=[_state(program, layer) for layer in program.computed if keeps_state(quantized.graph.layers[layer])],
        steps=[*begin, *_steps(program, entries), *end],
        transfers=transfers,
        waits=waits,
        links=[_link(program, link, longest_s) for link in board_plan.links],
    )


def watchdog_ms(longest_s: float) -> int:
    """Return the watchdog's time-out for a board whose longest layer is estimated at `longest_s`; 0: it cannot wait."""
    wanted_s = max(WATCHDOG_FACTOR * longest_s, SHORTEST_WATCHDOG_S)
    return 0 if wanted_s > LONGEST_WATCHDOG_S else round(1000 * wanted_s)


def network_input(program: BoardProgram) -> BufferedTensor:
    """Return the place of the network's input, `ABSENT` on boards that do not read it."""
    plan = program.board_plan
    if not plan.takes_input:
        return ABSENT
    return _buffered(program, NETWORK_INPUT, 0, plan.stages.input)


def _output(program: BoardProgram) -> BufferedTensor:
    plan = program.board_plan
    if not program.gives_output:
        return ABSENT
    return _buffered(program, len(program.quantized.layers) - 1, len(plan.steps), plan.stages.output)


def _buffered(program: BoardProgram, tensor: int, step: int, stage: int | None) -> BufferedTensor:
    offset = program.board_plan.memory.offset(tensor, step)
    size_bytes = program.widths.size_bytes(program.quantized.graph, tensor)
    return BufferedTensor(offset, offset if stage is None else stage, size_bytes)


def _layer_step(program: BoardProgram, layer: int) -> LayerStep:
    quantized, board_plan, memory = program.quantized, program.board_plan, program.board_plan.memory
    index = next(index for index, step in enumerate(board_plan.steps) if step[:2] == (StepKind.RUN, layer))
    moves = tuple(
        WordMove(
            source=memory.offset(move.tensor, index - 1),
            target=memory.offset(move.tensor, index),
            words=-(-program.widths.size_bytes(quantized.graph, move.tensor) // WORD_BYTES),
        )
        for move in memory.moves
        if move.step == index
    )
    calls, fused = _calls(quantized, layer, memory, index), _fused_calls(quantized, layer, memory)
    stream = _layer_stream(program, layer)
    copied = {
        number + 1
        for number, constants in board_plan.constants.items()
        if constants.is_copied and not constants.is_reused
    }
    copies = tuple(copy_function_name(call.number) for call in calls if call.number in copied)
    return LayerStep(number=layer + 1, moves=moves, copies=copies, calls=calls, fused=fused, stream=stream)


def _layer_stream(program: BoardProgram, layer: int) -> LayerStream | None:
    """Return the streamed input and output of the step in which `layer` runs first."""
    layers, cuts = program.quantized.layers, program.plan.cuts
    numbers = [step.item for step in program.board_plan.steps if step.kind in _MEASURED]
    ends = [(number, cuts[number].hand_off) for number in numbers]
    takes = next((number for number, each in ends if each.takes and each.takes.layers[0] == layer), None)
    gives = next((number for number, each in ends if each.gives and each.gives.layers[0] == layer), None)
    rows = cuts[takes].hand_off.takes if takes is not None else None
    rows = cuts[gives].hand_off.gives if gives is not None else rows
    if rows is None:
        return None
    in_rows = layers[layer].layer.in_shape.height
    out_rows = layers[rows.output].layer.out_shape.height
    return LayerStream(
        input=None if takes is None else numbers.index(takes),
        output=None if gives is None else numbers.index(gives),
        in_row_bytes=0 if takes is None else cuts[takes].cut.payload_bytes // in_rows,
        out_row_bytes=0 if gives is None else cuts[gives].cut.payload_bytes // out_rows,
        first_needed=int(rows.needed_rows[0]),
        needed_step=int(rows.needed_rows[1] - rows.needed_rows[0]),
        tile_rows=int(rows.done_rows[0]),
    )


def _calls(quantized: QuantizedGraph, layer: int, memory: BoardMemory, index: int) -> tuple[KernelCall, ...]:
    """Return the kernel calls of step `index`, in which `layer` runs."""
    graph = quantized.graph
    output = memory.offset(layer, index)
    call = _call(memory, layer, *(memory.offset(source, index) for source in graph.predecessors[layer]), output)
    if layer in memory.fused:
        consumer = memory.consumer(graph, layer)
        return call, _call(memory, consumer, output, memory.offset(consumer, index))
    return (call,) if memory.producer(graph, layer) is None else ()


def _state(program: BoardProgram, number: int) -> KeptState:
    memory, layer = program.board_plan.memory, program.quantized.layers[number]
    scratch_bytes = memory.kernels[number].scratch_bytes(layer.layer, Widths.of(layer.formats))
    return KeptState(memory.arena.offsets[BufferId(number, is_scratch=True)], scratch_bytes)


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


def _steps(program: BoardProgram, transfers: Sequence[tuple[StepKind, TransferEntry]]) -> Iterator[StepEntry]:
    """Yield the layers and transfers of a board in their order."""
    entries, numbers = iter(transfers), {name: count() for name in ("network_transfers", "waits")}
    for step in program.board_plan.steps:
        if step.kind is StepKind.RUN:
            layer = program.quantized.layers[step.item].layer
            if layer.is_view:
                continue
            yield StepEntry(step.kind.value, step.item + 1, f"{layer.kind} {layer.out_shape}")
        else:
            kind, transfer = next(entries)
            array = "network_transfers" if kind in _MEASURED else "waits"
            yield StepEntry(step.kind.value, step.item, transfer.comment, f"&{array}[{next(numbers[array])}]")


def board_transfers(program: BoardProgram, first_record: int) -> list[tuple[StepKind, TransferEntry]]:
    """Return the steps of a board's transfers; its first step has time record `first_record`."""
    graph, board_plan = program.quantized.graph, program.board_plan
    peers = [link.peer for link in board_plan.links]
    entries: list[tuple[StepKind, TransferEntry]] = []
    record = first_record - 1
    for index, step in enumerate(board_plan.steps):
        record += step.kind is not StepKind.RUN or not graph.layers[step.item].is_view
        if step.kind is StepKind.RUN:
            continue
        planned, offset = program.plan.cuts[step.item], board_plan.memory.offset(step.tensor, index)
        cut = planned.cut
        peer, direction = (cut.receiver, "to") if step.kind in _AT_SENDER else (cut.sender, "from")
        entry = TransferEntry(
            take=_DISTRIBUTED[step.kind] if graph.is_distributed else _take(step, planned.hand_off),
            comment=f"output of layer {step.tensor + 1} {direction} board {peer + 1}",
            tensor=BufferedTensor(offset, board_plan.stages.cuts.get(step.item, offset), cut.payload_bytes),
            link=peers.index(peer),
            cut=step.item,
            record=record,
        )
        entries.append((step.kind, entry))
    return entries


def _take(step: PlanStep, hand_off: HandOff) -> str:
    """Return the function that a transfer's step calls."""
    rows = hand_off.gives if step.kind is StepKind.SEND else hand_off.takes
    return f"{'transfers' if rows is None else 'row_stream'}_{step.kind.value}"


def _link(program: BoardProgram, link: BoardLink, longest_s: Mapping[int, float]) -> LinkEntry:
    index = program.board_plan.index
    channels = [
        LinkChannel(number, each.cut.sender == index, each.hand_off.frame_share, each.cut.payload_bytes)
        for number, each in enumerate(program.plan.cuts)
        if {each.cut.sender, each.cut.receiver} == {link.peer, index}
    ]
    peer = next(other for other in program.plan.boards if other.index == link.peer)
    longest_ms = round(1000 * WATCHDOG_FACTOR * longest_s[peer.index])
    patience_ms = min(longest_ms, LONGEST_PATIENCE_MS) if peer.link_driving.polls else 0
    bytes_to_wake = wake_bytes(peer.board, link.baud) if program.wake_up else None
    return LinkEntry(link.peer, link.baud, patience_ms, bytes_to_wake, channels)
