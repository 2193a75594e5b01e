"""What the plan of a board says about each of its layers: scheme, kernel, buffers, what is read, and why."""

from collections.abc import Iterator

from tinysplit.kernels import Kernel, Optimize, candidates, choose, predicted_cycles
from tinysplit.kernels.scheme import Scheme, SchemeRule
from tinysplit.memory.layout import BufferId, readers_of
from tinysplit.memory.schedule import StepKind
from tinysplit.network.bit_widths import BitWidths, Widths
from tinysplit.network.graph import Graph
from tinysplit.network.layers.base import Layer
from tinysplit.plan.plan import BoardPlan
from tinysplit.project.manifest import ProjectMemory

LESS = {Optimize.RAM: "less RAM", Optimize.FLASH: "less flash"}
NEED_NO_BUFFER = {Scheme.ELEMENTWISE: "value by value", Scheme.COPY: "values only move"}


def describe_memory(graph: Graph, widths: BitWidths, board_plan: BoardPlan, number: int) -> ProjectMemory:
    """Return where a layer's tensors lie, what its kernel needs beside them, and why."""
    memory, layer = board_plan.memory, graph.layers[number]
    turn = run_turn(graph, board_plan, number)
    scratch = BufferId(number, is_scratch=True)
    kernel, own_widths = memory.kernels[number], widths.of_layer(layer)
    loads = kernel.loads(layer, own_widths)
    own = kernel.scratch_bytes(memory.layer(graph, number), own_widths)
    moved = [move.tensor for move in memory.moves if move.step == turn]
    partner = memory.consumer(graph, number) if number in memory.fused else memory.producer(graph, number)
    return ProjectMemory(
        scheme=kernel.scheme(layer),
        kernel=kernel.name,
        flash_read_bytes=loads.flash_bytes,
        ram_read_bytes=loads.ram_bytes,
        scratch_bytes=own if scratch in memory.arena.offsets else 0,
        input_offsets=tuple(memory.offset(source, turn) for source in graph.predecessors[number]),
        output_offset=memory.offset(number, turn),
        moved_bytes=sum(widths.size_bytes(graph, tensor) for tensor in moved),
        fused_with=None if partner is None else partner + 1,
        why="; ".join(_reasons(graph, widths, board_plan, number)),
    )


def run_turn(graph: Graph, board_plan: BoardPlan, number: int) -> int:
    """Return the step of a board in which a layer runs: its own, or that of the layer before it."""
    producer = board_plan.memory.producer(graph, number)
    runs = {step.item: turn for turn, step in enumerate(board_plan.steps) if step.kind is StepKind.RUN}
    return runs[number if producer is None else producer]


def _reasons(graph: Graph, widths: BitWidths, board_plan: BoardPlan, number: int) -> Iterator[str]:
    memory = board_plan.memory
    yield from _choice(graph.layers[number], widths.of_layer(graph.layers[number]), board_plan, number)
    fused = memory.fused.get(number)
    if fused:
        consumer = memory.consumer(graph, number) + 1
        yield f"fused with layer {consumer}: {fused.tiles} tiles of {fused.tile_rows} rows"
    elif memory.producer(graph, number) is None:
        yield from _places(graph, widths, board_plan, number)


def _places(graph: Graph, widths: BitWidths, board_plan: BoardPlan, number: int) -> Iterator[str]:
    """Say what a layer's output lies over, or why an elementwise layer's lies elsewhere."""
    overlaps = list(_overlaps(graph, widths, board_plan, number))
    yield from overlaps
    if not overlaps and board_plan.memory.kernels[number].scheme(graph.layers[number]) is Scheme.ELEMENTWISE:
        yield _not_in_place(graph, number)


def _overlaps(graph: Graph, widths: BitWidths, board_plan: BoardPlan, number: int) -> Iterator[str]:
    memory, turn = board_plan.memory, run_turn(graph, board_plan, number)
    at, out_bytes = memory.offset(number, turn), widths.size_bytes(graph, number)
    for source in dict.fromkeys(graph.predecessors[number]):
        begin, in_bytes = memory.offset(source, turn), widths.size_bytes(graph, source)
        if at < begin + in_bytes and begin < at + out_bytes:
            where = (
                "" if at == begin else f", {abs(begin - at)} bytes {'before' if at < begin else 'behind'} its beginning"
            )
            yield f"over the output of layer {source + 1}{where}" if source >= 0 else f"over the network's input{where}"


def _not_in_place(graph: Graph, number: int) -> str:
    """Say why an elementwise layer does not write over an input."""
    later = [reader for source in graph.predecessors[number] for reader in readers_of(graph, source) if reader > number]
    reason = f"layer {min(later) + 1} reads its input, too" if later else "the arena is no smaller that way"
    return f"not in place: {reason}"


def _choice(layer: Layer, widths: Widths, board_plan: BoardPlan, number: int) -> Iterator[str]:
    """Say what seed 004's rule finds, and why the kernel is another one than the fastest."""
    core, own = board_plan.board.device.core, board_plan.memory.kernels[number]
    rule = SchemeRule.of(layer, widths, board_plan.near_bytes)
    scheme = own.scheme(layer)
    yield str(rule) if rule else f"{scheme}: {NEED_NO_BUFFER[scheme]}"
    fastest = choose(layer, core, widths)
    if number in board_plan.named:
        yield f"{board_plan.named[number]} was asked for"
    elif own is not fastest:
        yield f"{LESS[board_plan.optimize]} than {fastest.name}"
    elif rule and scheme is not rule.scheme:
        yield f"{own.name} is faster"
    yield from _other_cycles(layer, core, widths, own)


def _other_cycles(layer: Layer, core: str, widths: Widths, own: Kernel) -> Iterator[str]:
    """Say what other kernels would take, where they were measured."""
    if predicted_cycles(own, layer, core, widths) is None:
        return
    for other in candidates(layer, core, widths):
        cycles = None if other is own else predicted_cycles(other, layer, core, widths)
        if cycles is not None:
            yield f"{other.name} takes {cycles:.0f} cycles"
