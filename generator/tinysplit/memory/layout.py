"""Where all tensors and buffers of a board lie, and what it does to need little: layers in bands, tensors that move."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import lcm
from typing import NamedTuple

from tinysplit.kernels import Kernel
from tinysplit.kernels.in_place import ANYWHERE, Lead
from tinysplit.memory.arena import Arena, Block, least_at, place
from tinysplit.memory.fused_rows import Bands
from tinysplit.memory.schedule import Step, StepKind
from tinysplit.network.bit_widths import BitWidths, Widths
from tinysplit.network.graph import NETWORK_INPUT, Graph
from tinysplit.network.layers import Layer

MOVE_CYCLES = 8  # of a word that moves, counted in the loop that GCC makes for Cortex-M0+ and M4


BEFORE_ALL = -1  # tick at which the network's input is there


class Place(NamedTuple):
    """What lies in an arena: the output of layer `tensor` (or NETWORK_INPUT), or that layer's scratch memory.

    `moves` counts how often the tensor has moved before it lies there.
    """

    tensor: int
    is_scratch: bool = False
    moves: int = 0


class Move(NamedTuple):
    """Before step `turn` a tensor goes elsewhere."""

    turn: int
    tensor: int


@dataclass(frozen=True, eq=False)
class BoardMemory:
    """A board's arena, the kernel of each of its layers, the layers in bands (by producer), and the moves."""

    arena: Arena[Place]
    kernels: Mapping[int, Kernel]
    bands: Mapping[int, Bands]
    moves: tuple[Move, ...]

    def offset(self, tensor: int, turn: int) -> int:
        """Return where a tensor lies in a step."""
        moves = sum(move.tensor == tensor and move.turn <= turn for move in self.moves)
        return self.arena.offsets[Place(tensor, moves=moves)]

    def consumer(self, graph: Graph, producer: int) -> int:
        """Return the layer that walks with this one."""
        return readers_of(graph, producer)[0]

    def producer(self, graph: Graph, consumer: int) -> int | None:
        """Return the layer in whose steps this one runs, None where it has a step of its own."""
        return next((source for source in graph.predecessors[consumer] if source in self.bands), None)

    def layer(self, graph: Graph, number: int) -> Layer:
        """Return what a kernel computes at once: a layer or a band of it."""
        producer = self.producer(graph, number)
        if producer is not None:
            return self.bands[producer].consumer
        return self.bands[number].producer if number in self.bands else graph.layers[number]

    def times(self, graph: Graph, number: int) -> int:
        """Return how often the kernel of a layer runs."""
        producer = self.producer(graph, number)
        if producer is not None:
            return self.bands[producer].count
        return self.bands[number].calls if number in self.bands else 1


