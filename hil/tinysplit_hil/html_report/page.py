"""Writes the report: one HTML file that needs nothing else, with its pictures as SVG."""

from dataclasses import dataclass
from pathlib import Path

from tinysplit import __version__
from tinysplit.common.output_file import version_mark, write_whole_file
from tinysplit.common.templates import render
from tinysplit_hil.html_report.figures import (
    BoardRow,
    Card,
    CutRow,
    board_rows,
    cards,
    cut_rows,
    reasons,
    timeline_of,
)
from tinysplit_hil.html_report.layer_table import layer_table
from tinysplit_hil.html_report.memory import BoardMemories, memories_of
from tinysplit_hil.html_report.network import NetworkFigure, color_of, network_figure
from tinysplit_hil.html_report.quality import EnergyCase, accuracy_lines, energy_cases
from tinysplit_hil.html_report.sortable_table import SortableTable
from tinysplit_hil.html_report.sources import Sources
from tinysplit_hil.html_report.why import Why, why_of
from tinysplit_hil.measure.timeline.picture import TimelinePicture, picture_of


@dataclass(frozen=True)
class ReportContext:
    """The names of `report/report.html.j2`."""

    about: str
    version: str
    title: str
    folder: str
    subtitle: str
    measured: str
    has_measurement: bool
    has_recording: bool
    rig_note: str
    less_sure: tuple[str, ...]
    old_measurement: str
    is_built: bool
    cards: tuple[Card, ...]
    network: NetworkFigure
    boards: tuple[BoardRow, ...]
    cuts: tuple[CutRow, ...]
    reasons: tuple[str, ...]
    why: Why | None
    layers: SortableTable
    timeline: TimelinePicture | None
    memories: tuple[BoardMemories, ...]
    accuracy: tuple[str, ...]
    has_noise: bool
    energy: tuple[EnergyCase, ...]


def write_report(path: Path, sources: Sources) -> None:
    """Write the report of a generated folder. Raises InputError where it cannot be written."""
    write_whole_file(path, render("report/report.html.j2", report_of(sources)))


def report_of(sources: Sources) -> ReportContext:
    """Return everything that the report shows."""
    project, measurement = sources.project, sources.measurement
    colors = {board.number: color_of(board.number) for board in project.boards}
    timeline = timeline_of(project, measurement, sources.measured)
    names = ", ".join(board.name for board in project.boards)
    return ReportContext(
        about=version_mark(),
        version=__version__,
        title=project.model.name,
        folder=str(sources.folder),
        subtitle=f"{names}; {project.bits} bits, {project.baud} baud",
        measured=sources.measured,
        has_measurement=measurement is not None,
        has_recording=measurement is not None and measurement.timeline is not None,
        rig_note=measurement.rig_note if measurement else "",
        less_sure=tuple(text for texts in sources.less_sure.values() for text in texts),
        old_measurement=sources.old_measurement,
        is_built=bool(sources.sizes),
        cards=tuple(cards(sources)),
        network=network_figure(sources),
        boards=tuple(board_rows(sources, colors)),
        cuts=tuple(cut_rows(sources)),
        reasons=tuple(reasons(sources)),
        why=why_of(sources.split),
        layers=layer_table(sources),
        timeline=picture_of(timeline) if timeline else None,
        memories=memories_of(sources, colors),
        accuracy=tuple(accuracy_lines(sources)),
        has_noise=sources.validation is not None,
        energy=energy_cases(sources, colors),
    )
