"""Processing schemes: the order in which a layer visits its values, and the rule of Singh 2024 that chooses one.

The rule compares buffer sizes with the size of level-1 memory. It covers layers that accumulate sums; two schemes are
added here for layers that do not.
"""

from dataclasses import dataclass
from enum import StrEnum

from typing_extensions import override

from tinysplit.network.bit_widths import Widths
from tinysplit.network.layers.arg_max import ArgMax
from tinysplit.network.layers.base import Layer
from tinysplit.network.layers.conv import Conv
from tinysplit.network.layers.conv_transpose import ConvTranspose
from tinysplit.network.layers.dense import Dense
from tinysplit.network.layers.depthwise_conv import DepthwiseConv
from tinysplit.network.layers.matmul import MatMul
from tinysplit.network.layers.recurrent import Recurrent
from tinysplit.network.layers.softmax import Softmax
from tinysplit.network.layers.window import layer_window

SUM_BYTES = 4
PLANES = 2  # computed together


class Scheme(StrEnum):
    """The order in which a layer visits its values; the first three are those of Singh 2024."""

    INTERLEAVED = "interleaved"  # kernel rows with all channels
    NON_INTERLEAVED = "non-interleaved"  # channel plane by channel plane
    POINTWISE = "1x1-non-interleaved"  # pixels with all channels
    ELEMENTWISE = "elementwise"  # value by value
    COPY = "copy"  # values are copied to their index in the output

    def passes(self, channels: int) -> float:
        """Return how often a kernel goes through a tensor of so many channels."""
        return channels / PLANES if self is Scheme.NON_INTERLEAVED else 1


def usual_scheme(layer: Layer) -> Scheme:
    """Return the scheme of a layer whose values are stored as height x width x channels."""
    if isinstance(layer, ArgMax | Dense | MatMul | Recurrent | Softmax) or (
        isinstance(layer, Conv) and layer.window.elements == 1
    ):
        return Scheme.POINTWISE
    if isinstance(layer, ConvTranspose) or layer_window(layer):
        return Scheme.INTERLEAVED
    return Scheme.ELEMENTWISE if layer.is_elementwise(0) else Scheme.COPY


@dataclass(frozen=True)
class SchemeRule:
    """The rule's result for a layer: its scheme, None if nothing fits, and the compared sizes in bytes."""

    scheme: Scheme | None
    buffer_bytes: int
    near_bytes: int

    @classmethod
    def of(cls, layer: Layer, widths: Widths, near_bytes: int) -> "SchemeRule | None":
        """Apply the rule for `near_bytes` of free level-1 memory; None for a layer that accumulates no sums.

        Pointwise layers buffer as many pixels with all channels as fit. Others buffer kernel rows with all channels
        (the first size) if these fit, else the plane of a channel and a row of sums (the second size).
        """
        usual = usual_scheme(layer)
        if usual in {Scheme.ELEMENTWISE, Scheme.COPY}:
            return None
        sizes = {usual: _rows_bytes(layer, widths), Scheme.NON_INTERLEAVED: _plane_bytes(layer, widths)}
        if usual is Scheme.POINTWISE:
            sizes = {usual: _pixels_bytes(layer, widths, near_bytes)}
        fitting = (scheme for scheme, size in sizes.items() if size <= near_bytes)
        scheme = next(fitting, None)
        return cls(scheme, sizes[scheme] if scheme else min(sizes.values()), near_bytes)

    @override
    def __str__(self) -> str:
        """Return the scheme and the comparison that gave it, as text."""
        fits = "fit" if self.scheme else "do not fit"
        return f"{self.scheme or 'no scheme'}: {self.buffer_bytes} bytes of inputs {fits} into {self.near_bytes} of RAM"


def _pixels_bytes(layer: Layer, widths: Widths, near_bytes: int) -> int:
    """Return the bytes of as many pixels as fit, at least of one."""
    pixels, elements = layer.in_shape.height * layer.in_shape.width, layer.in_shape.channels
    if isinstance(layer, Dense):
        pixels, elements = 1, layer.in_shape.size
    pixel_bytes = elements * widths.x // 8
    return pixel_bytes * max(1, min(pixels, near_bytes // pixel_bytes))


def _rows_bytes(layer: Layer, widths: Widths) -> int:
    """Return the first size: the rows under a kernel, in a circular buffer."""
    return _rows(layer) * layer.in_shape.width * layer.in_shape.channels * widths.x // 8


def _rows(layer: Layer) -> int:
    """Return the number of input rows that an output row is computed from."""
    if isinstance(layer, ConvTranspose):
        extent: int = 1 + (layer.weights.shape[1] - 1) * layer.dilation[0]
        return -(-extent // layer.stride[0])
    window = layer_window(layer)
    return 1 + (window.kernel[0] - 1) * window.dilation[0] if window else 1


def _plane_bytes(layer: Layer, widths: Widths) -> int:
    """Return the second size: the plane of a channel, and a row of sums of all channels that it contributes to."""
    sums = layer.out_shape.width * (1 if isinstance(layer, DepthwiseConv) else layer.out_shape.channels)
    return layer.in_shape.height * layer.in_shape.width * widths.x // 8 + sums * SUM_BYTES
