"""Where the code of a board's layers lies: in flash, or in idle RAM on the code buses, by the waits that this saves."""

from dataclasses import dataclass

from tinysplit.boards.board import Board, CodeMemory, CodeRam
from tinysplit.common.errors import CheckFailedError, UsageError
from tinysplit.kernels.code_waits import CodeWaits
from tinysplit.memory.code_in_ram import RamCode, choose_ram_code, free_code_bytes, largest_code_bytes


@dataclass(frozen=True)
class CodePlacement:
    """The code of a board's layers that lies in RAM, how much RAM it takes at most, and the reason for the choice."""

    in_ram: RamCode
    ram_bytes: int = 0
    reason: str = ""  # none for boards without RAM on the code buses

    @property
    def memory(self) -> CodeMemory:
        """The memory of the code of the layers."""
        return CodeMemory.FLASH if self.in_ram is RamCode.NONE else CodeMemory.RAM


IN_FLASH = CodePlacement(RamCode.NONE)


def place_code(
    board: Board, estimated_bytes: int, waits: CodeWaits, data_bytes: int, requested: CodeMemory | None, title: str
) -> CodePlacement:
    """Return where the code of the layers of `board` lies; `requested` None chooses.

    `estimated_bytes` is their code by the cost table, `waits` are those of all layers with code in flash, `data_bytes`
    what firmware, links and arena take of level 1, which comes first. Raises UsageError if RAM is requested on a board
    without RAM on the code buses, CheckFailedError if the code does not fit there.
    """
    if board.code_ram is None:
        if requested is CodeMemory.RAM:
            raise UsageError(f"--code-memory ram: {title} has no RAM on the code buses")
        return IN_FLASH
    free_bytes = free_code_bytes(board, data_bytes)
    if requested is CodeMemory.RAM:
        _check_fits(board.code_ram, estimated_bytes, free_bytes, title)
    code = choose_ram_code(board, estimated_bytes, data_bytes, requested)
    ram_bytes = min(largest_code_bytes(estimated_bytes, code), free_bytes)
    reason = "requested" if requested else _reason(board, board.code_ram, code, estimated_bytes, waits, free_bytes)
    return CodePlacement(code, ram_bytes, reason)


def _check_fits(code_ram: CodeRam, estimated_bytes: int, free_bytes: int, title: str) -> None:
    """Raise CheckFailedError if the estimate does not fit; the upper bound need not, the linker has the last word."""
    if estimated_bytes > free_bytes:
        raise CheckFailedError(
            f"--code-memory ram: the code of the layers of {title} takes about {estimated_bytes} bytes, and"
            f" {free_bytes} of the {code_ram.size_bytes} bytes of {code_ram.name} are free"
        )


def _reason(
    board: Board, code_ram: CodeRam, code: RamCode, estimated_bytes: int, waits: CodeWaits, free_bytes: int
) -> str:
    cache_bytes, text = board.caches.code_bytes, f"the code of its layers (about {estimated_bytes} bytes)"
    if not board.clock.flash_wait_states:
        return "flash has no wait states"
    if estimated_bytes <= cache_bytes:
        return f"{text} fits into the instruction cache of {cache_bytes} bytes"
    in_flash = f"in flash they would wait about {waits.cycles:.0f} cycles for code"
    if code is RamCode.ALL:
        return in_flash
    free = f"{free_bytes} of the {code_ram.size_bytes} bytes of {code_ram.name} are free"
    if code is RamCode.LAYERS:
        return f"{in_flash}; {free}, and the functions that they share stay in flash"
    return f"{free}, and {text} may take up to {largest_code_bytes(estimated_bytes, RamCode.LAYERS)}; {in_flash}"
