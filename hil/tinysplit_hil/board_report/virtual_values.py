"""The values of the rules of time that virtual boards have."""

from collections.abc import Mapping
from pathlib import Path

from tinysplit.boards.board import Board
from virtual_stm32.timing_rules import SHIPPED, read_timing_file


def rules_of(board: Board, timing: Path | None) -> Mapping[str, Mapping[str, int]]:
    """Return the rules of a board that are numbers, by core or family and by name. Raises InputError for the file."""
    rules = read_timing_file(timing) if timing else SHIPPED
    return {name: dict(rules.values(board, name).numbers) for name in (board.device.core, board.device.family)}
