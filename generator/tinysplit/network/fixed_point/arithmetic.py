"""The integer arithmetic of the kernels in NumPy, bit-exact with `firmware/common/fixed_point.h`."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from tinysplit.network.fixed_point.formats import IntArray

ACCUMULATOR_MAX = (1 << 31) - 1
MAX_SHIFT = 30  # so that half a step, 1 << (shift - 1), is a 32-bit integer
MAX_FACTOR = (1 << 16) - 1


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

    def largest(self, bounds: IntArray, zero_point: int) -> int:
        """Return the largest absolute intermediate value for accumulators of at most `bounds` (per channel or all)."""
        products = ((bounds >> self.pre_shift) + 1) * np.array(self.factors, np.int64)
        return max(int(bounds.max()), int(products.max()) + abs(self.offset(zero_point)))

    def apply(self, sums: IntArray, zero_point: int) -> IntArray:
        """Return outputs, not yet clamped, for `sums` (... x channels)."""
        products = (sums >> self.pre_shift) * np.array(self.factors, np.int64)
        outputs: IntArray = (products + self.offset(zero_point)) >> self.post_shift
        return outputs


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
