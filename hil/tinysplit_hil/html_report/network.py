"""The picture of the network with its split: a lane for each board, a row for each layer, and its profile beside it.

Lengths are in pixels. The profile is that of Santamaria 2021, Figure 3: MACC, flash and RAM by layer.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from tinysplit.common.tables import shortened
from tinysplit.common.units import MS
from tinysplit.network.layers import Layer
from tinysplit.project.manifest import NETWORK_INPUT_NUMBER, ProjectLayer
from tinysplit.project.network_numbers import cut_number, layer_number
from tinysplit_hil.html_report.sources import Sources

_TOP, _BOX_HEIGHT, _GAP, _CUT_HEIGHT = 56, 36, 12, 20
_LANES_WIDTH, _LANE_WIDEST, _LANE_LEAST = 600, 230, 100  # six boards in a window of 700
_MARGIN, _SIDE, _SIDES = 16, 7, 3  # of a lane; distance of lines beside boxes, and how many before they share
_BAR, _BAR_X, _CHART_WIDTH = 66, 24, 162  # of a chart of the profile: numbers of layers, bars, and figures
_LETTER, _SMALL_LETTER = 8.8, 6.6
_PROFILE = ("MACC", "flash bytes", "RAM bytes")


class Crossing(NamedTuple):
    """What crosses from one board to another behind a layer."""

    n_bytes: int
    estimated_s: float


@dataclass(frozen=True)
class Lane:
    """The lane of a board."""

    x: float
    width: float
    color: int
    name: str
    detail: str

    @property
    def center(self) -> float:
        """The middle."""
        return self.x + self.width / 2


@dataclass(frozen=True)
class Box:
    """A layer, or its parts on one board."""

    x: float
    y: float
    width: float
    height: float
    color: int
    name: str
    detail: str
    tooltip: str


@dataclass(frozen=True)
class TensorLine:
    """A tensor: within a board, or a cut with a label."""

    path: str
    is_cut: bool = False
    label: str = ""
    label_x: float = 0.0
    label_y: float = 0.0
    tooltip: str = ""


@dataclass(frozen=True)
class FigureBar:
    """A figure of a layer."""

    layer: int
    y: float
    width: float
    color: int  # 0: several boards
    text: str
    tooltip: str


@dataclass(frozen=True)
class ProfileChart:
    """A figure of each layer, in the rows of the picture."""

    name: str
    bars: tuple[FigureBar, ...]
    bars_x: int = _BAR_X
    width: int = _CHART_WIDTH


@dataclass(frozen=True)
class NetworkFigure:
    """The picture, and the charts of the profile, as high as the picture."""

    width: float
    height: float
    lanes: tuple[Lane, ...]
    boxes: tuple[Box, ...]
    lines: tuple[TensorLine, ...]
    charts: tuple[ProfileChart, ...]
    lane_height: float


@dataclass(frozen=True)
class _Row:
    """A layer of the network, `number` from 1, or the network's input; with the layers or parts that compute it."""

    number: int
    y: float
    parts: tuple[ProjectLayer, ...]
    cuts: tuple[tuple[tuple[int, int], Crossing], ...]  # by (from, to)

    def of(self, board: int) -> tuple[ProjectLayer, ...]:
        return tuple(part for part in self.parts if part.board == board)


def network_figure(sources: Sources) -> NetworkFigure:
    """Return the picture of the slowest copy of the network."""
    return _Drawing(sources).figure()


def ram_bytes(layer: ProjectLayer) -> int:
    """Return the bytes of the arena in use while a layer runs: tensors may lie one over the other."""
    used = end = 0
    for buffer in sorted(layer.memory.live, key=lambda each: each.offset):
        begin = max(buffer.offset, end)
        last = buffer.offset + buffer.size_bytes
        used += max(0, last - begin)
        end = max(end, last)
    return used


