"""The projects of a board report: for each board a program that measures the pieces of code of its core."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tinysplit.boards.board import Board, DmaChannel, Uart
from tinysplit.boards.catalog import load_family
from tinysplit.boards.link_driver import LinkDriver, usual_driving
from tinysplit.boards.link_rates import host_baud_of
from tinysplit.boards.parts import Memory
from tinysplit.codegen.board_files import dma_enable_bits, dma_request, render_board_files, report_sources, write_files
from tinysplit.codegen.board_firmware import BoardFirmware
from tinysplit.codegen.board_program import board_directory
from tinysplit.codegen.board_report.piece import WITH_DSP, Place, Variant
from tinysplit.codegen.board_report.pieces import DMA_BAUD, DMA_BYTES, facts_of, other_bytes, variants_of
from tinysplit.codegen.manifest_builder import manifest_without_layers
from tinysplit.codegen.note import BoardNote, write_project_hash
from tinysplit.codegen.platformio_ini import render_platformio_ini
from tinysplit.codegen.projects import build_scripts
from tinysplit.common.output_folder import whole_folder
from tinysplit.common.templates import render
from tinysplit.kernels.cores import ARMV6M_CORES
from tinysplit.memory.code_in_ram import RamCode
from tinysplit.plan.code_placement import CodePlacement
from tinysplit.project.manifest import Project, ProjectModel

MODEL = ProjectModel(name="board report", sha256="", copy_sha256="", parameters_sha256="")  # there is none
UART_BAUD = 115_200


@dataclass(frozen=True)
class ReportBoardContext:
    """The names of `project/report_board.c.j2`: the board, a UART without a wire and its DMA, a spare interrupt."""

    number: int
    board: Board
    uart: Uart
    uart_baud: int
    channel: DmaChannel
    dma_baud: int
    dma_bytes: int
    dma_enable_bits: Sequence[str]
    dma_request: tuple[str, str] | None
    interrupt: int
    interrupt_name: str
    other_words: int
    variants: Sequence[Variant]


@dataclass(frozen=True)
class NumberedVariant:
    """A variant with the number of its function, and the lines of its assembler text."""

    number: int
    title: str
    section: str
    flags: str
    lines: Sequence[str]


@dataclass(frozen=True)
class ReportPiecesContext:
    """The names of `project/report_pieces.c.j2`."""

    variants: Sequence[NumberedVariant]
    has_fpu: bool


def generate_report(boards: Sequence[Board], out: Path, *, force: bool = False) -> Project:
    """Write the folder `out` completely or not at all, and return its manifest, which has no layers.

    Raises the errors of `whole_folder`.
    """
    host_baud = host_baud_of(boards)
    with whole_folder(out, force=force) as folder:
        notes = {}
        for number, board in enumerate(boards, 1):
            directory = folder / board_directory(number, board)
            _write_board(directory, number, report_firmware(board, host_baud))
            notes[directory] = BoardNote(number=number, board=board, model=MODEL, host_baud=host_baud, link_bauds=[])
        project = manifest_without_layers(MODEL, boards, host_baud, write_project_hash(notes), UART_BAUD)
        project.write(folder)
    return project


def report_firmware(board: Board, host_baud: int) -> BoardFirmware:
    """Return the firmware of a board: without links, with an arena away from the core where there is such a memory."""
    code = CodePlacement(RamCode.ALL) if board.code_ram else CodePlacement(RamCode.NONE)
    return BoardFirmware(
        board=board,
        host_baud=host_baud,
        driving=usual_driving(LinkDriver.INTERRUPT),
        arena=_other_memory(board),
        code=code,
    )


def _other_memory(board: Board) -> Memory:
    """Return a RAM behind the caches of a Cortex-M7, on other boards that next to the core."""
    cached = {level.name for level in board.memory_levels if level.is_cached}
    others = [memory for memory in board.device.ram if memory.name in cached]
    return others[0] if others else board.near_memory


def _write_board(directory: Path, number: int, firmware: BoardFirmware) -> None:
    board, variants = firmware.board, variants_of(firmware.board)
    interrupt = next(each for each in board.device.interrupts if each.name != board.host_uart.irq_name)
    uart = board.link_uarts[0]
    channel = uart.send_dma[0]
    facts = facts_of(board, interrupt.position)
    context = ReportBoardContext(
        number=number,
        board=board,
        uart=uart,
        uart_baud=UART_BAUD,
        channel=channel,
        dma_baud=DMA_BAUD,
        dma_bytes=DMA_BYTES,
        dma_enable_bits=dma_enable_bits(board, [channel]),
        dma_request=dma_request(channel),
        interrupt=interrupt.position,
        interrupt_name=interrupt.name,
        other_words=other_bytes(board) // 4,
        variants=variants,
    )
    numbered = [
        (variant.place, _numbered(index, variant, facts, board.device.core)) for index, variant in enumerate(variants)
    ]
    has_fpu = board.device.core in WITH_DSP and load_family(board.device.name).has_fpu
    in_code_ram = [each for place, each in numbered if place is Place.CODE_RAM]
    others = [each for place, each in numbered if place is not Place.CODE_RAM]
    texts = {
        "platformio.ini": render_platformio_ini(board),
        **build_scripts(),
        "src/report_board.c": render("project/report_board.c.j2", context),
        "src/report_pieces.c": render("project/report_pieces.c.j2", ReportPiecesContext(others, has_fpu)),
        "src/layer_pieces.c": render("project/report_pieces.c.j2", ReportPiecesContext(in_code_ram, has_fpu)),
        **render_board_files(firmware),
    }
    write_files(directory, texts, report_sources(firmware))


def _numbered(number: int, variant: Variant, facts: Mapping[str, str], core: str) -> NumberedVariant:
    piece = variant.piece
    saved = "r4-r7, lr" if core in ARMV6M_CORES else "r4-r11, lr"
    lines = [
        f"push {{{saved}}}",
        *piece.setup.strip().splitlines(),
        "b 1f",
        ".balign 32",
        *(["nop"] if variant.offset else []),
        "1:",
        f".rept {piece.repeats}",
        *piece.body.strip().splitlines(),
        ".endr",
        "subs r3, #1",
        "bne 1b",
        "cpsid i",
        f"pop {{{saved.replace('lr', 'pc')}}}",
    ]
    for name, fact in facts.items():
        lines = [line.replace(name, fact) for line in lines]
    in_data = variant.place is Place.RAM
    return NumberedVariant(
        number=number,
        title=f"{piece.name}, {variant.place}, {variant.offset} modulo 4",
        section=f"{'.code_in_data' if in_data else '.text'}.report_{number}",
        flags="awx" if in_data else "ax",
        lines=lines,
    )
