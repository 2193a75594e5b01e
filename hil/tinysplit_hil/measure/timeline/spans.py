"""What happens when: spans of time in rows, one row for each board and each link."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain
from typing import Any

from tinysplit.project.manifest import Project, ProjectCut
from tinysplit_hil.measure.timeline.wire import wire_seconds_of


class SpanKind(StrEnum):
    """What a span shows; the host's part of an inference is its input and its output."""

    LAYER = "layer"
    HOST = "host"
    COPY = "copy"
    WAIT = "wait"
    WIRE = "wire"
    DRIVER = "driver"


@dataclass(frozen=True)
class TimelineRow:
    """A board or a link by its name, such as "board 1" and "link 1-2", and what it is."""

    name: str
    detail: str


@dataclass(frozen=True)
class Span:
    """Something that lasts from `start_s` to `end_s`, in seconds from the start of the inference."""

    row: TimelineRow
    kind: SpanKind
    label: str  # short: "3", "cut 1"
    title: str  # long: "layer 3 conv2"
    start_s: float
    end_s: float

    @property
    def seconds(self) -> float:
        """Its length."""
        return self.end_s - self.start_s

    @property
    def shade(self) -> int:
        """Which of two shades tells it from its neighbours, 0 or 1; the same in both cases."""
        return int(self.label) % 2 if self.kind is SpanKind.LAYER else 0

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values, times in seconds."""
        return {
            "row": self.row.name,
            "kind": self.kind.value,
            "label": self.label,
            "title": self.title,
            "start_s": self.start_s,
            "end_s": self.end_s,
        }


@dataclass(frozen=True)
class Timeline:
    """What boards and links do when, in one case or several, such as "estimated" and "measured".

    `uncertainty_s`: by which measured spans of different boards may be off.
    """

    title: str
    rows: tuple[TimelineRow, ...]
    cases: Mapping[str, tuple[Span, ...]]
    uncertainty_s: float = 0.0

    @property
    def spans(self) -> Iterator[Span]:
        """The spans of all cases."""
        return chain.from_iterable(self.cases.values())

    @property
    def length_s(self) -> float:
        """The end of the last span."""
        return max(span.end_s for span in self.spans)

    @property
    def kinds(self) -> tuple[SpanKind, ...]:
        """The kinds of its spans."""
        present = {span.kind for span in self.spans}
        return tuple(kind for kind in SpanKind if kind in present)

    def to_json(self) -> dict[str, list[dict[str, Any]]]:
        """Return the spans of each case as JSON values, times in seconds."""
        return {case: [span.to_json() for span in spans] for case, spans in self.cases.items()}

    def lanes(self) -> Iterable[tuple[TimelineRow, str, tuple[Span, ...]]]:
        """Yield each row once for each case, one above the other, with its spans from left to right."""
        for row in self.rows:
            for case, spans in self.cases.items():
                yield row, case, tuple(sorted((s for s in spans if s.row == row), key=lambda span: span.start_s))


def board_row(project: Project, number: int) -> TimelineRow:
    """Return the row of a board."""
    return TimelineRow(f"board {number}", project.board(number).name)


def link_row(project: Project, first: int, second: int) -> TimelineRow:
    """Return the row of the link of two boards."""
    link = project.link(first, second)
    return TimelineRow(f"link {'-'.join(map(str, link.boards))}", f"{link.baud} baud")


def rows_of(project: Project) -> tuple[TimelineRow, ...]:
    """Return the rows of the slowest copy: its boards, each with the links to later boards below it."""
    rows = []
    for number in project.slowest.boards:
        rows.append(board_row(project, number))
        rows += [link_row(project, *link.boards) for link in project.links if link.boards[0] == number]
    return tuple(rows)


def transfer_spans(project: Project, cut: ProjectCut, start_s: float, end_s: float) -> Iterator[Span]:
    """Yield a transfer in the row of its link: the tensor on the wire, then what the drivers take."""
    row = link_row(project, cut.from_board, cut.to_board)
    title = f"cut {cut.number}, {cut.payload_bytes} bytes from board {cut.from_board} to {cut.to_board}"
    wire_end_s = min(start_s + wire_seconds_of(project, cut), end_s)
    yield Span(row, SpanKind.WIRE, f"cut {cut.number}", f"{title}: wire", start_s, wire_end_s)
    if wire_end_s < end_s:
        yield Span(row, SpanKind.DRIVER, "", f"{title}: drivers", wire_end_s, end_s)
