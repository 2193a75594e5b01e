"""Convolutions and fully connected layers by SMLAD (dual MAC): im2col, then 2 pixels x 4 output channels at a time.

CMSIS-NN does the same with 2 x 2 blocks (arm_convolve_s8, arm_nn_mat_mult_kernel_s8_s16). Here the im2col buffer holds
strips: values that the windows of neighbouring pixels share are widened to 16 bits once.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

import numpy as np
from typing_extensions import override

from tinysplit.kernels.base import Kernel, KernelContext, StraightCode
from tinysplit.kernels.code_parts import Code
from tinysplit.kernels.cores import DSP_CORES
from tinysplit.kernels.cost_table import Work, sum_of
from tinysplit.kernels.dsp.conv_code import (
    DESCRIPTION_BYTES,
    SHARED_CODE,
    conv_code,
    kind_of,
    one_pixel,
    sums_layout,
    two_pixels,
    two_rows,
)
from tinysplit.kernels.dsp.high_products import (
    LARGEST_HALF,
    SINGLE,
    Epilogue,
    clamped_work,
    exactly_clamped,
    factor_bytes,
)
from tinysplit.kernels.dsp.parts import ConvPart, parts_of
from tinysplit.kernels.dsp.strips import Strips
from tinysplit.kernels.in_place import Lead, window_lead
from tinysplit.kernels.memory_traffic import Loads, block_loads
from tinysplit.kernels.row_order import RowOrder, usual_order
from tinysplit.network.bit_widths import Widths
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.layers.base import Layer
from tinysplit.network.layers.conv import Conv
from tinysplit.network.layers.conv_transpose import ConvTranspose
from tinysplit.network.layers.dense import Dense
from tinysplit.network.quantized_graph import QuantizedLayer

BYTE_BITS, VALUE_BITS = 8, 16
PIXELS = 2  # computed together
UNROLLED, LONG_UNROLLED = 12, 32  # pairs of values in an iteration of the inner loop; on Cortex-M7
GAP_BYTES = 4  # of code, between kernel rows
PAIR_BYTES = {"packed": 56, "bytes": 64, "wide": 56}  # of code, for two pixels (firmware/common/dsp_conv.c)
BLOCK_BYTES = {"packed": 180, "bytes": 200, "wide": 200}  # of the rest of a block's code that is executed
BLOCK = 4  # output channels computed together
LARGEST_SCRATCH_BYTES = 8192
LARGEST_OFFSET_BYTES = 4092  # of the address of a load instruction
SHARED_SUM_LIMIT = 1 << 23  # of a channel that shares words of weights: see firmware/common/dsp_conv_pixels.h
LARGEST_WEIGHT = 127
LARGEST_VALUE = 256  # distance of a byte from a zero point


@dataclass(frozen=True)
class PartContext:
    """Template context of a part: members of `dsp_conv` in firmware/common/dsp_conv.h."""

    part: ConvPart
    strips: Strips
    constants: str  # name of the array
    repeat_words: int  # words of constants of one of the convolutions
    block_words: int  # of four output channels
    flags: tuple[str, ...]
    has_own_pixels: bool  # whether the inner loop for two pixels is generated for this layer
    has_own_one: bool  # the same for a single pixel
    two: str  # name of the function that has it
    one: str  # of that for a single pixel
    rows: str  # of that for the last pixels of two rows; empty: each is computed alone
    variant: str  # of it for the most frequent outputs; empty: it takes any, by a function of their own

    @property
    def body(self) -> str:
        """The macro of firmware/common/dsp_conv_pixels.h for its outputs."""
        if self.variant:
            return f"DSP_CONV_{kind_of(self.variant).upper()}_BODY"
        return "DSP_CONV_BYTES_BODY" if "DSP_CONV_OF_BYTES" in self.flags else "DSP_CONV_BODY"


@dataclass(frozen=True)
class DualMacContext(KernelContext):
    """Template context: members of `dsp_conv` that all parts have."""

    epilogue: Epilogue
    weight_layout: str  # "packed": two 8-bit channels share words; "bytes": not; "wide": 16-bit weights
    tail: str
    parts: tuple[PartContext, ...]

    @property
    def sums(self) -> str:
        """The layout that has the same sums, by which functions that make outputs are named."""
        return sums_layout(self.weight_layout)

    @property
    def any_outputs(self) -> str:
        """Name of the function that makes the outputs where the tail is ANY."""
        return self.epilogue.rounding or "any" if self.tail == "ANY" else ""

    @property
    def own_pixels(self) -> tuple[PartContext, ...]:
        """The parts with inner loops that are generated for this layer, each loop once."""
        loops = {each.two: each for each in self.parts if each.has_own_pixels}
        return tuple(loops.values())

    @property
    def own_rows(self) -> PartContext | None:
        """A part whose loop for the last pixels of two rows is generated for this layer, for all."""
        names = {each.two for each in self.own_pixels}
        return next((each for each in self.parts if each.has_own_one and each.rows and each.rows not in names), None)

    @property
    def own_one(self) -> PartContext | None:
        """A part whose loop for a single pixel is generated for this layer, for all."""
        return next((each for each in self.parts if each.has_own_one), None)


class DualMac(Kernel):
    """Strips of pixels are widened to 16 bits; blocks of four output channels are computed for two pixels at a time."""

    name: ClassVar[str] = "dual_mac"
    reads_forward = True

    @override
    def fits(self, layer: Layer, core: str, widths: Widths) -> bool:
        if core not in DSP_CORES or widths.w > widths.x:
            return False
        return bool(parts_of(layer)) and all(fits_library(part.strips(widths.x // 8)) for part in parts_of(layer))

    @override
    def scratch_bytes(self, layer: Layer, widths: Widths) -> int:
        # one strip
        return max(part.strips(widths.x // 8).scratch_bytes for part in parts_of(layer))

    @override
    def lead(self, layer: Layer, k: int, widths: Widths) -> Lead | None:
        # a strip is widened before its pixels are computed; parts read the input again
        if not _is_whole(layer):
            return None
        strips = Strips(layer, widths.x // 8)
        out_size = (*strips.out_size, layer.out_shape.channels)
        return window_lead(strips.in_size, out_size, strips.window, strips.pixels, widths, reads_first=True)

    @override
    def row_order(self, layer: Layer, widths: Widths) -> RowOrder:
        # a pointwise layer, whose pixels are one row otherwise, is called row by row
        usual = usual_order(layer)
        if not usual.reason and not _is_whole(layer):
            return RowOrder.none("dual_mac computes all rows of a group after the groups before")
        return usual if usual.reason else RowOrder(by_calls=Strips(layer, widths.x // 8).is_flat)

    @override
    def cost_kind(self, layer: Layer) -> str:
        # a single pixel is computed as a fully connected layer is, parts as convolutions
        if isinstance(layer, ConvTranspose):
            is_pointwise = all(part.strips(1).are_interleaved for part in parts_of(layer))
            return f"{'pointwise_conv' if is_pointwise else Conv.kind}/{self.name}"
        is_dense = layer.cost_kind == "pointwise_conv" and Strips(layer, 1).out_size == (1, 1)
        return f"{Dense.kind}/{self.name}" if is_dense else super().cost_kind(layer)

    @override
    def work(self, layer: Layer, widths: Widths) -> Work:
        """Count padding of the map, of blocks and of pairs like other values.

        Parts, for `two` pixels, of a row or of two, or `one`: `pairs` of values; `loops`: iterations over `UNROLLED`
        pairs, `long_loops` over `LONG_UNROLLED`; kernel `rows`; `blocks` of channels. `rest`: channels that fill no
        block; `gathered`: pairs of last pixels, whose kernel rows are copied together; `call`: convolutions after the
        first.
        """
        parts = parts_of(layer)
        calls = sum(part.repeats for part in parts)
        return {**sum_of(*(part_work(part) for part in parts)), "call": calls - 1}

    @override
    def exact_work(self, layer: Layer, work: Work, quantized: QuantizedLayer) -> Work:
        # formats decide how outputs are requantized and clamped
        return exactly_clamped(work, quantized, _epilogue(quantized))

    @override
    def straight_code(self, layer: Layer, widths: Widths) -> StraightCode | None:
        # windows of few pairs have no loop
        strips = Strips(layer, widths.x // 8)
        if not _is_whole(layer) or not strips.is_short or not strips.has_own_loop:
            return None
        (height, width), rows = strips.out_size, strips.kernel_rows
        weight_layout = _expected_layout(layer, widths)
        pair_bytes = rows * strips.pairs * PAIR_BYTES[weight_layout]
        return StraightCode(
            size_bytes=pair_bytes + (rows - 1) * GAP_BYTES + BLOCK_BYTES[weight_layout],
            passes=height * (width // PIXELS) * _blocks(layer.out_shape.channels),
            work={"two_pairs": rows * strips.pairs, **clamped_work(layer, {"two_blocks": 1})},
        )

    @override
    def loads(self, layer: Layer, widths: Widths) -> Loads:
        # values are read as bytes to widen them, then as 16 bits
        copied_bytes = sum(part.repeats * part.strips(1).moved for part in parts_of(layer)) * widths.x // 8
        weights_bytes = self.weights_bytes(layer, widths)
        return block_loads(layer, weights_bytes, 2, pixels=PIXELS, channels=BLOCK, copied_bytes=copied_bytes)

    @override
    def weights_bytes(self, layer: Layer, widths: Widths) -> int:
        """Count the zeros that fill blocks and pairs.

        Code costs are those of layers with one description, so those of further parts count here.
        """
        weight_bytes, total = widths.x // 8, 0
        for part in parts_of(layer):
            strips = part.strips(widths.x // 8)
            weights = strips.kernel_rows * 2 * strips.pairs * weight_bytes
            total += part.repeats * _blocks(part.channels) * BLOCK * (weights + 4 + factor_bytes(layer))
        return total + (len(parts_of(layer)) - 1) * DESCRIPTION_BYTES

    @override
    def constants(self, quantized: QuantizedLayer) -> Mapping[str, IntArray]:
        # bias, weights and factors of each block of channels, in the order of use
        parts = enumerate(parts_of(quantized.layer))
        return {_constants_name(index): _part_constants(part, quantized) for index, part in parts}

    @override
    def shared_code(self, layer: Layer) -> str | None:
        # the firmware library has the inner loop for interleaved pixels
        return SHARED_CODE if any(part.strips(1).has_own_loop for part in parts_of(layer)) else None

    @override
    def context(self, quantized: QuantizedLayer) -> DualMacContext:
        epilogue, weight_layout = _epilogue(quantized), _weight_layout(quantized)
        variant = _variant(epilogue, weight_layout, quantized)
        constants, parts = self.constants(quantized), []
        is_own = epilogue.rounding == SINGLE
        for index, part in enumerate(parts_of(quantized.layer)):
            strips, name = part.strips(quantized.formats.x.bits // 8), _constants_name(index)
            flags = {
                "DSP_CONV_HIGH": epilogue.is_high,
                "DSP_CONV_INTERLEAVED": strips.are_interleaved,
                "DSP_CONV_TWICE": epilogue.rounding == "twice",
                "DSP_CONV_ONCE": epilogue.rounding == "once",
                "DSP_CONV_SINGLE": epilogue.rounding == SINGLE,
                "DSP_CONV_OF_BYTES": weight_layout == "bytes",
            }
            own = PartContext(
                part=part,
                strips=strips,
                constants=name,
                repeat_words=constants[name].size // part.repeats,
                block_words=constants[name].shape[1],
                flags=tuple(name for name, is_set in flags.items() if is_set),
                has_own_pixels=strips.pixels > 1 and (strips.has_own_loop or is_own),
                has_own_one=is_own and strips.out_size[1] % PIXELS > 0,
                two=two_pixels(strips, weight_layout, variant),
                one=one_pixel(weight_layout, variant),
                rows=two_rows(weight_layout, variant) if strips.joins_rows else "",
                variant=variant,
            )
            parts.append(own)
        tail = tail_of(epilogue, weight_layout, quantized)
        return DualMacContext(epilogue=epilogue, weight_layout=weight_layout, tail=tail, parts=tuple(parts))

    @override
    def code(self, layer: Layer, widths: Widths) -> Code:
        weight_layout = _expected_layout(layer, widths)
        own = layer.rounding or ("relu" if layer.activation.low == 0 else "whole")
        variant = own if weight_layout == "packed" else ""
        return conv_code(parts_of(layer), widths, weight_layout, variant, layer.rounding)

    @override
    def exact_code(self, quantized: QuantizedLayer) -> Code:
        # weights and formats decide which functions are shared
        widths, epilogue = Widths.of(quantized.formats), _epilogue(quantized)
        weight_layout = _weight_layout(quantized)
        variant = _variant(epilogue, weight_layout, quantized)
        return conv_code(parts_of(quantized.layer), widths, weight_layout, variant, self.context(quantized).any_outputs)

    @override
    def template(self, layer: Layer) -> str:
        # a fully connected layer is a convolution of a single pixel
        return f"layers/{self.name}/conv.c.j2"


def _epilogue(quantized: QuantizedLayer) -> Epilogue:
    """Return the requantization of sums; of two channels that share words, the second has 256 times the sum."""
    channels = np.arange(quantized.layer.out_shape.channels)
    if _weight_layout(quantized) == "packed":
        return Epilogue.of(quantized, 8 * (channels % 2))
    return Epilogue.of(quantized, may_mask=quantized.formats.y.bits == VALUE_BITS, may_be_single=False)


def _variant(epilogue: Epilogue, weight_layout: str, quantized: QuantizedLayer) -> str:
    """Return the inner loop for bytes from 0 to 127 without a zero point, or from -128 to 127."""
    if weight_layout != "packed":
        return ""
    if epilogue.is_narrow and not epilogue.is_capped and quantized.formats.y.zero_point == 0:
        return "relu"
    shift = f"_{epilogue.product_shift}" if epilogue.product_shift else ""
    return (epilogue.rounding or "whole") + shift if epilogue.is_whole else ""


def tail_of(epilogue: Epilogue, weight_layout: str, quantized: QuantizedLayer) -> str:
    """Return the clamp of the outputs, as firmware/common/dsp_conv.h names it."""
    bits, (low, high) = quantized.formats.y.bits, quantized.clamp
    if weight_layout == "packed":
        return "POSITIVE" if epilogue.is_narrow else "WHOLE" if epilogue.is_whole and epilogue.is_high else "ANY"
    if bits != VALUE_BITS or not epilogue.is_high:
        return "ANY"
    limits = {(0, LARGEST_HALF): "POSITIVE", (-LARGEST_HALF - 1, LARGEST_HALF): "WHOLE"}
    return limits.get((low, high), "LIMITED")


def fits_library(strips: Strips) -> bool:
    """Return whether the firmware library can compute a convolution with these strips."""
    reaches_neighbour = strips.pixels == 1 or 2 * strips.distance <= LARGEST_OFFSET_BYTES
    has_layout = strips.copies == 1 or not (strips.is_dilated or strips.takes_some)
    has_layout &= not (strips.is_dilated and strips.takes_some)
    return reaches_neighbour and has_layout and strips.scratch_bytes <= LARGEST_SCRATCH_BYTES


def _is_whole(layer: Layer) -> bool:
    """Return whether the layer is one convolution."""
    (first, *others) = parts_of(layer)
    return first.layer is layer and not others


def part_work(part: ConvPart, *, has_own_loop: bool = True) -> Work:
    """Return the work of a part: `DualMac.work`; without `has_own_loop` the firmware's loops compute it."""
    strips, blocks = part.strips(1), _blocks(part.channels)
    is_short = strips.is_short and has_own_loop
    (height, width), rows = strips.out_size, strips.kernel_rows
    twos, ones, joined = height * (width // PIXELS), height * (width % PIXELS), 0
    if strips.joins_rows:
        joined, ones = divmod(height, 2)
    loops, long_loops = (-(-strips.pairs // unrolled) * rows for unrolled in (UNROLLED, LONG_UNROLLED))
    one_loops, one_long_loops = (-(-rows * strips.pairs // unrolled) for unrolled in (UNROLLED, LONG_UNROLLED))
    work = {
        "two_pairs": (twos + joined) * blocks * rows * strips.pairs,
        "two_loops": (0 if is_short else twos * blocks * loops) + joined * blocks * one_loops,
        "two_long_loops": (0 if is_short else twos * blocks * long_loops) + joined * blocks * one_long_loops,
        "two_rows": (0 if is_short else twos * blocks * rows) + joined * blocks,
        "two": twos + joined,
        "one_pairs": ones * blocks * rows * strips.pairs,
        "one_loops": ones * blocks * one_loops,
        "one_long_loops": ones * blocks * one_long_loops,
        "one": ones,
        "gathered": (ones * (rows > 1) + 2 * joined) * rows * strips.pairs,
        "rest": (twos + joined + ones) * (part.channels % BLOCK > 0),
    }
    clamped = clamped_work(part.layer, {"two_blocks": (twos + joined) * blocks, "one_blocks": ones * blocks})
    return {name: part.repeats * count for name, count in {**strips.work, **work, **clamped}.items()}


def _constants_name(index: int) -> str:
    return f"weights_{index}" if index else "weights"


def _part_constants(part: ConvPart, quantized: QuantizedLayer) -> IntArray:
    """Return the constants of a part: blocks of four channels x words."""
    constants = quantized.constants
    weights = _ordered_weights(part, quantized)
    epilogue, count = _epilogue(quantized), quantized.layer.out_shape.channels
    extras = part.of_channels(np.broadcast_to(epilogue.extras, count))
    bias = _filled(part, part.bias(constants, quantized.formats.x.zero_point) + extras)
    weight_layout = _weight_layout(quantized)
    if weight_layout == "bytes":
        weights[:, 0::2] &= 0xFF
    if weight_layout != "wide":
        weights = weights[:, 0::2] + (weights[:, 1::2] << 8)
    if weight_layout == "packed":
        bias[:, 1::2] = (bias[:, 1::2] << 8) + bias[:, 0::2]
    words = (weights[..., 0] & 0xFFFF) | (weights[..., 1] << 16)
    channels = np.broadcast_to(epilogue.factors, count), epilogue.seconds
    factors = [_filled(part, part.of_channels(each)) for each in channels if each is not None]
    if epilogue.product_shift:  # channel by channel
        factors = [np.stack(factors, axis=-1).reshape(len(words), -1)]
    return np.concatenate([bias, np.moveaxis(words, 1, -1).reshape(len(words), -1), *factors], axis=1).astype(np.int32)


def _blocks(channels: int) -> int:
    return -(-channels // BLOCK)


def _filled(part: ConvPart, values: IntArray) -> IntArray:
    """Return values of output channels as blocks x 4, the last block of each repeat padded with zeros."""
    own = values.astype(np.int64).reshape(part.repeats, part.channels)
    filled: IntArray = np.pad(own, ((0, 0), (0, -part.channels % BLOCK))).reshape(-1, BLOCK)
    return filled


def _ordered_weights(part: ConvPart, quantized: QuantizedLayer) -> IntArray:
    """Return the weights as blocks x 4 channels x pairs x 2, kernel row by kernel row, in the order of the strip."""
    strips = part.strips(quantized.formats.x.bits // 8)
    weights = part.weights(quantized.constants["weights"].astype(np.int64))
    rows = weights.reshape(part.repeats, part.channels, strips.kernel_rows, strips.row_elements)
    if strips.is_grouped:
        rows = rows.reshape(*rows.shape[:3], -1, 4)[..., [0, 2, 1, 3]].reshape(rows.shape)
    fill = (0, -part.channels % BLOCK, 0, strips.row_elements % 2)
    rows = np.pad(rows, [(0, count) for count in fill])
    ordered: IntArray = rows.reshape(-1, BLOCK, strips.kernel_rows * strips.pairs, 2)
    return ordered


def _weight_layout(quantized: QuantizedLayer) -> str:
    """Return the layout of weights: two channels share words if all is 8 bits, and sums stay within 24 bits."""
    formats = quantized.formats
    if formats.x.bits != BYTE_BITS:
        return "wide"
    bounds = quantized.layer.sum_bounds(replace(quantized, bounds=()))  # for any input
    return "packed" if bounds.max() < SHARED_SUM_LIMIT else "bytes"


def _expected_layout(layer: Layer, widths: Widths) -> str:
    """Return the layout of weights as if none were clipped."""
    if widths.x != BYTE_BITS:
        return "wide"
    return "packed" if _probably_shares(layer) else "bytes"


@lru_cache(maxsize=1 << 12)
def _probably_shares(layer: Layer) -> bool:
    weights = layer.by_channel(layer.parameters["weights"]).astype(np.float64)
    if weights.shape[1] * LARGEST_WEIGHT * LARGEST_VALUE < SHARED_SUM_LIMIT:
        return True
    steps = np.abs(weights).max(axis=1, keepdims=True) / LARGEST_WEIGHT
    with np.errstate(invalid="ignore"):  # infinite weights are rejected later
        integers = weights / np.maximum(steps, np.finfo(np.float64).tiny)
        sums = [np.maximum(sign * integers, 0).sum(axis=1).max() for sign in (1, -1)]
    return bool(max(sums) * LARGEST_VALUE < SHARED_SUM_LIMIT)
