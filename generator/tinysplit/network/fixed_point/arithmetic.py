"""The integer arithmetic of the kernels in NumPy, bit-exact with `firmware/common/fixed_point.h`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import frexp
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from tinysplit.network.fixed_point.formats import IntArray

ACCUMULATOR_MAX = (1 << 31) - 1
MAX_SHIFT = 30  # so that half a step, 1 << (shift - 1), is a 32-bit integer
MAX_FACTOR = (1 << 16) - 1
PRODUCT_BITS, MOST_RIGHT_SHIFT = 31, 31  # of a multiplier of TensorFlow Lite, and of what it makes
LARGEST_HIGH = 1 << 30  # upper half of a product that decides about an output
UPPER_HALF = 32  # bits below the upper half of a product of two words


@dataclass(frozen=True)
class Requantization:
    """Requantization of a 32-bit accumulator: `((sum >> pre_shift) * factor + offset) >> post_shift`, in 32 bits.

    `factors` are integers from 1 to 65535, per output channel or one for all; a factor of 1 is no multiplication.
    factor * 2**-(pre_shift + post_shift) is the correction factor of Singh 2024. The offset rounds to nearest, halves
    up, and adds the output's zero point. The bias includes half a step of the first shift, which rounds it.
    """

    factors: tuple[int, ...]
    post_shift: int
    pre_shift: int = 0

    @override
    def __str__(self) -> str:
        low, high = min(self.factors), max(self.factors)
        factor = f"factor {low}" if low == high else f"factor {low} to {high}"
        first = f"shift {self.pre_shift}" if self.pre_shift else ""
        return ", ".join(filter(None, (first, factor if high > 1 else "", f"shift {self.post_shift}")))

    @property
    def corrections(self) -> NDArray[np.float64]:
        """Real factors of the accumulators, per output channel or one for all."""
        return np.array(self.factors, np.float64) * 2.0 ** -(self.pre_shift + self.post_shift)

    @property
    def sum_rounding(self) -> int:
        """Half a step of the first shift, which the bias includes."""
        return (1 << self.pre_shift) >> 1

    def offset(self, zero_point: int) -> int:
        """Return half a step of the output and its zero point, in the steps before the last shift."""
        return ((1 << self.post_shift) >> 1) + (zero_point << self.post_shift)

    def base(self, zero_point: int, low: int) -> int:
        """Return what outputs count from before the last shift: `low` where that makes no value larger, else 0."""
        return low if abs(self.offset(zero_point - low)) <= abs(self.offset(zero_point)) else 0

    def largest(self, bounds: IntArray, zero_point: int) -> int:
        """Return the largest absolute intermediate value for accumulators of at most `bounds` (per channel or all)."""
        products = ((bounds >> self.pre_shift) + 1) * np.array(self.factors, np.int64)
        return max(int(bounds.max()), int(products.max()) + abs(self.offset(zero_point)))

    def apply(self, sums: IntArray, zero_point: int) -> IntArray:
        """Return outputs, not yet clamped, for `sums` (... x channels)."""
        products = (sums >> self.pre_shift) * np.array(self.factors, np.int64)
        outputs: IntArray = (products + self.offset(zero_point)) >> self.post_shift
        return outputs

    def of_channels(self, channels: Sequence[int]) -> Self:
        """Return the requantization of some output channels."""
        return self if len(self.factors) == 1 else replace(self, factors=tuple(self.factors[c] for c in channels))


@dataclass(frozen=True)
class TfliteRequantization:
    """Requantization of a 32-bit accumulator as by TensorFlow Lite's reference kernels.

    Each output channel has a multiplier from 2**30 to 2**31 - 1 and a shift from 0 on. Most kernels round twice:
    `high = (sum * multiplier + 2**30) >> 31`, to nearest, halves up, then `high / 2**shift`, halves away from zero
    (SaturatingRoundingDoublingHighMul and RoundingDivideByPOT in tensorflow/lite/kernels/internal/common.h). Those of
    fully connected layers of LiteRT 2 round once, halves up. `is_exchangeable`: other weights may replace those of the
    layer, so that its code must not follow from them.
    """

    multipliers: tuple[int, ...]
    shifts: tuple[int, ...]
    rounding: Literal["once", "twice"] = "twice"
    is_exchangeable: bool = False

    @classmethod
    def of(cls, ratios: NDArray[np.float64], rounding: Literal["once", "twice"] = "twice") -> Self | None:
        """Return the requantization by `ratios`, steps of the output in one of each accumulator; None from 1 on."""
        multipliers, exponents = zip(*map(quantized_multiplier, ratios.tolist()), strict=True)
        return None if max(exponents) > 0 else cls(multipliers, tuple(-each for each in exponents), rounding)

    @override
    def __str__(self) -> str:
        low, high = min(self.corrections), max(self.corrections)
        ratio = f"{low:.3g}" if low == high else f"{low:.3g} to {high:.3g}"
        return f"{ratio}, rounded {self.rounding} as in TensorFlow Lite"

    @property
    def corrections(self) -> NDArray[np.float64]:
        """Real factors of the accumulators, per output channel."""
        return np.array(self.multipliers, np.float64) * 2.0 ** -(PRODUCT_BITS + np.array(self.shifts, np.float64))

    @property
    def sum_rounding(self) -> int:
        """What the bias includes: nothing."""
        return 0

    def largest(self, bounds: IntArray, _: int) -> int:
        """Return the largest absolute intermediate value: kernels shift the accumulator left."""
        return int(bounds.max()) << self.left_shift

    def rounds_up(self, low: int, zero_point: int) -> bool:
        """Return whether halves may be rounded up for outputs from `low` on: those below the zero point do not occur.

        The code of kernels depends on it.
        """
        return self.rounding == "once" or (low >= zero_point and min(self.shifts) > 0)

    @property
    def left_shift(self) -> int:
        """Bits by which kernels shift the accumulator left, so that the upper half of a product has what is rounded."""
        return 2 if self.rounding == "once" else 1

    @property
    def right_shifts(self) -> IntArray:
        """Shifts of the upper halves of products; outputs are the same for longer ones, of channels without outputs."""
        return np.minimum(np.array(self.shifts, np.int64) + self.left_shift - 1, MOST_RIGHT_SHIFT)

    def coarser(self, bits: IntArray) -> Self:
        """Return the requantization of accumulators with fewer `bits`, per output channel and at most its shift."""
        return replace(self, shifts=tuple((np.array(self.shifts, np.int64) - bits).tolist()))

    def apply(self, sums: IntArray, zero_point: int) -> IntArray:
        """Return outputs, not yet clamped, for `sums` (... x channels)."""
        products, shifts = (sums << self.left_shift) * np.array(self.multipliers, np.int64), self.right_shifts
        if self.rounding == "once":
            outputs: IntArray = ((products >> UPPER_HALF) + ((1 << shifts) >> 1)) >> shifts
        else:
            outputs = halves_away((products + (1 << (UPPER_HALF - 1))) >> UPPER_HALF, shifts)
        return outputs + zero_point

    def least_sums(self, outputs: IntArray) -> IntArray:
        """Return the least accumulators whose outputs, without zero point, are at least `outputs`: channels x outputs.

        They are exact below 2**29; those of larger ones are at least 2**29.
        """
        shifts = self.right_shifts[:, np.newaxis]
        is_above = (outputs > 0) | (self.rounding == "once") | (shifts == 0)  # else halves go down
        least_high = (outputs << shifts) - ((1 << shifts) >> 1) + ~is_above
        half = 0 if self.rounding == "once" else 1 << (UPPER_HALF - 1)
        products = (least_high.clip(-LARGEST_HIGH, LARGEST_HIGH) << UPPER_HALF) - half
        sums: IntArray = -(-products // (np.array(self.multipliers, np.int64)[:, np.newaxis] << self.left_shift))
        return sums

    def of_channels(self, channels: Sequence[int]) -> Self:
        """Return the requantization of some output channels."""
        multipliers, shifts = (tuple(values[c] for c in channels) for values in (self.multipliers, self.shifts))
        return replace(self, multipliers=multipliers, shifts=shifts)


def quantized_multiplier(ratio: float) -> tuple[int, int]:
    """Return a multiplier from 2**30 to 2**31 - 1 and an exponent: `ratio` is multiplier * 2**(exponent - 31).

    QuantizeMultiplier of tensorflow/lite/kernels/internal/quantization_util.cc.
    """
    fraction, exponent = frexp(ratio)
    multiplier = round(fraction * (1 << PRODUCT_BITS))
    return (multiplier >> 1, exponent + 1) if multiplier == 1 << PRODUCT_BITS else (multiplier, exponent)


def halves_away(values: IntArray, shifts: IntArray | int) -> IntArray:
    """Divide by 2**shifts and round to nearest, halves away from zero: RoundingDivideByPOT of TensorFlow Lite."""
    half = (1 << np.asarray(shifts, np.int64)) >> 1
    shifted: IntArray = (values + np.where(half > 0, half - (values < 0), 0)) >> shifts
    return shifted


def dot(x: IntArray, weights: IntArray) -> IntArray:
    """Return `x` (... x inputs) times the transpose of `weights` (outputs x inputs).

    Computes in float64, which BLAS makes much faster than NumPy's integers. This is exact, because `quantize` proved
    that no partial sum exceeds 32 bits.
    """
    sums: IntArray = (x.astype(np.float64) @ weights.T.astype(np.float64)).astype(np.int64)
    return sums


def rounded_shift(sums: IntArray, shift: int) -> IntArray:
    """Divide by 2**shift (0 to 30) and round to nearest, halves up."""
    shifted: IntArray = (sums + ((1 << shift) >> 1)) >> shift
    return shifted


def scaled_root(squares: NDArray[np.uint64]) -> tuple[IntArray, IntArray]:
    """Return r from 2**15 to 2**16, rounded, and e of the square roots r * 2**e of positive integers of 64 bits."""
    left = squares.copy()
    zeros = np.zeros(squares.shape, np.int64)
    for shift in (32, 16, 8, 4, 2):
        is_small = left < np.uint64(1 << (64 - shift))
        left[is_small] <<= np.uint64(shift)
        zeros += shift * is_small
    high = (left >> np.uint64(32)).astype(np.int64)
    root = np.sqrt(high).astype(np.int64)
    return root + (high - root * root > root), 16 - zeros // 2


def rounded_quotient(sums: IntArray, counts: IntArray | int) -> IntArray:
    """Divide by positive `counts` and round to nearest, halves up."""
    quotient: IntArray = (sums + counts // 2) // counts
    return quotient
