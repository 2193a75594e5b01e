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
    y: int
    width: float
    color: str
    label: str
    title: str


@dataclass(frozen=True)
class _Name:
    y: int
    name: str
    detail: str


@dataclass(frozen=True)
class _Case:
    y: int
    text: str


@dataclass(frozen=True)
class _Tick:
    x: float
    text: str


@dataclass(frozen=True)
class _Key:
    x: float
    color: str
    text: str


@dataclass(frozen=True)
class TimelinePicture:
    """The names of `measure/timeline.svg.j2`; lengths in pixels."""

    width: int
    height: int
    title: str
    names: tuple[_Name, ...]
    cases: tuple[_Case, ...]
    boxes: tuple[_Box, ...]
    ticks: tuple[_Tick, ...]
    legend: tuple[_Key, ...]
    about: str


def timeline_svg(timeline: Timeline) -> str:
    """Return the picture as a file."""
    return render("measure/timeline.svg.j2", picture_of(timeline))


def picture_of(timeline: Timeline) -> TimelinePicture:
    """Return the picture: the lanes of each row one above the other, each span with its time as a tooltip."""
    rows = enumerate(timeline.rows)
    names = tuple(_Name(_row_y(timeline, index), row.name, row.detail) for index, row in rows)
    cases = tuple(_Case(y, case) for y, case, _ in _lanes(timeline))
    height = _row_y(timeline, len(timeline.rows)) + 40
    title = timeline.title
    if timeline.uncertainty_s:
        title += f"; clocks aligned within {_US * timeline.uncertainty_s:.1f} us"
    width = _LEFT + _WIDTH + _RIGHT
    boxes = tuple(_boxes(timeline))
    ticks = tuple(_ticks(timeline))
    legend = tuple(_legend(timeline))
    return TimelinePicture(width, height, title, names, cases, boxes, ticks, legend, version_mark())


def _row_y(timeline: Timeline, row: int) -> int:
    return _TOP + row * (_LANE * max(len(timeline.cases), _LEAST_LANES) + _GAP)


def _lanes(timeline: Timeline) -> Iterator[tuple[int, str, tuple[Span, ...]]]:
    """Yield the top of each lane, its case and its spans."""
    count = len(timeline.cases)
    for index, (_, case, spans) in enumerate(timeline.lanes()):
        yield _row_y(timeline, index // count) + index % count * _LANE, case, spans


def _legend(timeline: Timeline) -> Iterator[_Key]:
    x = float(_LEFT)
    for kind in timeline.kinds:
        yield _Key(x, _COLORS[kind][0], _LEGEND[kind])
        x += _LETTER * len(_LEGEND[kind]) + 40


def _boxes(timeline: Timeline) -> Iterator[_Box]:
    for y, _, spans in _lanes(timeline):
        for span in spans:
            yield _box(span, y, timeline.length_s)


def _box(span: Span, y: int, length_s: float) -> _Box:
    x, width = (_WIDTH * seconds / length_s for seconds in (span.start_s, span.seconds))
    label = span.label if len(span.label) * _BOLD_LETTER < width else ""
    color = _COLORS[span.kind][span.shade]
    title = f"{span.title}: {MS * span.seconds:.3f} ms from {MS * span.start_s:.3f} ms"
    return _Box(round(_LEFT + x, 1), y, round(max(width, _LEAST), 1), color, label, title)


def _ticks(timeline: Timeline) -> Iterator[_Tick]:
    """Yield the axis: round numbers of ms."""
    length_ms = MS * timeline.length_s
    power = 10.0 ** floor(log10(length_ms / _TICKS))
    step_ms = next(factor * power for factor in (1, 2, 5, 10) if length_ms / (factor * power) <= _TICKS)
    for number in range(ceil(length_ms / step_ms)):
        yield _Tick(round(_LEFT + _WIDTH * number * step_ms / length_ms, 1), f"{number * step_ms:g} ms")
