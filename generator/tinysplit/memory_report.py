"""What the plan of a board says about the memory of each of its layers."""

from collections.abc import Iterator

from tinysplit.bit_widths import BitWidths
from tinysplit.board_memory import Place
from tinysplit.board_steps import StepKind
from tinysplit.graph import Graph
from tinysplit.plan import BoardPlan
from tinysplit.project import ProjectMemory
from tinysplit.techniques import candidates


def describe_memory(graph: Graph, widths: BitWidths, board_plan: BoardPlan, number: int) -> ProjectMemory:
    """Return where a layer's tensors lie, what its kernel needs beside them, and why."""
    memory, layer = board_plan.memory, graph.layers[number]
    turn = run_turn(graph, board_plan, number)
    scratch = Place(number, is_scratch=True)
    own = memory.techniques[number].scratch_bytes(memory.layer(graph, number), widths.of_layer(layer))
    moved = [move.tensor for move in memory.moves if move.turn == turn]
    partner = memory.consumer(graph, number) if number in memory.bands else memory.producer(graph, number)
    return ProjectMemory(
        technique=memory.techniques[number].name,
        scratch_bytes=own if scratch in memory.arena.offsets else 0,
        input_offsets=tuple(memory.offset(source, turn) for source in graph.predecessors[number]),
        output_offset=memory.offset(number, turn),
        moved_bytes=sum(widths.size_bytes(graph, tensor) for tensor in moved),
        in_bands_with=None if partner is None else partner + 1,
        why="; ".join(_reasons(graph, widths, board_plan, number)),
    )


def run_turn(graph: Graph, board_plan: BoardPlan, number: int) -> int:
    """Return the step of a board in which a layer runs: its own, or that of the layer before it."""
    producer = board_plan.memory.producer(graph, number)
    runs = {step.item: turn for turn, step in enumerate(board_plan.steps) if step.kind is StepKind.RUN}
    return runs[number if producer is None else producer]


def _reasons(graph: Graph, widths: BitWidths, board_plan: BoardPlan, number: int) -> Iterator[str]:
    memory, layer = board_plan.memory, graph.layers[number]
    suited = [each.name for each in candidates(layer, board_plan.board.device.core, widths.of_layer(layer))]
    own = memory.techniques[number].name
    if own != suited[0]:
        yield f"less RAM than {suited[0]}"
    if number in memory.bands:
        yield f"{memory.bands[number].count} bands, each used up by layer {memory.consumer(graph, number) + 1}"
    elif memory.producer(graph, number) is None:
        yield from _overlaps(graph, widths, board_plan, number)


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
