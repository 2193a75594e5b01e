"""Statistics of a time over samples: mean, median, percentiles, and a bootstrap interval of the median."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

TAIL_PERCENT = 5.0  # percentiles that are shown: this one, and 100 minus it
CONFIDENCE_PERCENT = 95.0  # of the interval
_RESAMPLES = 1000
_SEED = 0  # the same values have the same interval


@dataclass(frozen=True)
class TimeStatistics:
    """The values of all samples, at least one, in the order of the samples; all results have their unit."""

    values: tuple[float, ...]

    @classmethod
    def of(cls, values: Sequence[float]) -> Self:
        """Return the statistics of `values`; there must be at least one."""
        return cls(tuple(values))

    @property
    def mean(self) -> float:
        """Mean."""
        return sum(self.values) / len(self.values)

    @property
    def smallest(self) -> float:
        """Minimum."""
        return min(self.values)

    @property
    def largest(self) -> float:
        """Maximum."""
        return max(self.values)

    @property
    def median(self) -> float:
        """Median."""
        return float(np.median(self.values))

    @property
    def tails(self) -> tuple[float, float]:
        """The 5th and the 95th percentile, interpolated."""
        low, high = np.percentile(self.values, [TAIL_PERCENT, 100 - TAIL_PERCENT])
        return float(low), float(high)

    @cached_property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the median, by the percentile bootstrap (Efron 1979)."""
        medians = np.median(np.asarray(self.values)[_resamples(len(self.values))], axis=1)
        rest = (100 - CONFIDENCE_PERCENT) / 2
        low, high = np.percentile(medians, [rest, 100 - rest])
        return float(low), float(high)

    def to_json(self) -> dict[str, Any]:
        """Return all of them as JSON values."""
        return {
            "mean": self.mean,
            "median": self.median,
            "p5": self.tails[0],
            "p95": self.tails[1],
            "median_low": self.interval[0],
            "median_high": self.interval[1],
            "min": self.smallest,
            "max": self.largest,
            "count": len(self.values),
        }


@cache
def _resamples(count: int) -> NDArray[np.intp]:
    """Return the indices of the resamples of `count` values: resamples x `count`."""
    return np.random.default_rng(_SEED).integers(count, size=(_RESAMPLES, count), dtype=np.intp)
