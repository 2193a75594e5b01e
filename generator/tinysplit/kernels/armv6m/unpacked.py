"""The kernel `packed` for layers with many weights: words are packed in RAM, for some output channels at a time.

Flash stores four weights per word, as w + 128, in the order 0, 2, 1, 3 of their channels, so that two masks extract the
packed words. The offsets of groups follow from the weights. All pixels are computed for the channels in RAM before the
next channels are unpacked.
"""

from collections.abc import Iterator, Mapping
from typing import ClassVar

import numpy as np
from typing_extensions import override

from tinysplit.common.alignment import aligned
from tinysplit.kernels.armv6m.common import exactly_rounded, expected_factor_words
from tinysplit.kernels.armv6m.packed import (
    ChannelBlock,
    Integers,
    PackedContext,
    Packing,
    expected_groups,
    groups_work,
    largest_block_bytes,
    may_pack,
    packed_context,
)
from tinysplit.kernels.armv6m.pixels import (
    CHANNELS,
    inputs_of,
    is_pointwise,
    padded_inputs,
    pixels_code,
    pixels_work,
    straight_parts,
    windows_bytes,
)
from tinysplit.kernels.base import Kernel
from tinysplit.kernels.code_parts import Code
from tinysplit.kernels.cost_table import Work
from tinysplit.kernels.memory_traffic import Loads, block_loads
from tinysplit.kernels.row_order import RowOrder, usual_order
from tinysplit.network.bit_widths import Widths
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.fixed_point.layer_formats import Group
from tinysplit.network.layers.base import Layer
from tinysplit.network.quantized_graph import QuantizedLayer

FEWEST_PIXELS = 8  # with fewer, unpacking takes more time than it saves
MOST_MAP_BYTES = 4096  # of a map that is copied as a whole, once for all channels
ORDER = (0, 2, 1, 3)
MIDDLE = 128


