"""The timeline of one inference of a split that nobody has generated yet."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from tinysplit.costs.link_options import LinkSettings
from tinysplit.split.solution import Split
from tinysplit.timing.results import Activity, Event
from tinysplit.timing.topology import pair_of
from tinysplit_hil.measure.timeline.spans import Span, SpanKind, Timeline, TimelineRow


def predicted_timeline(split: Split, names: Sequence[str], links: LinkSettings) -> Timeline:
    """Return what boards and links do from when the boards have the input on; `names` are the boards'.

    The split is one of whole layers with the costs of generated firmware.
    """
    events = [event for event in _events(split) if event.activity is not Activity.HOST and event.end_s > 0]
    rows = {place: _row(place, names, links) for place in sorted({_place(event) for event in events})}
    spans = tuple(span for event in events for span in _spans(split, rows[_place(event)], event))
    return Timeline("", tuple(rows.values()), {"estimated": spans})


def _events(split: Split) -> Iterator[Event]:
    """Yield the events; layers that run row by row without a break are one."""
    events = split.timing.events_alone if split.timing else ()
    for (_, layers), run in groupby(events, key=lambda event: (event.device, event.layers)):
        pieces = list(run)
        if layers[0] < 0 or any(piece.activity is not Activity.LAYER for piece in pieces):
            yield from pieces
        else:
            yield pieces[0]._replace(end_s=pieces[-1].end_s)


def _place(event: Event) -> tuple[int, ...]:
    """Return what identifies the row of an event: a board, or the two of a link."""
    return (event.device,) if event.receiver is None else pair_of(event.device, event.receiver)


def _row(place: tuple[int, ...], names: Sequence[str], links: LinkSettings) -> TimelineRow:
    number = "-".join(str(device + 1) for device in place)
    if len(place) == 1:
        return TimelineRow(f"board {number}", names[place[0]])
    return TimelineRow(f"link {number}", f"{links.between(*pair_of(*place)).baud} baud")


def _spans(split: Split, row: TimelineRow, event: Event) -> Iterator[Span]:
    """Yield the span of an event, of layers in turn one each, by their shares of the time."""
    start_s = max(0.0, event.start_s)
    if event.activity is not Activity.LAYER:
        waits = "waiting for " if event.activity is Activity.WAIT else ""
        label = event.name if event.activity is Activity.WIRE else ""
        yield Span(row, SpanKind(event.activity.value), label, f"{waits}{event.name}", start_s, event.end_s)
        return
    numbers = range(event.layers[0], event.layers[1] + 1)
    seconds = [split.figures.layer_seconds[number] for number in numbers]
    scale = (event.end_s - start_s) / (sum(seconds) or 1.0)
    for number, own_s in zip(numbers, seconds, strict=True):
        title = f"layer {number + 1} {split.problem.layers[number].name}"
        yield Span(row, SpanKind.LAYER, str(number + 1), title, start_s, start_s + scale * own_s)
        start_s += scale * own_s
