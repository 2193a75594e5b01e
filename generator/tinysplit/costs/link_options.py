"""The links between boards: a common baud rate, and links that are exceptions."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

from tinysplit.boards.board import Board
from tinysplit.boards.link_driver import LinkDriver
from tinysplit.common.errors import UsageError
from tinysplit.common.file_schema import in_range
from tinysplit.common.settings_class import settings_class
from tinysplit.settings.boards_and_links import BAUD, LINK
from tinysplit.timing.topology import Pair, pair_of

_LINK = re.compile(r"(\d+)-(\d+):(?:(none)|(\d+)(:half)?)")


class HandOffMode(StrEnum):
    """How a tensor crosses to another board: as a whole, or row by row while layers compute, where they allow it."""

    WHOLE = "whole"
    STREAMED = "streamed"


@settings_class
@dataclass(frozen=True)
class LinkSetting:
    """The link between two boards, 0-based (in scripts from 1), the smaller first; `baud` None means no link.

    On a half-duplex link the two directions take turns, acknowledgements included. `uarts` are those that the wiring
    test has found at both boards; without them, each link gets the next free UARTs.
    """

    boards: Pair
    baud: Annotated[int, in_range(BAUD)] | None
    half_duplex: bool = False
    uarts: tuple[str, str] | None = None

    def uart_at(self, board: int) -> str | None:
        """Return the name of the UART at one of the boards, None without one."""
        return self.uarts[self.boards.index(board)] if self.uarts else None


@dataclass(frozen=True)
class LinkSettings:
    """The links between all pairs of boards: those in `named`, and full duplex with `baud` between all others.

    `driver` is that of all boards, None to choose it for each board; `hand_off` that of all cuts, None for what is
    faster. With `returns_output` the network's output comes back to the board that reads the input.
    """

    baud: int
    named: tuple[LinkSetting, ...] = ()
    driver: LinkDriver | None = None
    hand_off: HandOffMode | None = None
    returns_output: bool = False

    def between(self, a: int, b: int) -> LinkSetting:
        """Return the link between two boards."""
        pair = pair_of(a, b)
        return next((link for link in self.named if link.boards == pair), LinkSetting(pair, self.baud))

    def counts(self, boards: Sequence[Board]) -> tuple[int, ...]:
        """Return how many links each board may have: as many as it has UARTs that make the highest of their rates."""
        rates = (self.highest_baud(own, len(boards)) for own in range(len(boards)))
        return tuple(
            sum(not baud or uart.makes(baud) for uart in board.link_uarts)
            for board, baud in zip(boards, rates, strict=True)
        )

    def highest_baud(self, board: int, n_boards: int) -> int | None:
        """Return the highest rate of a board's links to all others, 0 without links, None for a board alone."""
        rates = (self.between(board, other).baud or 0 for other in range(n_boards) if other != board)
        return max(rates, default=None)


def parse_links(texts: Iterable[str], n_boards: int) -> tuple[LinkSetting, ...]:
    """Return the links that texts describe, as in "1-2:921600:half" or "1-3:none".

    Raises UsageError for a malformed value, a board outside of 1 to `n_boards`, and a pair that is named twice.
    """
    links = tuple(_parse(text, n_boards) for text in texts)
    check_links(links)
    return links


def check_links(links: Sequence[LinkSetting]) -> None:
    """Raise UsageError for boards whose link is named twice; boards count from 0."""
    pairs = [link.boards for link in links]
    twice = next((a for a in pairs if pairs.count(a) > 1), None)
    if twice:
        raise UsageError(f"{LINK} names the boards {twice[0] + 1}-{twice[1] + 1} more than once")


def _parse(text: str, n_boards: int) -> LinkSetting:
    match = _LINK.fullmatch(text)
    if not match:
        raise UsageError(
            f"{LINK} {text!r}: expected BOARD-BOARD:BAUD, as in 1-2:921600, or BOARD-BOARD:BAUD:half for a "
            "half-duplex link, or BOARD-BOARD:none"
        )
    first, second, absent, baud, half = match.groups()
    numbers = int(first), int(second)
    if not all(1 <= number <= n_boards for number in numbers) or len(set(numbers)) == 1:
        raise UsageError(f"{LINK} {text!r}: give two different boards from 1 to {n_boards}")
    pair = pair_of(numbers[0] - 1, numbers[1] - 1)
    return LinkSetting(pair, None if absent else int(baud), bool(half))