class Unpacked(Kernel):
    """Convolutions and fully connected layers of 8 bits with many weights."""

    name: ClassVar[str] = "unpacked"
    most_bytes: ClassVar[int] = 4096  # of packed words in RAM; windows are copied once for all channels there

    @override
    def fits(self, layer: Layer, core: str, widths: Widths) -> bool:
        return may_pack(layer, core, widths) and layer.out_shape.height * layer.out_shape.width >= FEWEST_PIXELS

    @override
    def template(self, layer: Layer) -> str:
        # `packed` has the same one, and reads its words from flash
        return f"layers/packed/{layer.kind}.c.j2"

    @override
    def scratch_bytes(self, layer: Layer, widths: Widths) -> int:
        # packed words, and the values of one window or of the map
        values = layer.in_shape.size if self._may_copy_map(layer) else padded_inputs(layer)[0]
        return self._blocks_at_once(layer) * largest_block_bytes(layer) + aligned(values)

    @override
    def row_order(self, layer: Layer, widths: Widths) -> RowOrder:
        # all rows are computed for the channels in RAM, then for the next ones
        usual = usual_order(layer)
        return usual if usual.reason else RowOrder(passes=self._passes(layer))

    @override
    def loads(self, layer: Layer, widths: Widths) -> Loads:
        # weights are read once from flash, and as packed words from RAM for every pixel
        weights_bytes = self.weights_bytes(layer, widths)
        copied_bytes = self._passes(layer) * windows_bytes(layer, widths)
        words = block_loads(layer, 2 * weights_bytes, widths.x // 8, channels=CHANNELS, copied_bytes=copied_bytes)
        return Loads(weights_bytes, words.flash_bytes + words.ram_bytes)

    @override
    def work(self, layer: Layer, widths: Widths) -> Work:
        # `unpacked` weights, in `unpacked_groups`; windows are copied once per pass
        groups, blocks = expected_groups(layer), layer.out_shape.channels // CHANNELS
        (inputs, unroll), pixels = padded_inputs(layer), layer.out_shape.height * layer.out_shape.width
        loops = blocks * inputs // unroll
        own = {"group": pixels * loops * groups, "unpacked": blocks * inputs, "unpacked_groups": loops * groups}
        passes, copies_map, straight = self._passes(layer), self._may_copy_map(layer), straight_parts(layer)
        return {**pixels_work(layer, widths, passes, copies_map=copies_map, straight=straight), **own}

    @override
    def exact_work(self, layer: Layer, work: Work, quantized: QuantizedLayer) -> Work:
        # the weights decide how long groups are
        packing = Packing.of(quantized)
        groups, loops = len(packing.groups), work["unpacked"] // packing.unroll
        exact = {"group": groups_work(layer, work, groups), "unpacked_groups": loops * groups}
        return exactly_rounded({**work, **exact}, quantized)

    @override
    def code(self, layer: Layer, widths: Widths) -> Code:
        (_, unroll), channels = padded_inputs(layer), CHANNELS * self._blocks_at_once(layer)
        return Code(pixels_code(layer, widths, unroll, expected_groups(layer), channels, straight_parts(layer)))

    @override
    def weights_bytes(self, layer: Layer, widths: Widths) -> int:
        # words of biases and factors, bytes of weights
        return layer.out_shape.channels * (4 + 4 * expected_factor_words(layer) + padded_inputs(layer)[0])

    @override
    def constants(self, quantized: QuantizedLayer) -> Mapping[str, IntArray]:
        blocks = Packing.of(quantized).blocks(quantized)
        words = np.concatenate([words for block in blocks for words in _words(block)])
        return {"weights": words.astype(np.uint32).view(np.int32)}

    @override
    def context(self, quantized: QuantizedLayer) -> PackedContext:
        channels = CHANNELS * self._blocks_at_once(quantized.layer)
        return packed_context(quantized, channels, unpacks=True, may_copy_map=self._may_copy_map(quantized.layer))

    @override
    def packed_groups(self, quantized: QuantizedLayer) -> tuple[Group, ...]:
        return Packing.of(quantized).groups

    def _may_copy_map(self, layer: Layer) -> bool:
        """Return whether there is scratch memory for all values of a layer, which otherwise are copied in each pass."""
        may_be_signed = layer.x_clamp.low < 0 or bool(layer.rounding)
        is_whole = is_pointwise(layer) and padded_inputs(layer)[0] == inputs_of(layer)
        return may_be_signed and is_whole and self._passes(layer) > 1 and layer.in_shape.size <= MOST_MAP_BYTES

    def _passes(self, layer: Layer) -> int:
        """Return how often all windows are copied."""
        return layer.out_shape.channels // CHANNELS // self._blocks_at_once(layer)

    def _blocks_at_once(self, layer: Layer) -> int:
        """Return how many blocks of four channels RAM holds at a time: a window that is copied serves all of them."""
        return _blocks_at_once(layer, self.most_bytes)


class UnpackedTo8K(Unpacked):
    """The same with more RAM, where it holds more channels."""

    name: ClassVar[str] = "unpacked_8k"
    cost_name: ClassVar[str] = Unpacked.name
    takes_much_ram: ClassVar[bool] = True
    most_bytes: ClassVar[int] = 2 * Unpacked.most_bytes

    @override
    def fits(self, layer: Layer, core: str, widths: Widths) -> bool:
        if not super().fits(layer, core, widths):
            return False
        return self._blocks_at_once(layer) > _blocks_at_once(layer, self.most_bytes // 2)


class UnpackedTo16K(UnpackedTo8K):
    """The same with yet more RAM."""

    name: ClassVar[str] = "unpacked_16k"
    most_bytes: ClassVar[int] = 2 * UnpackedTo8K.most_bytes


def _blocks_at_once(layer: Layer, most_bytes: int) -> int:
    blocks = layer.out_shape.channels // CHANNELS
    most = 1 if is_pointwise(layer) else max(1, most_bytes // largest_block_bytes(layer))
    return max(count for count in range(1, min(blocks, most) + 1) if blocks % count == 0)


def _words(block: ChannelBlock) -> Iterator[Integers]:
    yield from block.head()
    yield from (_bytes(weights + MIDDLE) for weights in block.weights)
    yield from block.tail()


def _bytes(channels: Integers) -> Integers:
    """Return words of four channels (rows) each, one for every column."""
    words: Integers = sum(channels[channel] << 8 * place for place, channel in enumerate(ORDER))
    return words