@dataclass(frozen=True, eq=False)
class Schedule:
    """The steps of a board, from which the lifetimes of all tensors follow."""

    graph: Graph
    widths: BitWidths
    steps: Sequence[Step]
    kernels: Mapping[int, Kernel]
    bands: Mapping[int, Bands] = field(default_factory=dict)
    moves: tuple[Move, ...] = ()

    def memory(self) -> BoardMemory:
        """Return the smallest arena that is found."""
        return BoardMemory(self._arena, self.kernels, self.bands, self.moves)

    def fits(self, limit_bytes: int) -> bool:
        """Return whether an arena of so many bytes is found; nothing is tried where one step alone takes more."""
        blocks = list(self.blocks())
        return all(least_at(blocks, b.first) <= limit_bytes for b in blocks) and self.size_bytes <= limit_bytes

    def blocks(self) -> Iterator[Block[Place]]:
        """Yield what has to be kept, and in which ticks: those of the steps, and of the moves before them."""
        run_ticks, move_ticks = self._ticks
        for tensor, (first, last) in self._lifetimes.items():
            ticks = [move_ticks[move] for move in self.moves if move.tensor == tensor]
            begin = BEFORE_ALL if tensor == NETWORK_INPUT else run_ticks[first]
            times = zip([begin, *ticks], [*ticks, run_ticks[last]], strict=True)
            for moves, (start, end) in enumerate(times):
                leads = ((Place(tensor, moves=moves - 1), ANYWHERE),) if moves else tuple(self._leads(tensor))
                yield Block(Place(tensor, moves=moves), self._bytes(tensor), start, end, leads)
        for number, kernel in self.kernels.items():
            scratch_bytes = kernel.scratch_bytes(self._layer(number), self._layer_widths(number))
            if scratch_bytes:
                tick = run_ticks[self.turns[number]]
                yield Block(Place(number, is_scratch=True), scratch_bytes, tick, tick)

    @cached_property
    def size_bytes(self) -> int:
        """Bytes of the arena."""
        return self._arena.size_bytes

    @cached_property
    def _arena(self) -> Arena[Place]:
        return place(list(self.blocks()))

    @cached_property
    def _consumers(self) -> Mapping[int, int]:
        """Layers that run row by row with another one, and that one."""
        return {readers_of(self.graph, producer)[0]: producer for producer in self.bands}

    @cached_property
    def turns(self) -> Mapping[int, int]:
        """The steps in which layers run."""
        turns = {step.item: turn for turn, step in enumerate(self.steps) if step.kind is StepKind.RUN}
        return {layer: turns[self._consumers.get(layer, layer)] for layer in turns}

    @cached_property
    def _ticks(self) -> tuple[Sequence[int], Mapping[Move, int]]:
        """The ticks of all steps and of what comes behind them, and those of the moves."""
        runs, moves, tick = [], {}, 0
        for turn in range(len(self.steps) + 1):
            for move in self.moves:
                if move.turn == turn:
                    moves[move] = tick
                    tick += 1
            runs.append(tick)
            tick += 1
        return runs, moves

    @cached_property
    def _lifetimes(self) -> Mapping[int, tuple[int, int]]:
        """The first and the last step in which each tensor is needed.

        The network's output stays after the last; its input is there before the first.
        """
        uses: dict[int, list[int]] = {}
        for turn, step in enumerate(self.steps):
            is_run = step.kind is StepKind.RUN
            reads = self.graph.predecessors[step.item] if is_run else ()
            for tensor in (*reads, step.tensor):
                uses.setdefault(tensor, []).append(self.turns[step.item] if is_run else turn)
        if len(self.graph.layers) - 1 in uses:
            uses[len(self.graph.layers) - 1].append(len(self.steps))
        return {tensor: (min(turns), max(turns)) for tensor, turns in uses.items()}

    def _layer(self, number: int) -> Layer:
        """Return what a kernel computes at once: a layer or a band of it."""
        if number in self.bands:
            return self.bands[number].producer
        producer = self._consumers.get(number)
        return self.graph.layers[number] if producer is None else self.bands[producer].consumer

    def _layer_widths(self, number: int) -> Widths:
        return self.widths.of_layer(self.graph.layers[number])

    def _bytes(self, tensor: int) -> int:
        if tensor in self.bands:
            return self.bands[tensor].rows_size * self._layer_widths(tensor).y // 8
        return self.widths.size_bytes(self.graph, tensor)

    def _leads(self, tensor: int) -> Iterator[tuple[Place, Lead]]:
        """Yield how an output may lie over inputs that nobody reads any more."""
        if tensor not in self.turns or tensor in self.bands:
            return
        for source, lead in self._input_leads(tensor).items():
            if self._lifetimes[source][1] == self.turns[tensor]:
                yield Place(source, moves=sum(move.tensor == source for move in self.moves)), lead

    def _input_leads(self, number: int) -> Mapping[int, Lead]:
        producer = self._consumers.get(number)
        if producer is None:
            return layer_leads(self.graph, self.widths, number, self.kernels[number])
        x_bits, y_bits = self._layer_widths(producer).x, self._layer_widths(number).y
        (source,) = self.graph.predecessors[producer]
        return {source: self.bands[producer].lead(Widths(x_bits, y_bits, y_bits))}


def layer_ram_bytes(graph: Graph, number: int, bits: int | BitWidths, kernel: Kernel) -> int:
    """Return the arena bytes while layer `number` (from 0) runs: its inputs, its output and what its kernel needs."""
    layer, widths = graph.layers[number], BitWidths.of(graph, bits)
    reads = {source: graph.last_reader(source) > number for source in graph.predecessors[number]}
    leads = layer_leads(graph, widths, number, kernel)
    own = tuple((Place(source), lead) for source, lead in leads.items() if not reads[source])
    inputs = [Block(Place(source), widths.size_bytes(graph, source), 0, int(stays)) for source, stays in reads.items()]
    output = Block(Place(number), widths.size_bytes(graph, number), 0, 1, own)
    scratch = Block(Place(number, is_scratch=True), kernel.scratch_bytes(layer, widths.of_layer(layer)), 0, 0)
    return place([*inputs, output, scratch]).size_bytes


def layer_leads(graph: Graph, widths: BitWidths, number: int, kernel: Kernel) -> Mapping[int, Lead]:
    """Return how a layer's output may lie over the tensors that it reads; one read twice has to allow both."""
    layer = graph.layers[number]
    found: dict[int, list[Lead | None]] = {}
    for k, source in enumerate(graph.predecessors[number]):
        own = widths.of_layer(layer)._replace(x=widths.values[layer.inputs[k]])
        found.setdefault(source, []).append(kernel.lead(layer, k, own))
    leads = {source: [lead for lead in own if lead] for source, own in found.items() if None not in own}
    return {
        source: Lead(max(lead.least_bytes for lead in own), lcm(*(lead.unit_bytes for lead in own)))
        for source, own in leads.items()
    }


def readers_of(graph: Graph, source: int) -> list[int]:
    """Return the layers that read a tensor."""
    return [number for number, reads in enumerate(graph.predecessors) if source in reads]
