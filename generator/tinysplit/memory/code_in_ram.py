"""What of the code of a board's layers may lie in RAM on the code buses, behind all data."""

from collections.abc import Iterable
from enum import Enum
from math import ceil
from typing import NamedTuple

from tinysplit.boards.board import Board, CodeMemory
from tinysplit.kernels.code_waits import CodeWaits

# The cost table has the code of single layers: with the functions that they share, but without the firmware library's,
# firmware/common/dsp_*.c, of which this is more than all. The margin is for shapes that the table was not made with.
LIBRARY_BYTES = 8192
MARGIN = 0.25


class RamCode(Enum):
    """The code that lies in RAM: none, that of the layers with straight code beyond the code cache, or all."""

    NONE = "none"
    STRAIGHT = "straight"
    ALL = "all"


class CodeBytes(NamedTuple):
    """Bytes of code by the cost table: of all layers of a board, and of those with straight code beyond its cache."""

    every: int
    straight: int

    @classmethod
    def of(cls, layers: Iterable[tuple[int, CodeWaits]]) -> "CodeBytes":
        """Return the sums for the bytes and the waits of each layer."""
        each = tuple(layers)
        return cls(sum(size for size, _ in each), sum(size for size, waits in each if waits.straight))

    def largest(self, code: RamCode) -> int:
        """Return an upper bound of the bytes of `code`."""
        sizes = {RamCode.NONE: 0, RamCode.STRAIGHT: self.straight, RamCode.ALL: self.every}
        return ceil((1 + MARGIN) * sizes[code]) + (LIBRARY_BYTES if code is RamCode.ALL else 0)


def free_code_bytes(board: Board, data_bytes: int) -> int:
    """Return the bytes on the code buses that are free if data take `data_bytes` of level 1."""
    return board.code_ram.free_bytes(board.near_memory.start + data_bytes) if board.code_ram else 0


def choose_ram_code(board: Board, code_bytes: CodeBytes, data_bytes: int, requested: CodeMemory | None) -> RamCode:
    """Return the code that should lie in RAM on `board`: as much as surely fits, if it stalls in flash.

    Code of layers that fits the code cache does not stall.
    """
    if requested is not None:
        return RamCode.ALL if requested is CodeMemory.RAM and board.code_ram else RamCode.NONE
    if not board.clock.flash_wait_states or code_bytes.every <= board.caches.code_bytes:
        return RamCode.NONE
    free_bytes = free_code_bytes(board, data_bytes)
    wanted = (RamCode.ALL, RamCode.STRAIGHT) if code_bytes.straight else (RamCode.ALL,)
    return next((code for code in wanted if code_bytes.largest(code) <= free_bytes), RamCode.NONE)


def remaining_waits(waits: CodeWaits, in_ram: RamCode) -> float:
    """Return the cycles for which a layer still waits for its code, of `waits` with all of it in flash."""
    return {RamCode.NONE: waits.cycles, RamCode.STRAIGHT: waits.others, RamCode.ALL: 0.0}[in_ram]
