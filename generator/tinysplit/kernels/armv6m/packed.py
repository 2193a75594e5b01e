"""Convolutions and fully connected layers of 8 bits on Cortex-M0+: two products in one 32-bit multiplication.

A word holds the weights of two output channels, `w0 + (w1 << 16)`, so its product with a value x >= 0 holds two
products (operand packing). Sums over a group of inputs keep both halves apart as long as each fits 16 bits: a sum that
starts at `offset = x_high * sum(-w for w < 0)` stays between 0 and `x_high * sum(|w|)` for all inputs. Groups are as
long as this bound is at most 65535 in every channel; groups of two always are: 2 * 128 * 255 = 65280. For each pair
of channels, one word adds up the sums of the groups modulo 2^32, another one their upper halves.

Four output channels are computed at a time, after im2col: the window of an output pixel is copied first.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from tinysplit.common.alignment import WORD_BYTES, aligned
from tinysplit.kernels.armv6m import common
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
from tinysplit.kernels.cores import NARROW_CORES
from tinysplit.kernels.cost_table import Work
from tinysplit.kernels.in_place import Lead, window_lead
from tinysplit.kernels.memory_traffic import Loads, block_loads
from tinysplit.network.bit_widths import Widths
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.fixed_point.layer_formats import Group
from tinysplit.network.layers.base import Layer
from tinysplit.network.layers.conv import Conv
from tinysplit.network.layers.dense import Dense
from tinysplit.network.quantized_graph import QuantizedLayer

HALF_WORD = (1 << 16) - 1
SEARCHES = 40  # for the fewest groups
EXPECTED_SEARCHES = 10  # before weights are quantized, where the number of groups is an estimate
MOST_SEARCHED = 1 << 19  # magnitudes in all searches
MOST_WEIGHTS = 5120  # of a layer with packed words in flash, which take more than twice the bytes
MOST_WEIGHTS_OF_FEW = 16384  # of a layer with few pixels, for which unpacking in RAM is slower
FEW_PIXELS = 32

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ChannelBlock:
    """The words of four output channels: initial sums, weights and offsets of each group, factors."""

    start: Integers
    weights: tuple[Integers, ...]  # channels x inputs of a group
    offsets: tuple[Integers, ...]
    factors: Integers  # channels x words

    def packed(self, *, offsets_first: bool = False) -> Iterator[Integers]:
        """Yield the words in the order in which they are read: a group's offsets follow its first two inputs."""
        yield from self.head()
        for weights, offset in zip(self.weights, self.offsets, strict=True):
            words, offsets = _pair(weights).T.reshape(-1), _pair(offset)
            yield from (offsets, words) if offsets_first else (words[:4], offsets[::-1], words[4:])
        yield from self.tail()

    def head(self) -> tuple[Integers, ...]:
        """Return the initial values of the packed sums and of their upper halves."""
        return _pair(self.start), self.start[1::2]

    def tail(self) -> tuple[Integers, ...]:
        """Return what requantizes the channels, one after the other."""
        return (self.factors.reshape(-1),)


@dataclass(frozen=True)
class Packing:
    """The loop over the inputs of a layer: `inputs` with padding, `unroll` of them an iteration, in `groups`."""

    inputs: int
    unroll: int
    groups: tuple[Group, ...]

    @classmethod
    def of(cls, quantized: QuantizedLayer) -> "Packing":
        """Return the packing of a layer with the fewest groups that were found."""
        return _packing(quantized)

    @classmethod
    def search(cls, quantized: QuantizedLayer) -> "Packing":
        """Find groups of inputs, in any order, the same for all channels and iterations.

        Programs that exist already have their groups in their code.
        """
        inputs, unroll = padded_inputs(quantized.layer)
        if quantized.formats.packed_groups:
            return cls(inputs, unroll, quantized.formats.packed_groups)
        layer = common.UnsignedLayer.of(quantized)
        magnitudes = np.abs(_padded(layer.weights, inputs)).reshape(-1, unroll)
        return cls(inputs, unroll, _fewest_groups(magnitudes, layer.x_high, SEARCHES))

    def blocks(self, quantized: QuantizedLayer) -> Iterator[ChannelBlock]:
        """Yield the blocks of four output channels in order."""
        layer = common.UnsignedLayer.of(quantized)
        all_weights = _padded(layer.weights, self.inputs)
        for first in range(0, len(all_weights), CHANNELS):
            block = slice(first, first + CHANNELS)
            weights = tuple(all_weights[block][:, places] for places in self._places())
            offsets = tuple(layer.x_high * np.maximum(-group, 0).sum(axis=1) for group in weights)
            yield ChannelBlock(layer.bias[block] - sum(offsets), weights, offsets, layer.factors[block])

    def _places(self) -> Iterator[list[int]]:
        for loop in range(0, self.inputs, self.unroll):
            for group in self.groups:
                yield [loop + place for place in group]


