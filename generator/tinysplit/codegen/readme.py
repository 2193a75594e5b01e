"""README.md of a generated folder, with the picture of its wires: the way from there to a measurement."""

from dataclasses import dataclass
from pathlib import Path

from tinysplit.boards.catalog import load_board
from tinysplit.common.host_protocol import HostProtocol
from tinysplit.common.project_files import PICTURE_NAME, README_NAME
from tinysplit.common.templates import render
from tinysplit.project.channels import marker_lines
from tinysplit.project.manifest import Project
from tinysplit.project.wiring_picture import wiring_svg


@dataclass(frozen=True)
class ReadmeBoard:
    """A row of the table of boards."""

    number: int
    title: str
    layers: str  # "1, 2, 3"
    used: tuple[str, ...]  # of the microcontroller by the firmware


@dataclass(frozen=True)
class ReadmeContext:
    """The names of `project/README.md.j2`."""

    name: str
    version: str
    boards: tuple[ReadmeBoard, ...]
    has_links: bool
    markers: tuple[str, ...]  # where a logic analyser is connected
    is_measurable: bool  # by `tinysplit measure`
    speaks_mlperf: bool
    has_weights_files: bool
    is_encrypted: bool
    is_standalone: bool


def write_readme(folder: Path, project: Project) -> None:
    """Write README.md, and the picture where there are links."""
    boards = tuple(
        ReadmeBoard(
            board.number,
            load_board(board.name).title,
            ", ".join(str(layer.number) for layer in project.layers if layer.board == board.number) or "none",
            tuple(part.text for part in board.firmware_parts),
        )
        for board in project.boards
    )
    markers = tuple(marker_lines(project))
    speaks_mlperf = project.host_protocol is HostProtocol.MLPERF
    context = ReadmeContext(
        name=project.model.name,
        version=project.tinysplit_version,
        boards=boards,
        has_links=bool(project.links),
        markers=markers,
        is_measurable=project.has_diagnostics and not speaks_mlperf,
        speaks_mlperf=speaks_mlperf,
        has_weights_files=project.weights_counter is not None,
        is_encrypted=any(board.weights_file and board.weights_file.is_encrypted for board in project.boards),
        is_standalone=project.standalone is not None,
    )
    (folder / README_NAME).write_text(render("project/README.md.j2", context), encoding="utf-8")
    if project.links:
        (folder / PICTURE_NAME).write_text(wiring_svg(project), encoding="utf-8")
