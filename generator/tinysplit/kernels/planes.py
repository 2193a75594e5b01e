"""Depthwise convolutions by SMLAD: two channel planes at a time, in which neighbours of one channel share a word."""

from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from typing import ClassVar

import numpy as np

from tinysplit.kernels.base import DSP_CORES, Kernel
from tinysplit.kernels.cost_table import Work
from tinysplit.kernels.high_products import Epilogue, clamped_work
from tinysplit.kernels.in_place import Lead, lead_of_blocks
from tinysplit.kernels.memory_traffic import Loads
from tinysplit.kernels.scheme import Scheme
from tinysplit.network.bit_widths import Widths
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.layers.base import Layer
from tinysplit.network.layers.depthwise_conv import DepthwiseConv
from tinysplit.network.layers.window import Window
from tinysplit.network.quantized_graph import QuantizedLayer

SHARED_CODE = "dsp_planes_"
KERNEL_WIDTH = 3
LARGEST_KERNEL_HEIGHT = 5
WORDS_OF_FOUR = 5  # that the taps of four outputs lie in
PLANES = 2  # two channels of every pixel are read at once
LARGEST_SCRATCH_BYTES = 8192
LARGEST_OFFSET_BYTES = 4092 - 16  # of the first word of a kernel row
BAND_BYTES = 1600  # of the rows that lie in the scratch buffer, where more than a window is


