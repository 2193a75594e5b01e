"""The buffers of a board, their lifetimes (liveness) and their offsets in the arena."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import lcm
from typing import NamedTuple

from tinysplit.common.alignment import aligned
from tinysplit.kernels import Kernel
from tinysplit.kernels.equal_layers import of_equal_shapes
from tinysplit.kernels.in_place import Lead
from tinysplit.memory.arena import NEAR_BEGIN, Arena, Buffer, InPlace, allocate, live_by_step, most_live_bytes
from tinysplit.memory.constants_in_ram import ByteRange
from tinysplit.memory.fused_rows import FusedRows
from tinysplit.memory.schedule import PlanStep, StepKind
from tinysplit.memory.shared_memory import Place, shared_memory
from tinysplit.network.bit_widths import BitWidths, Widths
from tinysplit.network.graph import NETWORK_INPUT, Graph
from tinysplit.network.layers import Layer
from tinysplit.network.layers.recurrent import keeps_state

MOVE_CYCLES = 8  # per moved word, counted in the loop that GCC generates for Cortex-M0+ and M4
BEFORE_ALL = -1  # tick at which the network's input is written


class BufferId(NamedTuple):
    """A buffer of an arena: the output of layer `tensor` (or NETWORK_INPUT), or the scratch memory of that layer.

    `moves` counts how often the tensor has moved before it is in this buffer.
    """

    tensor: int
    is_scratch: bool = False
    moves: int = 0


class Access(NamedTuple):
    """Bytes `begin` to `end` of a tensor's memory are in use from step `first` to step `last`, as `tensor`.

    `is_written`: a kernel writes them, in this step.
    """

    first: int
    last: int
    tensor: int
    begin: int
    end: int
    is_written: bool = False


class TensorMove(NamedTuple):
    """A tensor moves to another offset before step `step`."""

    step: int
    tensor: int


@dataclass(frozen=True, eq=False)
class BoardMemory:
    """A board's arena, the kernel of each of its layers, the fused layers (by producer), and the moves.

    `live` has the buffers that are in use while each layer runs, with their bytes; layers of one step share them.
    `waits`, where not all buffers are next to the core: the cycles for which layers wait for each one if it is not.
    """

    arena: Arena[BufferId]
    kernels: Mapping[int, Kernel]
    fused: Mapping[int, FusedRows]
    moves: tuple[TensorMove, ...]
    live: Mapping[int, Mapping[BufferId, ByteRange]]
    waits: Mapping[BufferId, float] = field(default_factory=dict)
    shared: Mapping[int, Place] = field(default_factory=dict)  # tensors that lie in others

    @cached_property
    def in_use(self) -> Mapping[int, tuple[ByteRange, ...]]:
        """The bytes of the arena that are in use while each layer runs; layers of one step share one object."""
        ranges = {id(own): tuple(own.values()) for own in self.live.values()}
        return {layer: ranges[id(own)] for layer, own in self.live.items()}

    def offset(self, tensor: int, step: int) -> int:
        """Return the offset of a tensor in a step, in bytes."""
        inner = self.shared[tensor].offset_bytes if tensor in self.shared else 0
        return self.arena.offsets[self.buffer(tensor, step)] + inner

    def buffer(self, tensor: int, step: int) -> BufferId:
        """Return the buffer of a tensor in a step."""
        if tensor in self.shared:
            return BufferId(self.shared[tensor].tensor)
        return BufferId(tensor, moves=sum(move.tensor == tensor and move.step <= step for move in self.moves))

    def consumer(self, graph: Graph, producer: int) -> int:
        """Return the layer with which producer `producer` is fused."""
        return graph.readers(producer)[0]

    def producer(self, graph: Graph, consumer: int) -> int | None:
        """Return the producer with which a layer is fused, in whose step it runs; None for a step of its own."""
        return next((source for source in graph.predecessors[consumer] if source in self.fused), None)

    def layer(self, graph: Graph, number: int) -> Layer:
        """Return the layer with the shapes of one call of its kernel: all of it, or the rows of a tile."""
        producer = self.producer(graph, number)
        if producer is not None:
            return self.fused[producer].consumer
        return self.fused[number].producer if number in self.fused else graph.layers[number]

    def calls(self, graph: Graph, number: int) -> int:
        """Return how often the kernel of a layer is called per inference."""
        producer = self.producer(graph, number)
        if producer is not None:
            return self.fused[producer].tiles
        return self.fused[number].producer_calls if number in self.fused else 1


@dataclass(frozen=True, eq=False)
class Schedule:
    """The steps of a board with their kernels, fused layers (by producer) and moves: liveness follows from them.

    The buffers in `near` lie in the memory next to the core, all others in the arena.
    """

    graph: Graph
    widths: BitWidths
    steps: Sequence[PlanStep]
    kernels: Mapping[int, Kernel]
    fused: Mapping[int, FusedRows] = field(default_factory=dict)
    moves: tuple[TensorMove, ...] = ()
    near: frozenset[BufferId] = frozenset()
    _known: dict[tuple[object, ...], InPlace] = field(default_factory=dict, init=False, repr=False)

    def memory(self) -> BoardMemory:
        """Return the memory layout with the smallest arena found."""
        return BoardMemory(self._arena, self.kernels, self.fused, self.moves, self._live, shared=self.shared)

    def fits(self, limit_bytes: int) -> bool:
        """Return whether an arena of `limit_bytes` is found; skips the search when one step alone needs more."""
        return most_live_bytes(list(self.buffers())) <= limit_bytes and self.size_bytes <= limit_bytes

    def buffers(self) -> Iterator[Buffer[BufferId]]:
        """Yield all buffers, with lifetimes in ticks: one tick per step and one per move before it."""
        run_ticks, move_ticks = self._ticks
        for tensor, (first, last) in self._lifetimes.items():
            ticks = [move_ticks[move] for move in self.moves if move.tensor == tensor]
            begin = BEFORE_ALL if tensor == NETWORK_INPUT else run_ticks[first]
            lifetimes = zip([begin, *ticks], [*ticks, run_ticks[last]], strict=True)
            for moves, (start, end) in enumerate(lifetimes):
                own = (
                    ((BufferId(tensor, moves=moves - 1), InPlace()),)
                    if moves
                    else tuple(self._in_place(tensor, self.kernels))
                )
                yield Buffer(BufferId(tensor, moves=moves), self._bytes(tensor), start, end, own)
        for number, kernel in self.kernels.items():
            scratch_bytes = kernel.scratch_bytes(self._layer(number), self._layer_widths(number))
            if scratch_bytes:
                tick = run_ticks[self.run_steps[number]]
                lifetime = (BEFORE_ALL, run_ticks[-1]) if keeps_state(self.graph.layers[number]) else (tick, tick)
                yield Buffer(BufferId(number, is_scratch=True), scratch_bytes, *lifetime)

    @cached_property
    def shared(self) -> Mapping[int, Place]:
        """Where tensors lie that views of this board keep in the memory of other tensors."""
        return shared_memory(self.graph, self.widths, [step.item for step in self.steps if step.kind is StepKind.RUN])

    @cached_property
    def holders(self) -> frozenset[int]:
        """The tensors in which others lie."""
        return frozenset(place.tensor for place in self.shared.values())

    def size_within(self, enough_bytes: int) -> int:
        """Return the bytes of an arena, not below `size_bytes`: those of the first one that is found up to a size."""
        return allocate(list(self.buffers()), enough_bytes).size_bytes

    @cached_property
    def size_bytes(self) -> int:
        """Bytes of the arena."""
        return self._arena.size_bytes

    @cached_property
    def _arena(self) -> Arena[BufferId]:
        far, near = (
            allocate([each for each in self.buffers() if (each.key in self.near) is is_near])
            for is_near in (False, True)
        )
        offsets = {**far.offsets, **{key: NEAR_BEGIN + offset for key, offset in near.offsets.items()}}
        return Arena(offsets, far.size_bytes, near.size_bytes)

    @property
    def _live(self) -> Mapping[int, Mapping[BufferId, ByteRange]]:
        run_ticks, _ = self._ticks
        offsets, buffers = self._arena.offsets, live_by_step(self.buffers())
        live = {
            step: {
                each.key: ByteRange(offsets[each.key], offsets[each.key] + each.size_bytes)
                for each in buffers[run_ticks[step]]
            }
            for step in set(self.run_steps.values())
        }
        return {layer: live[step] for layer, step in self.run_steps.items()}

    @cached_property
    def _producers(self) -> Mapping[int, int]:
        """The producer of every fused consumer."""
        return {self.graph.readers(producer)[0]: producer for producer in self.fused}

    @cached_property
    def run_steps(self) -> Mapping[int, int]:
        """The index of the step in which each layer runs: a fused consumer runs in its producer's."""
        own_steps = {step.item: index for index, step in enumerate(self.steps) if step.kind is StepKind.RUN}
        return {layer: own_steps[self._producers.get(layer, layer)] for layer in own_steps}

    @cached_property
    def _ticks(self) -> tuple[Sequence[int], Mapping[TensorMove, int]]:
        """The ticks of all steps and of the end after them, and those of the moves."""
        runs, moves, tick = [], {}, 0
        for step in range(len(self.steps) + 1):
            for move in self.moves:
                if move.step == step:
                    moves[move] = tick
                    tick += 1
            runs.append(tick)
            tick += 1
        return runs, moves

    @cached_property
    def _lifetimes(self) -> Mapping[int, tuple[int, int]]:
        """The first and the last step in which each tensor is live, with all that lie in it."""
        return {
            memory: (min(each.first for each in own), max(each.last for each in own))
            for memory, own in self._accesses.items()
        }

    @cached_property
    def _accesses(self) -> Mapping[int, Sequence[Access]]:
        """What uses the memory of each tensor. The network's output is in use after the last step."""
        found: dict[int, list[Access]] = {}
        for access in self._all_accesses():
            place = self._place(access.tensor)
            begin, end = access.begin + place.offset_bytes, access.end + place.offset_bytes
            found.setdefault(place.tensor, []).append(access._replace(begin=begin, end=end))
        return found

    def _all_accesses(self) -> Iterator[Access]:
        transfers: dict[int, list[int]] = {}
        for index, step in enumerate(self.steps):
            if step.kind is not StepKind.RUN:
                transfers.setdefault(step.item, []).append(index)
                continue
            run, used = self.run_steps[step.item], not self.graph.layers[step.item].is_view
            for tensor in self.graph.predecessors[step.item]:
                yield Access(run, run, tensor, 0, self._bytes(tensor) * used)
            yield Access(run, run, step.item, 0, self._bytes(step.item) * used, is_written=used)
        for own in transfers.values():
            tensor = self.steps[own[0]].tensor
            yield Access(own[0], own[-1], tensor, 0, self._bytes(tensor))
        output = len(self.graph.layers) - 1
        if output in self.run_steps or any(step.tensor == output for step in self.steps):
            yield Access(len(self.steps), len(self.steps), output, 0, self._bytes(output))

    def _place(self, tensor: int) -> Place:
        """Return where a tensor lies: in another one, or in memory of its own."""
        return self.shared.get(tensor, Place(tensor, 0))

    def _layer(self, number: int) -> Layer:
        """Return the layer with the shapes of one call of its kernel: all of it, or the rows of a tile."""
        if number in self.fused:
            return self.fused[number].producer
        producer = self._producers.get(number)
        return self.graph.layers[number] if producer is None else self.fused[producer].consumer

    def _layer_widths(self, number: int) -> Widths:
        return self.widths.of_layer(self.graph.layers[number])

    def _bytes(self, tensor: int) -> int:
        if tensor in self.fused:
            return self.fused[tensor].tile_size * self._layer_widths(tensor).y // 8
        return self.widths.size_bytes(self.graph, tensor)

    def running_bytes(self, number: int, kernels: Mapping[int, Kernel]) -> int:
        """Return a lower bound of the arena bytes while a layer runs: all buffers, with all possible in-place overlap.

        `kernels` has its kernel, and those of the other layers that write into the memory of its output.
        """
        memory, sizes = self._place(number).tensor, self._live_bytes[self.run_steps[number]]
        in_place = self._in_place(memory, kernels)
        shared = (each.shared_bytes(sizes[memory], sizes[key.tensor]) for key, each in in_place if key.tensor in sizes)
        scratch_bytes = kernels[number].scratch_bytes(self._layer(number), self._layer_widths(number))
        return sum(sizes.values()) - sum(shared) + scratch_bytes

    @cached_property
    def _live_bytes(self) -> Mapping[int, Mapping[int, int]]:
        """The bytes of the tensors that are live in each step, with all that lie in them."""
        found: dict[int, dict[int, int]] = {step: {} for step in range(len(self.steps))}
        for memory, (first, last) in self._lifetimes.items():
            for step in range(first, min(last + 1, len(self.steps))):
                found[step][memory] = aligned(self._bytes(memory))
        return found

    def _in_place(self, memory: int, kernels: Mapping[int, Kernel]) -> Iterator[tuple[BufferId, InPlace]]:
        """Yield the memories of the inputs of those layers that write a memory, where it may lie over them."""
        if memory in self.fused:
            return
        written = (each.tensor for each in self._accesses[memory] if each.is_written)
        leads = {number: self._input_leads(number, kernels[number]) for number in written if number in kernels}
        under = dict.fromkeys(self._place(source).tensor for own in leads.values() for source in own)
        for other in under:
            in_place = self._over(memory, other, leads)
            if other != memory and in_place.shared_bytes(self._bytes(memory), self._bytes(other)) > 0:
                yield BufferId(other, moves=sum(move.tensor == other for move in self.moves)), in_place

    def _over(self, memory: int, other: int, leads: Mapping[int, Mapping[int, Lead]]) -> InPlace:
        """Return where a memory may lie over another one, by the leads of the layers that write it over their inputs.

        What is in use of the other one when bytes of this one come into use, or later, is somewhere else: layers read
        it, or links have not sent or received it. Only the layer that writes these bytes may read it.
        """
        # Many kernels have the same leads.
        key = (memory, other, *((number, *own.items()) for number, own in leads.items()))
        if key not in self._known:
            self._known[key] = self._distances(memory, other, leads)
        return self._known[key]

    def _distances(self, memory: int, other: int, leads: Mapping[int, Mapping[int, Lead]]) -> InPlace:
        forbidden, unit_bytes = [], 1
        for own in self._accesses[memory]:
            for used in self._accesses[other]:
                if used.last < own.first or own.begin == own.end or used.begin == used.end:
                    continue
                low, high = own.begin - used.end, own.end - used.begin
                lead = leads.get(own.tensor, {}).get(used.tensor) if own.is_written else None
                shift = own.begin - used.begin
                if lead and own.first == used.first and shift % lead.unit_bytes == 0:
                    high, unit_bytes = lead.least_bytes + shift, lcm(unit_bytes, lead.unit_bytes)
                if low < high:
                    forbidden.append((low, high))
        return InPlace(tuple(dict.fromkeys(forbidden)), unit_bytes)

    def _input_leads(self, number: int, kernel: Kernel) -> Mapping[int, Lead]:
        """Return the in-place leads of an output over its inputs."""
        producer = self._producers.get(number)
        if producer is None:
            return layer_leads(self.graph, self.widths, number, kernel)
        x_bits, y_bits = self._layer_widths(producer).x, self._layer_widths(number).y
        (source,) = self.graph.predecessors[producer]
        return {source: self.fused[producer].lead(Widths(x_bits, y_bits, y_bits))}


