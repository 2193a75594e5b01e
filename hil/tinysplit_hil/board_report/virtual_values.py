"""The values of the rules of time that virtual boards have."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tinysplit.boards.board import Board
from virtual_stm32.timing_rules import SHIPPED, read_timing_file


def rules_of(boards: Sequence[Board], timing: Path | None) -> tuple[Mapping[str, Mapping[str, int]], ...]:
    """Return the rules of each board that are numbers, by core or family and by name.

    Raises InputError for a timing file that cannot be read, or is of none of the boards' parts.
    """
    rules = read_timing_file(timing) if timing else SHIPPED
    rules.check_boards(boards)
    return tuple(
        {name: dict(rules.values(board, name).numbers) for name in (board.device.core, board.device.family)}
        for board in boards
    )


def timing_of(part: str, timing: Path | None) -> Path | None:
    """Return a timing file where it is of this part. Raises InputError where it cannot be read."""
    return timing if timing and read_timing_file(timing).part == part else None
