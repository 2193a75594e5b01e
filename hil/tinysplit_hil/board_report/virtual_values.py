"""The values of the rules of time that virtual boards have."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tinysplit.boards.board import Board
from tinysplit.common.errors import InputError
from virtual_stm32.timing_rules import SHIPPED, read_timing_file


def rules_of(boards: Sequence[Board], timing: Path | None) -> tuple[Mapping[str, Mapping[str, int]], ...]:
    """Return the rules of each board that are numbers, by core or family and by name.

    Raises InputError for a timing file that cannot be read, or is of none of the boards' parts.
    """
    rules = read_timing_file(timing) if timing else SHIPPED
    parts = [board.device.name for board in boards]
    if timing and rules.part not in parts:
        raise InputError(f"{timing} is of {rules.part}, not of {', '.join(parts)}: give the timing file of this part")
    return tuple(
        {name: dict(rules.values(board, name).numbers) for name in (board.device.core, board.device.family)}
        for board in boards
    )
