"""Which buffers of an arena behind a cache lie in the RAM next to the core: those for which layers would wait longest.

An arena that does not fit the RAM of level 1 lies in a slower one. Tensors that only layers use, and their scratch
memory, take what is free of level 1, one by one. What links and the host read and write stays in the arena.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from tinysplit.boards.board import Board, Caches
from tinysplit.kernels.memory_traffic import visited_lines
from tinysplit.memory.arena import allocate
from tinysplit.memory.layout import BoardMemory, BufferId, Schedule
from tinysplit.memory.schedule import StepKind
from tinysplit.network.graph import NETWORK_INPUT


def with_near_buffers(schedule: Schedule, board: Board, near_bytes: int) -> BoardMemory:
    """Return the memory layout with those buffers in `near_bytes` of level 1 that save most cycles a byte."""
    waits, fixed = buffer_waits(schedule, board), _fixed_tensors(schedule)
    free = [each for each in schedule.buffers() if each.key.tensor not in fixed]
    near: frozenset[BufferId] = frozenset()
    for buffer in sorted(free, key=lambda each: (-waits.get(each.key, 0.0) / each.size_bytes, each.key)):
        wider = near | {buffer.key}
        if allocate([each for each in free if each.key in wider]).size_bytes <= near_bytes:
            near = wider
    return replace(replace(schedule, near=near).memory(), waits=waits)


def buffer_waits(schedule: Schedule, board: Board) -> Mapping[BufferId, float]:
    """Return the cycles for which the layers wait for each buffer if it lies in the largest RAM, behind the data cache.

    Moves of tensors do not count.
    """
    level = next(each for each in board.memory_levels if each.name == board.device.largest_ram.name)
    memory, waits = schedule.memory(), dict[BufferId, float]()
    for number in schedule.kernels:
        for buffer, lines in _visits(schedule, memory, number, board.caches):
            waits[buffer] = waits.get(buffer, 0.0) + level.wait_cycles * lines
    return waits


def _visits(schedule: Schedule, memory: BoardMemory, number: int, caches: Caches) -> Iterator[tuple[BufferId, float]]:
    """Yield the buffers of a layer with the lines of each that come over the bus while it runs."""
    graph, step = schedule.graph, schedule.run_steps[number]
    layer, kernel = memory.layer(graph, number), memory.kernels[number]
    widths, calls = schedule.widths.of_layer(graph.layers[number]), memory.calls(graph, number)
    tensors = [(source, layer.in_shapes[k], widths.x) for k, source in enumerate(graph.predecessors[number])]
    tensors.append((number, layer.out_shape, widths.y))
    is_cached = sum(shape.size * bits // 8 for _, shape, bits in tensors) <= caches.data_bytes
    for tensor, shape, bits in tensors:
        passes = kernel.scheme(layer).passes(shape.channels)
        lines = visited_lines(shape, bits, caches.line_bytes, 1 if is_cached else passes)
        yield memory.buffer(tensor, step), calls * lines
    yield BufferId(number, is_scratch=True), kernel.scratch_bytes(layer, widths) / caches.line_bytes


def _fixed_tensors(schedule: Schedule) -> frozenset[int]:
    """Return the tensors that links or the host read or write, and those in which others lie: these may be such."""
    crossing = (step.tensor for step in schedule.steps if step.kind is not StepKind.RUN)
    return frozenset({NETWORK_INPUT, len(schedule.graph.layers) - 1, *crossing, *schedule.holders})
