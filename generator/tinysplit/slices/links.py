"""The links of a distributed network: between neighbours first, then from where the input is to all others."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations, pairwise

from tinysplit.boards.board import Board
from tinysplit.costs.link_options import LinkSetting
from tinysplit.costs.settings import CostSettings
from tinysplit.timing.topology import Pair, pair_of


def with_links(settings: CostSettings, boards: Sequence[Board], order: Sequence[int], input_board: int) -> CostSettings:
    """Return the settings with links between the boards of `order`, as far as their UARTs go, and without any others.

    Links that the settings name stay, and those that they exclude do not come back.
    """
    free = [list(board.link_uarts) for board in boards]
    wired: set[Pair] = set()
    links = settings.link_settings_on(boards)
    for pair in _wanted(settings, order, input_board):
        baud = links.between(*pair).baud
        uarts = [next((uart for uart in free[end] if baud and uart.makes(baud)), None) for end in pair]
        if pair not in wired and all(uarts):
            wired.add(pair)
            for end, uart in zip(pair, uarts, strict=True):
                free[end] = [each for each in free[end] if each is not uart]
    named = {link.boards for link in settings.links}
    absent = (pair for pair in combinations(range(len(boards)), 2) if pair not in wired | named)
    return replace(settings, links=(*settings.links, *(LinkSetting(pair, None) for pair in absent)))


def _wanted(settings: CostSettings, order: Sequence[int], input_board: int) -> Iterator[Pair]:
    yield from (link.boards for link in settings.links)
    yield from (pair_of(*pair) for pair in pairwise(order))
    yield from (pair_of(input_board, board) for board in reversed(order) if board != input_board)
