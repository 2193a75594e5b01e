"""Two products in one multiplication: four output channels at a time.

A word holds the weights of two output channels, `w0 + (w1 << 16)`; its product with a value x >= 0 holds both products.
Sums over a group of inputs keep both halves apart as long as each stays within 16 bits: a sum that starts at
`offset = x_high * sum(-w for w < 0)` stays from 0 to `x_high * sum(|w|)`, whatever the values are. Groups are as long
as this is at most 65535 for every channel; two inputs always are: 2 * 128 * 255 = 65280. What a sum still exceeds of
its offset is kept for two channels in two words: all products together modulo 2^32, and the upper halves of the groups.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tinysplit.common.alignment import aligned
from tinysplit.kernels import armv6m
from tinysplit.kernels.base import Kernel
from tinysplit.kernels.cost_table import Work
from tinysplit.kernels.in_place import Lead, window_lead
from tinysplit.kernels.memory_traffic import Loads, block_loads
from tinysplit.network.bit_widths import Widths
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.layers.base import Layer
from tinysplit.network.layers.conv import Conv
from tinysplit.network.layers.dense import Dense
from tinysplit.network.quantized_graph import QuantizedLayer

CHANNELS = 4  # output channels at a time
LONGEST_UNROLL = 32  # LDRB reaches 31 bytes beyond its register
HALF_WORD = (1 << 16) - 1
ORDERS = 300  # of inputs that are tried
EXPECTED_ORDERS = 10  # before there are integers, where a group more or less changes little
LARGEST_WEIGHT = 127
MOST_WEIGHTS = 5120  # of a layer whose weights are packed in flash, where they take more than twice their bytes
MOST_WEIGHTS_OF_FEW = 16384  # of a layer with so few pixels that unpacking in RAM would take long for what it saves
FEW_PIXELS = 32
PAIR_CYCLES, LOOP_CYCLES = 17, 12  # of two inputs of four channels; of an iteration with the end of its last group

Integers = NDArray[np.int64]


Group = tuple[int, ...]  # places of inputs in every iteration of the loop whose sums of products fit 16 bits


@dataclass(frozen=True, eq=False)
class Block:
    """Four channels: where their sums start, weights and offsets of group after group, factors."""

    start: Integers
    weights: tuple[Integers, ...]  # channels x inputs of a group
    offsets: tuple[Integers, ...]
    factors: Integers | None

    def packed(self) -> Iterator[Integers]:
        """Yield the words in the order in which the kernel reads them; a group's offsets stand behind two inputs."""
        yield from self.head()
        for weights, offset in zip(self.weights, self.offsets, strict=True):
            words = _pair(weights).T.reshape(-1)
            yield from (words[:4], _pair(offset)[::-1], words[4:])
        yield from self.tail()

    def head(self) -> tuple[Integers, ...]:
        """Return the words where the packed sums start, and where their upper halves do."""
        return _pair(self.start), self.start[1::2]

    def tail(self) -> tuple[Integers, ...]:
        """Return the factors, if there are any."""
        return () if self.factors is None else (self.factors,)


@dataclass(frozen=True)
class Packing:
    """How the inputs of a layer are walked: `inputs` with padding, `unroll` of them an iteration, in `groups`."""

    inputs: int
    unroll: int
    groups: tuple[Group, ...]

    @classmethod
    def of(cls, quantized: QuantizedLayer) -> "Packing":
        """Return as few groups as were found for a layer."""
        return _packing(quantized)

    @classmethod
    def search(cls, quantized: QuantizedLayer) -> "Packing":
        """Find groups: in the order of the inputs or, where that makes fewer, in one of many random ones.

        An even order of large and small weights makes long groups. It is the same for all channels and iterations.
        """
        layer = armv6m.UnsignedLayer.of(quantized)
        inputs, unroll = padded_inputs(quantized.layer)
        magnitudes = np.abs(_padded(layer.weights, inputs)).reshape(-1, unroll)
        return cls(inputs, unroll, _fewest_groups(magnitudes, layer.x_high, ORDERS))

    def blocks(self, quantized: QuantizedLayer) -> Iterator[Block]:
        """Yield four channels after the other."""
        layer = armv6m.UnsignedLayer.of(quantized)
        all_weights = _padded(layer.weights, self.inputs)
        for first in range(0, len(all_weights), CHANNELS):
            block = slice(first, first + CHANNELS)
            weights = tuple(all_weights[block][:, places] for places in self._places())
            offsets = tuple(layer.x_high * np.maximum(-group, 0).sum(axis=1) for group in weights)
            factors = None if layer.factors is None else layer.factors[block]
            yield Block(layer.bias[block] - sum(offsets), weights, offsets, factors)

    def _places(self) -> Iterator[list[int]]:
        for loop in range(0, self.inputs, self.unroll):
            for group in self.groups:
                yield [loop + place for place in group]


