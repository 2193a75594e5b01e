"""Two products in one multiplication: four output channels at a time.

A word holds the weights of two output channels, `w0 + (w1 << 16)`; its product with a value x >= 0 holds both products.
Sums over a group of inputs keep both halves apart as long as each stays within 16 bits: a sum that starts at
`offset = x_high * sum(-w for w < 0)` stays from 0 to `x_high * sum(|w|)`, whatever the values are. Groups are as long
as this is at most 65535 for every channel; two inputs always are: 2 * 128 * 255 = 65280.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from tinysplit.layers.base import Layer
from tinysplit.layers.conv import Conv
from tinysplit.layers.dense import Dense
from tinysplit.qformat import IntArray
from tinysplit.split.memory import aligned
from tinysplit.techniques import armv6m
from tinysplit.techniques.base import Technique, Widths

if TYPE_CHECKING:
    from tinysplit.quantized import QuantizedLayer

CHANNELS = 4  # output channels at a time
LONGEST_UNROLL = 32  # LDRB reaches 31 bytes beyond its register
HALF_WORD = (1 << 16) - 1
PAIR_CYCLES, LOOP_CYCLES = 17, 12  # of two inputs of four channels; of an iteration with the end of its last group

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Group:
    """Inputs whose sums of products fit 16 bits: `size` of them from `first` on, in every iteration of the loop."""

    first: int
    size: int


@dataclass(frozen=True)
class Stream:
    """The words of a layer's weights in the order in which the kernel reads them, and how they are grouped."""

    words: IntArray
    groups: tuple[Group, ...]


class Packed(Technique):
    """Convolutions and fully connected layers of 8 bits; windows are copied to the scratch buffer, one at a time."""

    name: ClassVar[str] = "packed"

    def fits(self, layer: Layer, core: str, widths: Widths) -> bool:
        """See `Technique.fits`."""
        if core != armv6m.CORE or widths != Widths.all(armv6m.BITS) or layer.out_shape.channels % CHANNELS:
            return False
        return isinstance(layer, Dense) or (isinstance(layer, Conv) and layer.groups == 1)

    def scratch_bytes(self, layer: Layer, widths: Widths) -> int:  # noqa: ARG002 - only 8 bits
        """See `Technique.scratch_bytes`: the values of one window."""
        return aligned(_padded_inputs(layer)[0])

    def weights_bytes(self, layer: Layer, widths: Widths) -> int:  # noqa: ARG002 - only 8 bits
        """Two bytes a weight and, in the worst case of groups of two inputs, one more for their offsets."""
        inputs, _ = _padded_inputs(layer)
        return layer.out_shape.channels * (3 * inputs + 8)

    def constants(self, quantized: "QuantizedLayer") -> Mapping[str, IntArray]:
        """See `Technique.constants`."""
        return {"weights": _stream(quantized).words}

    def facts(self, quantized: "QuantizedLayer") -> dict[str, object]:
        """See `Technique.facts`."""
        layer = quantized.layer
        inputs, unroll = _padded_inputs(layer)
        used = _inputs(layer)
        return {
            **armv6m.facts(quantized),
            "inputs": inputs,
            "used_inputs": used,
            "unroll": unroll,
            "loops": inputs // unroll,
            "groups": _stream(quantized).groups,
            "copies": armv6m.is_signed(quantized) or inputs != used or not _is_pointwise(layer),
        }


def _is_pointwise(layer: Layer) -> bool:
    """Whether the windows of a layer lie one behind the other in its input."""
    if not isinstance(layer, Conv):
        return True
    window = layer.window
    return window.elements == 1 and window.stride == (1, 1) and not window.is_clipped


def _inputs(layer: Layer) -> int:
    """Return how many values make an output."""
    return int(layer.parameters["weights"][0].size)


def _padded_inputs(layer: Layer) -> tuple[int, int]:
    """Return the number of inputs, perhaps some more, and how many of them an iteration of the inner loop takes."""
    used = _inputs(layer)
    choices = [
        (inputs, unroll)
        for inputs in range(used + used % 2, used + LONGEST_UNROLL, 2)
        for unroll in range(2, LONGEST_UNROLL + 1, 2)
        if inputs % unroll == 0
    ]
    return min(choices, key=lambda choice: PAIR_CYCLES * choice[0] // 2 + LOOP_CYCLES * (choice[0] // choice[1]))


def _stream(quantized: "QuantizedLayer") -> Stream:
    """Pack weights, biases and factors of a layer."""
    layer = armv6m.UnsignedLayer.of(quantized)
    inputs, unroll = _padded_inputs(quantized.layer)
    weights = np.pad(layer.weights, ((0, 0), (0, inputs - layer.weights.shape[1])))
    groups = tuple(_groups(np.abs(weights).reshape(-1, unroll), HALF_WORD // max(layer.x_high, 1)))
    words: list[Integers] = []
    for first in range(0, len(weights), CHANNELS):
        block = slice(first, first + CHANNELS)
        words.extend(_block(weights[block], layer.bias[block], groups, layer.x_high))
        if layer.factors is not None:
            words.append(layer.factors[block])
    return Stream(np.concatenate(words).astype(np.uint32).view(np.int32), groups)


def _groups(magnitudes: Integers, most: int) -> Iterator[Group]:
    """Yield the longest groups of inputs (columns) in which the magnitudes of no channel (row) sum to over `most`."""
    first, unroll = 0, magnitudes.shape[1]
    while first < unroll:
        size = 2
        while first + size < unroll and magnitudes[:, first : first + size + 2].sum(axis=1).max() <= most:
            size += 2
        yield Group(first, size)
        first += size


def _block(weights: Integers, bias: Integers, groups: tuple[Group, ...], x_high: int) -> Iterator[Integers]:
    """Yield the words of four channels: where their sums start, then a group's products after the other's."""
    unroll = groups[-1].first + groups[-1].size
    places = [
        slice(loop + group.first, loop + group.first + group.size)
        for loop in range(0, weights.shape[1], unroll)
        for group in groups
    ]
    offsets = [x_high * np.maximum(-weights[:, place], 0).sum(axis=1) for place in places]
    start = bias - np.sum(offsets, axis=0)
    yield from (_pair(start), start[1::2])
    for place, offset in zip(places, offsets, strict=True):
        words = _pair(weights[:, place]).T.reshape(-1)
        yield from (words[:4], _pair(offset)[::-1], words[4:])


def _pair(channels: Integers) -> Integers:
    """Pack every channel with an even number and the one after it."""
    packed: Integers = channels[0::2] + (channels[1::2] << 16)
    return packed