@lru_cache(maxsize=64)
def _packing(quantized: QuantizedLayer) -> Packing:
    return Packing.search(quantized)


@dataclass(frozen=True)
class PixelsContext(common.Armv6mContext):
    """Template context of kernels that compute all channels of a window, four at a time."""

    pixels_template: str  # that has the function of pixels
    element: str  # C type of the inputs as that function reads them
    inputs: int  # of an output, with padding
    used_inputs: int  # of them
    unroll: int  # inputs that are read without a change of their address
    straight: int  # times `unroll` inputs that an iteration of the inner loop takes
    channels: int  # output channels that a call of the function of pixels computes
    stream_words: int  # words of four output channels
    copies_windows: bool  # to the scratch buffer; else windows are read from the input
    copies_map: bool  # in place of single windows, which are its pixels
    buffers_outputs: bool  # of a pixel in the scratch buffer, so that the output may replace the input
    unpacks: bool  # weights to the scratch buffer
    windows: int  # that a call of the function of pixels computes together

    @property
    def loops(self) -> int:
        """Times `unroll` inputs."""
        return self.inputs // self.unroll

    @property
    def iterations(self) -> int:
        """Iterations of the inner loop."""
        return self.loops // self.straight


@dataclass(frozen=True)
class PackedContext(PixelsContext):
    """Template context of kernels with packed products."""

    groups: tuple[Group, ...]
    x_high: int  # the largest input as unsigned value


