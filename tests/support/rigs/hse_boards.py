"""Boards with a clock at OSC_IN, also those that are delivered without one."""

from tinysplit.boards.board import Board
from tinysplit.boards.catalog import make_board, read_board_file
from tinysplit.boards.schema import HseInput

HSE_HZ = 8_000_000


def with_osc_in(name: str, hz: int = HSE_HZ) -> Board:
    """Return a board with a clock of `hz` at OSC_IN, as if its solder bridges had been changed."""
    file = read_board_file(name)
    return make_board(name, file.model_copy(update={"hse": HseInput(hz=hz, source="solder bridges")}))
