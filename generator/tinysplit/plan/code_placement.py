"""Where the code of a board's layers lies: in flash, or in idle RAM on the code buses.

The gain is not predicted in cycles: it depends on which loops overflow the cache, and by how much, which only compiled
code shows. Code moves where fetches from flash stall, and it is larger than the instruction cache.
"""

from dataclasses import dataclass
from math import ceil

from tinysplit.boards.board import Board, CodeMemory, CodeRam
from tinysplit.common.errors import CheckFailedError, UsageError

# The cost table has the code of single layers: with the functions that they share, but without the firmware library's,
# firmware/common/dsp_*.c, of which this is more than all. The margin is for shapes that the table was not made with.
LIBRARY_BYTES = 9216
MARGIN = 0.25


@dataclass(frozen=True)
class CodePlacement:
    """The memory of the code of a board's layers, how much RAM it takes at most, and the reason for the choice."""

    memory: CodeMemory
    ram_bytes: int = 0
    reason: str = ""  # none for boards without RAM on the code buses


IN_FLASH = CodePlacement(CodeMemory.FLASH)


def largest_code_bytes(estimated_bytes: int) -> int:
    """Return an upper bound of the code of layers for which the cost table has `estimated_bytes`."""
    return ceil((1 + MARGIN) * estimated_bytes) + LIBRARY_BYTES


def place_code(
    board: Board, estimated_bytes: int, data_bytes: int, requested: CodeMemory | None, title: str
) -> CodePlacement:
    """Return where the code of the layers of `board` lies; `requested` None chooses.

    `estimated_bytes` is their code by the cost table, `data_bytes` what firmware, links and arena take of level 1,
    which comes first. Raises UsageError if RAM is requested on a board without RAM on the code buses, CheckFailedError
    if the code does not fit there.
    """
    if board.code_ram is None:
        if requested is CodeMemory.RAM:
            raise UsageError(f"--code-memory ram: {title} has no RAM on the code buses")
        return IN_FLASH
    if requested is CodeMemory.FLASH:
        return CodePlacement(CodeMemory.FLASH, reason="requested")
    free_bytes = board.code_ram.free_bytes(board.near_memory.start + data_bytes)
    if requested is CodeMemory.RAM:
        _check_fits(board.code_ram, estimated_bytes, free_bytes, title)
        return CodePlacement(CodeMemory.RAM, min(largest_code_bytes(estimated_bytes), free_bytes), "requested")
    return _choose(board, board.code_ram, estimated_bytes, free_bytes)


def _check_fits(code_ram: CodeRam, estimated_bytes: int, free_bytes: int, title: str) -> None:
    """Raise CheckFailedError if the estimate does not fit; the upper bound need not, the linker has the last word."""
    if estimated_bytes > free_bytes:
        raise CheckFailedError(
            f"--code-memory ram: the code of the layers of {title} takes about {estimated_bytes} bytes, and"
            f" {free_bytes} of the {code_ram.size_bytes} bytes of {code_ram.name} are free"
        )


def _choose(board: Board, code_ram: CodeRam, estimated_bytes: int, free_bytes: int) -> CodePlacement:
    wait_states, cache_bytes = board.clock.flash_wait_states, board.caches.code_bytes
    most_bytes, code = largest_code_bytes(estimated_bytes), f"the code of its layers (about {estimated_bytes} bytes)"
    if not wait_states:
        return CodePlacement(CodeMemory.FLASH, reason="flash has no wait states")
    if estimated_bytes <= cache_bytes:
        return CodePlacement(CodeMemory.FLASH, reason=f"{code} fits into the instruction cache of {cache_bytes} bytes")
    if most_bytes > free_bytes:
        place = f"{free_bytes} of the {code_ram.size_bytes} bytes of {code_ram.name} are free"
        return CodePlacement(CodeMemory.FLASH, reason=f"{place}, and {code} may take up to {most_bytes}")
    return CodePlacement(
        CodeMemory.RAM,
        most_bytes,
        f"flash has {wait_states} wait states, and {code} is larger than the instruction cache of {cache_bytes} bytes",
    )
