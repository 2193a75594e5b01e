"""What would make a split faster: other links, more flash, another board."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from tinysplit.boards.board import Board
from tinysplit.common.errors import TinysplitError
from tinysplit.costs.settings import CostSettings
from tinysplit.split.solution import Split

TIMES = 2
LEAST_GAIN = 0.01  # relative
SEARCH_LIMIT_S = 2.0  # with another board


def faster_with(
    boards: Sequence[Board],
    settings: CostSettings,
    split: Split,
    value_of: Callable[[Sequence[Board], CostSettings], float],
    best_on: Callable[[Sequence[Board]], float] | None,
    *,
    lack_flash: bool,
) -> Iterator[tuple[str, float]]:
    """Yield changes that improve the objective of a split, with what it is then: seconds or joules.

    The same placement with links of twice the rate that `settings` have, and on boards of twice the flash where they
    `lack_flash`, by `value_of`; and with another board of the last kind the placement that a search finds, by `best_on`
    if there is one.
    """
    bauds = {settings.baud or 0, *(link.baud or 0 for link in settings.links)}
    faster = replace(
        settings,
        baud=TIMES * (settings.baud or 0),
        links=tuple(link if link.baud is None else replace(link, baud=TIMES * link.baud) for link in settings.links),
    )
    changes: list[tuple[str, Callable[[], float]]] = []
    if best_on:
        changes.append((f"another {boards[-1].name}", partial(best_on, (*boards, boards[-1]))))
    if lack_flash and not split.copies:
        larger = [_with_flash(board) if number in split.assignment else board for number, board in enumerate(boards)]
        changes = [(f"{TIMES} times the flash", lambda: value_of(larger, settings)), *changes]
    if split.cuts:
        changes = [(f"links at {TIMES * max(bauds)} baud", lambda: value_of(boards, faster)), *changes]
    for text, find in changes:
        try:
            changed = find()
        except TinysplitError:  # a rate that UARTs cannot make, or boards that cannot be wired
            continue
        if changed < split.value * (1 - LEAST_GAIN):
            yield text, changed


def _with_flash(board: Board) -> Board:
    flash = board.device.flash
    larger = replace(flash, size_bytes=TIMES * flash.size_bytes)
    return replace(board, device=replace(board.device, flash=larger))
