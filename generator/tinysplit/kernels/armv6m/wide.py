"""Convolutions and fully connected layers of 16-bit values on Cortex-M0+: four output channels for each loaded value.

The register blocking of im2col and matrix multiplication (1 pixel x 4 channels), with one multiplication a product.
"""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from typing_extensions import override

from tinysplit.kernels.armv6m import common
from tinysplit.kernels.armv6m.packed import HALF_WORD, Integers, OneWindow, PixelsContext
from tinysplit.kernels.armv6m.pixels import CHANNELS, inputs_of, is_pointwise, padded_inputs, pixels_code
from tinysplit.kernels.code_parts import Code
from tinysplit.kernels.cores import NARROW_CORES
from tinysplit.network.bit_widths import Widths
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.layers.base import Layer
from tinysplit.network.layers.conv import Conv
from tinysplit.network.layers.dense import Dense
from tinysplit.network.quantized_graph import QuantizedLayer

BITS = 16
LONGEST_UNROLL = 16  # keeps the literal pool within reach of the instructions that load from it


class Wide(OneWindow):
    """Convolutions and fully connected layers of 16-bit values; windows are copied as `Packed` does it."""

    name: ClassVar[str] = "wide"

    @override
    def fits(self, layer: Layer, core: str, widths: Widths) -> bool:
        if core not in NARROW_CORES or widths.x != BITS or layer.out_shape.channels % CHANNELS:
            return False
        return isinstance(layer, Dense) or (isinstance(layer, Conv) and layer.groups == 1)

    @override
    def template(self, layer: Layer) -> str:
        # that of `packed`, which extends `PixelsContext.pixels_template`
        return f"layers/packed/{layer.kind}.c.j2"

    @override
    def code(self, layer: Layer, widths: Widths) -> Code:
        return Code(pixels_code(layer, widths, _unroll(layer), 1, layer.out_shape.channels))

    @override
    def weights_bytes(self, layer: Layer, widths: Widths) -> int:
        return layer.out_shape.channels * (4 + 4 + 2 * padded_inputs(layer)[0])

    @override
    def constants(self, quantized: QuantizedLayer) -> Mapping[str, IntArray]:
        # for each block of four channels its biases, pairs of weights, and factors
        layer = common.UnsignedLayer.of(quantized)
        inputs, _ = padded_inputs(quantized.layer)
        weights = np.pad(layer.weights, ((0, 0), (0, inputs - layer.weights.shape[1])))
        words: list[Integers] = []
        for first in range(0, len(weights), CHANNELS):
            block = slice(first, first + CHANNELS)
            pairs = (weights[block][0::2] & HALF_WORD) | (weights[block][1::2] << BITS)
            words.extend((layer.bias[block], pairs.T.reshape(-1)))
            words.append(layer.factors[block].reshape(-1))
        return {"weights": np.concatenate(words).astype(np.uint32).view(np.int32)}

    @override
    def context(self, quantized: QuantizedLayer) -> PixelsContext:
        layer, factor_words = quantized.layer, common.factor_words(quantized)
        inputs, used = padded_inputs(layer)[0], inputs_of(layer)
        copies = inputs != used or not is_pointwise(layer)
        return PixelsContext(
            copy=common.ValueCopy.of(quantized),
            factor_words=factor_words,
            split=None,
            pixels_template="layers/wide/wide.c.j2",
            element="int16_t",
            inputs=inputs,
            used_inputs=used,
            unroll=_unroll(layer),
            straight=1,
            channels=layer.out_shape.channels,
            stream_words=4 + 2 * inputs + CHANNELS * factor_words,
            copies_windows=copies,
            copies_map=False,
            buffers_outputs=isinstance(layer, Conv) and not copies,
            unpacks=False,
            windows=1,
        )


def _unroll(layer: Layer) -> int:
    """Return the inputs that an iteration of the inner loop takes."""
    _, unroll = padded_inputs(layer)
    return unroll // 2 if unroll > LONGEST_UNROLL and unroll % 4 == 0 else unroll