class Planes(Kernel):
    """Two planes are gathered into the scratch buffer, with their padding, in bands of rows; then run row by row.

    Every value is gathered before an output takes its place, so that the output may lie where the input does.
    """

    name: ClassVar[str] = "planes"
    walks_rows: ClassVar[bool] = False  # rows that bands share would be gathered twice

    def fits(self, layer: Layer, core: str, widths: Widths) -> bool:
        """See `Kernel.fits`."""
        if core not in DSP_CORES or not isinstance(layer, DepthwiseConv) or layer.in_shape.channels % PLANES:
            return False
        height, width = layer.window.kernel
        return (
            widths.w <= widths.x
            and _band_bytes(layer, 1) <= LARGEST_SCRATCH_BYTES
            and 2 * (height - 1) * _pitch(layer) <= LARGEST_OFFSET_BYTES
            and width == KERNEL_WIDTH
            and height <= LARGEST_KERNEL_HEIGHT
            and layer.window.dilation == (1, 1)
            and layer.window.stride[0] <= height
            and layer.window.stride[1] <= 2  # noqa: PLR2004 - else words of the plane would be left out
        )

    def scratch_bytes(self, layer: Layer, widths: Widths) -> int:  # noqa: ARG002 - planes are 16 bits
        """See `Kernel.scratch_bytes`: a band of two planes."""
        return _band_bytes(layer, _band(layer))

    def lead(self, layer: Layer, k: int, widths: Widths) -> Lead | None:  # noqa: ARG002 - it has one input
        """See `Kernel.lead`: bytes of other channels are not touched where pixels are as long as in the input.

        A band is gathered before its outputs are computed, but for the rows that it shares with the one above.
        """
        if widths.x != widths.y:
            return None
        window, (height, width, channels) = _window(layer), layer.out_shape
        starts = np.arange(0, height, _band(layer))
        shared = np.where(starts > 0, window.kernel[0] - window.stride[0], 0)
        tops = np.maximum(starts * window.stride[0] - window.pads.top + shared, 0)
        ends = np.minimum(starts + _band(layer), height) * width * channels
        least_bytes = lead_of_blocks(tops * layer.in_shape.width * channels, ends, widths, reads_first=True)
        return Lead(least_bytes, channels * widths.x // 8)

    def work(self, layer: Layer, widths: Widths) -> Work:  # noqa: ARG002 - any will do
        """See `Kernel.work`: padding is computed like the rest.

        `four_rows`, `one_rows`: kernel rows of four outputs or one; `four`, `one`: outputs that are stored together;
        `row`: of an output channel; `gathered`: pairs of values, of `gathered_rows` in two planes, whose `last` ones
        are not unrolled; `band`: of two planes; `shared` elements lie in two bands of both, `zeroed` ones are padding.
        """
        window, (height, width, channels) = _window(layer), layer.out_shape
        bands, rows, fours = -(-height // _band(layer)), height * channels, width // 4
        stride = "strided_" if window.stride[1] > 1 else ""
        last = "one" if width % 4 == 1 else "looped_one"  # a single one is no loop
        planes, overlap = channels // PLANES, max(0, window.kernel[0] - window.stride[0])
        outside = bands * _rows(layer, _band(layer)) - (bands - 1) * overlap - layer.in_shape.height
        pairs = (layer.in_shape.width - window.pads.left % 2) // 2
        return {
            f"{stride}four_rows": rows * fours * window.kernel[0],
            f"{last}_rows": rows * (width % 4) * window.kernel[0],
            "row": rows,
            "gathered": layer.in_shape.height * planes * pairs,
            "last": layer.in_shape.height * planes * (pairs % 4),
            "gathered_rows": layer.in_shape.height * planes,
            "band": bands * planes,
            "shared": (bands - 1) * planes * PLANES * overlap * _pitch(layer),
            "zeroed": (bands > 1) * planes * PLANES * max(0, outside) * _pitch(layer),
        } | clamped_work(layer, {"four": rows * fours, last: rows * (width % 4)})

    def scheme(self, layer: Layer) -> Scheme:  # noqa: ARG002 - always
        """See `Kernel.scheme`."""
        return Scheme.NON_INTERLEAVED

    def loads(self, layer: Layer, widths: Widths) -> Loads:
        """See `Kernel.loads`: a row of taps takes five words for four outputs, weights are read once a band."""
        bands = -(-layer.out_shape.height // _band(layer))
        gathered_bytes = layer.in_shape.size * widths.x // 8
        ram_bytes = layer.out_shape.size * _window(layer).kernel[0] * WORDS_OF_FOUR + gathered_bytes
        return Loads(bands * self.weights_bytes(layer, widths), ram_bytes)

    def weights_bytes(self, layer: Layer, widths: Widths) -> int:
        """See `Kernel.weights_bytes`: words of biases and factors."""
        return layer.parameters["weights"].size * widths.w // 8 + layer.out_shape.channels * (4 + 4)

    def constants(self, quantized: QuantizedLayer) -> Mapping[str, IntArray]:
        """See `Kernel.constants`: the weights channel by channel."""
        weights = np.ascontiguousarray(np.moveaxis(quantized.constants["weights"], -1, 0))
        factors = Epilogue.of(quantized).factors.astype(np.int32)
        constants = {"weights": weights, "bias": quantized.constants["bias"]}
        return constants | ({"factors": factors} if len(factors) > 1 else {})

    def shared_code(self, layer: Layer) -> str | None:  # noqa: ARG002 - of all
        """See `Kernel.shared_code`."""
        return SHARED_CODE

    def facts(self, quantized: QuantizedLayer) -> dict[str, object]:
        """See `Kernel.facts`."""
        layer, epilogue = quantized.layer, _epilogue(quantized)
        return {
            "epilogue": epilogue,
            "shared": f"{SHARED_CODE}{_digest(quantized, epilogue)}",
            "band": _band(layer),
            "band_rows": _rows(layer, _band(layer)),
            "pitch": _pitch(layer),
        }


def _digest(quantized: QuantizedLayer, epilogue: Epilogue) -> str:
    """Return a part of a name that is the same for layers whose code differs in nothing but its constants."""
    layer, formats = quantized.layer, quantized.formats
    requantization = formats.requantization
    shifts = (requantization.pre_shift, requantization.post_shift) if requantization and not epilogue.is_high else ()
    one_factor = epilogue.factors.tolist() if len(epilogue.factors) == 1 else None
    values = [(each.bits, each.zero_point) for each in (formats.x, formats.y)]
    outputs = (quantized.clamp, shifts, one_factor, epilogue.is_high, epilogue.is_narrow, epilogue.is_capped)
    shape = (layer.in_shape, layer.out_shape, _window(layer), formats.weight_bits)
    return sha256(repr((shape, values, outputs)).encode()).hexdigest()[:8]


def _epilogue(quantized: QuantizedLayer) -> Epilogue:
    """Return how sums become outputs: each by itself, since neighbours lie apart; capped ones four at once."""
    epilogue = Epilogue.of(quantized)
    return epilogue if epilogue.is_capped else replace(epilogue, is_narrow=False)


def _window(layer: Layer) -> Window:
    if not isinstance(layer, DepthwiseConv):
        raise TypeError(f"{layer.kind} has no planes")
    return layer.window


def _pitch(layer: Layer) -> int:
    """Return the elements of a row: its padding and what two outputs read at once, even."""
    window, width = _window(layer), layer.out_shape.width
    read = (width - 1) * window.stride[1] + KERNEL_WIDTH + 1
    return (max(read, window.pads.left + layer.in_shape.width) + 1) // 2 * 2


def _rows(layer: Layer, outputs: int) -> int:
    """Return how many rows are under the kernel for `outputs` rows."""
    window = _window(layer)
    return (outputs - 1) * window.stride[0] + window.kernel[0]


def _band_bytes(layer: Layer, outputs: int) -> int:
    return PLANES * _rows(layer, outputs) * _pitch(layer) * 2


def _band(layer: Layer) -> int:
    """Return how many rows of outputs are computed from one band: as many as fit, at least one."""
    height = layer.out_shape.height
    return next((rows for rows in range(height, 1, -1) if _band_bytes(layer, rows) <= BAND_BYTES), 1)
