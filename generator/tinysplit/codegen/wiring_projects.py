"""The projects of a wiring test: for each board a program that sends frames on all its links, without a network."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tinysplit import __version__
from tinysplit.boards.board import Board
from tinysplit.boards.link_driver import LinkDriver, LinkDriving, choose_driver
from tinysplit.boards.link_rates import RATES, host_baud_of
from tinysplit.boards.parts import Pin
from tinysplit.codegen.board_files import render_board_files, wiring_test_sources, write_files
from tinysplit.codegen.note import board_note, write_project_hash
from tinysplit.codegen.platformio_ini import render_platformio_ini
from tinysplit.codegen.projects import build_scripts
from tinysplit.common.output_folder import whole_folder
from tinysplit.common.templates import render
from tinysplit.plan.wiring import Link
from tinysplit.project.manifest import Project, ProjectBoard, ProjectLink, ProjectModel

NAME = "wiring test"
FIRST_BAUD = 115_200  # until the test changes it: the programs do not depend on the rates that are tested


@dataclass(frozen=True)
class WiringBoardContext:
    """The names of `project/wiring_board.c.j2`."""

    number: int
    title: str
    tx_pins: tuple[Pin, ...]  # of the link UARTs


def wiring_drivings(boards: Sequence[Board], requested: LinkDriver | None) -> Sequence[LinkDriving]:
    """Return how each board drives all its link UARTs, at the lowest rate of a test.

    Raises UsageError where DMA is requested and cannot.
    """
    ends = [[(uart, RATES[-1]) for uart in board.link_uarts] for board in boards]
    return [choose_driver(*each, requested, each[0].near_memory.size_bytes) for each in zip(boards, ends, strict=True)]


def generate_wiring_test(
    boards: Sequence[Board],
    links: Sequence[Link],
    requested: LinkDriver | None,
    out: Path,
    *,
    force: bool = False,
) -> Project:
    """Write the folder `out` completely or not at all, and return its manifest, which has no layers.

    The programs serve all link UARTs, so that wires at a wrong one are found. Without a `requested` driver it is DMA,
    or interrupts where the DMA channels do not suffice.

    Raises UsageError where the DMA channels do not suffice for the driver, and the errors of `whole_folder`.
    """
    drivings = wiring_drivings(boards, requested)
    project = _manifest(boards, links, [each.driver for each in drivings])
    with whole_folder(out, force=force) as folder:
        directories = [folder / board.directory for board in project.boards]
        for index, directory in enumerate(directories):
            _write_board(directory, index, boards[index], drivings[index], project.host_baud)
        notes = [board_note(project, *each) for each in zip(project.boards, boards, strict=True)]
        project = project.model_copy(update={"project_hash": write_project_hash(directories, notes)})
        project.write(folder)
    return project


def _write_board(directory: Path, index: int, board: Board, driving: LinkDriving, host_baud: int) -> None:
    links = [(uart, FIRST_BAUD) for uart in board.link_uarts]
    context = WiringBoardContext(index + 1, board.title, tuple(uart.tx for uart in board.link_uarts))
    texts = {
        "platformio.ini": render_platformio_ini(board),
        **build_scripts(),
        "src/board_index.c": render("project/wiring_board.c.j2", context),
        **render_board_files(board, links, host_baud, board.near_memory, driving),
    }
    write_files(directory, texts, wiring_test_sources(board, driving.driver))


def _manifest(boards: Sequence[Board], links: Sequence[Link], drivers: Sequence[LinkDriver]) -> Project:
    return Project(
        tinysplit_version=__version__,
        model=ProjectModel(name=NAME, sha256="", copy_sha256="", parameters_sha256=""),
        bits=8,
        baud=min((link.baud for link in links), default=FIRST_BAUD),
        host_baud=host_baud_of(boards),
        calibration_samples=0,
        project_hash=0,
        estimated_period_s=0.0,
        one_board_period_s=None,
        copies=(),
        boards=tuple(_board(number, board) for number, board in enumerate(boards, 1)),
        links=tuple(_link(link, drivers) for link in links),
        layers=(),
        cuts=(),
    )


def _board(number: int, board: Board) -> ProjectBoard:
    return ProjectBoard(
        number=number,
        name=board.name,
        directory=f"board{number}_{board.name}",
        weights_bytes=0,
        arena_bytes=0,
        core_hz=board.clock.core_hz,
    )


def _link(link: Link, drivers: Sequence[LinkDriver]) -> ProjectLink:
    return ProjectLink(
        boards=(link.boards[0] + 1, link.boards[1] + 1),
        uarts=(link.uarts[0].name, link.uarts[1].name),
        connectors=(link.uarts[0].connector, link.uarts[1].connector),
        drivers=(drivers[link.boards[0]], drivers[link.boards[1]]),
        baud=link.baud,
    )
