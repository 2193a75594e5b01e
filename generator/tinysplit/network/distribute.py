"""A distributed network: every layer as parts on boards, with the views and joins that bring tensors together.

It is a network of its own, whose `parts` say what each node is. Each node runs on one board; what a node of another
board reads crosses a link, as in every split. Nodes follow each other so that transfers have time: rows that other
boards wait for come first, and rows that wait for other boards last.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING, cast

from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.distribution import Distribution, Distributions, Part, SliceAxis
from tinysplit.network.graph import NETWORK_INPUT, Graph
from tinysplit.network.layers.base import Layer
from tinysplit.network.layers.concat import Concat
from tinysplit.network.layers.distributed.partial_sum import AverageOfSums, PartialSum, can_sum_rows
from tinysplit.network.layers.distributed.views import RowJoin, RowSlice
from tinysplit.network.parts import has_rows, hull, needed_rows, reads_whole_input, rows_of_source, slice_of, tile_of

if TYPE_CHECKING:
    from tinysplit.network.layers.average_pool import AveragePool

MOST_SEGMENTS = 3  # of a tile: two edges and the rest


def distribute(graph: Graph, how: Distributions, n_boards: int, widths: BitWidths) -> Graph:
    """Return the network in which each layer's output is divided as its distribution says.

    `widths` are those of the whole network: values of 8 bits can be averaged by parts.
    """
    whole_input = Distribution.whole(graph.in_shape, how.input_board, n_boards)
    divisions = _Divisions(graph, (whole_input, *how.layers), how.output_board, how.edges, widths)
    builder = _PartsBuilder(divisions)
    builder.add_sent_parts(NETWORK_INPUT)
    for number in range(len(graph.layers)):
        builder.add_layer(number)
        builder.add_sent_parts(number)
    builder.add_output()
    return replace(graph, layers=tuple(builder.nodes), parts=tuple(builder.parts))


@dataclass(frozen=True)
class _Divisions:
    """How each tensor is divided, the network's input first, and what that makes boards read."""

    graph: Graph
    distributions: tuple[Distribution, ...]
    output_board: int
    edges: frozenset[int]
    widths: BitWidths

    def of(self, tensor: int) -> Distribution:
        """Return how a tensor is divided."""
        return self.distributions[tensor + 1]

    def sums_parts(self, number: int) -> bool:
        """Return whether a layer averages a map of which several boards have rows: each sums its own."""
        layer = self.graph.layers[number]
        divided = self.of(self.graph.predecessors[number][0])
        is_divided = divided.axis is SliceAxis.ROWS and not divided.is_whole
        return is_divided and can_sum_rows(layer, self.widths.of_layer(layer).x)

    def own(self, tensor: int, board: int) -> range:
        """Return the rows that a board has of a tensor: of a layer's output those of its part that some layer reads."""
        divided = self.of(tensor)
        if tensor == NETWORK_INPUT:
            return divided.parts[board]
        if divided.axis is SliceAxis.CHANNELS:
            return range(0)
        return _shared(divided.parts[board], self._read[tensor])

    @cached_property
    def _read(self) -> Mapping[int, range]:
        sliced = (number for number in range(len(self.graph.layers)) if self.of(number).axis is SliceAxis.CHANNELS)
        return needed_rows(self.graph, frozenset(sliced))

    @cached_property
    def _readers(self) -> Mapping[int, Sequence[tuple[int, int]]]:
        """The layers that read each tensor, and which of their inputs it is."""
        found: dict[int, list[tuple[int, int]]] = {}
        for number, sources in enumerate(self.graph.predecessors):
            for k, source in enumerate(sources):
                found.setdefault(source, []).append((number, k))
        return found

    def is_local(self, number: int, board: int, rows: range) -> bool:
        """Return whether a board itself computes all that these rows of a layer read."""
        reads = (
            (source, rows_of_source(self.graph, number, k, rows))
            for k, source in enumerate(self.graph.predecessors[number])
        )
        return all(_is_within(read, self.own(source, board)) for source, read in reads)

    def needed(self, tensor: int, board: int) -> range:
        """Return the rows of a tensor that the layers on a board read, from the first to the last."""
        ranges = [self._needed_by(number, k, board) for number, k in self._readers.get(tensor, ())]
        wanted = self.is_output(tensor) and board == self.output_board
        return reduce(hull, ranges, range(self.graph.shape(tensor).height if wanted else 0))

    def is_output(self, tensor: int) -> bool:
        """Return whether a tensor is the network's output."""
        return tensor == len(self.graph.layers) - 1

    def _needed_by(self, number: int, k: int, board: int) -> range:
        source = self.graph.predecessors[number][k]
        divided = self.of(number)
        if self.sums_parts(number):
            return self.own(source, board)
        if not divided.parts[board]:
            return range(0)
        if divided.axis is SliceAxis.ROWS:
            rows = self.own(number, board)
            return rows_of_source(self.graph, number, k, rows) if rows else rows
        reads_all = reads_whole_input(self.graph.layers[number])
        return range(self.graph.shape(source).height if reads_all else 0)

    def sent(self, tensor: int, board: int) -> list[range]:
        """Return the rows of a board's own part of a tensor that each other board has to get."""
        others = (other for other in range(len(self.of(tensor).parts)) if other != board)
        return self._sent_to(tensor, board, others)

    def _sent_to(self, tensor: int, board: int, others: Iterable[int]) -> list[range]:
        own = self.own(tensor, board)
        return [rows for other in others if (rows := _shared(own, self.gathered(tensor, other)))]

    def halos(self, tensor: int, board: int) -> list[range]:
        """Return the rows of a board's own part that other boards have to get, to go on with parts as it does itself.

        Such a board has a part of the tensor, and this board has parts of all layers in which that one reads it.
        """
        others = (other for other in self.of(tensor).owners if other != board)
        return self._sent_to(tensor, board, (other for other in others if self._goes_on(tensor, board, other)))

    def _goes_on(self, tensor: int, board: int, other: int) -> bool:
        """Return whether a board has a part of each layer of which another one has, and that reads a tensor."""
        readers = (number for number, sources in enumerate(self.graph.predecessors) if tensor in sources)
        return all(self.of(number).parts[board] for number in readers if self.of(number).parts[other])

    def gathered(self, tensor: int, board: int) -> range:
        """Return the rows of a tensor that a board has in one place: what it reads, and all that it computes."""
        return hull(self.needed(tensor, board), self.own(tensor, board))

    def segments(self, number: int, board: int) -> list[range]:
        """Return the rows of a layer on a board as it computes them: edges that it sends, the rest, edges that wait.

        A layer without `edges` of its own is computed at once, and so is one whose rows cannot be computed apart. An
        edge has the rows that read those of another board, or its `halos`.
        """
        own = self.own(number, board)
        if not own or number not in self.edges or not has_rows(self.graph, number):
            return [own] if own else []
        waiting = [not self.is_local(number, board, range(row, row + 1)) for row in own]
        top, bottom = (0, 0) if all(waiting) else (_leading(waiting), _leading(waiting[::-1]))
        edges = [rows for rows in self.halos(number, board) if len(rows) < len(own)]
        top = max([top, *(len(rows) for rows in edges if rows.start == own.start)])
        bottom = max([bottom, *(len(rows) for rows in edges if rows.stop == own.stop)])
        if top + bottom > len(own):
            top = bottom = 0
        ends = (own.start, own.start + top, own.stop - bottom, own.stop)
        middle = range(ends[1], ends[2])
        segments = [rows for rows in (range(ends[0], ends[1]), middle, range(ends[2], ends[3])) if rows]
        return sorted(segments, key=lambda rows: (not self.is_local(number, board, rows), rows == middle, rows.start))


