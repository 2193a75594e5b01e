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
from tinysplit.codegen.board_firmware import BoardFirmware
from tinysplit.codegen.manifest_builder import describe_link
from tinysplit.codegen.note import BoardNote, write_project_hash
from tinysplit.codegen.platformio_ini import render_platformio_ini
from tinysplit.codegen.projects import build_scripts
from tinysplit.common.output_folder import whole_folder
from tinysplit.common.templates import render
from tinysplit.plan.wiring import Link
from tinysplit.project.manifest import Project, ProjectBoard, ProjectModel

MODEL = ProjectModel(name="wiring test", sha256="", copy_sha256="", parameters_sha256="")  # there is none
FIRST_BAUD = 115_200  # until the test changes it: the programs do not depend on the rates that are tested


@dataclass(frozen=True)
class WiringBoardContext:
    """The names of `project/wiring_board.c.j2`."""

    number: int
    title: str
    tx_pins: tuple[Pin, ...]  # of the link UARTs


def wiring_driving(board: Board, requested: LinkDriver | None) -> LinkDriving:
    """Return how a board drives all its link UARTs, at the lowest rate of a test.

    Raises UsageError where DMA is requested and cannot.
    """
    ends = [(uart, RATES[-1]) for uart in board.link_uarts]
    return choose_driver(board, ends, requested, board.near_memory.size_bytes)


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
    host_baud = host_baud_of(boards)
    programs = [wiring_firmware(board, host_baud, wiring_driving(board, requested)) for board in boards]
    with whole_folder(out, force=force) as folder:
        notes = {}
        for number, firmware in enumerate(programs, 1):
            directory = folder / _directory(number, firmware.board)
            _write_board(directory, number, firmware)
            notes[directory] = _note(number, firmware, links)
        project = _manifest(programs, links, write_project_hash(notes))
        project.write(folder)
    return project


def wiring_firmware(board: Board, host_baud: int, driving: LinkDriving) -> BoardFirmware:
    """Return the firmware of a board that serves all its link UARTs."""
    links = tuple((uart, FIRST_BAUD) for uart in board.link_uarts)
    return BoardFirmware(board=board, host_baud=host_baud, driving=driving, arena=board.near_memory, links=links)


def _directory(number: int, board: Board) -> str:
    return f"board{number}_{board.name}"


def _write_board(directory: Path, number: int, firmware: BoardFirmware) -> None:
    board = firmware.board
    context = WiringBoardContext(number, board.title, tuple(uart.tx for uart in board.link_uarts))
    texts = {
        "platformio.ini": render_platformio_ini(board),
        **build_scripts(),
        "src/board_index.c": render("project/wiring_board.c.j2", context),
        **render_board_files(firmware),
    }
    write_files(directory, texts, wiring_test_sources(firmware))


def _note(number: int, firmware: BoardFirmware, links: Sequence[Link]) -> BoardNote:
    return BoardNote(
        number=number,
        board=firmware.board,
        model=MODEL,
        host_baud=firmware.host_baud,
        link_bauds=[link.baud for link in links if number - 1 in link.boards],
    )


def _manifest(programs: Sequence[BoardFirmware], links: Sequence[Link], project_hash: int) -> Project:
    drivers = {index: firmware.driving.driver for index, firmware in enumerate(programs)}
    return Project(
        tinysplit_version=__version__,
        model=MODEL,
        bits=8,
        baud=min((link.baud for link in links), default=FIRST_BAUD),
        host_baud=programs[0].host_baud,
        calibration_samples=0,
        project_hash=project_hash,
        estimated_period_s=0.0,
        estimated_t_s=0.0,
        estimated_i_s=0.0,
        one_board_period_s=None,
        copies=(),
        boards=tuple(_board(number, firmware.board) for number, firmware in enumerate(programs, 1)),
        links=tuple(describe_link(link, drivers) for link in links),
        layers=(),
        cuts=(),
    )


def _board(number: int, board: Board) -> ProjectBoard:
    return ProjectBoard(
        number=number,
        name=board.name,
        directory=_directory(number, board),
        weights_bytes=0,
        arena_bytes=0,
        core_hz=board.clock.core_hz,
    )
