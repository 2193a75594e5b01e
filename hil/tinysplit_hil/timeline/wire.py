"""The time of tensors on their lines, which follows from their bytes and the baud rate."""

from dataclasses import dataclass
from functools import cache

from tinysplit.boards.board import Board
from tinysplit.boards.catalog import load_board
from tinysplit.costs.transfers import answer_seconds, wire_seconds
from tinysplit.project.manifest import Project, ProjectCut


@dataclass(frozen=True)
class Wire:
    """A tensor and its acknowledgement on the line, in seconds, at the baud rates of their senders."""

    tensor_s: float
    answer_s: float

    @property
    def seconds(self) -> float:
        """Both."""
        return self.tensor_s + self.answer_s


def wire_of(project: Project, cut: ProjectCut) -> Wire:
    """Return the time of a cut on its line."""
    link = project.link(cut.from_board, cut.to_board)
    uarts = {}
    for number, name in zip(link.boards, link.uarts, strict=True):
        uarts[number] = next(uart for uart in _board(project.board(number).name).link_uarts if uart.name == name)
    tensor_s = wire_seconds(cut.payload_bytes, uarts[cut.from_board], link.baud)
    driver = link.drivers[link.boards.index(cut.to_board)]
    return Wire(tensor_s, answer_seconds(uarts[cut.to_board], link.baud, driver=driver))


@cache
def _board(name: str) -> Board:
    return load_board(name)
