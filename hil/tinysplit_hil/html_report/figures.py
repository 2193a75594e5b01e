"""What a report says of the split: its figures, boards and cuts, the timeline, and why it was chosen."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tinysplit.boards.board import board_title
from tinysplit.common.choices import InputSource, Optimize
from tinysplit.common.tables import counted
from tinysplit.common.texts.spans import spans_text
from tinysplit.common.units import MILLI, MS
from tinysplit.project.manifest import Project, ProjectCut
from tinysplit.project.network_numbers import layer_number
from tinysplit.project.split_file import SplitFile
from tinysplit.settings.boards_and_links import USE_ALL
from tinysplit.settings.search import ASSIGN
from tinysplit.split.given import assignment_text
from tinysplit.split.problem import Objective
from tinysplit.split.solution import GIVEN
from tinysplit.timing.bottleneck import bottleneck_text
from tinysplit_hil.html_report.sources import Sources
from tinysplit_hil.measure.timeline.estimated import estimated_spans
from tinysplit_hil.measure.timeline.spans import Span, SpanKind, Timeline, TimelineRow, rows_of
from tinysplit_hil.measure.times import What
from tinysplit_hil.results.measurement_file import FileSpan, MeasurementFile

_WHAT = {Objective.LATENCY: "latency", Objective.THROUGHPUT: "the period", Objective.ENERGY: "energy"}


@dataclass(frozen=True)
class Card:
    """A figure at the head of the report: what it is, its value, and a remark."""

    name: str
    value: str
    remark: str


@dataclass(frozen=True)
class BoardRow:
    """A board of the split."""

    number: int
    color: int
    name: str
    layers: str
    estimated_ms: str
    measured_ms: str


@dataclass(frozen=True)
class CutRow:
    """A transfer."""

    number: int
    what: str
    ends: str
    n_bytes: int
    estimated_ms: str
    measured_ms: str
    how: str


class Time(NamedTuple):
    """A time of an inference, estimated or measured or both, in seconds."""

    name: str
    estimated_s: float | None
    measured_s: float | None
    remark: str = ""

    @property
    def best_s(self) -> float:
        """What was measured, or else the estimate."""
        return self.measured_s if self.measured_s is not None else self.estimated_s or 0.0


def times(sources: Sources) -> Iterator[Time]:
    """Yield I, L, T and the period."""
    project, measurement = sources.project, sources.measurement
    latency = measurement.latency["measured"] if measurement else None
    yield Time("I, latency", project.estimated_i_s, latency.I if latency else None)
    if measurement:
        (whole_s,) = (each.median_s for each in measurement.times if each.what is What.I)
        yield Time("START to DONE", None, whole_s, "by the host's clock")
    yield Time("L, layers", project.estimated_l_s, latency.L if latency else None)
    yield Time("T, transfers", project.estimated_t_s, latency.T if latency else None)
    period_s = measurement.measured_period_s if measurement else None
    yield Time("period", project.estimated_period_s, period_s, project.input_source.text)


def cards(sources: Sources) -> Iterator[Card]:
    """Yield the figures at the head of the report: what was measured, with the estimate below."""
    for time in times(sources):
        estimated = (
            time.estimated_s is not None
            and f"estimated{f' {_ms(time.estimated_s)}' if time.measured_s is not None else ''}"
        )
        remarks = (time.remark, time.measured_s is not None and sources.measured, estimated)
        yield Card(time.name, _ms(time.best_s), "; ".join(text for text in remarks if text))
    if sources.measurement:
        output = sources.measurement.output
        exact = f"{output.samples - len(output.differing)} of {output.samples}"
        yield Card("bit-exact outputs", exact, f"{sources.measured}, against the integer reference")


def board_rows(sources: Sources, colors: Mapping[int, int]) -> Iterator[BoardRow]:
    """Yield the boards with their layers and times."""
    measurement = sources.measurement
    for board in sources.project.boards:
        layers = [layer for layer in sources.project.layers if layer.board == board.number]
        numbers = sorted({layer_number(layer) for layer in layers})
        measured = "-"
        if measurement:
            measured = f"{MS * sum(each.measured_s for each in measurement.layers if each.board == board.number):.3f}"
        estimated = f"{MS * sum(layer.estimated_s for layer in layers):.3f}"
        yield BoardRow(board.number, colors[board.number], board.name, spans_text(numbers), estimated, measured)


def cut_rows(sources: Sources) -> Iterator[CutRow]:
    """Yield the transfers with their times."""
    measured_s = {each.number: each.measured_s for each in sources.measurement.cuts} if sources.measurement else {}
    for cut in sources.project.cuts:
        what = f"output of layer {cut.after_layer}"
        if cut.part:
            what = f"{cut.part} of {f'layer {cut.part.layer}' if cut.part.layer else 'the input'}"
        ends = f"{cut.from_board} to {cut.to_board}"
        measured = f"{MS * measured_s[cut.number]:.3f}" if cut.number in measured_s else "-"
        yield CutRow(cut.number, what, ends, cut.payload_bytes, f"{MS * cut.estimated_s:.3f}", measured, _how(cut))


def reasons(sources: Sources) -> Iterator[str]:
    """Yield what was chosen, and why."""
    split, project = sources.split, sources.project
    if split:
        yield from _search(split)
        yield from _bottleneck(split)
        if split.objective is Objective.THROUGHPUT and len(project.boards) > 1 and project.one_board_period_s:
            yield f"The best of these boards alone would have a period of {MS * project.one_board_period_s:.2f} ms."
    if len(project.copies) > 1:
        dealt = "the host deals the inputs" if project.input_source is InputSource.HOST else "each has its own inputs"
        yield f"{len(project.copies)} copies of the whole network: {dealt}. The slowest one is drawn."
    if project.overlaps:
        saved = f"{MS * project.estimated_saved_s:.2f} ms"
        yield f"Boards compute while tensors cross, so that I is {saved} less than L + T (estimated)."


def _bottleneck(split: SplitFile) -> Iterator[str]:
    """Yield what sets the period, where the split file has it."""
    found = split.figures.bottleneck
    if found:
        titles = [board_title(number, split.boards[number - 1].name) for number in found.boards]
        yield f"Bottleneck (estimated): {bottleneck_text(found.place, titles, found.layers, found.share)}."


def timeline_of(project: Project, measurement: MeasurementFile | None, measured: str) -> Timeline | None:
    """Return the timeline, estimated above measured where there is a recording; None of a distributed network alone."""
    rows = {row.name: row for row in rows_of(project)}
    cases: dict[str, tuple[Span, ...]] = {}
    if estimated := tuple(estimated_spans(project)):
        cases["estimated"] = estimated
    recorded = measurement.timeline if measurement else None
    if recorded:
        cases[measured] = tuple(_spans(rows, recorded.measured))
    uncertainty_s = max(recorded.uncertainty_s.values(), default=0.0) if recorded else 0.0
    return Timeline("", tuple(rows.values()), cases, uncertainty_s) if cases else None


def _spans(rows: Mapping[str, TimelineRow], spans: Sequence[FileSpan]) -> Iterator[Span]:
    for span in spans:
        label = span.label or (span.title.split()[1] if span.kind is SpanKind.LAYER else "")
        if span.row in rows:
            yield Span(rows[span.row], span.kind, label, span.title, span.start_s, span.end_s)


def _search(split: SplitFile) -> Iterator[str]:
    """Yield how the split was found, and what is known of others."""
    what = _WHAT[split.objective]
    if split.slices is None and not split.copies:
        yield f"Assignment {assignment_text(split.devices)}: layers and board of each run ({ASSIGN.option})."
    if split.solver == GIVEN:
        yield "It was given, not searched for."
    else:
        picked = f" ({split.picked_because})" if split.picked_because else ""
        effort = f"{counted(split.explored, 'candidate')} explored in {split.spent_s:.2f} s"
        yield f"Minimises {what}: {split.solver}{picked}, {effort}."
    figures, may_stream = split.figures, split.settings.may_stream and len(split.boards) > 1
    transfers = " and whole transfers" if may_stream and not split.slices else ""
    transfers += " with an arena as small" if split.settings.optimize is Optimize.RAM else ""
    if split.proved:
        better = f"better {what.removeprefix('the ')}: proved, by the estimates"
        yield f"No split of whole layers{transfers} has a {better}."
    elif figures.lower_bound:
        bound = split.objective.text(figures.lower_bound)
        others = "division of layers by the boards' speeds" if split.slices else f"split of whole layers{transfers}"
        yield f"No {others} has less than {bound} (lower bound of {what}); gap {figures.gap:.1%}."
    limits = (("latency", split.max_latency_s), ("period", split.max_period_s))
    yield from (f"Limit of the {name}: {_ms(limit)}." for name, limit in limits if limit is not None)
    if split.max_energy_j is not None:
        yield f"Limit of the energy: {MILLI * split.max_energy_j:.3f} mJ."
    if split.use_all:
        yield f"Every board had to get a layer ({USE_ALL.option})."


def _ms(seconds: float) -> str:
    return f"{MS * seconds:.2f} ms"


def _how(cut: ProjectCut) -> str:
    if cut.part:
        return "while both boards compute"
    if cut.is_sent_by_rows and cut.is_taken_by_rows:
        return "streamed row by row while both boards compute"
    if cut.is_streamed:
        return "sent row by row" if cut.is_sent_by_rows else "taken row by row"
    if cut.why_whole.startswith(("sent", "taken")):
        return cut.why_whole
    return f"whole: {cut.why_whole}" if cut.why_whole else "whole"