@dataclass
class _PartsBuilder:
    """`nodes` and `parts` belong together; `values` are the outputs of the nodes, by what they are."""

    divisions: _Divisions
    nodes: list[Layer] = field(default_factory=list)
    parts: list[Part] = field(default_factory=list)
    values: dict[Part, str] = field(default_factory=dict)

    @cached_property
    def graph(self) -> Graph:
        """The network that is distributed."""
        return self.divisions.graph

    def add_layer(self, number: int) -> None:
        """Add the parts of a layer on all boards."""
        divided = self.divisions.of(number)
        if self.divisions.sums_parts(number):
            self._add_average(number, divided.owners[0])
        elif divided.axis is SliceAxis.CHANNELS:
            for board in divided.owners:
                self._add_slice(number, board, divided.parts[board])
        else:
            self._add_tiles(number)

    def add_sent_parts(self, tensor: int) -> None:
        """Add views of what a board computes that other boards read, so that it leaves as early as it can."""
        divided = self.divisions.of(tensor)
        if divided.axis is SliceAxis.ROWS:
            for board in divided.owners:
                for rows in self.divisions.sent(tensor, board):
                    self._own_rows(tensor, board, rows)

    def add_output(self) -> None:
        """Add the whole output on the board where it is wanted, if that does not compute all of it."""
        output = len(self.graph.layers) - 1
        board = self.divisions.output_board
        self._rows(output, board, range(self.graph.out_shape.height))

    def _add_tiles(self, number: int) -> None:
        """Add the rows of a layer on each board: first what all boards compute first."""
        divisions = self.divisions
        boards = [(board, divisions.segments(number, board)) for board in divisions.of(number).owners]
        for turn in range(MOST_SEGMENTS):
            for board, segments in boards:
                if turn < len(segments):
                    self._add_tile(number, board, segments[turn])

    def _add_tile(self, number: int, board: int, rows: range) -> None:
        layer = self.graph.layers[number]
        inputs = [
            self._rows(source, board, rows_of_source(self.graph, number, k, rows))
            for k, source in enumerate(self.graph.predecessors[number])
        ]
        tile = tile_of(layer, rows) if has_rows(self.graph, number) else layer
        self._add(tile, Part(number, board, SliceAxis.ROWS, rows), inputs)

    def _add_slice(self, number: int, board: int, channels: range) -> None:
        layer = self.graph.layers[number]
        reads_all = reads_whole_input(layer)
        inputs = [
            self._rows(source, board, range(self.graph.shape(source).height))
            if reads_all
            else self.values[Part(source, board, SliceAxis.CHANNELS, channels)]
            for source in self.graph.predecessors[number]
        ]
        self._add(slice_of(layer, channels), Part(number, board, SliceAxis.CHANNELS, channels), inputs)

    def _add_average(self, number: int, board: int) -> None:
        """Add the sums of all boards' rows, and their average on one board."""
        pool = cast("AveragePool", self.graph.layers[number])
        (source,) = self.graph.predecessors[number]
        divided, sums = self.divisions.of(source), []
        for owner in divided.owners:
            rows = divided.parts[owner]
            shape = self.graph.shape(source)._replace(height=len(rows))
            node = PartialSum(name=pool.name, inputs=(), output=f"{pool.output}:sums@{owner + 1}", in_shape=shape)
            self.nodes.append(replace(node, inputs=(self._rows(source, owner, rows),)))
            self.parts.append(Part(number, owner, SliceAxis.ROWS, rows))
            sums.append(node.output)
        shape = pool.out_shape
        average = AverageOfSums(
            name=pool.name,
            inputs=tuple(sums),
            output=pool.output,
            in_shape=shape,
            other_shapes=(shape,) * (len(sums) - 1),
            activation=pool.activation,
            pool=pool,
        )
        self._add(average, Part(number, board, SliceAxis.ROWS, range(1)), sums)

    def _rows(self, tensor: int, board: int, rows: range) -> str:
        """Return a value that holds these rows of a tensor, in the memory of a board or about to come there."""
        wanted = Part(tensor, board, SliceAxis.ROWS, rows)
        if wanted in self.values:
            return self.values[wanted]
        if self.divisions.of(tensor).axis is SliceAxis.CHANNELS:
            return self._view(wanted, self._gathered(tensor, board))
        if tensor == NETWORK_INPUT and rows == self.divisions.own(tensor, board):
            return self.graph.input_name
        if _is_within(rows, self.divisions.own(tensor, board)):
            return self._own_rows(tensor, board, rows)
        gathered = self.divisions.gathered(tensor, board)
        if gathered == rows:
            return self._joined(wanted)
        return self._view(wanted, self._rows(tensor, board, gathered), gathered)

    def _own_rows(self, tensor: int, board: int, rows: range) -> str:
        """Return a value with rows that a board computes: a segment, rows of one, or rows of all of them."""
        wanted = Part(tensor, board, SliceAxis.ROWS, rows)
        if wanted in self.values:
            return self.values[wanted]
        own = self.divisions.own(tensor, board)
        if tensor == NETWORK_INPUT:
            return self._slice(wanted, self.graph.input_name, own)
        segments = sorted(self.divisions.segments(tensor, board), key=lambda segment: segment.start)
        for segment in segments:
            if _is_within(rows, segment):
                return self._view(wanted, self.values[wanted._replace(range=segment)], segment)
        if rows == own:
            return self._join(wanted, [(segment, self.values[wanted._replace(range=segment)]) for segment in segments])
        return self._view(wanted, self._own_rows(tensor, board, own), own)

    def _joined(self, wanted: Part) -> str:
        """Return a value with rows of several boards, or of another one."""
        pieces = [
            (rows, self._own_rows(wanted.tensor, owner, rows))
            for owner, rows in self.divisions.of(wanted.tensor).overlaps(wanted.range)
        ]
        if len(pieces) == 1:
            self.values[wanted] = pieces[0][1]
            return pieces[0][1]
        return self._join(wanted, pieces)

    def _join(self, wanted: Part, pieces: Sequence[tuple[range, str]]) -> str:
        shape = self.graph.shape(wanted.tensor)
        first, *others = (shape._replace(height=len(rows)) for rows, _ in pieces)
        names = tuple(name for _, name in pieces)
        name = self._name(wanted)
        join = RowJoin(name=name, inputs=names, output=name, in_shape=first, other_shapes=tuple(others))
        return self._add(join, wanted, names)

    def _view(self, wanted: Part, name: str, rows: range | None = None) -> str:
        """Return a value with some of the rows of value `name`, which has `rows`, all of the tensor by default."""
        shape = self.graph.shape(wanted.tensor)
        rows = range(shape.height) if rows is None else rows
        return name if rows == wanted.range else self._slice(wanted, name, rows)

    def _slice(self, wanted: Part, name: str, rows: range) -> str:
        """Return a value with some of the rows of value `name`, or with all of them."""
        shape = self.graph.shape(wanted.tensor)
        first = wanted.range.start - rows.start
        name_of_slice = self._name(wanted)
        node = RowSlice(
            name=name_of_slice,
            inputs=(name,),
            output=name_of_slice,
            in_shape=shape._replace(height=len(rows)),
            first=first,
            end=first + len(wanted.range),
        )
        return self._add(node, wanted, (name,))

    def _gathered(self, tensor: int, board: int) -> str:
        """Return a value with all channels of a tensor of which boards have slices."""
        whole = Part(tensor, board, SliceAxis.ROWS, range(self.graph.shape(tensor).height))
        if whole in self.values:
            return self.values[whole]
        divided = self.divisions.of(tensor)
        slices = [Part(tensor, owner, SliceAxis.CHANNELS, divided.parts[owner]) for owner in divided.owners]
        if len(slices) == 1:
            return self.values[slices[0]]
        shapes = [self.graph.shape(tensor)._replace(channels=len(part.range)) for part in slices]
        names = [self.values[part] for part in slices]
        name = self._name(whole)
        node = Concat(name=name, inputs=tuple(names), output=name, in_shape=shapes[0], other_shapes=tuple(shapes[1:]))
        return self._add(node, whole, names)

    def _add(self, layer: Layer, part: Part, inputs: Sequence[str]) -> str:
        """Add a node, and return the name of its output."""
        is_node_of_layer = part.tensor != NETWORK_INPUT and layer.output == self.graph.layers[part.tensor].output
        is_all = self.divisions.of(part.tensor).is_whole and len(part.range) == self.graph.shape(part.tensor).height
        output = layer.output if is_node_of_layer and is_all else self._name(part)
        self.nodes.append(replace(layer, inputs=tuple(inputs), output=output))
        self.parts.append(part)
        self.values[part] = output
        return output

    def _name(self, part: Part) -> str:
        tensor = self.graph.value_names[part.tensor + 1]
        return f"{tensor}@{part.board + 1}:{part.axis}{part.range.start}-{part.range.stop}"


def _is_within(rows: range, others: range) -> bool:
    return not rows or (others.start <= rows.start and rows.stop <= others.stop)


def _shared(rows: range, others: range) -> range:
    return range(max(rows.start, others.start), min(rows.stop, others.stop))


def _leading(flags: Sequence[bool]) -> int:
    """Return the number of true flags before the first false one."""
    return next((number for number, flag in enumerate(flags) if not flag), len(flags))
