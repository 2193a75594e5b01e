"""Which link joins two boards: all are alike, but for those that `--link` names."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from tinysplit.common.errors import UsageError
from tinysplit.split.topology import Pair, pair_of

_LINK = re.compile(r"(\d+)-(\d+):(?:(none)|(\d+)(:half)?)")


@dataclass(frozen=True)
class LinkSetting:
    """The link between two boards, both numbered from 0, the smaller first; `baud` None: there is none.

    On a half-duplex link both directions take turns, acknowledgements included.
    """

    boards: Pair
    baud: int | None
    half_duplex: bool = False


@dataclass(frozen=True)
class LinkSettings:
    """The links of all pairs of boards: those of `named`, and full-duplex ones of `baud` between all others."""

    baud: int
    named: tuple[LinkSetting, ...] = ()

    def between(self, a: int, b: int) -> LinkSetting:
        """Return the link of a pair."""
        pair = pair_of(a, b)
        return next((link for link in self.named if link.boards == pair), LinkSetting(pair, self.baud))


def parse_links(texts: Iterable[str], n_boards: int) -> tuple[LinkSetting, ...]:
    """Return what `--link` says about pairs of `n_boards` boards; UsageError for what makes no sense."""
    links = tuple(_parse(text, n_boards) for text in texts)
    pairs = [link.boards for link in links]
    twice = next((a for a in pairs if pairs.count(a) > 1), None)
    if twice:
        raise UsageError(f"--link names the boards {twice[0] + 1}-{twice[1] + 1} twice: name each pair once")
    return links


def _parse(text: str, n_boards: int) -> LinkSetting:
    match = _LINK.fullmatch(text)
    if not match:
        raise UsageError(
            f"--link {text!r}: write BOARD-BOARD:BAUD as in 1-2:921600, with :half behind it where both directions "
            "share the wire, or BOARD-BOARD:none"
        )
    first, second, absent, baud, half = match.groups()
    numbers = int(first), int(second)
    if not all(1 <= number <= n_boards for number in numbers) or len(set(numbers)) == 1:
        raise UsageError(f"--link {text!r}: name two different boards of 1 to {n_boards}")
    pair = pair_of(numbers[0] - 1, numbers[1] - 1)
    return LinkSetting(pair, None if absent else int(baud), bool(half))
