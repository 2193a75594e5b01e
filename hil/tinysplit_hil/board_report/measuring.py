"""Runs the pieces of a report on the boards of a rig."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path

from tinysplit.boards.board import Board
from tinysplit.boards.catalog import read_board_file
from tinysplit.boards.debug_port import load_debug_port
from tinysplit.boards.device_identity import IDCODE, DeviceIdentity
from tinysplit.boards.devices import wait_state_limits
from tinysplit.build.elf import compiler_of
from tinysplit.codegen.board_report.piece import OFFSETS, Piece, Place, Special, Variant
from tinysplit.codegen.board_report.pieces import pieces_of, variants_of
from tinysplit.kernels.cores import ARMV6M_CORES
from tinysplit.project.manifest import Project
from tinysplit_hil.bench.clocks import ClockError
from tinysplit_hil.board_report.client import MOST_WORDS, ReportClient, Request, What
from tinysplit_hil.board_report.file import Identity, Setting

_CPUID, _DWT = 0xE000ED00, 0xE0001000
DWT_CTRL = "DWT_CTRL"
_SPECIAL = {Special.WAKE_UP: What.WAKE_UP, Special.UART_BYTE: What.SEND_BYTES}
_CACHE_BITS = {  # report.c: prefetch and caches
    "stm32c0": 0x300,
    "stm32f0": 0x10,
    "stm32g0": 0x300,
    "stm32l0": 0x2,
    "stm32f1": 0x10,
    "stm32f3": 0x10,
    "stm32f4": 0x700,
    "stm32f7": 0x600,
    "stm32l4": 0x700,
    "stm32g4": 0x700,
    "stm32h5": 0x200,
    "stm32h7": 0x600,
    "stm32l5": 0x200,
    "stm32wb": 0x700,
    "stm32wl": 0x700,
    "stm32u5": 0x200,
}

# Their clock is not divided: of WB and WL it would be that of a second core, too; wait states of F0, F1 and F3 follow
# the clock before the divider (RM0091, RM0008, RM0316).
_WHOLE_CLOCK = frozenset({"stm32wb", "stm32wl", "stm32f0", "stm32f1", "stm32f3"})

Cycles = tuple[int, ...]  # of all loops, with each setting


@dataclass(frozen=True)
class Run:
    """A piece at one place: its number in the image, None for what is no loop of code, and its settings."""

    piece: Piece
    place: Place
    offset: int
    number: int | None
    settings: tuple[Setting, ...]

    def request(self, family: str) -> Request:
        """Return what is asked of a board."""
        if self.piece.special:
            return Request(_SPECIAL[self.piece.special], (0,), loops=self.piece.loops)
        words = tuple(each.wait_states | (_CACHE_BITS[family] if each.has_caches else 0) for each in self.settings)
        return Request(self._what, words, self.number or 0, self.piece.loops)

    @property
    def _what(self) -> What:
        if self.piece.dma_bytes is None:
            return What.RUN_PIECE
        return What.RUN_BESIDE_DMA if self.piece.dma_bytes else What.RUN_BEFORE_DMA


def runs_of(board: Board) -> tuple[Run, ...]:
    """Return what a report measures on a board, in the order of its pieces."""
    variants = {variant: number for number, variant in enumerate(variants_of(board))}
    settings = _settings(board)
    return tuple(run for piece in pieces_of(board) for run in _runs(piece, variants, settings))


def _runs(piece: Piece, variants: Mapping[Variant, int], settings: Sequence[Setting]) -> Iterator[Run]:
    usual = tuple(settings[:1])
    in_flash = tuple(settings if piece.dma_bytes is None else settings[:2])  # with caches, and without
    if piece.special:
        yield Run(piece, Place.FLASH, 0, None, usual)
        return
    for place in piece.places:
        for offset in OFFSETS:
            number = variants.get(Variant(piece.base or piece, place, offset))
            if number is not None:
                yield Run(piece, place, offset, number, in_flash if place is Place.FLASH else usual)


def _settings(board: Board) -> tuple[Setting, ...]:
    """Return the settings of the flash: the firmware's first, then without caches, then with other wait states.

    With fewer than the firmware's, the clock of the core is divided.
    """
    file = read_board_file(board.name)
    most = len(wait_state_limits(file.part, file.corrections)) - 1
    own = board.clock.flash_wait_states
    least = own if board.device.family in _WHOLE_CLOCK else 0
    every = sorted(range(least, max(own, most) + 1), key=lambda wait_states: wait_states != own)
    settings = product(every, (True, False))
    return tuple(Setting(wait_states=each, has_caches=has_caches) for each, has_caches in islice(settings, MOST_WORDS))


def measure_pieces(
    client: ReportClient, runs: Mapping[int, Sequence[Run]], boards: Mapping[int, Board]
) -> Mapping[int, Sequence[Cycles]]:
    """Return the cycles of each run with each setting, by board. Raises ToolError when a board fails."""
    return client.ask(
        {number: [run.request(boards[number].device.family) for run in own] for number, own in runs.items()}
    )


def read_registers(client: ReportClient, boards: Mapping[int, Board]) -> Mapping[int, Mapping[str, int]]:
    """Return what tells device, options, flash and clocks of each board, by name. Raises ToolError."""
    addresses = {number: _registers(board) for number, board in boards.items()}
    answers = client.ask({number: [Request(What.READ_WORDS, tuple(own.values()))] for number, own in addresses.items()})
    return {number: dict(zip(addresses[number], words[0], strict=True)) for number, words in answers.items()}


def _registers(board: Board) -> Mapping[str, int]:
    port = load_debug_port(board.name)
    dwt = {} if board.device.core in ARMV6M_CORES else {DWT_CTRL: _DWT}
    return {IDCODE: port.idcode_address, "CPUID": _CPUID, **dwt, **port.option_registers, **port.settings}


def identity_of(
    project: Project, folder: Path, number: int, registers: Mapping[str, int], clock: ClockError | None
) -> Identity:
    """Return what a board is, and the program that it ran."""
    board = project.board(number)
    elf = board.built_elf(folder)
    return Identity(
        **DeviceIdentity.of(registers).model_dump(),
        core_hz=board.core_hz,
        clock_ppm=round(clock.ppm, 1) if clock else None,
        clock_uncertainty_ppm=round(clock.uncertainty_ppm, 1) if clock else None,
        compiler=compiler_of(elf),
        project_hash=f"{project.project_hash:08x}",
        elf_sha256=hashlib.sha256(elf.read_bytes()).hexdigest(),
    )
