"""Large fully connected layers of 8 bits on Cortex-M0+: packed products as in `packed`, of weights with a byte each.

A word holds the weights of four output channels as w + 128, e0 + (o0 << 8) + (e1 << 16) + (o1 << 24). Two instructions
extract o0 + (o1 << 16); the product of a value with the whole word is that with the even bytes plus 256 times that with
the odd ones. So each weight is read once and unpacked while it is used. The weights are positive: the sums of a group
of one or two inputs fit 16 bits, and 128 times the sum of the inputs is subtracted at the end.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from typing_extensions import override

from tinysplit.kernels.armv6m import common
from tinysplit.kernels.armv6m.packed import HALF_WORD, Integers, may_pack
from tinysplit.kernels.armv6m.pixels import CHANNELS, inputs_of
from tinysplit.kernels.armv6m.unpacked import MIDDLE, ORDER
from tinysplit.kernels.base import Kernel
from tinysplit.kernels.cost_table import Work, rounded_work
from tinysplit.kernels.memory_traffic import Loads, block_loads
from tinysplit.network.bit_widths import Widths
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.layers.base import Layer
from tinysplit.network.layers.dense import Dense
from tinysplit.network.quantized_graph import QuantizedLayer

UNROLL = 16  # inputs of an iteration: keeps the literal pool within reach
LARGEST_BYTE = 255


@dataclass(frozen=True)
class StreamedContext(common.Armv6mContext):
    """Template context; the names that templates/assembly/pixels.s.j2 reads are those of `PixelsContext`."""

    inputs: int  # of an output, with padding
    used_inputs: int
    unroll: int
    channels: int
    stream_words: int  # words of four output channels
    group: int  # inputs whose sums of products fit 16 bits
    copies: bool  # the input to the scratch buffer
    buffers_outputs: bool = False
    straight: int = 1

    @property
    def iterations(self) -> int:
        """Iterations of the inner loop."""
        return self.inputs // self.unroll


class Streamed(Kernel):
    """Four output channels at a time; weights are read from flash in the order of use, each once."""

    name: ClassVar[str] = "streamed"

    @override
    def fits(self, layer: Layer, core: str, widths: Widths) -> bool:
        return may_pack(layer, core, widths) and isinstance(layer, Dense)

    @override
    def scratch_bytes(self, layer: Layer, widths: Widths) -> int:
        # the inputs as unsigned values, with padding, where they are copied
        return _padded(layer)

    @override
    def loads(self, layer: Layer, widths: Widths) -> Loads:
        weights_bytes = self.weights_bytes(layer, widths)
        return block_loads(layer, weights_bytes, widths.x // 8, channels=CHANNELS, copied_bytes=inputs_of(layer))

    @override
    def work(self, layer: Layer, widths: Widths) -> Work:
        # `paired_values` of four channels (a `block`) or `single_` ones; `added` inputs
        blocks, signed = layer.out_shape.channels // CHANNELS, common.may_be_signed(layer, widths)
        copies = signed or _padded(layer) != inputs_of(layer)
        work: dict[str, float] = {_values(signed): blocks * _padded(layer), "added": inputs_of(layer)}
        work |= rounded_work(layer, "block", blocks)
        return work | (common.windows_work(layer, widths, 1) if copies else {})

    @override
    def exact_work(self, layer: Layer, work: Work, quantized: QuantizedLayer) -> Work:
        # zero points make groups of one input
        signed = common.is_signed(quantized)
        values = work.get(_values(signed), work.get(_values(not signed), 0.0))
        return common.exactly_rounded({**work, _values(signed): values, _values(not signed): 0.0}, quantized)

    @override
    def weights_bytes(self, layer: Layer, widths: Widths) -> int:
        # words of biases and factors, bytes of weights
        return layer.out_shape.channels * (4 + 4 * common.expected_factor_words(layer) + _padded(layer))

    @override
    def constants(self, quantized: QuantizedLayer) -> Mapping[str, IntArray]:
        # for each block of four channels its initial sums, words of weights, and factors
        layer = common.UnsignedLayer.of(quantized)
        fill = _padded(quantized.layer) - layer.weights.shape[1]
        weights = np.pad(layer.weights + MIDDLE, ((0, 0), (0, fill)))  # whatever stands beyond the inputs adds nothing
        words: list[Integers] = []
        for first in range(0, len(weights), CHANNELS):
            block = slice(first, first + CHANNELS)
            bias = layer.bias[block]
            bytes_ = sum(weights[block][channel] << 8 * place for place, channel in enumerate(ORDER))
            head = (bias[0::2] + (bias[1::2] << 16), bias[1::2])
            words.extend((*head, np.asarray(bytes_), layer.factors[block].reshape(-1)))
        return {"weights": np.concatenate(words).astype(np.uint32).view(np.int32)}

    @override
    def context(self, quantized: QuantizedLayer) -> StreamedContext:
        layer, factor_words = quantized.layer, common.factor_words(quantized)
        inputs, used, unsigned = _padded(layer), inputs_of(layer), common.UnsignedLayer.of(quantized)
        return StreamedContext(
            copy=common.ValueCopy.of(quantized),
            factor_words=factor_words,
            split=common.split_products(quantized),
            inputs=inputs,
            used_inputs=used,
            unroll=UNROLL,
            channels=layer.out_shape.channels,
            stream_words=4 + inputs + CHANNELS * factor_words,
            group=2 if 2 * unsigned.x_high * LARGEST_BYTE <= HALF_WORD else 1,
            copies=common.is_signed(quantized) or inputs != used,
        )


def _values(signed: bool) -> str:
    return "single_values" if signed else "paired_values"


def _padded(layer: Layer) -> int:
    return -(-inputs_of(layer) // UNROLL) * UNROLL
