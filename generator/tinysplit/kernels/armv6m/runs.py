"""Depthwise convolutions of any window on Cortex-M0+: four neighbouring outputs of a channel at a time.

The values of a channel are gathered into a plane of bytes with their padding. A weight is loaded once for four outputs,
and a value once for all of them, as it moves from register to register. Runs of outputs lie along rows or columns.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from typing_extensions import override

from tinysplit.common.alignment import aligned
from tinysplit.kernels.armv6m import common
from tinysplit.kernels.base import Kernel
from tinysplit.kernels.code_parts import Code, usual_code
from tinysplit.kernels.cores import NARROW_CORES
from tinysplit.kernels.cost_table import Work, rounded_work
from tinysplit.kernels.memory_traffic import Loads
from tinysplit.kernels.row_order import RowOrder
from tinysplit.kernels.scheme import Scheme
from tinysplit.network.bit_widths import Widths
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.layers.base import Layer
from tinysplit.network.layers.depthwise_conv import DepthwiseConv
from tinysplit.network.quantized_graph import QuantizedLayer

OUTPUTS = 4  # of a run that are computed together
MOST_TAPS = 16  # along a run: their code is straight
MOST_PITCH = 255  # an immediate operand
RUN_CYCLES, LINE_CYCLES, TAP_CYCLES = 90, 16, 14  # of four outputs; of a line of their window; of a weight of it
STRAIGHT_GATHERED = 4  # values that the loop over a line gathers at once


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
        fits = window.stride[axis] == 1 and found.outputs >= OUTPUTS and found.kernel[1] <= MOST_TAPS
        return found if fits and found.pitch <= MOST_PITCH else None

    @property
    def quads(self) -> int:
        """Times four outputs of a run; the last ones may have been computed before."""
        return -(-self.outputs // OUTPUTS)

    @property
    def again(self) -> int:
        """Outputs of a run that are computed twice."""
        return OUTPUTS * self.quads - self.outputs

    @property
    def pitch(self) -> int:
        """Values from one line of the plane to the next: those under all windows of a run."""
        return self.outputs + self.kernel[1] - 1

    @property
    def plane_lines(self) -> int:
        """Lines of the plane."""
        return (self.lines - 1) * self.line_stride + self.kernel[0]

    @property
    def gathered(self) -> tuple[int, int]:
        """Lines of the input under the windows, and values of one."""
        lines, values = self.inputs
        return min(lines, self.plane_lines - self.pads[0]), min(values, self.pitch - self.pads[1])

    @property
    def is_padded(self) -> bool:
        """Whether windows reach beyond the input."""
        return self.gathered != (self.plane_lines, self.pitch)

    @property
    def cycles(self) -> int:
        """A rough estimate for a channel, to choose between rows and columns."""
        lines, taps = self.kernel
        return self.lines * self.quads * (lines * (LINE_CYCLES + TAP_CYCLES * taps) + RUN_CYCLES)


@dataclass(frozen=True)
class RunsContext(common.Armv6mContext):
    """Template context."""

    runs: Runs
    channel_words: int  # words of constants of a channel
    sign: int  # what x ^ sign makes x + 128 of, 0 if values are gathered unchanged
    zero: int  # the padding


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
        runs = _runs(layer)
        return aligned(runs.plane_lines * runs.pitch)

    @override
    def row_order(self, layer: Layer, widths: Widths) -> RowOrder:
        return RowOrder.none("runs computes all rows of a channel after the other channels")

    @override
    def scheme(self, layer: Layer) -> Scheme:
        return Scheme.NON_INTERLEAVED

    @override
    def weights_bytes(self, layer: Layer, widths: Widths) -> int:
        # a word for each weight, and at most for bias, factor and offset, or bias and what rounds as TensorFlow Lite
        weights = layer.parameters["weights"].size // layer.out_shape.channels
        return layer.out_shape.channels * (weights + 2 + common.expected_factor_words(layer)) * 4

    @override
    def loads(self, layer: Layer, widths: Widths) -> Loads:
        # four outputs read all words of their channel, and each value once in a line
        runs, channels = _runs(layer), layer.out_shape.channels
        lines, values = runs.gathered
        together, line_bytes = runs.lines * runs.quads, runs.kernel[0] * (runs.kernel[1] + OUTPUTS - 1)
        return Loads(together * self.weights_bytes(layer, widths), channels * (together * line_bytes + lines * values))

    @override
    def work(self, layer: Layer, widths: Widths) -> Work:
        """Count outputs that are computed twice as others.

        Parts: `quad`s of outputs, `line`s of their windows and `tap`s, weights of those; `run`s of outputs; `gathered`
        values in `gathered_line`s, of which the last ones are in a loop that is not unrolled (`last`).
        """
        runs, channels = _runs(layer), layer.out_shape.channels
        (lines, values), quads = runs.gathered, channels * runs.lines * runs.quads
        return {
            **rounded_work(layer, "quad", quads),
            "line": quads * runs.kernel[0] * (runs.kernel[0] > 1),
            "first": quads * runs.kernel[0],
            "tap": quads * runs.kernel[0] * runs.kernel[1],
            "run": channels * runs.lines,
            "gathered": channels * lines * values,
            "gathered_line": channels * lines,
            "last": channels * lines * (values % STRAIGHT_GATHERED),
        }

    @override
    def exact_work(self, layer: Layer, work: Work, quantized: QuantizedLayer) -> Work:
        return common.exactly_rounded(work, quantized)

    @override
    def code(self, layer: Layer, widths: Widths) -> Code:
        """Count parts beside those of C.

        `taps` of a line; loops over `window_lines` and `lines` of outputs; outputs computed `again`; `padded` planes.
        """
        runs = _runs(layer)
        own = {
            "taps": runs.kernel[1],
            "window_lines": runs.kernel[0] > 1,
            "lines": runs.lines > 1,
            "again": runs.again > 0,
            "padded": runs.is_padded,
        }
        return Code({**usual_code(layer, widths), **{part: float(count) for part, count in own.items()}})

    @override
    def constants(self, quantized: QuantizedLayer) -> Mapping[str, IntArray]:
        # for each channel its bias, weights line by line, and what requantizes it
        unsigned, formats = common.UnsignedLayer.of(quantized), quantized.formats
        weights = unsigned.weights.reshape(-1, *quantized.layer.parameters["weights"].shape[:2])
        weights = weights.swapaxes(1, 2) if _runs(quantized.layer).is_turned else weights
        words = [unsigned.bias, weights.reshape(len(weights), -1), unsigned.factors]
        if formats.shifted:
            words.append(np.full(len(weights), formats.shifted.offset(formats.y.zero_point)))
        return {"weights": np.column_stack(words).astype(np.uint32).view(np.int32)}

    @override
    def context(self, quantized: QuantizedLayer) -> RunsContext:
        formats, runs = quantized.formats, _runs(quantized.layer)
        factor_words, sign = common.factor_words(quantized), 1 << (common.BITS - 1)
        sign = sign if common.is_signed(quantized) else 0
        return RunsContext(
            copy=common.ValueCopy.of(quantized),
            factor_words=factor_words,
            split=common.split_products(quantized),
            runs=runs,
            channel_words=1 + runs.kernel[0] * runs.kernel[1] + factor_words + (formats.shifted is not None),
            sign=sign,
            zero=(formats.x.zero_point ^ sign) % (1 << common.BITS),
        )


def _runs(layer: Layer) -> Runs:
    runs = Runs.of(layer)
    if runs is None:
        raise TypeError(f"{layer.kind} has no runs of outputs")
    return runs
