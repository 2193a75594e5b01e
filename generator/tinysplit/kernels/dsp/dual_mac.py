"""Convolutions and fully connected layers by SMLAD (dual MAC): im2col, then 2 pixels x 4 output channels at a time.

CMSIS-NN does the same with 2 x 2 blocks (arm_convolve_s8, arm_nn_mat_mult_kernel_s8_s16). Here the im2col buffer holds
strips: values that the windows of neighbouring pixels share are widened to 16 bits once.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

import numpy as np

from tinysplit.kernels.base import Kernel, KernelContext, StraightCode
from tinysplit.kernels.cores import DSP_CORES
from tinysplit.kernels.cost_table import Work
from tinysplit.kernels.dsp.high_products import LARGEST_HALF, Epilogue, clamped_work, exactly_clamped
from tinysplit.kernels.dsp.strips import Strips
from tinysplit.kernels.in_place import Lead, window_lead
from tinysplit.kernels.memory_traffic import Loads, block_loads
from tinysplit.kernels.row_order import RowOrder, usual_order
from tinysplit.network.bit_widths import Widths
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.fixed_point.layer_formats import CLIPPED_SHARES
from tinysplit.network.layers.base import Layer
from tinysplit.network.layers.conv import Conv
from tinysplit.network.layers.dense import Dense
from tinysplit.network.quantized_graph import QuantizedLayer

BYTE_BITS, VALUE_BITS = 8, 16
PIXELS = 2  # computed together
UNROLLED, LONG_UNROLLED = 12, 32  # pairs of values in an iteration of the inner loop; on Cortex-M7
GAP_BYTES = 4  # of code, between kernel rows
PAIR_BYTES = 56  # of code, for a pair of values of two pixels (firmware/common/dsp_conv.c)
BLOCK_BYTES = {"packed": 180, "wide": 200}  # of the rest of a block's code that is executed
SHARED_CODE = "dsp_conv_"
BLOCK = 4  # output channels computed together
LARGEST_SCRATCH_BYTES = 8192
LARGEST_OFFSET_BYTES = 4092  # of the address of a load instruction
SHARED_SUM_LIMIT = 1 << 23  # of a channel that shares words of weights: see firmware/common/dsp_conv_pixels.h
SURE_SUM_LIMIT = (
    SHARED_SUM_LIMIT // 4 * 3
)  # of products only: the rest is reserved for the bias, whose scale is not known yet
LARGEST_WEIGHT = 127
LARGEST_VALUE = 256  # distance of a byte from a zero point


@dataclass(frozen=True)
class DualMacContext(KernelContext):
    """Template context: members of `dsp_conv` in firmware/common/dsp_conv.h."""

    strips: Strips
    epilogue: Epilogue
    block_words: int  # words of constants of four output channels
    weight_layout: str  # "packed": two 8-bit channels share words; "wide": 16-bit weights
    tail: str
    flags: tuple[str, ...]
    has_own_pixels: bool  # whether the inner loop for two pixels is generated for this layer
    is_unrolled: bool  # whether it is unrolled completely
    two: str  # name of the function that has it


class DualMac(Kernel):
    """Strips of pixels are widened to 16 bits; blocks of four output channels are computed for two pixels at a time."""

    name: ClassVar[str] = "dual_mac"

    def fits(self, layer: Layer, core: str, widths: Widths) -> bool:
        """See `Kernel.fits`."""
        if core not in DSP_CORES or widths.w > widths.x:
            return False
        is_conv = isinstance(layer, Conv) and layer.groups == 1 and layer.window.dilation[1] == 1
        if not is_conv and not isinstance(layer, Dense):
            return False
        strips = Strips(layer, widths.x // 8)
        reaches_neighbour = strips.pixels == 1 or 2 * strips.distance <= LARGEST_OFFSET_BYTES
        return reaches_neighbour and strips.scratch_bytes <= LARGEST_SCRATCH_BYTES

    def scratch_bytes(self, layer: Layer, widths: Widths) -> int:
        """See `Kernel.scratch_bytes`: one strip."""
        return Strips(layer, widths.x // 8).scratch_bytes

    def lead(self, layer: Layer, k: int, widths: Widths) -> Lead | None:  # noqa: ARG002 - it has one input
        """See `Kernel.lead`: a strip is widened before its pixels are computed."""
        strips = Strips(layer, widths.x // 8)
        out_size = (*strips.out_size, layer.out_shape.channels)
        return window_lead(strips.in_size, out_size, strips.window, strips.pixels, widths, reads_first=True)

    def row_order(self, layer: Layer, widths: Widths) -> RowOrder:
        """See `Kernel.row_order`: a pointwise layer, whose pixels are one row otherwise, is called row by row."""
        usual = usual_order(layer)
        return usual if usual.reason else RowOrder(by_calls=Strips(layer, widths.x // 8).is_flat)

    def cost_kind(self, layer: Layer) -> str:
        """See `Kernel.cost_kind`: a single pixel is computed as a fully connected layer is."""
        is_dense = layer.cost_kind == "pointwise_conv" and Strips(layer, 1).out_size == (1, 1)
        return f"{Dense.kind}/{self.name}" if is_dense else super().cost_kind(layer)

    def work(self, layer: Layer, widths: Widths) -> Work:  # noqa: ARG002 - any will do
        """See `Kernel.work`: padding of the map, of blocks and of pairs is computed like other values.

        Parts, for `two` pixels or `one`: `pairs` of values; `loops`: iterations over `UNROLLED` pairs, `long_loops`
        over `LONG_UNROLLED`; kernel `rows`; `blocks` of channels. `rest`: channels that fill no block; `gathered`:
        pairs of a single pixel, whose kernel rows are copied together.
        """
        strips, blocks = Strips(layer, 1), _blocks(layer)
        (height, width), rows = strips.out_size, strips.window.kernel[0]
        twos, ones = height * (width // PIXELS), height * (width % PIXELS)
        loops, long_loops = (-(-strips.pairs // unrolled) * rows for unrolled in (UNROLLED, LONG_UNROLLED))
        work = {
            "two_pairs": twos * blocks * rows * strips.pairs,
            "two_loops": 0 if strips.is_short else twos * blocks * loops,
            "two_long_loops": 0 if strips.is_short else twos * blocks * long_loops,
            "two_rows": 0 if strips.is_short else twos * blocks * rows,
            "two": twos,
            "one_pairs": ones * blocks * rows * strips.pairs,
            "one_loops": ones * blocks * (-(-rows * strips.pairs // UNROLLED)),
            "one_long_loops": ones * blocks * (-(-rows * strips.pairs // LONG_UNROLLED)),
            "one": ones,
            "gathered": ones * rows * strips.pairs * (rows > 1),
            "rest": (twos + ones) * (layer.out_shape.channels % BLOCK > 0),
        }
        return {
            **strips.work,
            **work,
            **clamped_work(layer, {"two_blocks": twos * blocks, "one_blocks": ones * blocks}),
        }

    def exact_work(self, work: Work, quantized: QuantizedLayer) -> Work:
        """See `Kernel.exact_work`: formats decide how outputs are requantized and clamped."""
        return exactly_clamped(work, quantized, is_high=_epilogue(quantized).is_high)

    def straight_code(self, layer: Layer, widths: Widths) -> StraightCode | None:
        """See `Kernel.straight_code`: windows of few pairs have no loop."""
        strips = Strips(layer, widths.x // 8)
        if not strips.is_short or strips.pixels == 1 or strips.are_interleaved:
            return None
        (height, width), rows = strips.out_size, strips.window.kernel[0]
        weight_layout = "packed" if widths.x == BYTE_BITS and _surely_shares(layer) else "wide"
        return StraightCode(
            size_bytes=rows * strips.pairs * PAIR_BYTES + (rows - 1) * GAP_BYTES + BLOCK_BYTES[weight_layout],
            passes=height * (width // PIXELS) * _blocks(layer),
            work={"two_pairs": rows * strips.pairs, "two_blocks": 1},
        )

    def loads(self, layer: Layer, widths: Widths) -> Loads:
        """See `Kernel.loads`: values are read as bytes to widen them, then as 16 bits."""
        copied_bytes = Strips(layer, 1).moved * widths.x // 8
        weights_bytes = self.weights_bytes(layer, widths)
        return block_loads(layer, weights_bytes, 2, pixels=PIXELS, channels=BLOCK, copied_bytes=copied_bytes)

    def weights_bytes(self, layer: Layer, widths: Widths) -> int:
        """See `Kernel.weights_bytes`: with the zeros that fill blocks and pairs; 8 bits each only if provable."""
        strips = Strips(layer, widths.x // 8)
        weight_bytes = 1 if widths.x == BYTE_BITS and _surely_shares(layer) else VALUE_BITS // 8
        weights = strips.window.kernel[0] * 2 * strips.pairs * weight_bytes
        return _blocks(layer) * BLOCK * (weights + 4 + 4)

    def constants(self, quantized: QuantizedLayer) -> Mapping[str, IntArray]:
        """See `Kernel.constants`: bias, weights and factors of each block of channels, in the order of use."""
        constants = quantized.constants
        weights, bias = _ordered_weights(quantized), _filled(constants["bias"], quantized.layer)
        if _shares_words(quantized):
            weights = weights[:, 0::2] + (weights[:, 1::2] << 8)
            bias[:, 1::2] = (bias[:, 1::2] << 8) + bias[:, 0::2]
        words = (weights[..., 0] & 0xFFFF) | (weights[..., 1] << 16)
        factors = np.broadcast_to(_epilogue(quantized).factors, quantized.layer.out_shape.channels)
        parts = (bias, np.moveaxis(words, 1, -1).reshape(len(words), -1), _filled(factors, quantized.layer))
        return {"weights": np.concatenate(parts, axis=1).astype(np.int32)}

    def shared_code(self, layer: Layer) -> str | None:
        """See `Kernel.shared_code`: the firmware library has the inner loop for interleaved pixels."""
        strips = Strips(layer, 1)
        return SHARED_CODE if strips.pixels > 1 and not strips.are_interleaved else None

    def context(self, quantized: QuantizedLayer) -> DualMacContext:
        """See `Kernel.context`."""
        strips, epilogue = Strips(quantized.layer, quantized.formats.x.bits // 8), _epilogue(quantized)
        weight_layout = "packed" if _shares_words(quantized) else "wide"
        flags = {
            "DSP_CONV_HIGH": epilogue.is_high,
            "DSP_CONV_INTERLEAVED": strips.are_interleaved,
        }
        return DualMacContext(
            strips=strips,
            epilogue=epilogue,
            block_words=self.constants(quantized)["weights"].shape[1],
            weight_layout=weight_layout,
            tail=_tail(epilogue, weight_layout, quantized),
            flags=tuple(name for name, is_set in flags.items() if is_set),
            has_own_pixels=strips.pixels > 1 and not strips.are_interleaved,
            is_unrolled=strips.is_short,
            two=f"{SHARED_CODE}{weight_layout}_{strips.suffix}",
        )

    def template(self, layer: Layer) -> str:  # noqa: ARG002 - one for all
        """See `Kernel.template`: a fully connected layer is a convolution of a single pixel."""
        return f"layers/{self.name}/conv.c.j2"


def _epilogue(quantized: QuantizedLayer) -> Epilogue:
    """Return the requantization of sums; of two channels that share words, the second has 256 times the sum."""
    channels = np.arange(quantized.layer.out_shape.channels)
    if _shares_words(quantized):
        return Epilogue.of(quantized, 8 * (channels % 2))
    return Epilogue.of(quantized, may_mask=quantized.formats.y.bits == VALUE_BITS)


def _tail(epilogue: Epilogue, weight_layout: str, quantized: QuantizedLayer) -> str:
    """Return the clamp of the outputs, as firmware/common/dsp_conv.h names it."""
    bits, (low, high) = quantized.formats.y.bits, quantized.clamp
    if weight_layout == "packed":
        return "POSITIVE" if epilogue.is_narrow else "WHOLE" if epilogue.is_whole else "ANY"
    if bits != VALUE_BITS or not epilogue.is_high:
        return "ANY"
    limits = {(0, LARGEST_HALF): "POSITIVE", (-LARGEST_HALF - 1, LARGEST_HALF): "WHOLE"}
    return limits.get((low, high), "LIMITED")


def _blocks(layer: Layer) -> int:
    return -(-layer.out_shape.channels // BLOCK)


def _filled(values: IntArray, layer: Layer) -> IntArray:
    """Return values of output channels as blocks x 4, the last block padded with zeros."""
    filled: IntArray = np.pad(values.astype(np.int64), (0, _blocks(layer) * BLOCK - len(values))).reshape(-1, BLOCK)
    return filled


def _ordered_weights(quantized: QuantizedLayer) -> IntArray:
    """Return the weights as blocks x 4 channels x pairs x 2, kernel row by kernel row, in the order of the strip."""
    strips = Strips(quantized.layer, quantized.formats.x.bits // 8)
    weights = quantized.constants["weights"].astype(np.int64)
    rows = weights.reshape(len(weights), strips.window.kernel[0], strips.row_elements)
    if strips.is_grouped:
        rows = rows.reshape(*rows.shape[:2], -1, 4)[..., [0, 2, 1, 3]].reshape(rows.shape)
    fill = (_blocks(quantized.layer) * BLOCK - len(weights), 0, strips.row_elements % 2)
    rows = np.pad(rows, [(0, count) for count in fill])
    ordered: IntArray = rows.reshape(-1, BLOCK, strips.window.kernel[0] * strips.pairs, 2)
    return ordered


def _shares_words(quantized: QuantizedLayer) -> bool:
    """Return whether two channels may share words of weights: all is 8 bits, and sums stay within 24 bits."""
    formats = quantized.formats
    if formats.weight_bits != BYTE_BITS or formats.x.bits != BYTE_BITS:
        return False
    bounds = quantized.layer.sum_bounds(replace(quantized, bounds=()))  # for any input
    return bool(bounds.max() < SHARED_SUM_LIMIT)


@lru_cache(maxsize=256)
def _surely_shares(layer: Layer) -> bool:
    """Return whether channels of `layer` will share words for any scales of weights and any zero point of the input.

    The largest integers come from the smallest clipping limit, each rounded up or down.
    """
    weights = layer.by_channel(layer.parameters["weights"]).astype(np.float64)
    if weights.shape[1] * LARGEST_WEIGHT * LARGEST_VALUE < SURE_SUM_LIMIT:
        return True
    steps = np.abs(weights).max(axis=1, keepdims=True) * min(CLIPPED_SHARES) / LARGEST_WEIGHT
    with np.errstate(invalid="ignore"):  # infinite weights are rejected later
        integers = np.minimum(np.abs(weights) / np.maximum(steps, np.finfo(np.float64).tiny) + 1, LARGEST_WEIGHT)
    sums = [np.where(weights * sign >= 0, integers, 1).sum(axis=1).max() for sign in (1, -1)]
    return bool(max(sums) * LARGEST_VALUE < SURE_SUM_LIMIT)
