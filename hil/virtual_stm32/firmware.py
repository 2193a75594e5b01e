"""What a virtual board executes: the contents of its flash, and how it starts."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tinysplit.boards.board import Board
from virtual_stm32.core.blocks import BlockTable
from virtual_stm32.core.cores import Core
from virtual_stm32.core.divisions import Operands, find_all_divisions
from virtual_stm32.peripherals.reset import ResetCause
from virtual_stm32.symbols import LoadedProgram, erased, load_program
from virtual_stm32.timing_rules import SHIPPED, TimingFile


class LoadedFirmware:
    """The contents of a board's flash and external memory, with what is known of its code; kept over resets.

    A board with a debug port (`is_debuggable`) may get other code at any time, also in RAM; it may start without any.
    """

    def __init__(
        self, board: Board, elf: Path | None, *, is_debuggable: bool = False, timing: TimingFile = SHIPPED
    ) -> None:
        self._board = board
        self._core = Core.of(board, timing)
        self.is_debuggable = is_debuggable
        self.program = LoadedProgram((), (), ()) if elf is None else load_program(elf)
        flash = board.device.flash
        self.erased = erased(board)
        self.image = bytearray(self.erased * flash.size_bytes if elf is None else self.program.flash_image(board, elf))
        self.external = self.program.external_image(board)
        self.options: dict[int, int] = {}  # option bytes that were changed, by the offset of their register
        self.torn = bytearray(len(self.image))  # 1 for each byte of a word whose error correction fails
        self._ram_code = self.program.ram_code(board)
        self.ram_code = (
            tuple(start for start, _ in self._ram()) if is_debuggable else tuple(self._ram_code)
        )  # addresses
        self.begin()

    def begin(self) -> None:
        """Look at the code anew, if it may have changed since the last start."""
        if self.is_debuggable:
            self.blocks = BlockTable(self._core, {}, [(self._board.device.flash.start, len(self.image)), *self._ram()])
        elif not hasattr(self, "blocks"):
            self.blocks = BlockTable(self._core, {self._board.device.flash.start: self.image, **self._ram_code})

    def _ram(self) -> list[tuple[int, int]]:
        """Return the memories in which code may be executed, by address and size."""
        memories = [(memory.start, memory.size_bytes) for memory in self._board.device.ram]
        alias = self._board.code_ram
        return [*memories, *([(alias.code_start, alias.size_bytes)] if alias else [])]

    @property
    def is_empty(self) -> bool:
        """Whether the first word of the flash is erased, as the empty check of some parts looks."""
        return self.image[:4] == self.erased * 4

    def divisions(self) -> dict[int, Operands]:
        """Return the divisions in the code that is known; that in RAM of a board with a debug port never is."""
        if not self._core.facts.has_mainline:
            return {}
        if not self.is_debuggable:
            return find_all_divisions({**dict(self.program.segments), **self._ram_code})
        return find_all_divisions({self._board.device.flash.start: bytes(self.image).rstrip(self.erased)})


@dataclass(frozen=True)
class Start:
    """How a board starts: its time, the cause, contents of RAM, and the flags of earlier resets.

    A board that does not start is held in reset for ever. `is_empty` is what the last empty check of the flash found.
    """

    ps: int
    cause: ResetCause
    ram: Mapping[str, bytes]
    flags: int = 0
    does_start: bool = True
    is_empty: bool = False
