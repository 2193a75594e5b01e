"""Two products in one multiplication for layers with many weights: RAM holds the packed words of some channels.

Flash holds four weights a word, as w + 128, in the order 0, 2, 1, 3 of their channels, so that two masks make the
packed words of them; offsets of groups follow from the weights. The channels whose words are unpacked are computed for
all pixels before the next ones.
"""

from collections.abc import Iterator, Mapping
from typing import ClassVar

import numpy as np

from tinysplit.common.alignment import aligned
from tinysplit.kernels.base import Kernel
from tinysplit.kernels.cost_table import Work
from tinysplit.kernels.memory_traffic import Loads, block_loads
from tinysplit.kernels.packed import (
    CHANNELS,
    Block,
    Integers,
    Packing,
    expected_groups,
    facts,
    is_pointwise,
    largest_block_bytes,
    may_pack,
    padded_inputs,
    pixels_work,
    windows_bytes,
)
from tinysplit.network.bit_widths import Widths
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.layers.base import Layer
from tinysplit.network.quantized_graph import QuantizedLayer

FEWEST_PIXELS = 8  # below, unpacking takes longer than it saves
MOST_BYTES = 4096  # of packed words, where windows are copied once for the channels that these are of
ORDER = (0, 2, 1, 3)
MIDDLE = 128


class Unpacked(Kernel):
    """As `Packed`, from half the flash and with more RAM."""

    name: ClassVar[str] = "unpacked"
    walks_rows: ClassVar[bool] = False  # weights would be unpacked for each of them

    def fits(self, layer: Layer, core: str, widths: Widths) -> bool:
        """See `Kernel.fits`."""
        return may_pack(layer, core, widths) and layer.out_shape.height * layer.out_shape.width >= FEWEST_PIXELS

    def template(self, layer: Layer) -> str:
        """Return the template of packed kernels, which differ only in where they read their words."""
        return f"layers/packed/{layer.kind}.c.j2"

    def scratch_bytes(self, layer: Layer, widths: Widths) -> int:  # noqa: ARG002 - only 8 bits
        """See `Kernel.scratch_bytes`: packed words and the values of one window."""
        return _blocks_at_once(layer) * largest_block_bytes(layer) + aligned(padded_inputs(layer)[0])

    def loads(self, layer: Layer, widths: Widths) -> Loads:
        """See `Kernel.loads`: weights are read once, and again as packed words for every pixel."""
        weights_bytes = self.weights_bytes(layer, widths)
        copied_bytes = _passes(layer) * windows_bytes(layer, widths)
        words = block_loads(layer, 2 * weights_bytes, widths.x // 8, channels=CHANNELS, copied_bytes=copied_bytes)
        return Loads(weights_bytes, words.flash_bytes + words.ram_bytes)

    def work(self, layer: Layer, widths: Widths) -> Work:
        """See `Kernel.work`: `unpacked` weights, in groups; windows are copied for their channels."""
        groups, blocks = expected_groups(layer), layer.out_shape.channels // CHANNELS
        (inputs, unroll), pixels = padded_inputs(layer), layer.out_shape.height * layer.out_shape.width
        loops = blocks * inputs // unroll
        own = {"group": pixels * loops * groups, "unpacked": blocks * inputs, "unpacked_groups": loops * groups}
        return {**pixels_work(layer, widths, _passes(layer)), **own}

    def weights_bytes(self, layer: Layer, widths: Widths) -> int:  # noqa: ARG002 - only 8 bits
        """See `Kernel.weights_bytes`: words of biases and factors, weights."""
        return layer.out_shape.channels * (4 + 4 + padded_inputs(layer)[0])

    def constants(self, quantized: QuantizedLayer) -> Mapping[str, IntArray]:
        """See `Kernel.constants`."""
        blocks = Packing.of(quantized).blocks(quantized)
        words = np.concatenate([words for block in blocks for words in _words(block)])
        return {"weights": words.astype(np.uint32).view(np.int32)}

    def facts(self, quantized: QuantizedLayer) -> dict[str, object]:
        """See `Kernel.facts`."""
        channels = CHANNELS * _blocks_at_once(quantized.layer)
        return facts(quantized, Packing.of(quantized)) | {"channels": channels, "unpacks": True, "buffered": False}


def _passes(layer: Layer) -> int:
    """Return how often all windows are copied."""
    return layer.out_shape.channels // CHANNELS // _blocks_at_once(layer)


def _blocks_at_once(layer: Layer) -> int:
    """Return how many blocks of four channels are unpacked together: windows that are copied serve them all."""
    blocks = layer.out_shape.channels // CHANNELS
    most = 1 if is_pointwise(layer) else max(1, MOST_BYTES // largest_block_bytes(layer))
    return max(count for count in range(1, min(blocks, most) + 1) if blocks % count == 0)


def _words(block: Block) -> Iterator[Integers]:
    yield from block.head()
    yield from (_bytes(weights + MIDDLE) for weights in block.weights)
    yield from block.tail()


def _bytes(channels: Integers) -> Integers:
    """Put four channels (rows) of each column into a word."""
    words: Integers = sum(channels[channel] << 8 * place for place, channel in enumerate(ORDER))
    return words
