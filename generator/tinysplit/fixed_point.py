"""The integer arithmetic of the kernels in NumPy, bit by bit what `firmware/common/fixed_point.h` does in C."""

import numpy as np

from tinysplit.qformat import IntArray

ACCUMULATOR_MAX = (1 << 31) - 1
MAX_SHIFT = 30  # so that half a step, 1 << (shift - 1), and its sum with an accumulator are 32-bit integers


def dot(x: IntArray, weights: IntArray) -> IntArray:
    """Return `x` (... x inputs) times the transpose of `weights` (outputs x inputs).

    The product runs in float64, which BLAS makes much faster than NumPy's integers: it is exact, because `quantize`
    proved that no partial sum exceeds 32 bits.
    """
    sums: IntArray = (x.astype(np.float64) @ weights.T.astype(np.float64)).astype(np.int64)
    return sums


def rounded_shift(sums: IntArray, shift: int) -> IntArray:
    """Divide by 2**shift (0 to 30) and round to nearest, halves up."""
    shifted: IntArray = (sums + ((1 << shift) >> 1)) >> shift
    return shifted


def rounded_quotient(sums: IntArray, counts: IntArray | int) -> IntArray:
    """Divide by positive `counts` and round to nearest, halves up."""
    quotient: IntArray = (sums + counts // 2) // counts
    return quotient
