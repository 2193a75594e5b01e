"""Winograd's F(2x2, 3x3): four outputs of a 3x3 convolution from 16 products per channel instead of 36.

With B, G and A of Lavin and Gray (Fast Algorithms for Convolutional Neural Networks, 2015) a tile of 2x2 outputs is
`A' ((G g G') * (B' d B)) A` of its 4x4 inputs d and the kernel g, summed over the channels before A is applied. G has
elements of 1/2: here 2 G is used on both sides, so that all values are integers and sums are exactly four times as
large. Transformed 8-bit inputs and weights have at most 11 and 12 bits, which SMLAD multiplies two at a time.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from typing_extensions import override

from tinysplit.kernels.base import Kernel, KernelContext
from tinysplit.kernels.cores import DSP_CORES
from tinysplit.kernels.cost_table import Work
from tinysplit.kernels.dsp.high_products import Epilogue, clamped_work, exactly_clamped, factor_bytes
from tinysplit.kernels.in_place import Lead, first_reads, lead_of_blocks
from tinysplit.kernels.memory_traffic import Loads
from tinysplit.kernels.row_order import RowOrder
from tinysplit.network.bit_widths import Widths
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.layers.base import Layer
from tinysplit.network.layers.conv import Conv
from tinysplit.network.quantized_graph import QuantizedLayer

BLOCK = 4  # output channels at a time
TILES = 2  # computed together
POSITIONS = 16
MOST_CHANNELS = 512  # whose sums, four times as large, fit 32 bits: 512 * 9 * 127 * 128 * 4 < 2^31
TWICE_G = np.array([[2, 0, 0], [1, 1, 1], [1, -1, 1], [0, 0, 2]], np.int64)
ORDER = (0, 2, 1, 3)  # of channels, as SXTB16 widens the bytes of a word


@dataclass(frozen=True)
class WinogradContext(KernelContext):
    """Template context."""

    epilogue: Epilogue
    has_factors: bool  # whether channels have factors of their own
    block_words: int  # words of constants of four output channels
    tiles: int  # of 2x2 outputs


class Winograd(Kernel):
    """Convolutions 3x3 of 8 bits and stride 1 whose output consists of whole tiles, two of them at a time."""

    name: ClassVar[str] = "winograd"
    takes_much_flash: ClassVar[bool] = True  # 3.6 times the weights; the arena is often larger, too
    suits_fused_rows: ClassVar[bool] = False  # rows are computed in pairs

    @override
    def fits(self, layer: Layer, core: str, widths: Widths) -> bool:
        if core not in DSP_CORES or not widths.x == widths.w == 8 or not isinstance(layer, Conv):  # noqa: PLR2004
            return False
        window, (height, width, channels) = layer.window, layer.out_shape
        is_plain = window.kernel == (3, 3) and window.stride == window.dilation == (1, 1) and layer.groups == 1
        has_tiles = height % 2 == width % 2 == 0
        inputs = layer.in_shape.channels
        return is_plain and has_tiles and inputs % 4 == channels % BLOCK == 0 and inputs <= MOST_CHANNELS

    @override
    def scratch_bytes(self, layer: Layer, widths: Widths) -> int:
        # the transformed inputs of two tiles
        return TILES * POSITIONS * layer.in_shape.channels * 2

    @override
    def lead(self, layer: Layer, k: int, widths: Widths) -> Lead | None:
        # two tiles are transformed before their outputs, in two rows, are written
        height, width, channels = layer.out_shape
        pixels = np.arange(height * width).reshape(height, width)
        firsts = first_reads(layer.in_shape, layer.out_shape, _conv(layer).window)[::2, ::2].reshape(-1)[::TILES]
        lasts = np.pad(pixels[1::2, 1::2].reshape(-1), (0, height * width // 4 % TILES), "edge")
        ends = np.maximum.accumulate((lasts.reshape(-1, TILES).max(axis=1) + 1) * channels)
        return Lead(lead_of_blocks(firsts, ends, widths, reads_first=True))

    @override
    def row_order(self, layer: Layer, widths: Widths) -> RowOrder:
        return RowOrder.none("winograd computes rows in pairs")

    @override
    def work(self, layer: Layer, widths: Widths) -> Work:
        # `pairs` of values of two tiles and four output channels (a `block`); `tile`: two tiles; `transformed` values
        groups, inputs = -(-_tiles(layer) // TILES), layer.in_shape.channels
        blocks = groups * layer.out_shape.channels // BLOCK
        return {
            "pairs": blocks * POSITIONS * inputs // 2,
            "block": blocks,
            "tile": groups,
            "transformed": groups * TILES * POSITIONS * inputs,
        } | clamped_work(layer, {"output": layer.out_shape.size})

    @override
    def exact_work(self, layer: Layer, work: Work, quantized: QuantizedLayer) -> Work:
        # formats decide how outputs are rounded
        return exactly_clamped(work, quantized, Epilogue.of(quantized)) if layer.rounding else work

    @override
    def loads(self, layer: Layer, widths: Widths) -> Loads:
        # weights are read once for two tiles, transformed values once for four output channels
        blocks, values = layer.out_shape.channels // BLOCK, POSITIONS * layer.in_shape.channels
        passes = -(-_tiles(layer) // TILES)
        return Loads(passes * self.weights_bytes(layer, widths), passes * TILES * values * (1 + 2 * blocks))

    @override
    def weights_bytes(self, layer: Layer, widths: Widths) -> int:
        return layer.out_shape.channels * (POSITIONS * layer.in_shape.channels * 2 + 4 + factor_bytes(layer))

    @override
    def constants(self, quantized: QuantizedLayer) -> Mapping[str, IntArray]:
        # weights, bias and factors of each block of channels, in the order of use
        weights = quantized.constants["weights"].astype(np.int64)
        out_channels, inputs = weights.shape[0], weights.shape[-1]
        transformed = np.einsum("ik,ckld,jl->cijd", TWICE_G, weights, TWICE_G).reshape(out_channels, POSITIONS, -1)
        ordered = transformed.reshape(out_channels, POSITIONS, -1, 4)[..., ORDER].reshape(-1, BLOCK, POSITIONS, inputs)
        words = (ordered[..., 0::2] & 0xFFFF) | (ordered[..., 1::2] << 16)
        epilogue = Epilogue.of(quantized)
        bias = quantized.constants["bias"] + epilogue.extras
        parts = [words.transpose(0, 2, 3, 1).reshape(len(words), -1), _blocks(bias)]
        if len(epilogue.factors) > 1:
            parts.append(_blocks(epilogue.factors))
        if epilogue.seconds is not None:
            parts.append(_blocks(epilogue.seconds))
        return {"weights": np.concatenate(parts, axis=1).astype(np.uint32).view(np.int32)}

    @override
    def context(self, quantized: QuantizedLayer) -> WinogradContext:
        epilogue = Epilogue.of(quantized).one_at_a_time()
        return WinogradContext(
            epilogue=epilogue,
            has_factors=len(epilogue.factors) > 1,
            block_words=self.constants(quantized)["weights"].shape[1],
            tiles=_tiles(quantized.layer),
        )


def _conv(layer: Layer) -> Conv:
    if not isinstance(layer, Conv):
        raise TypeError(f"{layer.kind} has no tiles")
    return layer


def _tiles(layer: Layer) -> int:
    return layer.out_shape.height * layer.out_shape.width // 4


def _blocks(values: IntArray) -> IntArray:
    blocks: IntArray = values.astype(np.int64).reshape(-1, BLOCK)
    return blocks
