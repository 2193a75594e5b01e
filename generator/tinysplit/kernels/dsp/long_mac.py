"""Convolutions of 8 bits by SMLAL: six products in two 64-bit multiplications, two pixels x three channels (packing).

A word of values is p + q * 2^21 of two pixels, words of weights are m + n * 2^21 and r + m * 2^21 of three output
channels. A sum of products of such words has three fields: y(p, m), y(p, n) + y(q, m) and y(q, n); y(p, r),
y(p, m) + y(q, r) and y(q, m). So each sum of a pixel and a channel is a field or the difference of two.

Fields stay apart as long as each is at least -2^20 and less than 2^20, for any inputs. Sums over `groups` of inputs,
as few as possible, for which this is proved from the weights are added up in 32 bits: `fields_fit`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar, Self

import numpy as np
from typing_extensions import override

from tinysplit.common.alignment import aligned
from tinysplit.kernels.base import Kernel, KernelContext
from tinysplit.kernels.code_parts import Code
from tinysplit.kernels.cores import DSP_CORES
from tinysplit.kernels.cost_table import Work
from tinysplit.kernels.dsp.high_products import Epilogue, clamped_work, exactly_clamped, factor_bytes
from tinysplit.kernels.in_place import Lead, first_reads, lead_of_blocks
from tinysplit.kernels.memory_traffic import Loads
from tinysplit.kernels.row_order import RowOrder, usual_order
from tinysplit.network.bit_widths import Widths
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.layers.base import Layer
from tinysplit.network.layers.conv import Conv
from tinysplit.network.layers.window import Window
from tinysplit.network.quantized_graph import QuantizedLayer

FIELD_BITS = 21
FIELD_LIMIT = 1 << (FIELD_BITS - 1)  # of the absolute value of a field
BYTE_BITS = 8
PIXELS, CHANNELS = 4, 3  # computed together
TOGETHER = 4  # inputs are packed four at a time
STEP = 2  # inputs of a step of the inner loop
UNROLLED, DUAL_UNROLLED = 8, 32  # most steps in an iteration; on Cortex-M7
MOST_INPUTS = 2048  # of an output: 16 KB of packed values
MOST_OUTPUTS = 0xFFF // (PIXELS - 1)  # channels: STRB's offset of 12 bits reaches the last pixel's bytes
LARGEST_BYTE = 127


@dataclass(frozen=True)
class LongMacContext(KernelContext):
    """Template context."""

    epilogue: Epilogue
    stores_bytes: bool
    is_flat: bool  # pixels of the input and the output are the same
    groups: int
    group_inputs: int
    steps: int  # of an iteration of the inner loop
    dual_steps: int  # the same on Cortex-M7
    blocks: int


class LongMac(Kernel):
    """Windows of four pixels are packed in pairs; three output channels of them are computed at a time."""

    name: ClassVar[str] = "long_mac"
    takes_much_flash: ClassVar[bool] = True  # 2.7 times the weights
    depends_on_weights: ClassVar[bool] = True  # the groups of inputs do
    reads_forward = True

    @override
    def fits(self, layer: Layer, core: str, widths: Widths) -> bool:
        if core not in DSP_CORES or not widths.x == widths.w == BYTE_BITS or not isinstance(layer, Conv):
            return False
        has_shape = layer.in_shape.channels % TOGETHER == 0 and CHANNELS <= layer.out_shape.channels <= MOST_OUTPUTS
        return layer.groups == 1 and has_shape and _inputs(layer) <= MOST_INPUTS and _pixels(layer) >= PIXELS

    @override
    def scratch_bytes(self, layer: Layer, widths: Widths) -> int:
        # packed values of four pixels; outputs of the last ones, if fewer are left
        rest_bytes = PIXELS * layer.out_shape.channels * widths.y // 8 if _pixels(layer) % PIXELS else 0
        return _inputs(layer) * PIXELS // 2 * 4 + aligned(rest_bytes)

    @override
    def lead(self, layer: Layer, k: int, widths: Widths) -> Lead | None:
        # the values of four pixels are packed before their outputs are written
        starts = np.arange(0, _pixels(layer), PIXELS)
        firsts = first_reads(layer.in_shape, layer.out_shape, _conv(layer).window).reshape(-1)
        ends = np.minimum(starts + PIXELS, _pixels(layer)) * layer.out_shape.channels
        return Lead(lead_of_blocks(np.minimum.reduceat(firsts, starts), ends, widths, reads_first=True))

    @override
    def row_order(self, layer: Layer, widths: Widths) -> RowOrder:
        # a pointwise layer is called row by row
        usual = usual_order(layer)
        if usual.reason:
            return usual
        if not _is_flat(layer) or layer.out_shape.width < PIXELS:
            return RowOrder.none("long_mac computes four pixels of any rows together")
        return RowOrder(by_calls=True)

    @override
    def cost_kind(self, layer: Layer) -> str:
        # pointwise layers have the same loops
        return f"{Conv.kind}/{self.name}"

    @override
    def work(self, layer: Layer, widths: Widths) -> Work:
        """Return the work of the kernel.

        Parts: `pairs` of inputs of four pixels and three output channels (a `block`); iterations of the inner loop,
        `loops` or `dual_loops`; `groups` after the first, in `grouped` blocks; `packed` values, in `runs` of a pixel's
        channels, `clipped` if some are outside the map; `quads` of pixels; of stored bytes, `shifted` are blocks with a
        zero point.
        """
        return _work(layer, Packing.expected(layer).groups)

    @override
    def exact_work(self, layer: Layer, work: Work, quantized: QuantizedLayer) -> Work:
        # weights decide about groups, formats how outputs are requantized and clamped
        groups = Packing.of(quantized).groups
        exact = _work(layer, groups)
        if _stores_bytes(quantized, groups) and quantized.formats.y.zero_point:
            exact["shifted"] = exact["block"]
        return exactly_clamped({**work, **exact}, quantized, Epilogue.of(quantized))

    @override
    def loads(self, layer: Layer, widths: Widths) -> Loads:
        # weights are read once for four pixels, packed values once for three output channels
        quads, values = -(-_pixels(layer) // PIXELS), PIXELS * _inputs(layer)
        return Loads(quads * self.weights_bytes(layer, widths), quads * values * (1 + 2 * _blocks(layer)))

    @override
    def weights_bytes(self, layer: Layer, widths: Widths) -> int:
        return _blocks(layer) * (2 * 4 * _inputs(layer) + CHANNELS * (8 + factor_bytes(layer)))

    @override
    def constants(self, quantized: QuantizedLayer) -> Mapping[str, IntArray]:
        # weights, then of each channel its place after the one before, bias and factor, block by block
        packing, epilogue, layer = Packing.of(quantized), Epilogue.of(quantized), quantized.layer
        m, n, r = np.moveaxis(_weights(quantized)[packing.channels], 1, 0)
        words = np.stack([m + (n << FIELD_BITS), r + (m << FIELD_BITS)], axis=-1)
        bias = quantized.constants["bias"] + epilogue.extras - packing.groups * FIELD_LIMIT  # with which fields start
        own = [bias, epilogue.factors, *([] if epilogue.seconds is None else [epilogue.seconds])]
        of_channels = np.stack([np.broadcast_to(each, layer.out_shape.channels) for each in own], axis=-1)
        places = np.diff(packing.channels.reshape(-1), prepend=0).reshape(*packing.channels.shape, 1)
        parts = [words, np.concatenate([places, of_channels[packing.channels]], axis=-1)]
        return {"weights": np.concatenate([each.reshape(len(words), -1) for each in parts], axis=1).astype(np.int32)}

    @override
    def context(self, quantized: QuantizedLayer) -> LongMacContext:
        layer, groups = quantized.layer, Packing.of(quantized).groups
        group_inputs, epilogue = _inputs(layer) // groups, Epilogue.of(quantized)
        return LongMacContext(
            epilogue=replace(epilogue, is_narrow=False, is_capped=False),  # outputs are clamped one by one
            stores_bytes=_stores_bytes(quantized, groups),
            is_flat=_is_flat(layer),
            groups=groups,
            group_inputs=group_inputs,
            steps=_unrolled(group_inputs, UNROLLED),
            dual_steps=_unrolled(group_inputs, DUAL_UNROLLED),
            blocks=_blocks(layer),
        )

    @override
    def code(self, layer: Layer, widths: Widths) -> Code:
        return _code(layer, Packing.expected(layer).groups)

    @override
    def exact_code(self, quantized: QuantizedLayer) -> Code:
        # weights decide about groups
        return _code(quantized.layer, Packing.of(quantized).groups)


def fields_fit(weights: IntArray, x_low: int, x_high: int) -> bool:
    """Return whether the fields of blocks of three channels stay apart for inputs from `x_low` to `x_high`.

    `weights` has the inputs of a group in the last axis, and the channels m, n, r of a block in the one before.
    """
    low, high = min(x_low, 0), max(x_high, 0)
    positive, negative = np.maximum(weights, 0).sum(axis=-1), np.minimum(weights, 0).sum(axis=-1)
    highest, lowest = positive * high + negative * low, positive * low + negative * high
    # fields with one sum are smaller than these; those in the middle are y(p, n) + y(q, m) and y(p, m) + y(q, r)
    middle = [(highest[..., first] + highest[..., 0], lowest[..., first] + lowest[..., 0]) for first in (1, 2)]
    return all(bool(np.all(top < FIELD_LIMIT) and np.all(bottom >= -FIELD_LIMIT)) for top, bottom in middle)


@dataclass(frozen=True, eq=False)
class Packing:
    """How the words of a layer are packed: the output `channels` of blocks, blocks x 3, and `groups` of inputs."""

    channels: IntArray
    groups: int

    @classmethod
    @lru_cache(maxsize=256)
    def of(cls, quantized: QuantizedLayer) -> Self:
        """Return the packing of a layer, for any inputs within their bounds, and padding."""
        (low, high), zero_point = quantized.x_bounds, quantized.formats.x.zero_point
        return cls.search(_weights(quantized), min(low, zero_point), max(high, zero_point))

    @classmethod
    @lru_cache(maxsize=256)
    def expected(cls, layer: Layer) -> Self:
        """Return the expected packing before weights are quantized: none is clipped."""
        weights = layer.by_channel(layer.parameters["weights"]).astype(np.float64)
        with np.errstate(invalid="ignore"):  # infinite weights are rejected later
            steps = np.maximum(np.abs(weights).max(axis=1, keepdims=True) / LARGEST_BYTE, np.finfo(np.float64).tiny)
            integers = np.nan_to_num(np.rint(weights / steps))
        return cls.search(integers.clip(-LARGEST_BYTE, LARGEST_BYTE).astype(np.int64), -LARGEST_BYTE - 1, LARGEST_BYTE)

    @classmethod
    def search(cls, weights: IntArray, x_low: int, x_high: int) -> Self:
        """Return a packing with few groups of equal length, a multiple of four, for `weights`: channels x inputs.

        The channels of the smallest weights are shared by two words; those of the largest meet the smallest of these.
        Where channels are no multiple of 3, some are computed twice.
        """
        count, inputs = weights.shape
        order = np.argsort(np.abs(weights).sum(axis=1), kind="stable")
        order = np.concatenate([order[: -count % CHANNELS], order])
        blocks = len(order) // CHANNELS
        channels = np.concatenate([order[:blocks, None], order[: blocks - 1 : -1].reshape(blocks, 2)], axis=1)
        largest = np.abs(weights).sum(axis=1)[channels]
        least = int((largest[:, 1:] + largest[:, :1]).max() * (max(x_high, 0) - min(x_low, 0))) >> FIELD_BITS
        for groups in range(max(least, 1), inputs // TOGETHER):
            if inputs % (groups * TOGETHER) == 0:
                split = weights[channels].reshape(blocks, CHANNELS, groups, -1).swapaxes(1, 2)
                if fields_fit(split, x_low, x_high):
                    return cls(channels, groups)
        return cls(channels, inputs // TOGETHER)  # 4 * 2 * 128 * 128 always fits


def _weights(quantized: QuantizedLayer) -> IntArray:
    """Return the weights as output channels x inputs."""
    weights: IntArray = quantized.layer.by_channel(quantized.constants["weights"].astype(np.int64))
    return weights


def _stores_bytes(quantized: QuantizedLayer, groups: int) -> bool:
    """Return whether outputs are bytes by high products: all, or positive ones without a zero point."""
    y = quantized.formats.y
    is_whole = quantized.clamp == (-LARGEST_BYTE - 1, LARGEST_BYTE)
    is_whole |= quantized.clamp == (0, LARGEST_BYTE) and y.zero_point == 0
    return is_whole and Epilogue.of(quantized).is_high and groups == 1 and y.bits == BYTE_BITS


def _work(layer: Layer, groups: int) -> dict[str, float]:
    quads, group_inputs = -(-_pixels(layer) // PIXELS), _inputs(layer) // groups
    blocks, runs = quads * _blocks(layer), quads * 2 * _inputs(layer) // layer.in_shape.channels
    loops, dual_loops = (
        _iterations(group_inputs, _unrolled(group_inputs, unrolled)) for unrolled in (UNROLLED, DUAL_UNROLLED)
    )
    return {
        "pairs": blocks * _inputs(layer) / 2,
        "loops": blocks * groups * loops,
        "dual_loops": blocks * groups * dual_loops,
        "groups": blocks * (groups - 1),
        "grouped": blocks * (groups > 1),
        "packed": quads * PIXELS * _inputs(layer),
        f"{'clipped_' if _conv(layer).window.is_clipped else ''}runs": 0 if _is_flat(layer) else runs,
        "quads": quads,
    } | clamped_work(layer, {"block": blocks})


def _code(layer: Layer, groups: int) -> Code:
    """Return the parts of the code: `steps` of the inner loop, `dual_steps` on Cortex-M7, bytes `outside` the map."""
    group_inputs, outside = _inputs(layer) // groups, layer.in_shape.channels * _conv(layer).window.is_clipped
    own = {
        "steps": _unrolled(group_inputs, UNROLLED),
        "dual_steps": _unrolled(group_inputs, DUAL_UNROLLED),
        "groups": groups > 1,
        "windows": not _is_flat(layer),
        "outside": outside,
        "rest": _pixels(layer) % PIXELS > 0,
        "lower": layer.activation.low == 0,
        "rounded": bool(layer.rounding),
    }
    return Code({part: float(count) for part, count in own.items()}, constant_bytes=outside)


def _unrolled(inputs: int, most: int) -> int:
    """Return the steps of an iteration of the inner loop: as many as possible."""
    steps = inputs // STEP
    return max(each for each in range(1, most + 1) if steps % each == 0)


def _iterations(inputs: int, unrolled: int) -> int:
    """Return the iterations of the inner loop, 0 if there is none."""
    iterations = inputs // (STEP * unrolled)
    return iterations if iterations > 1 else 0


def _conv(layer: Layer) -> Conv:
    if not isinstance(layer, Conv):
        raise TypeError(f"{layer.kind} has no windows with all channels")
    return layer


def _is_flat(layer: Layer) -> bool:
    return _conv(layer).window == Window((1, 1))


def _inputs(layer: Layer) -> int:
    """Return the inputs of an output."""
    height, width = _conv(layer).window.kernel
    return height * width * layer.in_shape.channels


def _pixels(layer: Layer) -> int:
    return layer.out_shape.height * layer.out_shape.width


def _blocks(layer: Layer) -> int:
    return -(-layer.out_shape.channels // CHANNELS)
