"""The sectors of a flash, each erased as a whole: where something may begin that changes without the rest."""

from functools import lru_cache

from tinysplit.boards.catalog import load_board
from tinysplit.boards.family_schema import FamilyFile
from tinysplit.boards.parts import Memory
from tinysplit.boards.schema import read_toml
from tinysplit.common import package_files


@lru_cache
def sector_starts(board: str) -> tuple[int, ...]:
    """Return the addresses at which sectors of a board's flash begin, from the lowest to the end of the flash.

    Raises UsageError for an unknown name.
    """
    device = load_board(board).device
    family = read_toml(package_files.boards() / "families" / f"{device.family}.toml", FamilyFile)
    line = family.line_of(device.name)
    sizes_kb = (line.sectors_kb if line else ()) or family.memory_system.sectors_kb
    starts = [device.flash.start]
    while starts[-1] < device.flash.end:
        starts.append(starts[-1] + 1024 * sizes_kb[min(len(starts), len(sizes_kb)) - 1])
    return tuple(starts)


def last_sectors(board: str, size_bytes: int) -> Memory | None:
    """Return the sectors at the end of a board's flash that hold `size_bytes`; None if all the flash is too small."""
    starts = sector_starts(board)
    begin = next((start for start in reversed(starts) if starts[-1] - start >= size_bytes), None)
    return None if begin is None else Memory("weights", begin, starts[-1] - begin)
