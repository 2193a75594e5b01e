"""Wiring: the UARTs of both boards that each link uses."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

from tinysplit.boards.board import Board, Uart, board_title
from tinysplit.common.errors import UsageError
from tinysplit.common.tables import counted
from tinysplit.costs.link_options import LinkSetting, LinkSettings
from tinysplit.costs.transfers import check_link_baud
from tinysplit.settings.boards_and_links import LINK
from tinysplit.split.evaluate.cuts import transfers
from tinysplit.split.problem import Assignment, Problem
from tinysplit.timing.topology import Cut, Pair, pair_of


class LinkEnd(NamedTuple):
    """One end of a link: a board, by index, and the UART there."""

    board: int
    uart: Uart


@dataclass(frozen=True)
class Link:
    """A UART connection between two boards, which carries all cuts between them in both directions."""

    ends: tuple[LinkEnd, LinkEnd]
    baud: int

    @property
    def boards(self) -> Pair:
        """The indices of both boards."""
        first, second = self.ends
        return first.board, second.board


@dataclass(frozen=True)
class BoardLink:
    """One board's end of a link."""

    peer: int
    uart: Uart
    baud: int


def wire(boards: Sequence[Board], cuts: Sequence[Cut], settings: LinkSettings) -> tuple[Link, ...]:
    """Return a link for each pair of boards with a cut, on the UARTs that the settings name.

    Where they name none, it is the next free link UART of both boards. `cuts` are single hops. Raises UsageError if a
    board has too few link UARTs, a UART cannot generate the baud rate, or the settings have no full-duplex link between
    a pair.
    """
    return _wire(boards, dict.fromkeys(pair_of(cut.sender, cut.receiver) for cut in cuts), settings)


def planned_links(
    boards: Sequence[Board], problem: Problem, assignments: Iterable[Assignment], settings: LinkSettings
) -> tuple[Link, ...]:
    """Return the links that a split needs, over all copies of the network. The errors are those of `wire`."""
    return tuple(link for each in assignments for link in wire(boards, transfers(problem, each), settings))


def wire_all(boards: Sequence[Board], settings: LinkSettings) -> tuple[Link, ...]:
    """Return the links of a wiring test: those that the settings name, and all others for which UARTs are left.

    UARTs are given to neighbours first. The errors are those of `wire`.
    """
    named = {link.boards for link in settings.named}
    free = [len(board.link_uarts) for board in boards]
    wired = []
    for pair in sorted(combinations(range(len(boards)), 2), key=lambda pair: (pair not in named, _distance(pair))):
        has_uarts = all(free[index] > 0 for index in pair)
        if settings.between(*pair).baud is not None and (pair in named or has_uarts):
            wired.append(pair)
            for index in pair:
                free[index] -= 1
    return _wire(boards, sorted(wired, key=_distance), settings)


def _distance(pair: Pair) -> int:
    return pair[1] - pair[0]


def _wire(boards: Sequence[Board], pairs: Collection[Pair], settings: LinkSettings) -> tuple[Link, ...]:
    _check_uarts(boards, pairs)
    used: list[list[Uart]] = [[] for _ in boards]
    links = []
    for pair in pairs:
        setting = _setting(pair, settings)
        baud = setting.baud or settings.baud
        ends = [LinkEnd(board, _uart(boards, board, setting, baud, used[board])) for board in pair]
        link = Link((ends[0], ends[1]), baud)
        check_link_baud(boards, pair, [end.uart for end in ends], link.baud, settings.driver)
        links.append(link)
        for end in ends:
            used[end.board].append(end.uart)
    return tuple(links)


def links_of_board(links: Sequence[Link], board: int) -> tuple[BoardLink, ...]:
    """Return the ends of `links` at one board, in the order of `links`."""
    return tuple(
        BoardLink(peer.board, own.uart, link.baud)
        for link in links
        for own, peer in (link.ends, link.ends[::-1])
        if own.board == board
    )


def _check_uarts(boards: Sequence[Board], pairs: Collection[Pair]) -> None:
    """Raise UsageError, with the peers, if a board has fewer link UARTs than peers."""
    for index, board in enumerate(boards):
        peers = sorted((b if a == index else a) + 1 for a, b in pairs if index in (a, b))
        if len(peers) > len(board.link_uarts):
            raise UsageError(
                f"{board_title(index + 1, board.name)} has {counted(len(board.link_uarts), 'link UART')}, and this "
                f"split joins it to {len(peers)} boards ({', '.join(map(str, peers))}): use fewer boards, or one with "
                "more UARTs"
            )


def _setting(pair: Pair, settings: LinkSettings) -> LinkSetting:
    link = settings.between(*pair)
    if link.baud is None or link.half_duplex:
        numbers = "-".join(str(index + 1) for index in pair)
        raise UsageError(f"boards {numbers} need a full-duplex link, which {LINK} removes: split again")
    return link


def _uart(boards: Sequence[Board], index: int, setting: LinkSetting, baud: int, used: Sequence[Uart]) -> Uart:
    """Return the UART that the wiring test found, or the next one that is not used and makes the rate, if any does."""
    board, name = boards[index], setting.uart_at(index)
    left = [uart for uart in board.link_uarts if uart not in used and name in (None, uart.name)]
    left = [uart for uart in left if uart.makes(baud)] or left
    if not left:
        raise UsageError(f"{board_title(index + 1, board.name)} has no {name} for two links: test the wiring again")
    return left[0]
