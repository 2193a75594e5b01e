"""Statistics of values and weights, and the Q formats of least error: the whole value range, or clipped.

Singh 2024 chooses the quantization factor from "a statistical metric of a range of the floating point weights".
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from math import exp, frexp, inf, log10
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tinysplit.network.fixed_point.formats import FloatArray, QFormat, ValueFormat
from tinysplit.network.float_reference import NO_PAIRS, Pairs, run_samples
from tinysplit.network.layers.base import Shape

BINS = 2048  # at most, on either side of zero
LEAST_TAIL = 4  # samples: fewer say nothing about others
TRUST = 0.1  # in tails that few samples give: steps are certain to grow
TAIL_SHARE = 4  # one of so many samples is in the tail
MOST_NUMBERS = 1 << 22  # of samples that are counted together, of all values: 16 MB
FINER_FORMATS = 4  # tried, from the one that holds the whole range on

Range = tuple[float, float]


def decibels(signal: float, noise: float) -> float:
    """Return a ratio of powers in dB; infinite without noise."""
    return 10 * log10(signal / noise) if noise > 0 and signal > 0 else inf


@dataclass(frozen=True, eq=False)
class Statistics:
    """Moments of many numbers, and a histogram of those that are not 0.

    Bin k counts the numbers from `bin_width * (first_bin + k)` to the next bin; the width is a power of two.
    """

    count: int
    minimum: float
    maximum: float
    mean: float
    variance: float
    bin_width: float
    first_bin: int
    bins: NDArray[np.int64] = field(repr=False)
    extremes: FloatArray | None = field(default=None, repr=False)  # 2 x shape: minimum and maximum by position
    of_samples: FloatArray | None = field(default=None, repr=False)  # samples x 2: minimum and maximum of each

    @classmethod
    def of(cls, numbers: FloatArray, most_bins: int = BINS) -> Self:
        """Return the statistics of an array that is not empty (any shape).

        Its histogram has at most `most_bins` bins on each side of zero.
        """
        numbers = numbers.ravel().astype(np.float64)
        low, high = float(numbers.min()), float(numbers.max())
        if not (np.isfinite(low) and np.isfinite(high)):
            return cls(numbers.size, low, high, np.nan, np.nan, 1.0, 0, np.zeros(1, np.int64))
        width = 2.0 ** (frexp(max(-low, high) / most_bins)[1])
        places = np.floor(numbers[numbers != 0] / width).astype(np.int64)
        first = int(places.min()) if places.size else 0
        bins = np.bincount(places - first) if places.size else np.zeros(1, np.int64)
        return cls(numbers.size, low, high, float(numbers.mean()), float(numbers.var()), width, first, bins)

    @classmethod
    def of_values(cls, values: FloatArray) -> Self:
        """Return the statistics of a value in some samples (N x shape), with its extremes by position and by sample."""
        by_sample = values.reshape(len(values), -1)
        return replace(
            cls.of(values),
            extremes=np.stack([values.min(axis=0), values.max(axis=0)]),
            of_samples=np.stack([by_sample.min(axis=1), by_sample.max(axis=1)], axis=1).astype(np.float64),
        )

    def __add__(self, other: "Statistics") -> "Statistics":
        """Return the statistics of the numbers of both."""
        count = self.count + other.count
        mean = (self.count * self.mean + other.count * other.mean) / count
        squares = sum(part.count * (part.variance + (part.mean - mean) ** 2) for part in (self, other))
        width = max(self.bin_width, other.bin_width)
        parts = [part.rebinned(width) for part in (self, other)]
        first_bin = min(first for first, _ in parts)
        bins = np.zeros(max(first + len(own) for first, own in parts) - first_bin, np.int64)
        for first, own in parts:
            bins[first - first_bin :][: len(own)] += own
        low, high = np.minimum(self.minimum, other.minimum), np.maximum(self.maximum, other.maximum)  # a NaN stays
        extremes = None
        if self.extremes is not None and other.extremes is not None:
            lows, highs = zip(self.extremes, other.extremes, strict=True)
            extremes = np.stack([np.minimum(*lows), np.maximum(*highs)])
        of_samples = None
        if self.of_samples is not None and other.of_samples is not None:
            of_samples = np.concatenate([self.of_samples, other.of_samples])
        histogram = width, first_bin, bins
        return Statistics(count, float(low), float(high), mean, squares / count, *histogram, extremes, of_samples)

    def rebinned(self, width: float) -> tuple[int, NDArray[np.int64]]:
        """Return the first bin and the bins of a histogram with bins of `width`, at least as wide."""
        if width == self.bin_width:
            return self.first_bin, self.bins
        numbers = self.first_bin + np.arange(len(self.bins))
        places = np.floor(numbers * (self.bin_width / width)).astype(np.int64)
        return int(places[0]), np.bincount(places - places[0], self.bins).astype(np.int64)

    @property
    def range(self) -> Range:
        """Smallest and largest number."""
        return self.minimum, self.maximum

    @property
    def is_constant(self) -> bool:
        """Whether all numbers are the same."""
        return self.minimum == self.maximum

    def channel_ranges(self, shape: Shape) -> FloatArray | None:
        """Return minimum and maximum of each channel of a value, 2 x channels.

        ONNX may have channels first or last. Returns None where the axes do not say which are the channels.
        """
        if self.extremes is None:
            return None
        height, width, channels = shape
        axes = [size for size in self.extremes.shape[1:] if size > 1]
        if axes == [size for size in (channels, height, width) if size > 1]:
            planes = self.extremes.reshape(2, channels, -1)
        elif axes == [size for size in shape if size > 1]:
            planes = self.extremes.reshape(2, -1, channels).swapaxes(1, 2)
        else:
            return None
        return np.stack([planes[0].min(axis=1), planes[1].max(axis=1)])

    def sqnr_db(self, values: ValueFormat) -> float:
        """Return the signal to quantization-noise ratio in this format, in dB."""
        return decibels(self.variance + self.mean**2, self.error(values))

    def underflow(self, values: ValueFormat) -> float:
        """Return the share of the numbers other than 0 that become 0 in this format."""
        centers = (self.first_bin + np.arange(len(self.bins)) + 0.5) * self.bin_width
        return float(self.bins[np.abs(centers) < values.scale / 2].sum() / max(self.bins.sum(), 1))

    def error(self, values: ValueFormat) -> float:
        """Return the mean squared error of the numbers in this format: rounded inside its range, clipped outside."""
        centers = (self.first_bin + np.arange(len(self.bins)) + 0.5) * self.bin_width
        low, high = ((limit - values.zero_point) * values.scale for limit in (values.low, values.high))
        clipped = np.maximum(np.maximum(centers - high, low - centers) - values.scale / 2, 0.0)
        rounded = np.minimum(values.scale**2 / 12, centers**2)  # what is below half a step becomes 0
        return float((self.bins * np.where(clipped > 0, (clipped + values.scale / 2) ** 2, rounded)).sum() / self.count)

    def error_beyond(self, values: ValueFormat) -> float:
        """Return the mean squared error that clipping is expected to add for samples that were not seen.

        The largest number of a sample is taken to exceed those seen with an exponential tail, which the largest quarter
        of the samples gives; so is the smallest.
        """
        if self.of_samples is None or len(self.of_samples) < LEAST_TAIL:
            return 0.0
        low, high = ((limit - values.zero_point) * values.scale for limit in (values.low, values.high))
        beyond = _tail_error(self.of_samples[:, 1], high) + _tail_error(-self.of_samples[:, 0], -low)
        return TRUST * beyond * len(self.of_samples) / self.count

    def best_format(self, bits: int) -> QFormat:
        """Return the Q format of `bits` bits with the least mean squared error; the coarser of two that tie."""
        whole = QFormat.for_range(bits, *self.range)
        finer = (QFormat(bits, whole.fraction_bits + extra) for extra in range(FINER_FORMATS))
        return min(finer, key=self.error)

    def clipped(self, bits: int) -> Range:
        """Return the range that the best format of `bits` bits holds."""
        if not (np.isfinite(self.minimum) and np.isfinite(self.maximum)):
            return self.range
        best = self.best_format(bits)
        return max(self.minimum, best.low * best.scale), min(self.maximum, best.high * best.scale)


def value_statistics(
    model: Path, names: Iterable[str], x: NDArray[np.float32], pairs: Pairs = NO_PAIRS
) -> Mapping[str, Statistics]:
    """Return statistics of the named values of the float network over all samples `x` (N x sample_shape).

    `pairs` are those of `run_float_values`. Raises InputError where ONNX Runtime cannot run the model on them.
    """
    wanted = tuple(dict.fromkeys(names))
    statistics: dict[str, Statistics] = {}
    runs = run_samples(model, x, wanted, pairs)
    for first in runs:
        more = islice(runs, max(MOST_NUMBERS // max(sum(value.size for value in first), 1) - 1, 0))
        for name, values in zip(wanted, zip(first, *more, strict=True), strict=True):
            seen = Statistics.of_values(np.stack(values))
            statistics[name] = statistics[name] + seen if name in statistics else seen
    return statistics


def _tail_error(largest: FloatArray, limit: float) -> float:
    """Return the expected square of what exceeds `limit` of a further sample; `largest` numbers of samples (N)."""
    ordered = np.sort(largest)[::-1]
    count = len(ordered) // TAIL_SHARE
    begin = float(ordered[count])
    length = float(ordered[:count].mean()) - begin  # of the tail: the mean excess
    if length <= 0:
        return 0.0
    return count / (len(ordered) + 1) * 2 * length**2 * exp(min(begin - limit, 0.0) / length)
