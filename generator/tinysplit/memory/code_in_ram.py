"""What of the code of a board's layers may lie in RAM on the code buses, behind all data."""

from enum import Enum
from math import ceil

from tinysplit.boards.board import Board, CodeMemory
from tinysplit.kernels.code_waits import CodeWaits

# The cost table has the code of single layers: with the functions that they share, but without the firmware library's,
# firmware/common/dsp_*.c, of which this is more than all. The margin is for shapes that the table was not made with.
LIBRARY_BYTES = 8192
MARGIN = 0.25


class RamCode(Enum):
    """The code that lies in RAM: none, that of the layers without the functions of the library, or all."""

    NONE = "none"
    LAYERS = "layers"
    ALL = "all"


def largest_code_bytes(estimated_bytes: int, code: RamCode = RamCode.ALL) -> int:
    """Return an upper bound of `code` of layers for which the cost table has `estimated_bytes`."""
    if code is RamCode.NONE:
        return 0
    return ceil((1 + MARGIN) * estimated_bytes) + (LIBRARY_BYTES if code is RamCode.ALL else 0)


def free_code_bytes(board: Board, data_bytes: int) -> int:
    """Return the bytes on the code buses that are free if data take `data_bytes` of level 1."""
    return board.code_ram.free_bytes(board.near_memory.start + data_bytes) if board.code_ram else 0


def choose_ram_code(board: Board, estimated_bytes: int, data_bytes: int, requested: CodeMemory | None) -> RamCode:
    """Return the code that should lie in RAM on `board`: as much as surely fits, if it stalls in flash.

    Code of layers that fits the code cache does not stall.
    """
    if requested is not None:
        return RamCode.ALL if requested is CodeMemory.RAM and board.code_ram else RamCode.NONE
    if not board.clock.flash_wait_states or estimated_bytes <= board.caches.code_bytes:
        return RamCode.NONE
    free_bytes = free_code_bytes(board, data_bytes)
    fitting = (
        code for code in (RamCode.ALL, RamCode.LAYERS) if largest_code_bytes(estimated_bytes, code) <= free_bytes
    )
    return next(fitting, RamCode.NONE)


def remaining_waits(waits: CodeWaits, in_ram: RamCode) -> float:
    """Return the cycles for which a layer still waits for its code, of `waits` with all of it in flash."""
    return {RamCode.NONE: waits.cycles, RamCode.LAYERS: waits.others, RamCode.ALL: 0.0}[in_ram]