class OneWindow(Kernel):
    """Base of kernels that copy the window of one output pixel and compute four of its channels at a time."""

    @override
    def scratch_bytes(self, layer: Layer, widths: Widths) -> int:
        # the values of one window, or the outputs of one pixel
        return aligned(max(padded_inputs(layer)[0] * widths.x // 8, layer.out_shape.channels * widths.y // 8))

    @override
    def lead(self, layer: Layer, k: int, widths: Widths) -> Lead | None:
        # the window of a pixel is copied, or its outputs are buffered
        if not isinstance(layer, Conv):
            return super().lead(layer, k, widths)
        return window_lead(layer.in_shape, layer.out_shape, layer.window, 1, widths, reads_first=True)

    @override
    def loads(self, layer: Layer, widths: Widths) -> Loads:
        # windows are copied, or read from the input
        weights_bytes, copied_bytes = self.weights_bytes(layer, widths), windows_bytes(layer, widths)
        return block_loads(layer, weights_bytes, widths.x // 8, channels=CHANNELS, copied_bytes=copied_bytes)

    @override
    def work(self, layer: Layer, widths: Widths) -> Work:
        # windows are copied once
        return pixels_work(layer, widths, 1)


def expected_groups(layer: Layer) -> int:
    """Return the expected number of groups in an iteration of the loop, for values that use their whole format."""
    return _expected_groups(_SameWeights(layer, id(layer.parameters["weights"]), common.expected_high(layer)))


@dataclass(frozen=True)
class _SameWeights:
    """A layer as far as its groups go: tiles of a layer have other shapes, and the same array of weights."""

    layer: Layer = field(compare=False)  # keeps the array, and with it its number
    weights: int
    x_high: int


@lru_cache(maxsize=1 << 12)
def _expected_groups(weights: _SameWeights) -> int:
    magnitudes = common.expected_magnitudes(weights.layer)
    inputs, unroll = padded_inputs(weights.layer)
    rows = _padded(magnitudes, inputs).reshape(-1, unroll)
    return _count_of_groups(rows.astype(np.int32).tobytes(), unroll, weights.x_high)


@lru_cache(maxsize=1024)  # parts of a layer that are cut anew have other arrays of the same weights
def _count_of_groups(magnitudes: bytes, unroll: int, x_high: int) -> int:
    rows = np.frombuffer(magnitudes, np.int32).reshape(-1, unroll)
    return len(_fewest_groups(rows, x_high, EXPECTED_SEARCHES))


class Packed(OneWindow):
    """Convolutions and fully connected layers of 8 bits with few weights: flash holds the packed words."""

    name: ClassVar[str] = "packed"

    def straight_parts(self, layer: Layer) -> int:
        """Return how often the code of an iteration's inputs is repeated."""
        return straight_parts(layer)

    @override
    def work(self, layer: Layer, widths: Widths) -> Work:
        # `group` is a group of inputs of four channels
        work = pixels_work(layer, widths, 1, straight=self.straight_parts(layer))
        return {**work, "group": groups_work(layer, work, expected_groups(layer))}

    @override
    def exact_work(self, layer: Layer, work: Work, quantized: QuantizedLayer) -> Work:
        # the weights decide how long groups are
        exact = {**work, "group": groups_work(layer, work, len(Packing.of(quantized).groups))}
        return common.exactly_rounded(exact, quantized)

    @override
    def fits(self, layer: Layer, core: str, widths: Widths) -> bool:
        has_few = layer.out_shape.height * layer.out_shape.width <= FEW_PIXELS
        most = MOST_WEIGHTS_OF_FEW if has_few else MOST_WEIGHTS
        return may_pack(layer, core, widths) and layer.parameters["weights"].size <= most

    @override
    def expected_weights_bytes(self, layer: Layer, widths: Widths) -> int:
        inputs, unroll = padded_inputs(layer)
        words = 4 + 2 * inputs + 2 * (inputs // unroll) * expected_groups(layer)
        words += CHANNELS * common.expected_factor_words(layer)
        return WORD_BYTES * words * layer.out_shape.channels // CHANNELS

    @override
    def code(self, layer: Layer, widths: Widths) -> Code:
        straight, groups = self.straight_parts(layer), expected_groups(layer)
        return Code(pixels_code(layer, widths, padded_inputs(layer)[1], groups, layer.out_shape.channels, straight))

    @override
    def weights_bytes(self, layer: Layer, widths: Widths) -> int:
        return largest_block_bytes(layer) * layer.out_shape.channels // CHANNELS

    @override
    def constants(self, quantized: QuantizedLayer) -> Mapping[str, IntArray]:
        blocks = Packing.of(quantized).blocks(quantized)
        words = np.concatenate([words for block in blocks for words in block.packed()])
        return {"weights": words.astype(np.uint32).view(np.int32)}

    @override
    def context(self, quantized: QuantizedLayer) -> PackedContext:
        return packed_context(quantized, quantized.layer.out_shape.channels, unpacks=False)

    @override
    def packed_groups(self, quantized: QuantizedLayer) -> tuple[Group, ...]:
        return Packing.of(quantized).groups


def groups_work(layer: Layer, work: Work, groups: int) -> float:
    """Return the groups of inputs of four channels that the `pairs` of `work` are in."""
    return work["pairs"] * 2 // padded_inputs(layer)[1] * groups


def may_pack(layer: Layer, core: str, widths: Widths) -> bool:
    """Return whether two products of `layer` can share one multiplication."""
    has_width = widths.x == widths.w == common.BITS
    if core not in NARROW_CORES or not has_width or layer.out_shape.channels % CHANNELS:
        return False
    return isinstance(layer, Dense) or (isinstance(layer, Conv) and layer.groups == 1)


def packed_context(
    quantized: QuantizedLayer, channels: int, *, unpacks: bool, may_copy_map: bool = False, windows: int = 1
) -> PackedContext:
    """Return the context of a kernel with packed products, `channels` output channels at a time."""
    layer, packing, unsigned = quantized.layer, Packing.of(quantized), common.UnsignedLayer.of(quantized)
    used, factor_words = inputs_of(layer), common.factor_words(quantized)
    copies = common.is_signed(quantized) or packing.inputs != used or not is_pointwise(layer)
    loops = packing.inputs // packing.unroll
    return PackedContext(
        copy=common.ValueCopy.of(quantized),
        factor_words=factor_words,
        split=common.split_products(quantized),
        pixels_template=f"layers/packed/{'packed' if windows == 1 else 'two_windows'}.c.j2",
        element="uint8_t",
        inputs=packing.inputs,
        used_inputs=used,
        unroll=packing.unroll,
        straight=straight_parts(layer) if windows == 1 else 1,
        channels=channels,
        stream_words=4 + 2 * packing.inputs + 2 * loops * len(packing.groups) + CHANNELS * factor_words,
        copies_windows=copies,
        copies_map=copies and may_copy_map,
        buffers_outputs=isinstance(layer, Conv) and not copies and not unpacks,
        unpacks=unpacks,
        windows=windows,
        groups=packing.groups,
        x_high=unsigned.x_high,
    )


def largest_block_bytes(layer: Layer) -> int:
    """Return the bytes of four channels' words if all groups had two inputs: biases, weights, offsets, factors."""
    inputs, _ = padded_inputs(layer)
    return 4 * (4 + 2 * inputs + inputs + CHANNELS * common.expected_factor_words(layer))


def _padded(weights: Integers, inputs: int) -> Integers:
    padded: Integers = np.pad(weights, ((0, 0), (0, inputs - weights.shape[1])))
    return padded


def _fewest_groups(magnitudes: Integers | NDArray[np.int32], x_high: int, tries: int) -> tuple[Group, ...]:
    """Return the fewest groups that are found in `tries` searches, or in fewer for many magnitudes."""
    most = HALF_WORD // max(x_high, 1)
    by_input = np.ascontiguousarray(magnitudes.T, np.int32)
    least = -(-int(magnitudes.sum(axis=1).max()) // most)
    rng = np.random.default_rng(0)
    best = None
    for number in range(max(1, min(tries, MOST_SEARCHED // magnitudes.size))):
        found = _groups(by_input, rng.permutation(len(by_input)), most, are_even=number % 2 == 0)
        if best is None or len(found) < len(best):
            best = found
        if len(best) <= least:
            break
    if best is None:
        raise AssertionError("no search for groups")
    return best


def _groups(by_input: NDArray[np.int32], order: Integers, most: int, *, are_even: bool) -> tuple[Group, ...]:
    """Return groups of inputs (rows) whose magnitudes sum to at most `most` in every channel (column).

    A group begins with the next input of `order`. It grows by the input that leaves the largest sum as small as can be
    if `are_even`, else by the one with the largest weights that fits. Its size is even.
    """
    weights, left, groups = by_input.sum(axis=1), order, []
    while len(left):
        group, sums, left = [int(left[0])], by_input[left[0]], left[1:]
        while len(left):
            largest = (by_input[left] + sums).max(axis=1)
            if len(group) > 1 and largest.min() > most:
                break
            choice = int((largest if are_even else np.where(largest > most, largest, -weights[left])).argmin())
            group.append(int(left[choice]))
            sums, left = sums + by_input[left[choice]], np.delete(left, choice)
        if len(group) % 2:
            left = np.append(left, group.pop())
        groups.append(tuple(group))
    return tuple(groups)


def _pair(channels: Integers) -> Integers:
    """Return words of two channels (rows) each: an even one, plus 2^16 times the next one."""
    packed: Integers = channels[0::2] + (channels[1::2] << 16)
    return packed
