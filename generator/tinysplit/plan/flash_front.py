"""The choice between time and flash: the Pareto front of a placement whose programs may take less and less flash.

Kernels that are faster often take more flash: weights that are transformed for Winograd's algorithm, or unrolled loops.
By default those are taken that are fastest of what fits. Each point is what is planned for the same placement under a
limit of the flash of each program, so that the limit is all that one has to give to get it.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from tinysplit.boards.board import Board
from tinysplit.common.choices import Optimize
from tinysplit.common.errors import CheckFailedError
from tinysplit.common.tables import plain_table
from tinysplit.common.units import KB
from tinysplit.settings.costs import MAX_FLASH, OPTIMIZE
from tinysplit.settings.setting import worded
from tinysplit.split.problem import Objective
from tinysplit.split.solution import Split

N_LIMITS = 8  # that are tried
STEP = 0.001  # relative: points that are closer in time are equal


@dataclass(frozen=True)
class FlashChoice:
    """The settings of a point: what kernels minimise, and the limit of each program's flash in bytes, None without."""

    optimize: Optimize = Optimize.CYCLES
    max_flash_bytes: int | None = None

    @property
    def text(self) -> str:
        """The options that take it."""
        own = [] if self.optimize is Optimize.CYCLES else [OPTIMIZE(self.optimize)]
        limit = [] if self.max_flash_bytes is None else [MAX_FLASH(self.max_flash_bytes)]
        return worded(" ".join([*own, *limit])) or "default: all of the flash"


@dataclass(frozen=True)
class FlashPoint:
    """A point: its objective in seconds or joules, latency and period in seconds, flash of programs by board from 1."""

    choice: FlashChoice
    value: float
    latency_s: float
    period_s: float
    flash_bytes: Mapping[int, int]
    is_taken: bool = False

    @property
    def all_flash_bytes(self) -> int:
        """Bytes of all programs together."""
        return sum(self.flash_bytes.values())

    def to_json(self) -> dict[str, Any]:
        """Return the point with the settings that take it."""
        return {
            "optimize": self.choice.optimize.value,
            "max_flash_bytes": self.choice.max_flash_bytes,
            "is_taken": self.is_taken,
            "value": self.value,
            "latency_s": self.latency_s,
            "period_s": self.period_s,
            "flash_bytes": {str(number): n_bytes for number, n_bytes in self.flash_bytes.items()},
        }


Planned = tuple[Split, Mapping[int, int]]  # with the flash of each program, by number of its board


def flash_front(
    boards: Sequence[Board], taken: FlashChoice, split: Planned, planned: Callable[[FlashChoice], Planned]
) -> tuple[FlashPoint, ...]:
    """Return the points of the placement of `split` on `boards`, which has the settings `taken`, the fastest one first.

    `planned` returns the placement with other settings; it raises CheckFailedError where it is not feasible.
    """
    found, ends = {taken: split}, (FlashChoice(Optimize.FLASH), FlashChoice())
    _try(found, ends, planned)
    if all(end in found for end in ends):
        least, most = (_most_bytes(found[end][0], boards) for end in ends)
        _try(found, (FlashChoice(max_flash_bytes=limit) for limit in _limits(least, most)), planned)
    points = [_point(choice, *own, is_taken=choice == taken) for choice, own in found.items()]
    return tuple(_front(points))


def _try(
    found: dict[FlashChoice, Planned], choices: Iterable[FlashChoice], planned: Callable[[FlashChoice], Planned]
) -> None:
    """Add what is planned with each choice, where that is feasible."""
    for choice in choices:
        if choice not in found:
            with suppress(CheckFailedError):
                found[choice] = planned(choice)


def _limits(least: int, most: int) -> Iterator[int]:
    """Yield limits at equal distances, in whole KB."""
    for number in range(N_LIMITS):
        yield -(-(least + (most - least) * number // N_LIMITS) // KB) * KB


def _most_bytes(split: Split, boards: Sequence[Board]) -> int:
    """Return the bytes that the largest program takes at most: those that have a limit."""
    own = zip(boards, split.problem.devices, split.figures.flash_bytes, strict=True)
    return max(board.device.flash.size_bytes - free.flash_bytes + used for board, free, used in own if used)


def _point(choice: FlashChoice, split: Split, flash_bytes: Mapping[int, int], *, is_taken: bool) -> FlashPoint:
    return FlashPoint(choice, split.value, split.i_s, split.period_s, flash_bytes, is_taken)


def _front(points: Sequence[FlashPoint]) -> Iterator[FlashPoint]:
    """Yield the taken point, and those that take less flash than all that are faster or as fast."""
    least = None
    for point in sorted(points, key=lambda each: (each.value, each.all_flash_bytes)):
        if least is None or point.all_flash_bytes < least:
            least = point.all_flash_bytes
            yield point
        elif point.is_taken:
            yield point


def flash_table(points: Sequence[FlashPoint], objective: Objective, *, keeps_placement: bool) -> Table:
    """Return a table of the points: the objective, the flash of each program in KB, and how to take the point.

    With `keeps_placement`, it says that layers stay where they are: searches with these settings may place them better.
    """
    label = "same placement with" if keeps_placement else "with"
    table = plain_table("", numbers=(f"{objective.noun} {objective.unit}", "flash KB"), last_labels=(label,))
    for point in points:
        flash = " + ".join(f"{n_bytes / KB:.1f}" for n_bytes in point.flash_bytes.values())
        table.add_row("*" if point.is_taken else "", objective.number(point.value), flash, point.choice.text)
    return table
