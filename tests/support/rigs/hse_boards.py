"""Boards with a clock at OSC_IN, also those that are delivered without one."""

from tinysplit.boards.board import Board
from tinysplit.boards.catalog import make_board
from tinysplit.boards.schema import BoardFile, HseInput, read_toml
from tinysplit.common import package_files

HSE_HZ = 8_000_000


def with_osc_in(name: str, hz: int = HSE_HZ) -> Board:
    """Return a board with a clock of `hz` at OSC_IN, as if its solder bridges had been changed."""
    file = read_toml(package_files.boards() / f"{name}.toml", BoardFile)
    return make_board(name, file.model_copy(update={"hse": HseInput(hz=hz, source="solder bridges")}))
