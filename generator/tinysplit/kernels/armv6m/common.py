"""Parts of the Cortex-M0+ kernels: unsigned values, copies to the scratch buffer, and their costs.

These kernels read 8-bit values as unsigned: unchanged where none is negative, otherwise as x + 128, from 0 to 255. The
bias then subtracts 128 * sum(w).
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Self

import numpy as np
from numpy.typing import NDArray

from tinysplit.kernels.armv6m.split_products import MOST_WORDS, SplitProducts
from tinysplit.kernels.base import KernelContext
from tinysplit.kernels.cost_table import Work, sum_of
from tinysplit.network.bit_widths import Widths
from tinysplit.network.fixed_point.arithmetic import TfliteRequantization
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.layers.base import Layer
from tinysplit.network.layers.window import layer_window
from tinysplit.network.quantized_graph import QuantizedLayer

BITS = 8
_SIGN = 1 << (BITS - 1)
WORD_BYTES = 4
LARGEST_UNROLLED_COPY = 4  # values that are copied without a loop
COPIED_TOGETHER = 12  # words that one iteration copies: templates/copy_values.j2
EXPECTED_LARGEST = 127 * 31 / 32  # weight of a channel: its scale is rounded up, by 1/16 at most
SPLIT = "split"  # rounding of layers with `SplitProducts`


@dataclass(frozen=True)
class UnsignedLayer:
    """The integers of a layer for unsigned 8-bit inputs from 0 to `x_high`, or for signed 16-bit inputs."""

    weights: NDArray[np.int64]  # output channels x weights of a channel
    bias: NDArray[np.int64]
    factors: NDArray[np.int64]  # output channels x what requantizes a channel: `factor_words`
    x_high: int

    @classmethod
    def of(cls, quantized: QuantizedLayer) -> "UnsignedLayer":
        """Return the integers of a layer, with a bias for x + 128 where inputs may be negative."""
        layer, constants = quantized.layer, quantized.constants
        weights = layer.by_channel(constants["weights"]).astype(np.int64)
        shift = _sign(quantized)
        bias = constants["bias"].astype(np.int64) - shift * weights.sum(axis=1)
        return cls(weights, bias, _factors(quantized), quantized.x_bounds[1] + shift)


@dataclass(frozen=True)
class ValueCopy:
    """How values are copied to the scratch buffer; `sign` and `zero` are C literals for one unit of the copy."""

    by_words: bool  # units are words: all channels of a pixel fill whole words; else single values
    sign: str  # what x ^ sign makes x + 128 of; empty if values are copied unchanged
    zero: str  # the padding

    @classmethod
    def of(cls, quantized: QuantizedLayer) -> Self:
        """Return how the inputs of a layer are copied."""
        x = quantized.formats.x
        by_words = quantized.layer.in_shape.channels * x.bits // 8 % WORD_BYTES == 0
        unit = sum(1 << place for place in range(0, 8 * WORD_BYTES, x.bits)) if by_words else 1
        sign = _sign(quantized)
        return cls(
            by_words=by_words,
            sign=hex(sign * unit) if sign else "",
            zero=hex((x.zero_point ^ sign) % (1 << x.bits) * unit),
        )


@dataclass(frozen=True)
class Armv6mContext(KernelContext):
    """Template context of all kernels in assembler."""

    copy: ValueCopy
    factor_words: int  # of a channel: none if all factors are 1; a multiplier and a shift as in TensorFlow Lite
    split: SplitProducts | None  # that round as TensorFlow Lite


def _factors(quantized: QuantizedLayer) -> NDArray[np.int64]:
    """Return what requantizes each channel: nothing where all factors are 1."""
    channels, requantization = quantized.layer.out_shape.channels, quantized.formats.requantization
    if isinstance(requantization, TfliteRequantization):
        split = split_products(quantized)
        if split:
            return split.words
        return np.column_stack([np.array(requantization.multipliers, np.int64), requantization.right_shifts])
    factors = np.array(requantization.factors if requantization else (1,), np.int64)
    words = [np.broadcast_to(factors, channels)] if factors.max() > 1 else []
    return np.array(words, np.int64).reshape(-1, channels).T


@lru_cache(maxsize=256)
def split_products(quantized: QuantizedLayer) -> SplitProducts | None:
    """Return the products of 32 bits that give the outputs of TensorFlow Lite for any input, if there are any."""
    requantization = quantized.formats.requantization
    if quantized.formats.y.bits != BITS or not isinstance(requantization, TfliteRequantization):
        return None
    shape = len(requantization.multipliers)
    lowest, highest = (
        np.broadcast_to(each, shape).tolist() for each in quantized.layer.sum_range(replace(quantized, bounds=()))
    )
    ranges = tuple(zip(lowest, highest, strict=True))
    return SplitProducts.find(requantization, quantized.formats.y.zero_point, quantized.clamp, ranges)


def exactly_rounded(work: Work, quantized: QuantizedLayer) -> Work:
    """Return `work` with the parts of rounding named SPLIT where `SplitProducts` replace it.

    They count once more for a second part (`deep_`) and for two offsets (`bent_`).
    """
    split, before = split_products(quantized), f"{quantized.layer.rounding}_"
    if not split:
        return work
    names = [SPLIT, *(["deep"] if split.parts > 1 else []), *(["bent"] if split.are_two else [])]
    rounded = [name for name in work if name.startswith(before)]
    own = {f"{name}_{part.removeprefix(before)}": work[part] for part in rounded for name in names}
    return {name: count for name, count in work.items() if name not in rounded} | own


def output_base(quantized: QuantizedLayer) -> int:
    """Return what outputs count from before their last shift: the lowest one where that needs no more bits, or 0."""
    shifted, y = quantized.formats.shifted, quantized.formats.y
    return shifted.base(y.zero_point, quantized.clamp[0]) if shifted and y.bits == BITS else 0


def base_offset(quantized: QuantizedLayer) -> int:
    """Return what is added to a product: half a step and the zero point, from the base of outputs on."""
    shifted = quantized.formats.shifted
    return shifted.offset(quantized.formats.y.zero_point - output_base(quantized)) if shifted else 0


def factor_words(quantized: QuantizedLayer) -> int:
    """Return the words that requantize a channel."""
    return int(_factors(quantized).shape[1])


def expected_factor_words(layer: Layer) -> int:
    """Return the most words that requantize a channel, from the information in the graph."""
    return MOST_WORDS if layer.rounding else 1


def is_signed(quantized: QuantizedLayer) -> bool:
    """Return whether inputs may be negative, so that they are copied as x + 128."""
    return _sign(quantized) > 0


def may_be_signed(layer: Layer, widths: Widths) -> bool:
    """Return whether inputs are copied as x + 128, from the information in the graph."""
    return widths.x == BITS and layer.x_clamp.low < 0


def expected_high(layer: Layer) -> int:
    """Return the largest unsigned input, from the information in the graph."""
    return 2 * _SIGN - 1 if layer.x_clamp.low < 0 else _SIGN - 1


def expected_magnitudes(layer: Layer) -> IntArray:
    """Return those of the integer weights: as the file has them, or such that every channel uses its whole format."""
    weights = np.abs(layer.by_channel(layer.parameters["weights"]).astype(np.float64))
    largest = np.maximum(weights.max(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    scales = layer.qdq_scales
    if scales is None or scales.size not in {1, len(weights)}:
        magnitudes = np.rint(EXPECTED_LARGEST * weights / largest)
    else:
        magnitudes = np.rint(weights / scales[:, np.newaxis])
    integers: IntArray = magnitudes.astype(np.int64)
    return integers


def copy_work(layer: Layer, widths: Widths, values: float, runs: float = 1, *, signed: bool) -> dict[str, float]:
    """Return the work of copying `runs` runs of `values` consecutive values.

    Parts: `twelves` are words copied twelve at a time; `words` and `values` are copied one at a time, the values of a
    `straight_` run without a loop; `signed_` ones are copied as x + 128.
    """
    sign = "signed_" if signed else ""
    if layer.in_shape.channels * widths.x // 8 % WORD_BYTES:
        return {f"{sign}{'straight_' if values <= LARGEST_UNROLLED_COPY else ''}values": runs * values}
    words = values * widths.x // 8 // WORD_BYTES
    twelves = 0 if signed else words // COPIED_TOGETHER
    return {"twelves": runs * twelves, f"{sign}words": runs * (words - COPIED_TOGETHER * twelves)}


def windows_work(layer: Layer, widths: Widths, passes: int) -> dict[str, float]:
    """Return the work of copying the windows of all output pixels `passes` times.

    Parts: `run` is a kernel row inside the map, copied as a whole; `piece` is a single kernel position of another row;
    `outside` is a position in the padding, with its `filled_` words or values.
    """
    window = layer_window(layer)
    signed = may_be_signed(layer, widths)
    if window is None:
        return copy_work(layer, widths, layer.in_shape.size, passes, signed=signed)
    rows, columns = window.covered(layer.in_shape)
    whole = (columns == window.kernel[1]) & (window.dilation[1] == 1)
    runs, pieces = float(passes * rows.sum() * whole.sum()), float(passes * rows.sum() * columns[~whole].sum())
    outside = float(passes * rows.size * whole.size * window.elements) - runs * window.kernel[1] - pieces
    channels = layer.in_shape.channels
    filled = copy_work(layer, widths, channels, outside, signed=True)
    every = (
        {"run": runs, "piece": pieces, "outside": outside},
        copy_work(layer, widths, window.kernel[1] * channels, runs, signed=signed),
        copy_work(layer, widths, channels, pieces, signed=signed),
        {name.replace("signed", "filled"): count for name, count in filled.items()},
    )
    return sum_of(*every)


def _sign(quantized: QuantizedLayer) -> int:
    """Return what is added to the inputs: 128 where 8-bit ones may be negative, else 0."""
    return _SIGN if quantized.formats.x.bits == BITS and quantized.x_bounds[0] < 0 else 0
