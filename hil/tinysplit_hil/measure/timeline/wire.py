"""The time of tensors on their lines, which follows from their bytes and the baud rate."""

from functools import cache

from tinysplit.boards.board import Board
from tinysplit.boards.catalog import load_board
from tinysplit.costs.transfers import link_seconds
from tinysplit.project.manifest import Project, ProjectCut


def wire_seconds_of(project: Project, cut: ProjectCut) -> float:
    """Return the seconds from the first bit of a tensor until its receiver looks at it, at the sender's baud rate."""
    link = project.link(cut.from_board, cut.to_board)
    sender, receiver = (
        next(uart for uart in _board(project.board(number).name).link_uarts if uart.name == link.uart_at(number))
        for number in (cut.from_board, cut.to_board)
    )
    return link_seconds(cut.payload_bytes, (sender, receiver), link.driver_at(cut.to_board), link.baud)


@cache
def _board(name: str) -> Board:
    return load_board(name)
