"""Requantization by the upper half of a 64-bit product, which DSP cores compute and round in one instruction (SMMLAR).

`(sum * factor + half a step) >> post_shift` is the upper half of `sum * (factor << (32 - post_shift))`, rounded: the
same integer, without a shift of its own.
"""

from dataclasses import dataclass, replace

import numpy as np

from tinysplit.kernels.cost_table import Work
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.layers.base import Layer
from tinysplit.network.quantized_graph import QuantizedLayer

PRODUCT_BITS = 32  # below the upper half
LARGEST_FACTOR = (1 << 31) - 1
LARGEST_HALF = (1 << 15) - 1


@dataclass(frozen=True, eq=False)
class Epilogue:
    """How the sums of a layer become outputs on a DSP core.

    `factors` are those of the output channels, or one for all. With `is_high` they are shifted for the upper half of
    the product, by `extra_bits` a channel less for sums that come that much too large. With `is_narrow`, outputs are
    positive bytes and proved to fit halves of a word before they are clamped, with `is_whole` bytes of the whole range.
    """

    factors: IntArray
    is_high: bool
    is_narrow: bool
    is_capped: bool
    is_whole: bool

    @classmethod
    def of(cls, quantized: QuantizedLayer, extra_bits: IntArray | None = None, *, may_mask: bool = False) -> "Epilogue":
        """Return the epilogue of `quantized`; `extra_bits` has a number for every output channel.

        With `may_mask` the kernel takes away what a first shift drops, so that upper halves need no such shift.
        """
        formats, (low, high) = quantized.formats, quantized.clamp
        requantization = formats.requantization
        if requantization is None:
            raise ValueError(f"{quantized.layer.kind} has no requantization")
        factors = np.array(requantization.factors, np.int64)
        if extra_bits is not None and extra_bits.any():
            factors = np.broadcast_to(factors, extra_bits.shape)
        shift = requantization.post_shift + (requantization.pre_shift if may_mask else 0)
        shifts = PRODUCT_BITS - shift - (0 if extra_bits is None else extra_bits)
        shifted = factors << np.maximum(shifts, 0)
        is_high = (
            (may_mask or requantization.pre_shift == 0) and np.all(shifts >= 0) and np.all(shifted <= LARGEST_FACTOR)
        )
        bounds = quantized.layer.sum_bounds(replace(quantized, bounds=()))  # for any input
        largest = bounds * np.array(requantization.factors, np.int64) >> requantization.post_shift
        fits_half = int(largest.max()) + 1 + abs(formats.y.zero_point) <= LARGEST_HALF
        is_byte = formats.y.bits == 8 and low == 0  # noqa: PLR2004
        return cls(
            factors=shifted if is_high else np.array(requantization.factors, np.int64),
            is_high=bool(is_high),
            is_narrow=bool(is_high and is_byte and fits_half),
            is_whole=bool(is_high and fits_half and (low, high) == (-128, 127)),
            is_capped=bool(is_byte and high < 127),  # noqa: PLR2004 - the largest positive byte
        )


def clamped_work(layer: Layer, work: Work) -> dict[str, float]:
    """Return `work` with each part once more as what its outputs are: `free`, `positive` (ReLU) or `capped` (ReLU6).

    So a part has costs that all clamps share, and those of its own.
    """
    activation = layer.activation
    clamp = "capped" if np.isfinite(activation.high) else "free" if activation.low < 0 else "positive"
    return {**work, **{f"{clamp}_{part}": count for part, count in work.items()}}
