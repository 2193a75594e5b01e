"""Timeline and parts of T of recorded inferences: in the terminal, as SVG and as a trace."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from tinysplit.common.output_file import write_whole_file
from tinysplit.common.progress import steps
from tinysplit.common.tables import counted, plain_table
from tinysplit.common.units import MS
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.project.manifest import Project
from tinysplit_hil.measure.timeline.estimated import estimated_spans
from tinysplit_hil.measure.timeline.measured import measured_spans
from tinysplit_hil.measure.timeline.parts import TransferParts, parts_of
from tinysplit_hil.measure.timeline.picture import timeline_svg
from tinysplit_hil.measure.timeline.recording import Recording, record_inferences
from tinysplit_hil.measure.timeline.spans import Timeline, rows_of
from tinysplit_hil.measure.timeline.terminal import print_timeline
from tinysplit_hil.measure.timeline.trace import trace_of
from tinysplit_hil.measure.timeline.wire import wire_seconds_of
from tinysplit_hil.rig.rig import Rig

US = 1e6


@dataclass(frozen=True)
class TimelineReport:
    """A project and its recordings, at least one. The one with the best aligned clocks is shown."""

    project: Project
    recordings: tuple[Recording, ...]

    @property
    def best(self) -> Recording:
        """The recording that is shown."""
        return min(self.recordings, key=lambda each: max(each.uncertainty_s.values()))

    @property
    def timeline(self) -> Timeline:
        """Its timeline."""
        project, best = self.project, self.best
        estimated = tuple(estimated_spans(project))
        measured = tuple(measured_spans(project, best))
        boards = ", ".join(project.board(number).name for number in project.slowest.boards)
        which = "One inference" if best.streamed == 1 else f"The last of {best.streamed} streamed inferences"
        title = f"{which} of {project.model.name} on {boards}"
        cases = {"estimated": estimated, "measured": measured}
        return Timeline(title, rows_of(project), cases, max(best.uncertainty_s.values()))

    @property
    def parts(self) -> tuple[TransferParts, ...]:
        """T of each cut in parts, of the recording that is shown."""
        return tuple(parts_of(self.project, self.best))

    def to_json(self) -> dict[str, Any]:
        """Return clocks, parts of T and spans as JSON values, times in seconds."""
        timeline = self.timeline
        return {
            "uncertainty_s": {str(number): error_s for number, error_s in self.best.uncertainty_s.items()},
            "transfers": [part.to_json() for part in self.parts],
            **timeline.to_json(),
        }

    def write(self, svg: Path | None, trace: Path | None) -> None:
        """Write the wanted files. Raises InputError where one cannot be written."""
        write_timeline(self.timeline, svg, trace)


def write_timeline(timeline: Timeline, svg: Path | None, trace: Path | None) -> None:
    """Write a timeline as the wanted files. Raises InputError where one cannot be written."""
    if svg:
        write_whole_file(svg, timeline_svg(timeline))
    if trace:
        write_whole_file(trace, json.dumps(trace_of(timeline), indent=1) + "\n")


def record_timeline(
    project: Project, rig: Rig, inputs: IntArray, messages: Console, *, is_pipelined: bool
) -> TimelineReport:
    """Record inferences of the first inputs; see `record_inferences`."""
    with steps(messages, "recording a timeline"):
        return TimelineReport(project, record_inferences(project, rig, inputs, is_pipelined=is_pipelined))


def print_timeline_report(report: TimelineReport, console: Console) -> None:
    """Print the timeline, and T in parts."""
    print_timeline(report.timeline, console)
    console.print()
    if report.project.slowest.cuts:
        _print_parts(report.project, report.parts, console)
    errors = ", ".join(f"board {number} {US * error_s:.1f} us" for number, error_s in report.best.uncertainty_s.items())
    count = counted(len(report.recordings), "inference")
    console.print(
        f"Clocks aligned with the host's by time stamps before and after the best of {count}, within: {errors}.",
        highlight=False,
        soft_wrap=True,
    )


def _print_parts(project: Project, parts: Sequence[TransferParts], console: Console) -> None:
    """Print a row for each transfer; what is streamed overlaps with layers and has no waiting time of its own."""
    numbers = ("wire", "driver", "est.", "T", "est.", "waiting", "hand-off", "+-")
    table = plain_table("T in ms", numbers=numbers)
    for part in parts:
        cut = part.cut
        estimated_s = cut.estimated_s - wire_seconds_of(project, cut)
        seconds = (part.wire_s, part.driver_s, estimated_s, part.t_s, cut.estimated_s, part.waiting_s, part.hand_off_s)
        cells = ["-" if each is None else f"{MS * each:.3f}" for each in seconds]
        table.add_row(f"cut {cut.number} ({cut.from_board}->{cut.to_board})", *cells, f"{MS * part.uncertainty_s:.3f}")
    console.print(table)
    if any(part.cut.is_streamed for part in parts):
        console.print("-: streamed, so that it overlaps with layers")
    console.print()
