"""What parts of layers take on boards: the cost model of whole layers, asked for layers of the parts' true shapes."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tinysplit.boards.board import Board
from tinysplit.common.choices import Optimize
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import CycleTable
from tinysplit.memory.kernel_choice import KernelChoice
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.distribution import Part, SliceAxis
from tinysplit.network.graph import Graph
from tinysplit.network.layers.base import Layer
from tinysplit.network.layers.distributed.partial_sum import SUM_BITS, PartialSum
from tinysplit.network.parts import has_rows, slice_of, tile_of

_NAMES = frozenset({"name", "inputs", "output"})  # of a layer: nothing depends on them
_INPUT = "x"


class PartCost(NamedTuple):
    """A part on a board: its time, its constants and code, and its tensors and scratch memory."""

    seconds: float
    flash_bytes: int
    ram_bytes: int


NOTHING = PartCost(0.0, 0, 0)


@dataclass(frozen=True, eq=False)
class PartCosts:
    """Costs of parts of `graph`, each on a board that has nothing else: what its neighbours take can only add to them.

    Their output lies over their input as far as their kernel allows it. Parts of one shape are costed once. They take
    the time of their fastest kernel and the memory of their smallest one, as a board has either.
    """

    table: CycleTable
    graph: Graph
    boards: Sequence[Board]
    settings: CostSettings
    widths: BitWidths
    _known: dict[Hashable, PartCost] = field(default_factory=dict)
    _known_parts: dict[Hashable, PartCost] = field(default_factory=dict)  # of layers of one shape

    def of(self, number: int, board: int, axis: SliceAxis, part: range) -> PartCost:
        """Return the cost of a range of a layer's output rows or channels; without any, nothing."""
        if not part:
            return NOTHING
        key = (self.shapes[number], self.boards[board].name, axis, part)
        if key not in self._known_parts:
            self._known_parts[key] = self._of_part(number, board, axis, part)
        return self._known_parts[key]

    @cached_property
    def shapes(self) -> Sequence[int]:
        """A number for each layer that layers of other shapes or widths have not."""
        graph, numbers = self.graph, dict[Hashable, int]()
        return [
            numbers.setdefault((_shape_of(layer), self.widths.of_layer(layer), has_rows(graph, number)), number)
            for number, layer in enumerate(graph.layers)
        ]

    def _of_part(self, number: int, board: int, axis: SliceAxis, part: range) -> PartCost:
        layer = self.graph.layers[number]
        if axis is SliceAxis.CHANNELS:
            layer = slice_of(layer, part)
        elif len(part) < layer.out_shape.height and has_rows(self.graph, number):
            layer = tile_of(layer, part)
        return self._cost(layer, board, self.widths.of_layer(layer).y)

    def of_sums(self, number: int, board: int, rows: range) -> PartCost:
        """Return the cost of summing `rows` of the input of a global average pool, layer `number`."""
        pool = self.graph.layers[number]
        shape = pool.in_shape._replace(height=len(rows))
        sums = PartialSum(name=pool.name, inputs=pool.inputs, output=pool.output, in_shape=shape)
        return self._cost(sums, board, SUM_BITS)

    def _cost(self, layer: Layer, board: int, y_bits: int) -> PartCost:
        widths = self.widths.of_layer(layer)
        key = (self.boards[board].name, _shape_of(layer), widths)
        if key not in self._known:
            own = BitWidths({_INPUT: widths.x, layer.output: y_bits}, {layer.output: widths.w})
            alone = replace(layer, inputs=(_INPUT,) * len(layer.inputs))
            part = Part(0, 0, SliceAxis.ROWS, range(layer.out_shape.height))
            network = replace(self.graph, layers=(alone,), parts=(part,))
            has_residents = self.settings.optimize is not Optimize.RAM and not self.settings.has_weights_file
            on_board = (self.boards[board], self.settings.code_memory)
            choice = KernelChoice(self.table, network, own, *on_board, has_residents=has_residents)
            goal = self.settings.optimize
            fastest = choice.of_goal(0, goal)
            kernels = {fastest, choice.of_goal(0, goal, is_small=True)}
            self._known[key] = PartCost(
                choice.seconds(0, fastest),
                min(choice.flash_bytes(0, each) for each in kernels),
                min(choice.live_bytes(0, each) for each in kernels),
            )
        return self._known[key]


def _shape_of(layer: Layer) -> Hashable:
    """Return all that costs depend on: the fields of a layer without its names, arrays by their shape."""
    values = ((each.name, getattr(layer, each.name)) for each in fields(layer) if each.name not in _NAMES)
    return (layer.kind, *((name, _hashable(value)) for name, value in values))


def _hashable(value: object) -> Hashable:
    if isinstance(value, np.ndarray):
        return tuple(value.shape)
    return value if isinstance(value, Hashable) else repr(value)
