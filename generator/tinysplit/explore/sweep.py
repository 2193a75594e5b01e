"""Break-even of baud rates: from which rate on sets of more boards are better than sets of fewer."""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tinysplit.boards.link_rates import LOW_RATES, RATES
from tinysplit.explore.candidates import Space, linked_pairs
from tinysplit.explore.goal import Key, RankingGoal
from tinysplit.explore.ranking import RankedSet

Best = Callable[[int, int], RankedSet | None]  # the best set of so many boards at a baud rate


@dataclass(frozen=True)
class Cell:
    """The best set of so many boards at a baud rate, 0 for a single board; None if none is feasible."""

    n_boards: int
    baud: int
    best: RankedSet | None


@dataclass(frozen=True)
class BreakEven:
    """The lowest baud rate from which sets of `n_boards` are better than those of fewer; None: at no rate.

    `best` and `fewer` are the best sets of so many boards and of fewer ones at that rate, or at the highest rate.
    """

    n_boards: int
    baud: int | None
    best: RankedSet | None
    fewer: RankedSet | None


@dataclass(frozen=True)
class Sweep:
    """The best sets by number of boards and baud rate, and the break-even of each number; `bauds` are ascending."""

    bauds: tuple[int, ...]
    cells: tuple[Cell, ...]
    break_evens: tuple[BreakEven, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the sweep; `boards` are null where none is feasible."""
        return {
            "best": [
                {"n_boards": cell.n_boards, "baud": cell.baud or None, **_to_json(cell.best)} for cell in self.cells
            ],
            "break_even": [
                {
                    "n_boards": each.n_boards,
                    "from_baud": each.baud,
                    "best": _to_json(each.best),
                    "fewer": _to_json(each.fewer),
                }
                for each in self.break_evens
            ],
        }


def _to_json(best: RankedSet | None) -> dict[str, Any]:
    if best is None:
        return {"boards": None}
    figures = best.simulated
    return {
        "boards": list(best.candidate.boards),
        "latency_s": figures.latency_s,
        "period_s": figures.period_s,
        "energy_j": figures.energy_j,
    }


class _Rates:
    """Compares numbers of boards at a rate."""

    def __init__(self, goal: RankingGoal, best: Best) -> None:
        self.goal = goal
        self.best = best

    def fewer(self, n_boards: int, baud: int) -> RankedSet | None:
        """Return the best set of fewer boards."""
        smaller_sets = [self.best(count, baud if count > 1 else 0) for count in range(1, n_boards)]
        return min((each for each in smaller_sets if each), key=self._key, default=None)

    def pays(self, n_boards: int, baud: int) -> bool:
        """Return whether a set of so many boards is better than all of fewer."""
        best, fewer = self.best(n_boards, baud), self.fewer(n_boards, baud)
        return best is not None and (fewer is None or self._key(best)[0] < self._key(fewer)[0])

    def _key(self, ranked: RankedSet) -> Key:
        return self.goal.key(ranked.simulated, ranked.candidate.boards)


def sweep(space: Space, goal: RankingGoal, best: Best) -> Sweep:
    """Return the sweep over the baud rates of `space`.

    Between two of them, of which only the higher one pays, the break-even is found among standard rates by bisection: a
    faster link does not harm.
    """
    rates = _Rates(goal, best)
    bauds = tuple(sorted(space.bauds))
    counts = range(2, space.max_boards + 1)
    cells = [Cell(1, 0, best(1, 0)), *(Cell(count, baud, best(count, baud)) for count in counts for baud in bauds)]
    return Sweep(bauds, tuple(cells), tuple(_break_even(space, rates, count, bauds) for count in counts))


def _break_even(space: Space, rates: _Rates, n_boards: int, bauds: Sequence[int]) -> BreakEven:
    paying = [rates.pays(n_boards, baud) for baud in bauds]
    if not paying[-1]:
        return BreakEven(n_boards, None, rates.best(n_boards, bauds[-1]), rates.fewer(n_boards, bauds[-1]))
    first = len(bauds) - next((number for number, pays in enumerate(reversed(paying)) if not pays), len(bauds))
    if first:
        tried = [*_between(space, bauds[first - 1], bauds[first]), bauds[first]]
        lowest = tried[bisect_left(tried[:-1], x=True, key=lambda baud: rates.pays(n_boards, baud))]
    else:
        lowest = bauds[0]
    return BreakEven(n_boards, lowest, rates.best(n_boards, lowest), rates.fewer(n_boards, lowest))


def _between(space: Space, low: int, high: int) -> Iterator[int]:
    """Yield the standard rates between two, ascending, at which the same boards can have links as at the higher one."""
    able = linked_pairs(space.boards, high)
    for baud in sorted((*RATES, *LOW_RATES)):
        if low < baud < high and linked_pairs(space.boards, baud) == able:
            yield baud


def at_rate(space: Space, model: str, bits: int, baud: int) -> Space:
    """Return the part of a space with one network, bit width and baud rate."""
    return replace(space, models=(model,), bits=(bits,), bauds=(baud,))
