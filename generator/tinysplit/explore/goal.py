"""What an exploration is asked for: the objective, limits, and prices."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf

from tinysplit.costs.settings import CostSettings
from tinysplit.explore.figures import Figures
from tinysplit.split.problem import Objective, within

N_BEST = 10  # sets in a ranking

Prices = Mapping[str, float]
Key = tuple[float, float, float]  # what comes first in a ranking is least in this order
FIRST: Key = (0.0, 0.0, 0.0)
LAST: Key = (inf, inf, inf)


class Ranked(StrEnum):
    """What sets of boards are ranked by; ties by price, those of price by latency."""

    LATENCY = "latency"
    THROUGHPUT = "throughput"
    ENERGY = "energy"
    PRICE = "price"

    @property
    def objective(self) -> Objective:
        """What a split on a given set minimises."""
        return Objective.LATENCY if self is Ranked.PRICE else Objective(self.value)


@dataclass(frozen=True)
class RankingGoal:
    """Prices and limits of sets, and what they are ranked by; None asks for Pareto fronts."""

    settings: CostSettings
    ranked_by: Ranked | None = None
    prices: Prices | None = field(default=None)
    max_price: float = inf
    has_energy: bool = True  # the currents of all boards are known

    def price(self, boards: Sequence[str]) -> float:
        """Return the sum of the prices of `boards`, or their number without prices."""
        return sum(self.prices[name] for name in boards) if self.prices else float(len(boards))

    def is_affordable(self, boards: Sequence[str]) -> bool:
        """Return whether `boards` keep the limit of the price."""
        return within(self.price(boards), self.max_price)

    def keeps_limits(self, figures: Figures) -> bool:
        """Return whether figures, or lower bounds of them, keep the limits of latency, period and energy."""
        settings = self.settings
        return (
            figures.fits
            and within(figures.latency_s, settings.max_latency_s)
            and within(figures.period_s, min(settings.max_period_s, settings.frame_period_s or inf))
            and within(figures.energy_j, settings.max_energy_j)
        )

    def key(self, figures: Figures, boards: Sequence[str]) -> Key:
        """Return the place of a split in the ranking; of lower bounds, a place that no split is before.

        Values that agree in three digits count as equal, as figures are estimates; the price decides between them.
        """
        value, price = self.value(figures), self.price(boards)
        rounded = three_digits(value)
        return (price, rounded, value) if self.ranked_by is Ranked.PRICE else (rounded, price, value)

    def value(self, figures: Figures) -> float:
        """Return what splits minimise, in seconds or joules."""
        if self.ranked_by is Ranked.THROUGHPUT:
            return figures.period_s
        return figures.energy_j if self.ranked_by is Ranked.ENERGY else figures.latency_s


def three_digits(value: float) -> float:
    """Return a value rounded to three significant digits."""
    return float(f"{value:.3g}")


def may_be_better(bound: Key, other: Key) -> bool:
    """Return whether a set with this bound may come before another one; between equals, a bound decides nothing."""
    return bound[:2] < other[:2]