class _Input(NamedTuple):
    """An input of a layer; `first` is the first input with the same tensor."""

    first: int
    bits: int
    size_bytes: int
    is_read_later: bool  # by another layer


def _inputs(graph: Graph, number: int, widths: BitWidths) -> tuple[_Input, ...]:
    sources, layer = graph.predecessors[number], graph.layers[number]
    return tuple(
        _Input(
            sources.index(source),
            widths.values[name],
            widths.size_bytes(graph, source),
            graph.last_reader(source) > number,
        )
        for source, name in zip(sources, layer.inputs, strict=True)
    )


def layer_ram_bytes(graph: Graph, number: int, bits: int | BitWidths, kernel: Kernel) -> int:
    """Return the arena bytes while layer `number` (from 0) runs: inputs, output and the scratch memory of `kernel`."""
    layer, widths = graph.layers[number], BitWidths.of(graph, bits)
    return _ram_bytes(kernel, layer, widths.of_layer(layer), _inputs(graph, number, widths))


@of_equal_shapes
def _ram_bytes(kernel: Kernel, layer: Layer, widths: Widths, inputs: tuple[_Input, ...]) -> int:
    leads = _leads(kernel, layer, widths, inputs)
    own = tuple((k, InPlace.of(lead)) for k, lead in leads.items() if not inputs[k].is_read_later)
    tensors = [
        Buffer(k, each.size_bytes, 0, int(each.is_read_later)) for k, each in enumerate(inputs) if k == each.first
    ]
    output = Buffer(len(inputs), layer.out_shape.size * widths.y // 8, 0, 1, own)
    scratch = Buffer(len(inputs) + 1, kernel.scratch_bytes(layer, widths), 0, 0)
    return allocate([*tensors, output, scratch]).size_bytes


def layer_leads(graph: Graph, widths: BitWidths, number: int, kernel: Kernel) -> Mapping[int, Lead]:
    """Return the in-place lead of a layer's output over each tensor that it reads, where in-place is possible.

    A tensor that the layer reads twice gets the lead that serves both reads.
    """
    layer, sources = graph.layers[number], graph.predecessors[number]
    leads = _leads(kernel, layer, widths.of_layer(layer), _inputs(graph, number, widths))
    return {sources[k]: lead for k, lead in leads.items()}


def _leads(kernel: Kernel, layer: Layer, widths: Widths, inputs: Sequence[_Input]) -> Mapping[int, Lead]:
    """Return the same by the first input with a tensor."""
    found: dict[int, list[Lead | None]] = {}
    for k, each in enumerate(inputs):
        found.setdefault(each.first, []).append(kernel.lead(layer, k, widths._replace(x=each.bits)))
    leads = {first: [lead for lead in own if lead] for first, own in found.items() if None not in own}
    return {
        first: Lead(max(lead.least_bytes for lead in own), lcm(*(lead.unit_bytes for lead in own)))
        for first, own in leads.items()
    }
