"""Requantization as in TensorFlow Lite by one product and one shift, where it is proved to give the same outputs.

An output is a step function of the accumulator, with at most 255 steps. So

    y = (((sum + extra) * factor >> 32) + offset) >> bits

is the same as two roundings if it has the same steps, for accumulators within their range: SMMLA computes the product
with the offset, SSAT shifts and saturates. TensorFlow Lite rounds up a little below a half, by part of an accumulator:
first to a fraction of an output, then to an output. A factor, an offset in steps of 2^-bits and an integer beside the
sum are searched whose total is on the right side of all steps. Where outputs lie below the zero point, halves go down
there, and nothing is found.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Self

import numpy as np

from tinysplit.network.fixed_point.arithmetic import UPPER_HALF, TfliteRequantization
from tinysplit.network.fixed_point.formats import IntArray

BYTE_LOW, BYTE_HIGH = -128, 127
LARGEST_SUM = 5 << 20  # of sums that may be 256 times as large, so that all values have 32 bits
LARGEST_FACTOR = (1 << 31) - 1
MOST_BITS = 12
EXTRAS = (1 << 8, 1 << 13, 1 << 18)  # how many are tried, few first
WIDE = 2 << UPPER_HALF
NEIGHBOURS = (0, 1, -1, 2, -2)  # of the nearest factor


@dataclass(frozen=True, eq=False)
class SingleProducts:
    """The factor, offset (`seconds`) and extra of each output channel, and the shift that all have."""

    factors: IntArray
    seconds: IntArray
    extras: IntArray
    product_shift: int

    @classmethod
    @lru_cache(maxsize=256)
    def find(
        cls,
        requantization: TfliteRequantization,
        zero_point: int,
        ranges: tuple[tuple[int, int], ...],
        more_bits: tuple[int, ...],
    ) -> Self | None:
        """Return those for outputs from -128 to 127, if there are any.

        `ranges` has the least and the largest accumulator of each channel. Those that are computed, and so their
        products, are 2^more_bits as large.
        """
        bits = min(min(requantization.shifts) - 1, MOST_BITS)
        if bits < 1 or requantization.is_exchangeable:
            return None
        outputs = np.arange(BYTE_LOW + 1, BYTE_HIGH + 1)
        least = requantization.least_sums(outputs - zero_point)
        dropped = np.array(requantization.shifts, np.int64) - bits - 1
        nearest = (np.array(requantization.multipliers, np.int64) + ((1 << dropped) >> 1)) >> dropped
        found = []
        for own, factor, (low, high), more in zip(least, nearest.tolist(), ranges, more_bits, strict=True):
            each = _search(own, factor, (low, high), outputs << (UPPER_HALF + bits + more), more)
            if each is None:
                return None
            found.append(each)
        factors, offsets, extras = np.array(found, np.int64).T
        return cls(factors, offsets, extras, bits)


def _search(
    least: IntArray, nearest: int, sums: tuple[int, int], steps: IntArray, more: int
) -> tuple[int, int, int] | None:
    """Return factor, offset and extra of a channel: `least` sums of outputs, of which all reach `steps`."""
    low, high = sums
    for count, change in product(EXTRAS, NEIGHBOURS):
        factor = nearest + change
        if max(abs(low), abs(high)) + count > LARGEST_SUM or not 0 < factor <= LARGEST_FACTOR:
            continue
        of_sum = factor << more
        # what is added to products is at least one value and less than another; none or all steps may be reached
        bottoms = (steps - np.maximum(least, low) * of_sum)[least <= high]
        tops = (steps - np.minimum(least - 1, high) * of_sum)[least > low]
        lowest = bottoms.max() if len(bottoms) else tops.min() - WIDE
        end = tops.min() if len(tops) else lowest + WIDE
        products = np.arange(count) * of_sum
        offsets = -((products - lowest) >> UPPER_HALF)
        fits = products + (offsets << UPPER_HALF) < end
        if fits.any():
            extra = int(fits.argmax())
            return factor, int(offsets[extra]), extra
    return None
