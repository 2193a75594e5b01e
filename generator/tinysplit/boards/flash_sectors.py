"""The sectors of a flash, each erased as a whole: where something may begin that changes without the rest."""

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from tinysplit.boards.catalog import flash_banks, load_board, load_family, read_board_file
from tinysplit.boards.parts import Memory


@lru_cache
def sector_starts(board: str) -> tuple[int, ...]:
    """Return the addresses at which sectors of a board's flash begin, from the lowest to the end of the flash.

    Raises UsageError for an unknown name.
    """
    device = load_board(board).device
    family = load_family(device.name)
    line = family.line_of(device.name)
    sizes_kb = (line.sectors_kb if line else ()) or family.memory_system.sectors_kb
    starts = [device.flash.start]
    while starts[-1] < device.flash.end:
        starts.append(starts[-1] + 1024 * sizes_kb[min(len(starts), len(sizes_kb)) - 1])
    return tuple(starts)


@dataclass(frozen=True)
class FlashSlots:
    """Sectors of a flash for contents that change: those in use, and as many before them, where new contents wait.

    `sector_bytes` is the size of each of them; None where they are not all alike. `staging` is None where there are not
    as many of this size. `bank_bytes` is the size of a bank of the flash.
    """

    active: Memory
    staging: Memory | None
    sector_bytes: int | None
    bank_bytes: int


def last_slots(board: str, size_bytes: int) -> FlashSlots | None:
    """Return the slots at the end of a board's flash for `size_bytes`; None if all the flash is too small."""
    starts = sector_starts(board)
    begin = next((start for start in reversed(starts) if starts[-1] - start >= size_bytes), None)
    if begin is None:
        return None
    active = Memory("weights", begin, starts[-1] - begin)
    before = active.start - active.size_bytes
    sizes = _sizes(starts, active.start, active.end)
    bank_bytes = (starts[-1] - starts[0]) // flash_banks(read_board_file(board))
    if len(sizes) > 1:
        return FlashSlots(active, None, None, bank_bytes)
    has_room = before > starts[0] and before in starts and _sizes(starts, before, active.start) == sizes
    staging = Memory("staging", before, active.size_bytes) if has_room else None
    return FlashSlots(active, staging, min(sizes), bank_bytes)


def _sizes(starts: tuple[int, ...], begin: int, end: int) -> set[int]:
    """Return the different sizes of the sectors between two of their starts."""
    return {after - start for start, after in pairwise(starts) if begin <= start < end}
