"""Depthwise convolutions 3x3 whose window slides along a row: every value is loaded once a row of outputs.

Three rows of inputs are copied with their padding, a block of channels at a time.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from tinysplit.layers.base import Layer
from tinysplit.layers.depthwise_conv import DepthwiseConv
from tinysplit.layers.window import Window
from tinysplit.qformat import IntArray
from tinysplit.split.memory import aligned
from tinysplit.techniques import armv6m
from tinysplit.techniques.base import Technique, Widths
from tinysplit.techniques.in_place import lead_of_rows

if TYPE_CHECKING:
    from tinysplit.quantized import QuantizedLayer

KERNEL = (3, 3)
KERNEL_COLUMNS = (1, 0, 2)  # in the order in which a column of inputs meets them: the one that completes an output last
LONGEST_STRIDE = 2
MOST_CHANNELS = 32  # of which rows are copied at a time, so that the scratch buffer stays small
WORDS = 9 + 2  # of a channel without a factor: weights, bias, offset


class Sliding(Technique):
    """Depthwise convolutions 3x3 of 8 bits, strides 1 and 2."""

    name: ClassVar[str] = "sliding"

    def fits(self, layer: Layer, core: str, widths: Widths) -> bool:
        """See `Technique.fits`."""
        if core != armv6m.CORE or widths != Widths.all(armv6m.BITS) or not isinstance(layer, DepthwiseConv):
            return False
        window = layer.window
        has_shape = window.kernel == KERNEL and window.dilation == (1, 1) and window.stride[1] <= LONGEST_STRIDE
        return has_shape and layer.out_shape.width > 1

    def scratch_bytes(self, layer: Layer, widths: Widths) -> int:  # noqa: ARG002 - only 8 bits
        """See `Technique.scratch_bytes`: three rows of a block of channels with their padding."""
        return aligned(KERNEL[0] * _columns(layer) * _channels(layer))

    def output_lead(self, layer: Layer, k: int) -> int | None:  # noqa: ARG002 - it has one input
        """See `Technique.output_lead`: channels lie where they lay before, so that a block does not touch others."""
        return lead_of_rows(layer, _window(layer))

    def weights_bytes(self, layer: Layer, widths: Widths) -> int:  # noqa: ARG002 - only 8 bits
        """See `Technique.weights_bytes`: a word for everything."""
        return layer.out_shape.channels * (WORDS + 1) * 4

    def constants(self, quantized: "QuantizedLayer") -> Mapping[str, IntArray]:
        """See `Technique.constants`."""
        layer = armv6m.UnsignedLayer.of(quantized)
        requantization, zero_point = quantized.formats.requantization, quantized.formats.y.zero_point
        offset = requantization.offset(zero_point) if requantization else 0
        columns = layer.weights.reshape(-1, *KERNEL)[:, :, KERNEL_COLUMNS].swapaxes(1, 2).reshape(-1, 9)
        factors = () if layer.factors is None else (layer.factors,)
        words = np.column_stack((columns, layer.bias, *factors, np.full(len(columns), offset)))
        return {"weights": words.astype(np.int32)}

    def facts(self, quantized: "QuantizedLayer") -> dict[str, object]:
        """See `Technique.facts`."""
        layer, window = quantized.layer, _window(quantized.layer)
        facts = armv6m.facts(quantized)
        columns = _columns(layer)
        return facts | {
            "columns": columns,
            "channels": _channels(layer),
            "used_columns": min(layer.in_shape.width, columns - window.pads.left),
            "looped": layer.out_shape.width - (2 if window.stride[1] == 1 else 1),
            "words_a_channel": WORDS + bool(facts["has_factors"]),
        }


def _window(layer: Layer) -> Window:
    if not isinstance(layer, DepthwiseConv):
        raise TypeError(f"{layer.kind} has no window to slide")
    return layer.window


def _channels(layer: Layer) -> int:
    """Return how many channels are computed before the next ones."""
    channels = layer.in_shape.channels
    unit = 1 if channels % armv6m.WORD_BYTES else armv6m.WORD_BYTES  # of which copies are made
    return max(count for count in range(unit, MOST_CHANNELS + 1, unit) if channels % count == 0)


def _columns(layer: Layer) -> int:
    """Return how many columns of the padded input the outputs of a row see."""
    return (layer.out_shape.width - 1) * _window(layer).stride[1] + KERNEL[1]
