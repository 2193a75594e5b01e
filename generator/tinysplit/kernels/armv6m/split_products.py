"""Requantization as in TensorFlow Lite by products of 32 bits, where it is proved to give the same outputs.

Cortex-M0+ has no product of 64 bits. An output is a step function of the accumulator, with at most 255 steps, so

    y - low = (sum * factor + (sum * part >> product_shift) + offset) >> output_shift

is the same as the roundings of TensorFlow Lite if it has the same steps, for accumulators within their range: then no
product exceeds 32 bits. `factor` and `part` are the upper and lower bits of the ratio. Where these are too few, there
is a second part, whose product is shifted and added to that of the first. Where halves go down below the zero point,
negative accumulators have another offset.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Self

import numpy as np

from tinysplit.network.fixed_point.arithmetic import PRODUCT_BITS, TfliteRequantization
from tinysplit.network.fixed_point.formats import IntArray

MOST_SUM_BITS = 24
MOST_PRODUCT_SHIFT = 14
MOST_OUTPUT_SHIFT = 22  # offsets of outputs of eight bits fit a word
OUTPUTS = 258  # from the least to the largest byte, and roundings
NEIGHBOURS = (0, 1, -1, 2, -2)  # of the nearest ratio
LARGEST = (1 << 31) - 1
MOST_WORDS = 5  # of a channel
FORMS = tuple(product((1, 2), (False, True)))  # numbers of parts, and whether offsets differ


@dataclass(frozen=True, eq=False)
class SplitProducts:
    """The words of each output channel, and the shifts that all have.

    Words: `parts` parts, the last one first; the factor; if there `are_two` offsets, the difference of that of negative
    accumulators; the offset.
    """

    words: IntArray
    parts: int
    are_two: bool
    product_shift: int
    output_shift: int

    @classmethod
    @lru_cache(maxsize=256)
    def find(
        cls,
        requantization: TfliteRequantization,
        zero_point: int,
        clamp: tuple[int, int],
        ranges: tuple[tuple[int, int], ...],
    ) -> Self | None:
        """Return those for outputs within `clamp`, if there are any, for accumulators in the range of each channel."""
        largest = [max(abs(low), abs(high)) for low, high in ranges]
        sum_bits = max(largest).bit_length()
        if requantization.is_exchangeable or sum_bits > MOST_SUM_BITS:
            return None
        most = int((np.array(largest) * requantization.corrections).max()) + OUTPUTS
        product_shift = min(PRODUCT_BITS - sum_bits, MOST_PRODUCT_SHIFT)
        output_shift = min(PRODUCT_BITS - most.bit_length(), MOST_OUTPUT_SHIFT)
        outputs = np.arange(clamp[0] + 1, clamp[1] + 1)
        least = requantization.least_sums(outputs - zero_point)
        steps = (outputs - clamp[0]) << output_shift
        for parts, are_two in FORMS:
            bits = parts * product_shift
            nearest = _ratios(requantization, bits + output_shift)
            words = []
            for own, ratio, sums in zip(least, nearest, ranges, strict=True):
                found = _search(own, ratio, sums, steps, bits, are_two)
                if found is None:
                    break
                words.append([*_digits(found[0], parts, product_shift), *found[1 if are_two else 2 :]])
            else:
                return cls(np.array(words, np.int64), parts, are_two, product_shift, output_shift)
        return None


def _ratios(requantization: TfliteRequantization, bits: int) -> list[int]:
    """Return the real factors of the accumulators in steps of 2^-bits."""
    dropped = PRODUCT_BITS + np.array(requantization.shifts, np.int64) - bits
    multipliers, right = np.array(requantization.multipliers, np.int64), np.maximum(dropped, 0)
    ratios: list[int] = ((multipliers << np.maximum(-dropped, 0)) + ((1 << right) >> 1) >> right).tolist()
    return ratios


def _digits(ratio: int, parts: int, shift: int) -> Iterator[int]:
    """Yield the parts, the last one first, and the factor."""
    for _ in range(parts):
        yield ratio & ((1 << shift) - 1)
        ratio >>= shift
    yield ratio


def _search(
    least: IntArray, nearest: int, sums: tuple[int, int], steps: IntArray, bits: int, are_two: bool
) -> tuple[int, int, int] | None:
    """Return ratio, difference of the offset of negative accumulators, and offset of a channel.

    `least` are the least accumulators whose outputs reach `steps`; their products are shifted by `bits`.
    """
    low, high = sums
    for ratio in (nearest + change for change in NEIGHBOURS if nearest + change >= 0):
        if are_two and low < 0 <= high:
            below, offset = (_offset(least, ratio, each, steps, bits) for each in ((low, -1), (0, high)))
        else:
            below = offset = _offset(least, ratio, sums, steps, bits)
        if below is not None and offset is not None:
            totals = ((low * ratio >> bits) + below, (high * ratio >> bits) + offset)
            if max(map(abs, (*totals, below, offset, below - offset))) < LARGEST:
                return ratio, below - offset, offset
    return None


def _offset(least: IntArray, ratio: int, sums: tuple[int, int], steps: IntArray, bits: int) -> int | None:
    """Return an offset with which the accumulators from the first to the second of `sums` have all their steps."""
    low, high = sums
    is_reached, is_missed = least <= high, least > low
    # an offset of at least one value makes all reached sums do so, and of less than another no missed ones
    bottoms = steps[is_reached] - (np.maximum(least, low)[is_reached] * ratio >> bits)
    tops = steps[is_missed] - (np.minimum(least - 1, high)[is_missed] * ratio >> bits)
    offset = int(bottoms.max()) if len(bottoms) else int(tops.min()) - 1
    return offset if not len(tops) or offset < tops.min() else None
