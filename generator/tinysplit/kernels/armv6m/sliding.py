"""Depthwise convolutions 3x3 on Cortex-M0+ with a sliding window: each input is loaded once for a row of outputs.

A line buffer in RAM holds three rows of inputs with all their channels and their padding: the interleaved scheme of
Singh 2024. TinyEngine's depthwise kernels buffer single channels instead.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from typing_extensions import override

from tinysplit.common.alignment import aligned
from tinysplit.kernels.armv6m import common
from tinysplit.kernels.base import Kernel
from tinysplit.kernels.code_parts import Code, SharedFunction, usual_code
from tinysplit.kernels.cores import NARROW_CORES
from tinysplit.kernels.cost_table import Work, rounded_work, sum_of
from tinysplit.kernels.in_place import Lead, lead_of_blocks
from tinysplit.kernels.memory_traffic import Loads
from tinysplit.network.bit_widths import Widths
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.layers.base import Layer
from tinysplit.network.layers.depthwise_conv import DepthwiseConv
from tinysplit.network.layers.window import Window
from tinysplit.network.quantized_graph import QuantizedLayer

KERNEL = (3, 3)
KERNEL_COLUMNS = (1, 0, 2)  # order in which a column of inputs is multiplied: the one that completes an output is last
LONGEST_STRIDE = 2
LARGEST_IMMEDIATE = 255  # of an addition
WEIGHTS = KERNEL[0] * KERNEL[1]


@dataclass(frozen=True)
class Columns:
    """Columns of the line buffer: the right padding of a row is followed by the left padding of the next."""

    left: int
    used: int
    right: int

    @classmethod
    def of(cls, layer: Layer) -> "Columns":
        """Return the columns under the windows of a row of outputs."""
        window = _window(layer)
        seen = (layer.out_shape.width - 1) * window.stride[1] + KERNEL[1]
        used = min(layer.in_shape.width, seen - window.pads.left)
        return cls(window.pads.left, used, seen - window.pads.left - used)

    @property
    def pitch(self) -> int:
        """Columns from one row to the next."""
        return self.used + max(self.left, self.right)

    @property
    def total(self) -> int:
        """Columns of all three rows."""
        return self.left + (KERNEL[0] - 1) * self.pitch + self.used + self.right


@dataclass(frozen=True)
class SlidingContext(common.Armv6mContext):
    """Template context."""

    columns: Columns
    kept_rows: int  # rows of the line buffer that the next row of outputs also needs
    looped: int  # outputs of a row that the loop computes
    has_negative_halfwords: bool
    offset_has_bias: bool
    channel_words: int  # words of constants of a channel
    base: int  # what outputs count from before their last shift


class Sliding(Kernel):
    """Depthwise convolutions 3x3 with strides 1 and 2 along a row."""

    name: ClassVar[str] = "sliding"

    @override
    def fits(self, layer: Layer, core: str, widths: Widths) -> bool:
        if core not in NARROW_CORES or not isinstance(layer, DepthwiseConv):
            return False
        window = layer.window
        has_shape = window.kernel == KERNEL and window.dilation == (1, 1) and window.stride[1] <= LONGEST_STRIDE
        return has_shape and layer.out_shape.width > 1

    @override
    def scratch_bytes(self, layer: Layer, widths: Widths) -> int:
        # three rows with the padding before, between and after them
        return aligned(Columns.of(layer).total * layer.in_shape.channels * widths.x // 8)

    @override
    def lead(self, layer: Layer, k: int, widths: Widths) -> Lead | None:
        # a row of outputs is written after its rows of inputs were read; none is read twice
        window, (height, width, channels) = _window(layer), layer.out_shape
        rows = np.arange(height)
        kept = np.where(rows > 0, max(0, KERNEL[0] - window.stride[0]), 0)
        tops = np.maximum(rows * window.stride[0] - window.pads.top + kept, 0)
        ends = (rows + 1) * width * channels
        return Lead(lead_of_blocks(tops * layer.in_shape.width * channels, ends, widths, reads_first=True))

    @override
    def weights_bytes(self, layer: Layer, widths: Widths) -> int:
        # a word for each weight, and at most for bias, factor and offset, or bias and what rounds as TensorFlow Lite
        return layer.out_shape.channels * (WEIGHTS + 2 + common.expected_factor_words(layer)) * 4

    @override
    def loads(self, layer: Layer, widths: Widths) -> Loads:
        # a row of outputs reads the weights once, and each of its input columns once
        height, width, channels = layer.out_shape
        columns = _window(layer).stride[1] * (width - 1) + KERNEL[1]
        row_bytes = KERNEL[0] * columns * channels * widths.x // 8
        copied_bytes = layer.in_shape.size * widths.x // 8
        return Loads(height * self.weights_bytes(layer, widths), height * row_bytes + copied_bytes)

    @override
    def work(self, layer: Layer, widths: Widths) -> Work:
        """Count padding like other values.

        Parts: `output` of the loop; `channel` of a row of outputs, whose first and last outputs are outside the loop;
        `signed` outputs of 16-bit values; those of copying rows, and of moving rows that the next outputs also need.
        """
        window, (height, _, channels) = _window(layer), layer.out_shape
        columns, strided = Columns.of(layer), "strided_" if window.stride[1] > 1 else ""
        kept = max(0, KERNEL[0] - window.stride[0])
        rows = (height - 1) * (KERNEL[0] - kept) + KERNEL[0]
        copied, moved = min(rows, layer.in_shape.height), columns.left + (kept - 1) * columns.pitch + columns.used
        copies = sum_of(
            common.copy_work(
                layer, widths, columns.used * channels, copied, signed=common.may_be_signed(layer, widths)
            ),
            common.copy_work(layer, widths, moved * channels, (height - 1) * (kept > 0), signed=False),
        )
        return {
            **copies,
            "row": copied,
            **rounded_work(layer, f"{strided}output", height * channels * _looped(layer)),
            **rounded_work(layer, f"{strided}channel", height * channels),
            "signed": (layer.x_clamp.low < 0) * height * channels * layer.out_shape.width,
            "zeroed": max(0, rows - layer.in_shape.height) * columns.used * channels,
        }

    @override
    def exact_work(self, layer: Layer, work: Work, quantized: QuantizedLayer) -> Work:
        return common.exactly_rounded(work, quantized)

    @override
    def code(self, layer: Layer, widths: Widths) -> Code:
        """Count parts beside those of C.

        `kept` rows; `looped` outputs; `copied_values` in place of words, `halves` that may be negative; a `far` output,
        which no instruction reaches.
        """
        window, bits = _window(layer), widths.x
        own = {
            "kept": max(0, KERNEL[0] - window.stride[0]),
            "looped": _looped(layer) > 0,
            "sliding_columns": window.stride[1] == 1,
            "halves": layer.x_clamp.low < 0 and bits > common.BITS,
            "copied_words": layer.in_shape.channels * bits // 8 % common.WORD_BYTES == 0,
            "copied_signed": common.may_be_signed(layer, widths),
            "far": layer.out_shape.channels * widths.y // 8 > LARGEST_IMMEDIATE,
        }
        parts = {**usual_code(layer, widths), **{part: float(count) for part, count in own.items()}}
        return Code(parts, {"memmove": SharedFunction("memmove")})

    @override
    def constants(self, quantized: QuantizedLayer) -> Mapping[str, IntArray]:
        layer = common.UnsignedLayer.of(quantized)
        columns = layer.weights.reshape(-1, *KERNEL)[:, :, KERNEL_COLUMNS].swapaxes(1, 2).reshape(-1, WEIGHTS)
        shifted, offset = quantized.formats.shifted, common.base_offset(quantized)
        if shifted is None:
            words = [columns, layer.bias, layer.factors]
        elif _offset_has_bias(quantized):
            words = [columns, layer.factors, offset + layer.bias * shifted.factors]
        else:
            words = [columns, layer.bias, layer.factors, np.full(len(columns), offset)]
        return {"weights": np.column_stack(words).astype(np.uint32).view(np.int32)}

    @override
    def context(self, quantized: QuantizedLayer) -> SlidingContext:
        layer, window = quantized.layer, _window(quantized.layer)
        factor_words, offset_has_bias = common.factor_words(quantized), _offset_has_bias(quantized)
        return SlidingContext(
            copy=common.ValueCopy.of(quantized),
            factor_words=factor_words,
            split=common.split_products(quantized),
            columns=Columns.of(layer),
            kept_rows=max(0, KERNEL[0] - window.stride[0]),
            looped=_looped(layer),
            has_negative_halfwords=quantized.formats.x.bits > common.BITS and quantized.x_bounds[0] < 0,
            offset_has_bias=offset_has_bias,
            channel_words=WEIGHTS + (not offset_has_bias) + factor_words + (quantized.formats.shifted is not None),
            base=common.output_base(quantized),
        )


def _looped(layer: Layer) -> int:
    """Return how many outputs of a row the loop computes: not the last, nor with stride 1 the first."""
    return layer.out_shape.width - (2 if _window(layer).stride[1] == 1 else 1)


def _offset_has_bias(quantized: QuantizedLayer) -> bool:
    """Return whether the bias may be added after the multiplication, modulo 2^32: nothing is shifted before."""
    shifted = quantized.formats.shifted
    return shifted is not None and not shifted.pre_shift


def _window(layer: Layer) -> Window:
    if not isinstance(layer, DepthwiseConv):
        raise TypeError(f"{layer.kind} has no window to slide")
    return layer.window