@lru_cache(maxsize=64)
def _packing(quantized: QuantizedLayer) -> Packing:
    return Packing.search(quantized)


class OneWindow(Kernel):
    """What kernels share that copy the window of one pixel and compute four channels of it at a time."""

    def scratch_bytes(self, layer: Layer, widths: Widths) -> int:
        """See `Kernel.scratch_bytes`: the values of one window, or the outputs of one pixel."""
        return aligned(max(padded_inputs(layer)[0] * widths.x // 8, layer.out_shape.channels * widths.y // 8))

    def lead(self, layer: Layer, k: int, widths: Widths) -> Lead | None:
        """See `Kernel.lead`: the window of a pixel is copied, or its outputs are buffered."""
        if not isinstance(layer, Conv):
            return super().lead(layer, k, widths)
        return window_lead(layer.in_shape, layer.out_shape, layer.window, 1, widths, reads_first=True)

    def loads(self, layer: Layer, widths: Widths) -> Loads:
        """See `Kernel.loads`: windows are copied, or read where they are."""
        weights_bytes, copied_bytes = self.weights_bytes(layer, widths), windows_bytes(layer, widths)
        return block_loads(layer, weights_bytes, widths.x // 8, channels=CHANNELS, copied_bytes=copied_bytes)

    def work(self, layer: Layer, widths: Widths) -> Work:
        """See `Kernel.work`: windows are copied once."""
        return pixels_work(layer, widths, 1)


@lru_cache(maxsize=256)
def expected_groups(layer: Layer) -> int:
    """Return how many groups an iteration of the loop has where values use the whole of their format."""
    weights = np.abs(layer.by_channel(layer.parameters["weights"]).astype(np.float64))
    magnitudes = np.ceil(
        LARGEST_WEIGHT * weights / np.maximum(weights.max(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    ).astype(np.int64)
    inputs, unroll = padded_inputs(layer)
    x_high = armv6m.expected_high(layer)
    return len(_fewest_groups(_padded(magnitudes, inputs).reshape(-1, unroll), x_high, EXPECTED_ORDERS))


class Packed(OneWindow):
    """Convolutions and fully connected layers of 8 bits; windows are copied to the scratch buffer, one at a time.

    Flash holds the words as they are read.
    """

    name: ClassVar[str] = "packed"

    def work(self, layer: Layer, widths: Widths) -> Work:
        """See `Kernel.work`: `group`: of inputs for four channels."""
        work = pixels_work(layer, widths, 1)
        return {**work, "group": work["loop"] * expected_groups(layer)}

    def fits(self, layer: Layer, core: str, widths: Widths) -> bool:
        """See `Kernel.fits`."""
        has_few = layer.out_shape.height * layer.out_shape.width <= FEW_PIXELS
        most = MOST_WEIGHTS_OF_FEW if has_few else MOST_WEIGHTS
        return may_pack(layer, core, widths) and layer.parameters["weights"].size <= most

    def weights_bytes(self, layer: Layer, widths: Widths) -> int:  # noqa: ARG002 - only 8 bits
        """See `Kernel.weights_bytes`."""
        return largest_block_bytes(layer) * layer.out_shape.channels // CHANNELS

    def constants(self, quantized: QuantizedLayer) -> Mapping[str, IntArray]:
        """See `Kernel.constants`."""
        blocks = Packing.of(quantized).blocks(quantized)
        words = np.concatenate([words for block in blocks for words in block.packed()])
        return {"weights": words.astype(np.uint32).view(np.int32)}

    def facts(self, quantized: QuantizedLayer) -> dict[str, object]:
        """See `Kernel.facts`."""
        own = facts(quantized, Packing.of(quantized))
        buffered = isinstance(quantized.layer, Conv) and not own["copies"]
        return own | {"channels": quantized.layer.out_shape.channels, "unpacks": False, "buffered": buffered}


def pixels_work(layer: Layer, widths: Widths, passes: int) -> Work:
    """Return the work of kernels that go over all pixels in so many passes, each with its channels.

    `pairs` of inputs for four channels (`block`), in iterations (`loop`); `pixel`: of every pass; `buffered` outputs;
    what it takes to copy a window (`armv6m.windows_work`) for each pixel and pass.
    """
    (inputs, unroll), pixels = padded_inputs(layer), layer.out_shape.height * layer.out_shape.width
    blocks = pixels * layer.out_shape.channels // CHANNELS
    copies = not is_pointwise(layer) or armv6m.may_be_signed(layer, widths) or inputs != _inputs(layer)
    work = {
        "pairs": blocks * inputs // 2,
        "loop": blocks * inputs // unroll,
        "block": blocks,
        "pixel": pixels * passes,
        "buffered": 0 if copies else layer.out_shape.size,
    }
    return work | (armv6m.windows_work(layer, widths, passes) if copies else {})


def may_pack(layer: Layer, core: str, widths: Widths) -> bool:
    """Return whether products of `layer` can be made in pairs."""
    has_width = widths.x == widths.w == armv6m.BITS
    if core != armv6m.CORE or not has_width or layer.out_shape.channels % CHANNELS:
        return False
    return isinstance(layer, Dense) or (isinstance(layer, Conv) and layer.groups == 1)


def facts(quantized: QuantizedLayer, packing: Packing) -> dict[str, object]:
    """Return what the templates print of the packing; `stream_words` are those of four channels."""
    unsigned = armv6m.UnsignedLayer.of(quantized)
    used = _inputs(quantized.layer)
    loops = packing.inputs // packing.unroll
    return {
        **armv6m.facts(quantized),
        "pixels_template": "layers/packed/packed.c.j2",
        "element": "uint8_t",
        "inputs": packing.inputs,
        "used_inputs": used,
        "unroll": packing.unroll,
        "loops": loops,
        "groups": packing.groups,
        "stream_words": 4 + 2 * packing.inputs + 2 * loops * len(packing.groups) + 4 * (unsigned.factors is not None),
        "x_high": unsigned.x_high,
        "copies": armv6m.is_signed(quantized) or packing.inputs != used or not is_pointwise(quantized.layer),
    }


def largest_block_bytes(layer: Layer) -> int:
    """Return the bytes of four channels' words if all groups had two inputs: biases, weights, offsets, factors."""
    inputs, _ = padded_inputs(layer)
    return 4 * (4 + 2 * inputs + inputs + 4)


def is_pointwise(layer: Layer) -> bool:
    """Whether the windows of a layer lie one behind the other in its input."""
    if not isinstance(layer, Conv):
        return True
    window = layer.window
    return window.elements == 1 and window.stride == (1, 1) and not window.is_clipped


def _inputs(layer: Layer) -> int:
    """Return how many values make an output."""
    return int(layer.parameters["weights"][0].size)


def windows_bytes(layer: Layer, widths: Widths) -> int:
    """Return what is read to copy the windows of all pixels."""
    height, width, _ = layer.out_shape
    return 0 if is_pointwise(layer) else height * width * _inputs(layer) * widths.x // 8


def padded_inputs(layer: Layer) -> tuple[int, int]:
    """Return the number of inputs, perhaps some more, and how many of them an iteration of the inner loop takes."""
    used = _inputs(layer)
    choices = [
        (inputs, unroll)
        for inputs in range(used + used % 2, used + LONGEST_UNROLL, 2)
        for unroll in range(2, LONGEST_UNROLL + 1, 2)
        if inputs % unroll == 0
    ]
    return min(choices, key=lambda choice: PAIR_CYCLES * choice[0] // 2 + LOOP_CYCLES * (choice[0] // choice[1]))


def _padded(weights: Integers, inputs: int) -> Integers:
    padded: Integers = np.pad(weights, ((0, 0), (0, inputs - weights.shape[1])))
    return padded


def _fewest_groups(magnitudes: Integers, x_high: int, tries: int) -> tuple[Group, ...]:
    """Return the groups of the best of some orders of the inputs (columns), the first of them the given one."""
    unroll, most = magnitudes.shape[1], HALF_WORD // max(x_high, 1)
    rng = np.random.default_rng(0)
    orders = [np.arange(unroll), *(rng.permutation(unroll) for _ in range(tries))]
    return min((tuple(_groups(magnitudes, order, most)) for order in orders), key=len)


def _groups(magnitudes: Integers, order: Integers, most: int) -> Iterator[Group]:
    """Yield the longest groups of inputs (columns) in which the magnitudes of no channel (row) sum to over `most`."""
    sums = np.pad(magnitudes[:, order].cumsum(axis=1), ((0, 0), (1, 0)))
    first, unroll = 0, len(order)
    while first < unroll:
        end = first + 2
        while end < unroll and (sums[:, end + 2] - sums[:, first]).max() <= most:
            end += 2
        yield tuple(order[first:end].tolist())
        first = end


def _pair(channels: Integers) -> Integers:
    """Pack every channel with an even number and the one after it."""
    packed: Integers = channels[0::2] + (channels[1::2] << 16)
    return packed
