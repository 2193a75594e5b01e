"""Two generated folders, or two measurements of one, on one page: what became faster, smaller or different."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tinysplit import __version__
from tinysplit.common.errors import InputError
from tinysplit.common.output_file import version_mark, write_whole_file
from tinysplit.common.tables import shortened
from tinysplit.common.templates import render
from tinysplit.common.units import MS, PERCENT
from tinysplit.project.network_numbers import layer_number
from tinysplit_hil.html_report.figures import Card, reasons, timeline_of, times
from tinysplit_hil.html_report.memory import memories_of
from tinysplit_hil.html_report.network import NetworkFigure, color_of, network_figure
from tinysplit_hil.html_report.quality import accuracy_lines
from tinysplit_hil.html_report.sortable_table import Cell, Column, SortableTable, numbers
from tinysplit_hil.html_report.sources import Sources
from tinysplit_hil.measure.timeline.picture import TimelinePicture, picture_of
from tinysplit_hil.measure.timeline.spans import Span, Timeline, TimelineRow
from tinysplit_hil.results.compare import Comparison, compare, why_incomparable

_SIDES = ("before", "after")
_NAME_LENGTH = 26


@dataclass(frozen=True)
class Side:
    """One of the two folders."""

    name: str
    folder: str
    subtitle: str
    figures: str  # where its figures come from
    network: NetworkFigure
    lines: tuple[str, ...]


@dataclass(frozen=True)
class ComparisonContext:
    """The names of `report/comparison.html.j2`."""

    about: str
    version: str
    title: str
    sides: tuple[Side, ...]
    cards: tuple[Card, ...]
    timeline: TimelinePicture | None
    times: SortableTable | None
    why_no_times: str
    different: tuple[str, ...]
    notes: tuple[str, ...]
    layers: SortableTable
    memories: SortableTable


def compare_sources(before: Sources, after: Sources, threshold_percent: float) -> Comparison | None:
    """Compare the measurements of two folders; None where one has none, or both are of different things."""
    if before.measurement is None or after.measurement is None or _why_no_times(before, after):
        return None
    return compare(before.measurement, after.measurement, threshold_percent)


def check_same_network(before: Sources, after: Sources) -> None:
    """Raise InputError where the folders are of different networks."""
    if before.project.model.sha256 != after.project.model.sha256:
        names = " and ".join(f"{each.folder} ({each.project.model.name})" for each in (before, after))
        raise InputError(f"{names} are of different networks: name two folders of one ONNX file")


def write_comparison(path: Path, before: Sources, after: Sources, comparison: Comparison | None) -> None:
    """Write the page with both folders. Raises InputError where it cannot be written."""
    write_whole_file(path, render("report/comparison.html.j2", comparison_of(before, after, comparison)))


def comparison_of(before: Sources, after: Sources, comparison: Comparison | None) -> ComparisonContext:
    """Return everything that the page shows."""
    pair = (before, after)
    timeline = _timeline(pair)
    return ComparisonContext(
        about=version_mark(),
        version=__version__,
        title=after.project.model.name,
        sides=tuple(_side(name, each) for name, each in zip(_SIDES, pair, strict=True)),
        cards=tuple(_cards(before, after)),
        timeline=picture_of(timeline) if timeline else None,
        times=_times(comparison) if comparison else None,
        why_no_times="" if comparison else _why_no_times(before, after),
        different=comparison.different if comparison else (),
        notes=comparison.notes if comparison else (),
        layers=_layers(before, after),
        memories=_memories(before, after),
    )


def _side(name: str, sources: Sources) -> Side:
    project = sources.project
    boards = ", ".join(board.name for board in project.boards)
    return Side(
        name=name,
        folder=str(sources.folder),
        subtitle=f"{boards}; {project.bits} bits, {project.baud} baud",
        figures=sources.measured if sources.measurement else "estimated",
        network=network_figure(sources),
        lines=(*reasons(sources), *accuracy_lines(sources)),
    )


def _why_no_times(before: Sources, after: Sources) -> str:
    absent = [str(each.folder) for each in (before, after) if each.measurement is None]
    if absent:
        return f"{' and '.join(dict.fromkeys(absent))} without a measurement"
    if (
        before.measurement
        and after.measurement
        and (why_not := why_incomparable(before.measurement, after.measurement))
    ):
        return f"measurements of {why_not}"
    return ""


def _cards(before: Sources, after: Sources) -> Iterator[Card]:
    """Yield the times that both have, the measured ones where both were measured."""
    old = {time.name: time for time in times(before)}
    for new in times(after):
        first = old.get(new.name)
        if first is None:
            continue
        pairs = {"measured": (first.measured_s, new.measured_s), "estimated": (first.estimated_s, new.estimated_s)}
        known = {what: (a, b) for what, (a, b) in pairs.items() if a is not None and b is not None}
        if known:
            a, b = next(iter(known.values()))
            remarks = (f"{what} {_change(old_s, new_s)}" for what, (old_s, new_s) in known.items())
            yield Card(new.name, f"{MS * b:.2f} ms", "; ".join((f"before {MS * a:.2f} ms", *remarks)))


def _change(before: float, after: float) -> str:
    return f"{PERCENT * (after / before - 1):+.1f} %" if before else "-"


def _changes(title: str, before: Sequence[float | None], after: Sequence[float | None]) -> Column:
    """Return by how many percent numbers have grown."""
    pairs = zip(before, after, strict=True)
    changes = (PERCENT * (new / old - 1) if old and new is not None else None for old, new in pairs)
    return numbers(title, list(changes), "+.1f")


def _times(comparison: Comparison) -> SortableTable:
    """Return all times of both measurements, with the verdicts of `compare`."""
    changes = comparison.times
    names = tuple(Cell(shortened(time.after.title, 2 * _NAME_LENGTH), tooltip=time.after.title) for time in changes)
    before, after = (
        [MS * time.median_s for time in side] for side in zip(*((t.before, t.after) for t in changes), strict=True)
    )
    verdicts = (Cell(time.verdict, is_marked=time in comparison.slower) for time in changes)
    columns = (
        Column("time", names, is_number=False),
        numbers("before, ms", before, ".3f"),
        numbers("after, ms", after, ".3f"),
        _changes("change, %", before, after),
        Column("verdict", tuple(verdicts), is_number=False),
    )
    return SortableTable("times", columns)


def _layers(before: Sources, after: Sources) -> SortableTable:
    """Return the layers of the network, measured where both were measured; parts on several boards are summed up."""
    layers = after.graph.layers
    is_measured = before.measurement is not None and after.measurement is not None
    old, new = (_layer_ms(each, is_measured=is_measured) for each in (before, after))
    numbered = list(range(1, len(layers) + 1))
    first, last = ([side.get(number) for number in numbered] for side in (old, new))
    what = "" if is_measured else " estimated"
    names = (
        Cell(f"{n} {shortened(each.name, _NAME_LENGTH)}", n, tooltip=each.name) for n, each in enumerate(layers, 1)
    )
    columns = (
        Column("layer", tuple(names), is_number=False),
        *(
            Column(f"boards {name}", _boards_of(each, numbered), is_number=False)
            for name, each in zip(_SIDES, (before, after), strict=True)
        ),
        numbers(f"before{what}, ms", first, ".3f", has_bars=True),
        numbers(f"after{what}, ms", last, ".3f", has_bars=True),
        _changes("change, %", first, last),
    )
    return SortableTable("layers", columns)


def _layer_ms(sources: Sources, *, is_measured: bool) -> Mapping[int, float]:
    """Return the ms of each layer of the network, those of the slowest copy."""
    measured_s = {each.number: each.measured_s for each in sources.measurement.layers} if sources.measurement else {}
    total: dict[int, float] = defaultdict(float)
    for layer in sources.project.slowest.layers:
        total[layer_number(layer)] += MS * (measured_s.get(layer.number, 0.0) if is_measured else layer.estimated_s)
    return total


def _boards_of(sources: Sources, numbered: Sequence[int]) -> tuple[Cell, ...]:
    boards: dict[int, set[int]] = defaultdict(set)
    for layer in sources.project.slowest.layers:
        boards[layer_number(layer)].add(layer.board)
    return tuple(Cell(", ".join(map(str, sorted(boards[number]))) or "-") for number in numbered)


def _memories(before: Sources, after: Sources) -> SortableTable:
    """Return the bytes in use of each memory of each board."""
    old, new = (_used(each) for each in (before, after))
    places = list(dict.fromkeys([*old, *new]))
    first, last = ([side.get(place) for place in places] for side in (old, new))
    columns = (
        Column("board", tuple(Cell(title) for title, _ in places), is_number=False),
        Column("memory", tuple(Cell(memory) for _, memory in places), is_number=False),
        numbers("before, bytes", first, ",d"),
        numbers("after, bytes", last, ",d"),
        _changes("change, %", first, last),
    )
    return SortableTable("memory", columns)


def _used(sources: Sources) -> Mapping[tuple[str, str], int]:
    colors = {board.number: color_of(board.number) for board in sources.project.boards}
    boards = memories_of(sources, colors)
    return {
        (board.title, f"{each.name}, predicted" if each.is_predicted else each.name): each.used_bytes
        for board in boards
        for each in board.maps
    }


def _timeline(pair: tuple[Sources, Sources]) -> Timeline | None:
    """Return both timelines one above the other, of each the measured one where it was recorded."""
    found = [timeline_of(each.project, each.measurement, each.measured) for each in pair]
    details: dict[str, list[str]] = defaultdict(list)
    for row in (row for timeline in found if timeline for row in timeline.rows):
        details[row.name].append(row.detail)
    rows = {name: TimelineRow(name, ", then ".join(dict.fromkeys(own))) for name, own in details.items()}
    cases: dict[str, tuple[Span, ...]] = {}
    for side, timeline in zip(_SIDES, found, strict=True):
        if timeline:
            *_, spans = timeline.cases.values()
            cases[side] = tuple(replace(span, row=rows[span.row.name]) for span in spans)
    return Timeline("", tuple(rows.values()), cases) if cases else None
