"""16-bit values on Cortex-M0+: four output channels at a time, so that every value is loaded once for four products."""

from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from tinysplit.kernels import armv6m
from tinysplit.kernels.packed import CHANNELS, HALF_WORD, Integers, OneWindow, is_pointwise, padded_inputs
from tinysplit.network.bit_widths import Widths
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.layers.base import Layer
from tinysplit.network.layers.conv import Conv
from tinysplit.network.layers.dense import Dense
from tinysplit.network.quantized_graph import QuantizedLayer

BITS = 16
LONGEST_UNROLL = 16  # so that the code of an iteration is not longer than constants may be away


class Wide(OneWindow):
    """Convolutions and fully connected layers of 16-bit values; windows are copied as `Packed` does it."""

    name: ClassVar[str] = "wide"

    def fits(self, layer: Layer, core: str, widths: Widths) -> bool:
        """See `Kernel.fits`."""
        if core != armv6m.CORE or widths.x != BITS or layer.out_shape.channels % CHANNELS:
            return False
        return isinstance(layer, Dense) or (isinstance(layer, Conv) and layer.groups == 1)

    def template(self, layer: Layer) -> str:
        """Return the template of packed kernels: only the function of pixels differs."""
        return f"layers/packed/{layer.kind}.c.j2"

    def weights_bytes(self, layer: Layer, widths: Widths) -> int:  # noqa: ARG002 - weights of 8 bits take 16, too
        """See `Kernel.weights_bytes`."""
        return layer.out_shape.channels * (4 + 4 + 2 * padded_inputs(layer)[0])

    def constants(self, quantized: QuantizedLayer) -> Mapping[str, IntArray]:
        """See `Kernel.constants`."""
        layer = armv6m.UnsignedLayer.of(quantized)
        inputs, _ = padded_inputs(quantized.layer)
        weights = np.pad(layer.weights, ((0, 0), (0, inputs - layer.weights.shape[1])))
        words: list[Integers] = []
        for first in range(0, len(weights), CHANNELS):
            block = slice(first, first + CHANNELS)
            pairs = (weights[block][0::2] & HALF_WORD) | (weights[block][1::2] << BITS)
            words.extend((layer.bias[block], pairs.T.reshape(-1)))
            if layer.factors is not None:
                words.append(layer.factors[block])
        return {"weights": np.concatenate(words).astype(np.uint32).view(np.int32)}

    def facts(self, quantized: QuantizedLayer) -> dict[str, object]:
        """See `Kernel.facts`."""
        layer, own = quantized.layer, armv6m.facts(quantized)
        inputs, unroll = padded_inputs(layer)
        if unroll > LONGEST_UNROLL and unroll % 4 == 0:
            unroll //= 2
        used = int(layer.parameters["weights"][0].size)
        copies = inputs != used or not is_pointwise(layer)
        return own | {
            "pixels_template": "layers/wide/wide.c.j2",
            "element": "int16_t",
            "inputs": inputs,
            "used_inputs": used,
            "unroll": unroll,
            "loops": inputs // unroll,
            "stream_words": 4 + 2 * inputs + 4 * bool(own["has_factors"]),
            "channels": layer.out_shape.channels,
            "copies": copies,
            "buffered": isinstance(layer, Conv) and not copies,
            "unpacks": False,
        }
