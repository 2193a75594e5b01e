"""A timeline as SVG."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, floor, log10

from tinysplit.common.output_file import version_mark
from tinysplit.common.templates import render
from tinysplit.common.units import MS
from tinysplit_hil.measure.timeline.spans import Span, SpanKind, Timeline

_LEFT, _WIDTH, _RIGHT = 230, 940, 30  # pixels: names, spans, margin
_TOP, _LANE, _GAP = 84, 26, 12  # first row, a lane of it, and the distance of rows
_LEAST_LANES = 2  # of a row: its name and what it is
_LETTER, _BOLD_LETTER = 7.5, 9.2  # widths
_LEAST = 1.5  # width of a span
_US = 1e6
_TICKS = 8  # at most
_COLORS = {  # by shade
    SpanKind.LAYER: ("#1d4ed8", "#3b82f6"),
    SpanKind.HOST: ("#64748b",),
    SpanKind.COPY: ("#7e22ce",),
    SpanKind.WAIT: ("#cbd5e1",),
    SpanKind.WIRE: ("#c2410c",),
    SpanKind.DRIVER: ("#fdba74",),
}
_LEGEND = {
    SpanKind.LAYER: "layer",
    SpanKind.HOST: "input, output",
    SpanKind.COPY: "copy to or from a buffer",
    SpanKind.WAIT: "waiting",
    SpanKind.WIRE: "wire",
    SpanKind.DRIVER: "driver",
}


@dataclass(frozen=True)
class _Box:
    x: float
    width: float
    kind: str
    color: str
    label: str
    title: str

    @property
    def begin(self) -> float:
        """Where it begins, as a share of the spans' width."""
        return (self.x - _LEFT) / _WIDTH

    @property
    def share(self) -> float:
        """Its share of the spans' width."""
        return self.width / _WIDTH


@dataclass(frozen=True)
class _Lane:
    y: int
    case: str
    boxes: tuple[_Box, ...]


@dataclass(frozen=True)
class _Row:
    y: int
    name: str
    detail: str
    lanes: tuple[_Lane, ...]


@dataclass(frozen=True)
class _Tick:
    x: float
    text: str

    @property
    def begin(self) -> float:
        """Its share of the spans' width."""
        return (self.x - _LEFT) / _WIDTH


@dataclass(frozen=True)
class _Key:
    x: float
    kind: str
    color: str
    text: str


@dataclass(frozen=True)
class TimelinePicture:
    """The names of `measure/timeline.svg.j2`; lengths in pixels."""

    width: int
    height: int
    title: str
    rows: tuple[_Row, ...]
    ticks: tuple[_Tick, ...]
    legend: tuple[_Key, ...]
    about: str


def timeline_svg(timeline: Timeline) -> str:
    """Return the picture as a file."""
    return render("measure/timeline.svg.j2", picture_of(timeline))


def picture_of(timeline: Timeline) -> TimelinePicture:
    """Return the picture: the lanes of each row one above the other, each span with its time as a tooltip."""
    height = _row_y(timeline, len(timeline.rows)) + 40
    title = timeline.title
    if timeline.uncertainty_s:
        title += f"; clocks aligned within {_US * timeline.uncertainty_s:.1f} us"
    width = _LEFT + _WIDTH + _RIGHT
    parts = (tuple(_rows(timeline)), tuple(_ticks(timeline)), tuple(_legend(timeline)))
    return TimelinePicture(width, height, title, *parts, version_mark())


def _row_y(timeline: Timeline, row: int) -> int:
    return _TOP + row * (_LANE * max(len(timeline.cases), _LEAST_LANES) + _GAP)


def _rows(timeline: Timeline) -> Iterator[_Row]:
    for index, row in enumerate(timeline.rows):
        y = _row_y(timeline, index)
        own = [(case, spans) for each, case, spans in timeline.lanes() if each == row]
        lanes = (
            _Lane(y + number * _LANE, case, tuple(_box(span, timeline.length_s) for span in spans))
            for number, (case, spans) in enumerate(own)
        )
        yield _Row(y, row.name, row.detail, tuple(lanes))


def _legend(timeline: Timeline) -> Iterator[_Key]:
    x = float(_LEFT)
    for kind in timeline.kinds:
        yield _Key(x, kind.value, _COLORS[kind][0], _LEGEND[kind])
        x += _LETTER * len(_LEGEND[kind]) + 40


def _box(span: Span, length_s: float) -> _Box:
    x, width = (_WIDTH * seconds / length_s for seconds in (span.start_s, span.seconds))
    label = span.label if len(span.label) * _BOLD_LETTER < width else ""
    color = _COLORS[span.kind][span.shade]
    title = f"{span.title}: {MS * span.seconds:.3f} ms from {MS * span.start_s:.3f} ms"
    return _Box(round(_LEFT + x, 1), round(max(width, _LEAST), 1), span.kind.value, color, label, title)


def _ticks(timeline: Timeline) -> Iterator[_Tick]:
    """Yield the axis: round numbers of ms."""
    length_ms = MS * timeline.length_s
    step_ms = round_step(length_ms, _TICKS)
    for number in range(ceil(length_ms / step_ms)):
        yield _Tick(round(_LEFT + _WIDTH * number * step_ms / length_ms, 1), f"{number * step_ms:g} ms")


def round_step(length: float, count: int) -> float:
    """Return a round distance of ticks, of which at most `count` fit the length."""
    power = 10.0 ** floor(log10(length / count))
    return next(factor * power for factor in (1, 2, 5, 10) if length / (factor * power) <= count)