class _Drawing:
    def __init__(self, sources: Sources) -> None:
        self.graph = sources.graph
        self.project = sources.project
        self.copy = sources.project.slowest
        self.lanes = dict(self._lanes())
        self.rows = tuple(self._rows())
        self.row_of = {row.number: row for row in self.rows}

    def figure(self) -> NetworkFigure:
        boxes = tuple(box for row in self.rows for box in self._boxes(row))
        last = max(self.lanes.values(), key=lambda lane: lane.x)
        height = self.rows[-1].y + _BOX_HEIGHT + _GAP
        return NetworkFigure(
            width=last.x + last.width,
            height=height + 6,
            lanes=tuple(self.lanes.values()),
            boxes=boxes,
            lines=(*self._inner_lines(), *self._cut_lines()),
            charts=tuple(ProfileChart(name, tuple(self._bars(index))) for index, name in enumerate(_PROFILE)),
            lane_height=height - 6,
        )

    def _lanes(self) -> Iterator[tuple[int, Lane]]:
        boards = self.copy.boards
        width = max(_LANE_LEAST, min(_LANE_WIDEST, _LANES_WIDTH / len(boards)))
        for index, number in enumerate(boards):
            board = self.project.board(number)
            yield number, Lane(index * width, width - 8, color_of(number), f"board {number}", board.name)

    def _rows(self) -> Iterator[_Row]:
        """Yield the rows from top to bottom; where tensors cross behind a row, there is room for them."""
        parts: dict[int, list[ProjectLayer]] = {NETWORK_INPUT_NUMBER: []}
        for layer in self.copy.layers:
            parts.setdefault(layer_number(layer), []).append(layer)
        y = float(_TOP)
        for number in sorted(parts):
            cuts: dict[tuple[int, int], Crossing] = {}
            for cut in self.copy.cuts:
                if cut_number(cut) == number:
                    ends = cut.from_board, cut.to_board
                    before = cuts.get(ends, Crossing(0, 0.0))
                    cuts[ends] = Crossing(before.n_bytes + cut.payload_bytes, before.estimated_s + cut.estimated_s)
            yield _Row(number, y, tuple(parts[number]), tuple(cuts.items()))
            y += _BOX_HEIGHT + _GAP + _CUT_HEIGHT * len(cuts)

    def _boxes(self, row: _Row) -> Iterator[Box]:
        boards = self.copy.input_boards if row.number == NETWORK_INPUT_NUMBER else sorted({p.board for p in row.parts})
        for number in boards:
            lane, layers = self.lanes[number], row.of(number)
            x = lane.x + _MARGIN + _SIDE
            width = lane.width - 2 * (_MARGIN + _SIDE)
            name, detail, tooltip = self._texts(row, layers, width)
            color = lane.color if layers else 0
            yield Box(x, row.y, width, _BOX_HEIGHT, color, name, detail, tooltip)

    def _texts(self, row: _Row, layers: Sequence[ProjectLayer], width: float) -> tuple[str, str, str]:
        """Return name and detail of a box, as far as they fit its width, and its tooltip."""
        if not layers:
            shape = str(self.graph.in_shape)
            return "input", shape, f"input {shape}, from the host"
        layer = self.graph.layers[row.number - 1]
        parts = ", ".join(str(each.part) for each in layers if each.part)
        kernels = ", ".join(dict.fromkeys(each.memory.kernel for each in layers))
        lines = [
            f"layer {row.number} {layer.name}: {_kind(layer)}{f' ({parts})' if parts else ''}",
            f"{layer.in_shape} to {layer.out_shape}",
            f"kernel {kernels}, {sum(each.macc for each in layers)} MACC, {layers[0].formats.output.bits} bits",
            *(f"fused with layer {each.memory.fused_with}" for each in layers if each.memory.fused_with),
        ]
        name = shortened(layer.name, max(1, int(width / _LETTER) - len(f"{row.number} ")))
        details = (
            parts or f"{_kind(layer)} {layer.out_shape}",
            f"{layer.kind} {layer.out_shape}",
            str(layer.out_shape),
        )
        detail = next((text for text in details if len(text) * _SMALL_LETTER < width), "")
        return f"{row.number} {name}", detail, "\n".join(lines)

    def _inner_lines(self) -> Iterator[TensorLine]:
        """Yield the tensors that stay on their board: to the next row straight, to later ones beside the boxes."""
        skips: dict[int, int] = {}
        for source, target, board in self._edges():
            lane, top = self.lanes[board], source.y + _BOX_HEIGHT
            between = [row for row in self.rows if source.y < row.y < target.y and self._is_on(row, board)]
            if not between:
                yield TensorLine(f"M{lane.center:g} {top:g}V{target.y:g}")
                continue
            skips[board] = skips.get(board, -1) + 1
            right = lane.x + lane.width - _MARGIN - _SIDE
            side = right + _SIDE * (1 + skips[board] % _SIDES)
            begin, end = source.y + _BOX_HEIGHT - 8, target.y + 8
            yield TensorLine(f"M{right:g} {begin:g}H{side:g}V{end:g}H{right:g}")

    def _edges(self) -> Iterator[tuple[_Row, _Row, int]]:
        """Yield producer, reader and board of tensors within boards; of divided layers, the boards' rows in turn."""
        for number in self.copy.boards:
            rows = [row for row in self.rows if self._is_on(row, number)]
            if self.project.is_distributed:
                yield from ((before, row, number) for before, row in pairwise(rows))
                continue
            for row in rows:
                for layer in row.of(number):
                    sources = (self.row_of[source] for source in dict.fromkeys(layer.inputs))
                    yield from ((source, row, number) for source in sources if self._is_on(source, number))

    def _is_on(self, row: _Row, board: int) -> bool:
        if row.number == NETWORK_INPUT_NUMBER:
            return board in self.copy.input_boards
        return bool(row.of(board))

    def _cut_lines(self) -> Iterator[TensorLine]:
        """Yield the tensors that cross, each at a height of its own below its row, to the next row that reads them."""
        for row in self.rows:
            for index, ((sender, receiver), (n_bytes, estimated_s)) in enumerate(row.cuts):
                begin, end = self.lanes[sender].center, self.lanes[receiver].center
                y = row.y + _BOX_HEIGHT + _GAP / 2 + _CUT_HEIGHT * (index + 0.6)
                text = f"{n_bytes} bytes, {MS * estimated_s:.2f} ms"
                tooltip = f"{text} (estimated) from board {sender} to board {receiver}"
                place = (begin + end) / 2, y - 4
                path = f"M{begin:g} {row.y + _BOX_HEIGHT:g}V{y:g}{self._arrival(row, receiver)}"
                yield TensorLine(path, True, text, *place, tooltip)

    def _arrival(self, source: _Row, board: int) -> str:
        """Return the path to the first layer of a board that reads a tensor: from above, or past others beside them."""
        lane = self.lanes[board]
        below = [row for row in self.rows if row.y > source.y]
        rows = [row for row in below if row.of(board)]
        target = next((row for row in rows if self._reads(row, source, board)), None)
        if target is None:  # the board relays the tensor
            return f"H{lane.center:g}"
        if target is rows[0]:
            return f"H{lane.center:g}V{target.y:g}"
        left = lane.x + _MARGIN + _SIDE
        return f"H{left - _SIDE - 2:g}V{target.y + _BOX_HEIGHT / 2:g}H{left:g}"

    def _reads(self, row: _Row, source: _Row, board: int) -> bool:
        layers = row.of(board)
        return bool(layers) and (self.project.is_distributed or any(source.number in layer.inputs for layer in layers))

    def _bars(self, column: int) -> Iterator[FigureBar]:
        name, rows = _PROFILE[column], [row for row in self.rows if row.parts]
        figures = {row.number: _figure(row.parts, column) for row in rows}
        largest = max(*figures.values(), 1)
        for row in rows:
            boards = {part.board for part in row.parts}
            value = figures[row.number]
            width = round(_BAR * value / largest, 1)
            color = color_of(min(boards)) if len(boards) == 1 else 0
            tooltip = f"layer {row.number}: {value} {name}"
            text = "-" if name == _PROFILE[-1] and not value else f"{value:,}".replace(",", "\u202f")
            yield FigureBar(row.number, row.y, width, color, text, tooltip)


def color_of(number: int) -> int:
    """Return which of the eight colours of the report a board or a layer has, from 1."""
    return (number - 1) % 8 + 1


def _figure(parts: Sequence[ProjectLayer], column: int) -> int:
    """Return MACC or flash of all parts, or the largest RAM of a board."""
    if column == _PROFILE.index("MACC"):
        return sum(part.macc for part in parts)
    if column == _PROFILE.index("flash bytes"):
        return sum(part.weights_bytes for part in parts)
    return max(map(ram_bytes, parts))


def _kind(layer: Layer) -> str:
    return f"{layer.kind} + {layer.activation}" if str(layer.activation) else layer.kind
