"""Wiring: the UARTs of both boards that each link uses."""

from collections.abc import Sequence
from dataclasses import dataclass

from tinysplit.boards.board import Board, Uart, board_title, check_baud
from tinysplit.common.errors import UsageError
from tinysplit.costs.link_options import LinkSettings
from tinysplit.split.topology import Cut, Pair, pair_of


@dataclass(frozen=True)
class Link:
    """A UART connection between two boards, which carries all cuts between them in both directions."""

    boards: Pair
    uarts: tuple[Uart, Uart]
    baud: int


@dataclass(frozen=True)
class BoardLink:
    """One board's end of a link."""

    peer: int
    uart: Uart
    baud: int


def wire(boards: Sequence[Board], cuts: Sequence[Cut], settings: LinkSettings) -> tuple[Link, ...]:
    """Return a link for each pair of boards with a cut, on the next free link UART of both boards.

    `cuts` are single hops. Raises UsageError if a board has too few link UARTs, a UART cannot generate the baud rate,
    or the settings have no full-duplex link between a pair.
    """
    used = [0] * len(boards)
    links = []
    for pair in dict.fromkeys(pair_of(cut.sender, cut.receiver) for cut in cuts):
        baud = _baud(pair, settings)
        first, second = (_next_uart(boards, index, used[index], baud) for index in pair)
        for index in pair:
            used[index] += 1
        links.append(Link(pair, (first, second), baud))
    return tuple(links)


def links_of_board(links: Sequence[Link], board: int) -> tuple[BoardLink, ...]:
    """Return the ends of `links` at one board, in the order of `links`."""
    return tuple(
        BoardLink(link.boards[1 - side], link.uarts[side], link.baud)
        for link in links
        for side in (0, 1)
        if link.boards[side] == board
    )


def _baud(pair: Pair, settings: LinkSettings) -> int:
    link = settings.between(*pair)
    if link.baud is None or link.half_duplex:
        numbers = "-".join(str(index + 1) for index in pair)
        raise UsageError(f"boards {numbers} need a full-duplex link, which --link removes: split again")
    return link.baud


def _next_uart(boards: Sequence[Board], index: int, n_used: int, baud: int) -> Uart:
    board = boards[index]
    if n_used >= len(board.link_uarts):
        raise UsageError(
            f"{board_title(index + 1, board.name)} has {n_used} link UARTs, and this split needs more: use fewer "
            "boards, or a board with more UARTs"
        )
    check_baud(board, board.link_uarts[n_used], baud)
    return board.link_uarts[n_used]
