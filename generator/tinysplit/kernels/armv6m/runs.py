"""Depthwise convolutions of any window on Cortex-M0+: two outputs in one multiplication, four outputs at a time.

The values of a channel are gathered into a plane of words with their padding. Outputs lie in runs along rows or
columns, and a word has the values of two places of a run, `x0 + (x1 << 16)`, so that one multiplication by a weight
makes products of two outputs (operand packing, as `packed`). Sums of a group of products are taken apart before a half
overflows: two products always fit, three do in channels without large weights. A window's line is summed in chunks of
at most three weights, whose values stay in registers for two neighbouring words.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from typing_extensions import override

from tinysplit.common.alignment import WORD_BYTES
from tinysplit.kernels.armv6m import common
from tinysplit.kernels.base import Kernel
from tinysplit.kernels.code_parts import Code, usual_code
from tinysplit.kernels.cores import NARROW_CORES
from tinysplit.kernels.cost_table import Work, rounded_work
from tinysplit.kernels.in_place import ANYWHERE, Lead
from tinysplit.kernels.memory_traffic import Loads
from tinysplit.kernels.row_order import RowOrder
from tinysplit.kernels.scheme import Scheme
from tinysplit.network.bit_widths import Widths
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.layers.base import Layer
from tinysplit.network.layers.depthwise_conv import DepthwiseConv
from tinysplit.network.quantized_graph import QuantizedLayer

OUTPUTS = 4  # of a run that are computed together: two words
LEAST_OUTPUTS = 3  # of a run
MOST_TAPS = 16  # along a run: their code is straight
LONGEST_CHUNK = 3  # weights of a line of the window whose values fit the registers
MOST_PITCH = 255  # words: the next line of the plane is reached by a few additions
STRAIGHT_LINES = 3  # of a window whose code is not a loop, if they are a chunk each
RUN_CYCLES, LINE_CYCLES, TAP_CYCLES = 70, 15, 8  # of four outputs; of a line of their window; of a weight of it
STRAIGHT_GATHERED = 4  # words that the loop over a line gathers at once
LOWEST_HALF, HIGHEST_HALF = -(1 << 15), (1 << 15) - 1  # of the sum of a group of products
_BOTH = 0x10001  # times this, a value is in both halves of a word


@dataclass(frozen=True)
class Edge:
    """A word of a line of the plane with padding: positions in the line of the map, None outside of it."""

    word: int
    low: int | None
    high: int | None


@dataclass(frozen=True)
class Runs:
    """The outputs of a channel as `lines` of runs, and their windows: along rows, or along columns if `is_turned`."""

    is_turned: bool
    outputs: int  # of a run
    lines: int
    kernel: tuple[int, int]  # lines, taps along the run
    line_stride: int
    pads: tuple[int, int]  # before the first line, before a run
    inputs: tuple[int, int]  # lines, values of one

    @classmethod
    def of(cls, layer: Layer) -> "Runs | None":
        """Return the fastest runs of a layer, None if there are none."""
        if not isinstance(layer, DepthwiseConv) or layer.window.dilation != (1, 1):
            return None
        possible = [each for each in (cls._along(layer, 1), cls._along(layer, 0)) if each]
        return min(possible, key=lambda each: each.cycles, default=None)

    @classmethod
    def _along(cls, layer: DepthwiseConv, axis: int) -> "Runs | None":
        window, other = layer.window, 1 - axis
        pads, inputs, outputs = (window.pads.top, window.pads.left), layer.in_shape[:2], layer.out_shape[:2]
        found = cls(
            is_turned=axis == 0,
            outputs=outputs[axis],
            lines=outputs[other],
            kernel=(window.kernel[other], window.kernel[axis]),
            line_stride=window.stride[other],
            pads=(pads[other], pads[axis]),
            inputs=(inputs[other], inputs[axis]),
        )
        fits = window.stride[axis] == 1 and found.outputs >= LEAST_OUTPUTS and found.kernel[1] <= MOST_TAPS
        return found if fits and found.pitch <= MOST_PITCH else None

    @property
    def quads(self) -> int:
        """Times four outputs of a run."""
        return -(-self.outputs // OUTPUTS)

    @property
    def words(self) -> int:
        """Words of outputs of a run."""
        return 2 * self.quads

    @property
    def distance(self) -> int:
        """Outputs from the lower to the upper half of a word; those in the middle may be computed twice."""
        return self.outputs - self.words

    @property
    def chunks(self) -> tuple[int, ...]:
        """Weights of the chunks of a line of the window, the longest first."""
        count, taps = -(-self.kernel[1] // LONGEST_CHUNK), self.kernel[1]
        return tuple(-(-(taps - place) // count) for place in range(count))

    @property
    def long_chunks(self) -> int:
        """Chunks of a line whose sum may have to be taken apart before the last weight."""
        return self.chunks.count(LONGEST_CHUNK)

    @property
    def is_straight(self) -> bool:
        """Whether the code has all lines of the window behind each other."""
        return self.kernel[0] == 1 or (self.kernel[0] <= STRAIGHT_LINES and len(self.chunks) == 1)

    @property
    def pitch(self) -> int:
        """Words from one line of the plane to the next: those under all windows of a run."""
        return self.words + self.kernel[1] - 1

    @property
    def plane_lines(self) -> int:
        """Lines of the plane."""
        return (self.lines - 1) * self.line_stride + self.kernel[0]

    @property
    def plane_bytes(self) -> int:
        """Bytes of the plane."""
        return self.plane_lines * self.pitch * WORD_BYTES

    @property
    def gathered_lines(self) -> int:
        """Lines of the input under the windows."""
        return min(self.inputs[0], self.plane_lines - self.pads[0])

    @property
    def has_padded_lines(self) -> bool:
        """Whether windows reach beyond the lines of the input."""
        return self.gathered_lines != self.plane_lines

    @property
    def inner(self) -> tuple[int, int]:
        """The first of the words of a line without padding, and the word behind the last of them."""
        first = min(self.pads[1], self.pitch)
        return first, max(first, min(self.pitch, self.inputs[1] + self.pads[1] - self.distance))

    @property
    def edges(self) -> tuple[Edge, ...]:
        """The words of a line with padding."""
        first, end = self.inner
        return tuple(self._edge(word) for word in (*range(first), *range(end, self.pitch)))

    def _edge(self, word: int) -> Edge:
        low = word - self.pads[1]
        positions = [each if 0 <= each < self.inputs[1] else None for each in (low, low + self.distance)]
        return Edge(word, *positions)

    @property
    def cycles(self) -> int:
        """A rough estimate for a channel, to choose between rows and columns."""
        lines, taps = self.kernel
        return self.lines * self.quads * (lines * (LINE_CYCLES * len(self.chunks) + TAP_CYCLES * taps) + RUN_CYCLES)


@dataclass(frozen=True)
class RunsContext(common.Armv6mContext):
    """Template context."""

    runs: Runs
    channel_words: int  # words of constants of a channel
    zero: int  # a word of padding
    center: int  # what is subtracted from a word
    start: int  # what is added to the sums of a group
    base: int  # what outputs count from before their last shift


class RunsOfChannels(Kernel):
    """Depthwise convolutions of 8 bits with stride 1 along rows or columns."""

    name: ClassVar[str] = "runs"
    suits_fused_rows: ClassVar[bool] = False  # rows that tiles share would be gathered twice

    @override
    def fits(self, layer: Layer, core: str, widths: Widths) -> bool:
        has_width = widths.x == widths.w == common.BITS
        return core in NARROW_CORES and has_width and Runs.of(layer) is not None

    @override
    def scratch_bytes(self, layer: Layer, widths: Widths) -> int:
        # the plane of a channel
        return _runs(layer).plane_bytes

    @override
    def lead(self, layer: Layer, k: int, widths: Widths) -> Lead | None:
        # a channel is gathered before its outputs are written; they touch no other channel if pixels coincide
        return Lead(ANYWHERE.least_bytes, layer.in_shape.channels) if widths.x == widths.y else None

    @override
    def row_order(self, layer: Layer, widths: Widths) -> RowOrder:
        return RowOrder.none("runs computes all rows of a channel after the other channels")

    @override
    def packing(self, layer: Layer) -> Hashable:
        # windows of runs along columns have their weights column by column
        return _runs(layer).is_turned

    @override
    def scheme(self, layer: Layer) -> Scheme:
        return Scheme.NON_INTERLEAVED

    @override
    def weights_bytes(self, layer: Layer, widths: Widths) -> int:
        # a word for each weight, and at most for two initial sums, a flag, factor and offset, or what rounds instead
        weights = layer.parameters["weights"].size // layer.out_shape.channels
        return layer.out_shape.channels * (weights + 4 + common.expected_factor_words(layer)) * WORD_BYTES

    @override
    def loads(self, layer: Layer, widths: Widths) -> Loads:
        # four outputs read all words of their channel, and those of the plane once for each chunk
        runs, channels = _runs(layer), layer.out_shape.channels
        together, (first, end) = runs.lines * runs.quads, runs.inner
        line_bytes = runs.kernel[0] * sum(chunk + 1 for chunk in runs.chunks) * WORD_BYTES
        gathered = runs.gathered_lines * 2 * (end - first)
        return Loads(together * self.weights_bytes(layer, widths), channels * (together * line_bytes + gathered))

    @override
    def work(self, layer: Layer, widths: Widths) -> Work:
        """Count outputs that are computed twice as others.

        Parts: `quad`s of outputs, the `line`s of their windows, `tap`s (weights of those) and `group`s of products;
        `run`s of outputs; `gathered` words in `gathered_line`s, of which the last ones are in a loop that is not
        unrolled (`last`), and `edge`s with padding; the `channel`s.
        """
        runs, channels = _runs(layer), layer.out_shape.channels
        (first, end), quads = runs.inner, channels * runs.lines * runs.quads
        lines = channels * runs.gathered_lines
        return {
            **rounded_work(layer, "quad", quads),
            "line": quads * runs.kernel[0] * (not runs.is_straight),
            "tap": quads * runs.kernel[0] * runs.kernel[1],
            "group": _groups(runs, channels, _expected_long(layer)),
            "run": channels * runs.lines,
            "gathered": lines * (end - first),
            "gathered_line": lines,
            "last": lines * ((end - first) % STRAIGHT_GATHERED),
            "edge": lines * len(runs.edges),
            "channel": channels,
        }

    @override
    def exact_work(self, layer: Layer, work: Work, quantized: QuantizedLayer) -> Work:
        # the weights decide which channels have short groups
        runs, channels = _runs(layer), layer.out_shape.channels
        long = float(_is_long(quantized).mean())
        return common.exactly_rounded({**work, "group": _groups(runs, channels, long)}, quantized)

    @override
    def code(self, layer: Layer, widths: Widths) -> Code:
        """Count parts beside those of C.

        `chunks` and `taps` of the lines in the code, `long` chunks again; loops over `window_lines` and `lines` of
        outputs; `edges` and `padded` lines of the plane.
        """
        runs = _runs(layer)
        lines = runs.kernel[0] if runs.is_straight else 1
        own = {
            "taps": lines * runs.kernel[1],
            "chunks": lines * len(runs.chunks),
            "long": lines * sum(runs.chunks) * (runs.long_chunks > 0),
            "window_lines": not runs.is_straight,
            "lines": runs.lines > 1,
            "edges": len(runs.edges),
            "padded": runs.has_padded_lines,
        }
        return Code({**usual_code(layer, widths), **{part: float(count) for part, count in own.items()}})

    @override
    def constants(self, quantized: QuantizedLayer) -> Mapping[str, IntArray]:
        # for each channel its initial sums, whether groups are short, weights line by line, and what requantizes it
        runs, formats = _runs(quantized.layer), quantized.formats
        weights, bias = _centered(quantized)
        groups = runs.kernel[0] * (len(runs.chunks) + runs.long_chunks * _is_long(quantized))
        sums = bias + groups * LOWEST_HALF
        words = [_BOTH * sums, sums, weights, common.UnsignedLayer.of(quantized).factors]
        if runs.long_chunks:
            words.insert(2, _is_long(quantized))
        if formats.shifted:
            words.append(np.full(len(weights), common.base_offset(quantized)))
        columns = np.column_stack([np.asarray(each, np.int64) for each in words])
        return {"weights": (columns & 0xFFFFFFFF).astype(np.uint32).view(np.int32)}

    @override
    def context(self, quantized: QuantizedLayer) -> RunsContext:
        formats, runs = quantized.formats, _runs(quantized.layer)
        factor_words, center = common.factor_words(quantized), _center(quantized)
        weights = runs.kernel[0] * runs.kernel[1]
        head = 2 + (runs.long_chunks > 0)
        return RunsContext(
            copy=common.ValueCopy.of(quantized),
            factor_words=factor_words,
            split=common.split_products(quantized),
            runs=runs,
            channel_words=head + weights + factor_words + (formats.shifted is not None),
            zero=(formats.x.zero_point - center) * _BOTH & 0xFFFFFFFF,
            center=center * _BOTH,
            start=-LOWEST_HALF * _BOTH,
            base=common.output_base(quantized),
        )


def _groups(runs: Runs, channels: int, long: float) -> float:
    """Return the groups of products of all outputs if a part `long` of the channels has short ones."""
    return channels * runs.lines * runs.quads * runs.kernel[0] * (len(runs.chunks) + runs.long_chunks * long)


def _center(quantized: QuantizedLayer) -> int:
    """Return what is subtracted from values that are never negative, so that products are smaller."""
    low, _ = _with_padding(quantized)
    return 0 if low < 0 else 1 << (common.BITS - 2)


def _centered(quantized: QuantizedLayer) -> tuple[IntArray, IntArray]:
    """Return the weights of each channel (channels x weights) in the order of the code, and the bias."""
    layer, constants = quantized.layer, quantized.constants
    weights = layer.by_channel(constants["weights"]).astype(np.int64)
    bias = constants["bias"].astype(np.int64) + _center(quantized) * weights.sum(axis=1)
    return _by_lines(layer, weights).reshape(len(weights), -1), bias


def _by_lines(layer: Layer, weights: IntArray) -> IntArray:
    """Return the weights of each channel as channels x lines x taps along the run."""
    ordered: IntArray = weights.reshape(-1, *layer.parameters["weights"].shape[:2])
    return ordered.swapaxes(1, 2) if _runs(layer).is_turned else ordered


@lru_cache(maxsize=64)
def _is_long(quantized: QuantizedLayer) -> IntArray:
    """Return for each channel whether the sum of a long chunk may leave its half of a word: 0 or 1."""
    layer, center = quantized.layer, _center(quantized)
    low, high = (each - center for each in _with_padding(quantized))
    lines = _by_lines(layer, layer.by_channel(quantized.constants["weights"]).astype(np.int64))
    least, most = (np.sort([lines * low, lines * high], axis=0)[place] for place in range(2))
    is_long = np.zeros(len(lines), np.int64)
    for chunk in _long_places(_runs(layer)):
        lowest, highest = (each[:, :, chunk].sum(axis=2) for each in (least, most))
        is_long |= ((lowest < LOWEST_HALF) | (highest > HIGHEST_HALF)).any(axis=1)
    return is_long


def _with_padding(quantized: QuantizedLayer) -> tuple[int, int]:
    """Return the bounds of the values of the plane, padding included."""
    (low, high), zero_point = quantized.x_bounds, quantized.formats.x.zero_point
    return min(low, zero_point), max(high, zero_point)


def _long_places(runs: Runs) -> tuple[slice, ...]:
    """Return the places of the long chunks in a line."""
    return tuple(slice(LONGEST_CHUNK * place, LONGEST_CHUNK * (place + 1)) for place in range(runs.long_chunks))


def _expected_long(layer: Layer) -> float:
    """Return the part of the channels that is expected to have short groups, from the information in the graph."""
    if not _runs(layer).long_chunks or layer.x_clamp.low >= 0:
        return 0.0
    lines = _by_lines(layer, common.expected_magnitudes(layer))
    sums = np.max([lines[:, :, chunk].sum(axis=2) for chunk in _long_places(_runs(layer))], axis=(0, 2))
    return float((128 * sums > -LOWEST_HALF).mean())


def _runs(layer: Layer) -> Runs:
    runs = Runs.of(layer)
    if runs is None:
        raise TypeError(f"{layer.kind} has no runs of outputs")
    return runs
