"""Memory of a layer for the manifest: scheme, kernel, offsets, memory traffic, and the reasons for them."""

from collections.abc import Iterator

from tinysplit.codegen.kernel_reasons import kernel_reasons
from tinysplit.kernels.scheme import Scheme
from tinysplit.memory.arena import NEAR_BEGIN
from tinysplit.memory.constants_in_ram import Decrypted, PlacedConstants
from tinysplit.memory.kernel_choice import KernelChoice
from tinysplit.memory.layout import BufferId
from tinysplit.memory.schedule import StepKind
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.graph import Graph
from tinysplit.plan.plan import BoardPlan
from tinysplit.project.manifest import ConstantsIn, ProjectBuffer, ProjectMemory


def describe_memory(choice: KernelChoice, board_plan: BoardPlan, number: int) -> ProjectMemory:
    """Return the offsets, scratch memory, traffic and kernel of layer `number` (from 0), and the reasons for them."""
    graph, widths, memory = choice.graph, choice.widths, board_plan.memory
    layer = graph.layers[number]
    step = run_step(graph, board_plan, number)
    scratch = BufferId(number, is_scratch=True)
    kernel, own_widths = memory.kernels[number], widths.of_layer(layer)
    loads = kernel.loads(layer, own_widths)
    scratch_bytes = kernel.scratch_bytes(memory.layer(graph, number), own_widths)
    constants = board_plan.constants.get(number)
    moved = [move.tensor for move in memory.moves if move.step == step]
    partner = memory.consumer(graph, number) if number in memory.fused else memory.producer(graph, number)
    return ProjectMemory(
        scheme=kernel.scheme(layer),
        kernel=kernel.name,
        flash_read_bytes=loads.flash_bytes,
        ram_read_bytes=loads.ram_bytes,
        scratch_bytes=scratch_bytes if scratch in memory.arena.offsets else 0,
        input_offsets=tuple(memory.offset(source, step) for source in graph.predecessors[number]),
        output_offset=memory.offset(number, step),
        moved_bytes=sum(widths.size_bytes(graph, tensor) for tensor in moved),
        constants_in=_constants_in(constants),
        fused_with=None if partner is None else partner + 1,
        live=tuple(_live(board_plan, number)),
        why="; ".join(_reasons(choice, board_plan, number)),
    )


def _live(board_plan: BoardPlan, number: int) -> Iterator[ProjectBuffer]:
    for key, (begin, end) in board_plan.memory.live[number].items():
        tensor, size_bytes = key.tensor + 1, end - begin
        yield ProjectBuffer(tensor=tensor, is_scratch=key.is_scratch, offset=begin, size_bytes=size_bytes)


def _constants_in(constants: PlacedConstants | None) -> ConstantsIn:
    if constants and (constants.is_copied or constants.residence or constants.decrypted is Decrypted.ONCE):
        return ConstantsIn.RAM
    return ConstantsIn.EXTERNAL if constants and constants.is_external else ConstantsIn.FLASH


def run_step(graph: Graph, board_plan: BoardPlan, number: int) -> int:
    """Return the index of the step in which a layer runs: its own, or that of the producer it is fused with."""
    producer = board_plan.memory.producer(graph, number)
    runs = {step.item: index for index, step in enumerate(board_plan.steps) if step.kind is StepKind.RUN}
    return runs[number if producer is None else producer]


def _reasons(choice: KernelChoice, board_plan: BoardPlan, number: int) -> Iterator[str]:
    graph, memory = choice.graph, board_plan.memory
    yield from kernel_reasons(choice, board_plan, number)
    if number in board_plan.constants:
        yield str(board_plan.constants[number])
    fused = memory.fused.get(number)
    if fused:
        yield f"fused with layer {memory.consumer(graph, number) + 1}: {fused.tiles} tiles of {fused.tile_rows} rows"
    elif memory.producer(graph, number) is None:
        yield from _in_place(graph, choice.widths, board_plan, number)
    if memory.waits:
        yield _output_memory(board_plan, memory.buffer(number, run_step(graph, board_plan, number)))


def _output_memory(board_plan: BoardPlan, output: BufferId) -> str:
    """Return the memory of an output where the arena does not fit next to the core, and the cycles that decided."""
    is_near, waits = board_plan.arena.offsets[output] >= NEAR_BEGIN, board_plan.memory.waits[output]
    memory = board_plan.board.near_memory if is_near else board_plan.arena_memory
    return f"output in {memory.name}, {'without' if is_near else 'with'} {waits:.0f} cycles of waits for it"


def _in_place(graph: Graph, widths: BitWidths, board_plan: BoardPlan, number: int) -> Iterator[str]:
    """Yield the inputs that a layer's output overwrites, or why an elementwise layer is not computed in place."""
    overlaps = list(_overlaps(graph, widths, board_plan, number))
    yield from overlaps
    if not overlaps and board_plan.memory.kernels[number].scheme(graph.layers[number]) is Scheme.ELEMENTWISE:
        yield f"not in place: {_reason_against(graph, number)}"


def _overlaps(graph: Graph, widths: BitWidths, board_plan: BoardPlan, number: int) -> Iterator[str]:
    memory, step = board_plan.memory, run_step(graph, board_plan, number)
    offset, out_bytes = memory.offset(number, step), widths.size_bytes(graph, number)
    for source in dict.fromkeys(graph.predecessors[number]):
        begin, in_bytes = memory.offset(source, step), widths.size_bytes(graph, source)
        if offset < begin + in_bytes and begin < offset + out_bytes:
            tensor = f"the output of layer {source + 1}" if source >= 0 else "the network's input"
            distance = f", {abs(begin - offset)} bytes {'before' if offset < begin else 'after'} its start"
            yield f"in place over {tensor}{distance if offset != begin else ''}"


def _reason_against(graph: Graph, number: int) -> str:
    later = [reader for source in graph.predecessors[number] for reader in graph.readers(source) if reader > number]
    return f"layer {min(later) + 1} also reads its input" if later else "the arena holds input and output side by side"
