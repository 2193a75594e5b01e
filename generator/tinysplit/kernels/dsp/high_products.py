"""Requantization of sums on DSP cores, mostly by the upper half of a 64-bit product, which SMMLAR computes and rounds.

`(sum * factor + half a step) >> post_shift` is the upper half of `sum * (factor << (32 - post_shift))`, rounded: the
same integer, without a shift instruction. Layers of .tflite files have multipliers and shifts of their own, or what
`single_products.py` finds for them.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tinysplit.kernels.cost_table import Work
from tinysplit.kernels.dsp.single_products import BYTE_HIGH, BYTE_LOW, LARGEST_FACTOR, SingleProducts
from tinysplit.network.fixed_point.arithmetic import TfliteRequantization
from tinysplit.network.fixed_point.formats import IntArray, ValueFormat
from tinysplit.network.layers.base import Layer
from tinysplit.network.quantized_graph import QuantizedLayer

WORD_BYTES = 4
PRODUCT_BITS = 32  # below the upper half
LARGEST_HALF = (1 << 15) - 1
SINGLE = "single"
CLAMPS = ("free", "positive", "capped")


@dataclass(frozen=True, eq=False)
class Epilogue:
    """Requantization of the sums of a layer on a DSP core.

    `factors` has one value for each output channel, or one for all. `is_high`: they are shifted for the upper half of
    the product, for sums that are 2^extra_bits times too large by as much less. `is_narrow`: outputs are bytes from 0
    on, and are proved to fit 16 bits before the clamp; `is_whole`: the same for bytes from -128 to 127. `is_capped`:
    the clamp has an upper limit below 127. `rounding` is that of TensorFlow Lite, for which `factors` are multipliers
    and `seconds` shifts of their products; empty for others. It is SINGLE where a product with an offset from `seconds`
    is proved to give the same outputs, behind a shift by `product_shift`, of sums with `extras` beside the bias.
    """

    factors: IntArray
    is_high: bool
    is_narrow: bool
    is_capped: bool
    is_whole: bool
    rounding: str = ""
    seconds: IntArray | None = None
    product_shift: int = 0
    extras: IntArray | int = 0

    @classmethod
    def of(
        cls,
        quantized: QuantizedLayer,
        extra_bits: IntArray | None = None,
        *,
        may_mask: bool = False,
        may_be_single: bool = True,
    ) -> "Epilogue":
        """Return the epilogue of `quantized`; `extra_bits` has one value for each output channel.

        With `may_mask` the kernel clears the bits that the first shift drops, so that the product needs no such shift.
        Without `may_be_single` it has no code for SINGLE.

        Raises ValueError for a layer without requantization.
        """
        formats, (low, high) = quantized.formats, quantized.clamp
        requantization = formats.requantization
        if requantization is None:
            raise ValueError(f"{quantized.layer.kind} has no requantization")
        bounds = quantized.layer.sum_bounds(replace(quantized, bounds=()))  # for any input
        fits_half = _fits_half(bounds * requantization.corrections, formats.y)
        if isinstance(requantization, TfliteRequantization):
            is_whole = (low, high) == (BYTE_LOW, BYTE_HIGH)
            found = _single_products(quantized, requantization, extra_bits) if may_be_single and is_whole else None
            rounded = cls(
                factors=np.array(requantization.multipliers, np.int64),
                is_high=False,
                is_narrow=False,
                is_capped=False,
                is_whole=bool(fits_half and is_whole),
                rounding=requantization.rounding,
                seconds=requantization.right_shifts,
            )
            return replace(rounded, is_whole=True, rounding=SINGLE, **vars(found)) if found else rounded
        factors = np.array(requantization.factors, np.int64)
        if extra_bits is not None and extra_bits.any():
            factors = np.broadcast_to(factors, extra_bits.shape)
        shift = requantization.post_shift + (requantization.pre_shift if may_mask else 0)
        shifts = PRODUCT_BITS - shift - (0 if extra_bits is None else extra_bits)
        shifted = factors << np.maximum(shifts, 0)
        is_high = (
            (may_mask or requantization.pre_shift == 0) and np.all(shifts >= 0) and np.all(shifted <= LARGEST_FACTOR)
        )
        is_byte = formats.y.bits == 8 and low == 0  # noqa: PLR2004
        return cls(
            factors=shifted if is_high else np.array(requantization.factors, np.int64),
            is_high=bool(is_high),
            is_narrow=bool(is_high and is_byte and fits_half),
            is_whole=bool(is_high and fits_half and (low, high) == (-128, 127)),
            is_capped=bool(is_byte and high < 127),  # noqa: PLR2004 - the largest positive byte
        )

    def one_at_a_time(self) -> "Epilogue":
        """Return the same for outputs that are not adjacent, and so are clamped alone; with a cap as a word."""
        return self if self.is_capped else replace(self, is_narrow=False)


def _single_products(
    quantized: QuantizedLayer, requantization: TfliteRequantization, extra_bits: IntArray | None
) -> SingleProducts | None:
    """Return what `SingleProducts.find` finds for any input."""
    shape = len(requantization.multipliers)
    lowest, highest = (
        np.broadcast_to(each, shape).tolist() for each in quantized.layer.sum_range(replace(quantized, bounds=()))
    )
    more_bits = np.zeros(shape, np.int64) if extra_bits is None else extra_bits
    ranges = tuple(zip(lowest, highest, strict=True))
    return SingleProducts.find(requantization, quantized.formats.y.zero_point, ranges, tuple(more_bits.tolist()))


def _fits_half(largest: NDArray[np.float64], y: ValueFormat) -> bool:
    """Return whether outputs of at most `largest` steps fit 16 bits before the clamp."""
    return float(largest.max()) + 1 + abs(y.zero_point) <= LARGEST_HALF


def factor_bytes(layer: Layer) -> int:
    """Return the bytes of what requantizes an output channel: a factor, with a shift as in TensorFlow Lite."""
    return WORD_BYTES * (2 if layer.rounding else 1)


def clamped_work(layer: Layer, work: Work) -> dict[str, float]:
    """Return `work` with every part a second time, named by the clamp: `free_`, `positive_` (ReLU), `capped_` (ReLU6).

    The cost of a part is the sum of a cost for all clamps and one for its clamp. Before values have formats, a ReLU6 is
    taken to end where its format does, so that it needs no cap. Rounding as in TensorFlow Lite stands for any clamp.
    """
    if layer.rounding:
        return {**work, **{f"{layer.rounding}_{part}": count for part, count in work.items()}}
    clamp = CLAMPS[0] if layer.activation.low < 0 else CLAMPS[1]
    return {**work, **{f"{clamp}_{part}": count for part, count in work.items()}}


def exactly_clamped(work: Work, quantized: QuantizedLayer, epilogue: Epilogue) -> Work:
    """Return `work` with the clamp that the outputs need in their format; `low_` parts if the product is not high."""
    if quantized.layer.rounding:
        before, now = f"{quantized.layer.rounding}_", f"{epilogue.rounding}_"
        return {now + name.removeprefix(before) if name.startswith(before) else name: work[name] for name in work}
    if quantized.formats.shifted is None:
        return work
    low, high = quantized.clamp
    clamp = CLAMPS[2] if high < quantized.formats.y.high else CLAMPS[0] if low < 0 else CLAMPS[1]
    found: dict[str, float] = {}
    for name, count in work.items():
        before, _, part = name.partition("_")
        if before not in {*CLAMPS, quantized.layer.rounding}:
            found[name] = count
            continue
        found[f"{clamp}_{part}"] = count
        if not epilogue.is_high:
            found[f"low_{part}"] = count
    return found
