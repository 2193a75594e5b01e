"""The projects of a wiring test: for each board a program that sends frames on all its links, without a network."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tinysplit.boards.board import Board
from tinysplit.boards.link_driver import LinkDriver, LinkDriving, choose_driver
from tinysplit.boards.link_rates import RATES, host_baud_of
from tinysplit.boards.parts import Pin
from tinysplit.codegen.board_files import render_board_files, wiring_test_sources, write_files
from tinysplit.codegen.board_firmware import BoardFirmware
from tinysplit.codegen.board_program import board_directory
from tinysplit.codegen.manifest_builder import describe_link, manifest_without_layers
from tinysplit.codegen.note import BoardNote, write_project_hash
from tinysplit.codegen.platformio_ini import render_platformio_ini
from tinysplit.codegen.projects import build_scripts
from tinysplit.common.errors import UsageError
from tinysplit.common.output_folder import whole_folder
from tinysplit.common.templates import render
from tinysplit.common.units import KB
from tinysplit.plan.wiring import Link
from tinysplit.project.manifest import Project, ProjectModel

MODEL = ProjectModel(name="wiring test", sha256="", copy_sha256="", parameters_sha256="")  # there is none
RAM_BYTES = 15 * KB  # that the program needs, at least
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
    for board in boards:
        if board.near_memory.size_bytes < RAM_BYTES:
            raise UsageError(
                f"{board.name} has {board.near_memory.size_bytes // KB} KB of RAM, and the wiring test needs"
                f" {RAM_BYTES // KB}: test the wires with a larger board in its place"
            )
    programs = [wiring_firmware(board, host_baud, wiring_driving(board, requested)) for board in boards]
    with whole_folder(out, force=force) as folder:
        notes = {}
        for number, firmware in enumerate(programs, 1):
            directory = folder / board_directory(number, firmware.board)
            _write_board(directory, number, firmware)
            notes[directory] = _note(number, firmware, links)
        drivers = {index: firmware.driving.driver for index, firmware in enumerate(programs)}
        project = manifest_without_layers(
            MODEL,
            boards,
            host_baud,
            write_project_hash(notes),
            min((link.baud for link in links), default=FIRST_BAUD),
            [describe_link(link, drivers) for link in links],
        )
        project.write(folder)
    return project


def wiring_firmware(board: Board, host_baud: int, driving: LinkDriving) -> BoardFirmware:
    """Return the firmware of a board that serves all its link UARTs."""
    links = tuple((uart, FIRST_BAUD) for uart in board.link_uarts)
    return BoardFirmware(board=board, host_baud=host_baud, driving=driving, arena=board.near_memory, links=links)


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
