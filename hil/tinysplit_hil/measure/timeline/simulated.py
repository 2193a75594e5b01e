"""The timeline of a simulated split: boards, links and the host, with inferences told apart by their shade."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from tinysplit.common.tables import counted
from tinysplit.costs.link_options import LinkSettings
from tinysplit.split.report.arrivals import ArrivalReport
from tinysplit.timing.results import Activity, Event
from tinysplit.timing.topology import Pair, pair_of
from tinysplit_hil.measure.timeline.spans import Span, SpanKind, Timeline, TimelineRow


def timeline_of(report: ArrivalReport, title: str, names: Sequence[str], links: LinkSettings) -> Timeline:
    """Return the timeline of a simulation of a network of this title that kept its events; `names` are the boards'."""
    pairs = combinations(range(len(names)), 2)
    bauds = {pair: baud for pair in pairs if (baud := links.between(*pair).baud) is not None}
    run = report.simulation.simulated
    return simulated_timeline(f"{counted(len(run.passages), 'inference')} of {title}", names, bauds, run.events)


def simulated_timeline(
    title: str, boards: Sequence[str], bauds: Mapping[Pair, int], events: Sequence[Event]
) -> Timeline:
    """Return the timeline of the events on boards with these names, linked with these baud rates, counted from 0."""
    rows = dict(_rows(boards, bauds, events))
    spans = tuple(_span(rows[_place(event)], event) for event in events)
    return Timeline(title, tuple(rows.values()), {"simulated": spans})


def _place(event: Event) -> str | int | Pair:
    """Return what identifies the row of an event."""
    if event.activity is Activity.HOST:
        return event.name
    return event.device if event.receiver is None else pair_of(event.device, event.receiver)


def _rows(
    boards: Sequence[str], bauds: Mapping[Pair, int], events: Sequence[Event]
) -> Iterator[tuple[str | int | Pair, TimelineRow]]:
    """Yield the rows that have events: host, boards, each with the links to later ones below it, host."""
    places = {_place(event) for event in events}
    yield "input", TimelineRow("host, inputs", "")
    for device, name in enumerate(boards):
        if device in places:
            yield device, TimelineRow(f"board {device + 1}", name)
        for pair, baud in sorted(bauds.items()):
            if pair in places and pair[0] == device:
                yield pair, TimelineRow(f"link {pair[0] + 1}-{pair[1] + 1}", f"{baud} baud")
    yield "output", TimelineRow("host, outputs", "")


def _span(row: TimelineRow, event: Event) -> Span:
    number = str(event.number + 1)
    label = number if event.activity in {Activity.LAYER, Activity.HOST} else event.name
    waits = "waiting for " if event.activity is Activity.WAIT else ""
    title = f"{waits}{event.name} of inference {number}"
    return Span(row, SpanKind(event.activity.value), label, title, event.start_s, event.end_s)
