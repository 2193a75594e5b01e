"""A timeline in the terminal: blocks of characters, as wide as the console."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from tinysplit.common.texts.quoting import printable
from tinysplit.common.units import MS
from tinysplit_hil.measure.timeline.spans import Span, SpanKind, Timeline

_FILLS = {
    SpanKind.LAYER: "▒░",
    SpanKind.HOST: "▪",
    SpanKind.COPY: "▪",
    SpanKind.WAIT: "·",
    SpanKind.WIRE: "═",
    SpanKind.DRIVER: "─",
}
_STYLES = {SpanKind.LAYER: "cyan", SpanKind.WIRE: "yellow", SpanKind.DRIVER: "yellow"}
_LEAST_COLUMNS = 20
_WIDEST = 160  # of a line: in a pipe, the console has no width of its own


def print_timeline(timeline: Timeline, console: Console) -> None:
    """Print a line for each row and case that has spans, and an axis in ms. Each span has a column at least."""
    lanes = [lane for lane in timeline.lanes() if lane[2]]
    before = [None, *(row for row, _, _ in lanes)]
    names, cases = (max(map(len, each)) for each in ([row.name for row in timeline.rows], timeline.cases))
    heads = [
        f"{'' if row is last else row.name:{names}}  {case:{cases}}  "
        for (row, case, _), last in zip(lanes, before, strict=False)
    ]
    columns = max(min(console.width, _WIDEST) - len(heads[0]) - 1, _LEAST_COLUMNS)
    console.print(Text(printable(timeline.title), style="bold"))
    for head, (_, _, spans) in zip(heads, lanes, strict=True):
        console.print(Text(printable(head)) + _bar(spans, timeline.length_s, columns), soft_wrap=True)
    end = f"{MS * timeline.length_s:.2f} ms"
    console.print(" " * len(heads[0]) + f"{0:<{columns - len(end)}}{end}", highlight=False, soft_wrap=True)


def _bar(spans: Sequence[Span], length_s: float, columns: int) -> Text:
    """Return the line of a lane; a column is kept for each span that follows."""
    bar = Text()
    for index, span in enumerate(spans):
        last = columns - (len(spans) - index - 1)
        first = max(len(bar), min(round(columns * span.start_s / length_s), last - 1))
        end = max(first + 1, min(round(columns * span.end_s / length_s), last))
        if end > columns:
            break
        bar.append(" " * (first - len(bar)))
        label = printable(span.label) if len(span.label) <= end - first else ""
        bar.append(label.center(end - first, _FILLS[span.kind][span.shade]), _STYLES.get(span.kind, ""))
    return bar
