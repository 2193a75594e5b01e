"""Parts of a layer that `dual_mac` computes one after the other, each of which is a convolution with one group.

A convolution with groups is one for each group. A transposed convolution of stride s spreads every input value; turned
round, the outputs of one of s row phases are a convolution of the input with every s-th kernel row, and s neighbouring
output pixels are the channels of one pixel of it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from tinysplit.kernels.dsp.strips import Strips
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.layers.base import Layer, Shape
from tinysplit.network.layers.conv import Conv
from tinysplit.network.layers.conv_transpose import ConvTranspose
from tinysplit.network.layers.dense import Dense
from tinysplit.network.layers.window import Pads, Window

NO_WEIGHT = -1


@dataclass(frozen=True, eq=False)
class ConvPart:
    """A convolution over some outputs of a layer, `repeats` times: each time for the next input and output channels.

    `first` is its first output element, `y_step` and `y_row` are output elements from a pixel and from a row to the
    next, `x_step` input elements from a pixel to the next. `taps` are kernel rows and, for each of the neighbouring
    output pixels, kernel columns of a transposed convolution.
    """

    layer: Layer
    x_step: int
    y_step: int
    y_row: int
    first: int = 0
    repeats: int = 1
    taps: tuple[IntArray, IntArray] | None = None

    def strips(self, value_bytes: int) -> Strips:
        """Return the strips of one of the convolutions."""
        is_contiguous = self.y_row == self.layer.out_shape.width * self.y_step
        return Strips(self.layer, value_bytes, self.x_step != self.layer.in_shape.channels, is_contiguous)

    @property
    def channels(self) -> int:
        """Output channels of one of the convolutions."""
        return self.layer.out_shape.channels

    def of_channels(self, values: IntArray) -> IntArray:
        """Return values of output channels, one for every channel of all repeats."""
        return np.tile(values, self.repeats * self.channels // len(values))

    def weights(self, weights: IntArray) -> IntArray:
        """Return the weights of all repeats, as channels x kernel rows x kernel columns x input channels."""
        if self.taps is None:
            return weights
        rows, columns = self.taps
        pixels = [np.where((own == NO_WEIGHT)[:, None], 0, weights[:, rows][:, :, own]) for own in columns]
        return np.concatenate(pixels)

    def bias(self, constants: Mapping[str, IntArray], x_zero: int) -> IntArray:
        """Return the biases of all repeats, with the contribution of the zero point of the input."""
        if self.taps is None or not x_zero:
            return self.of_channels(constants["bias"])
        weights = self.weights(constants["weights"].astype(np.int64))
        bias: IntArray = self.of_channels(constants["border_bias"]) - x_zero * weights.sum(axis=(1, 2, 3))
        return bias


@lru_cache(maxsize=256)
def parts_of(layer: Layer) -> tuple[ConvPart, ...]:
    """Return the parts of a layer; none for a layer that is no such sum of convolutions."""
    channels, out_channels = layer.in_shape.channels, layer.out_shape.channels
    row = layer.out_shape.width * out_channels
    if isinstance(layer, Conv) and layer.groups > 1:
        inputs, outputs = channels // layer.groups, out_channels // layer.groups
        own = replace(
            layer, in_shape=layer.in_shape._replace(channels=inputs), weights=layer.weights[:outputs], groups=1
        )
        return (ConvPart(own, channels, out_channels, row, repeats=layer.groups),) if outputs % 2 == 0 else ()
    if isinstance(layer, ConvTranspose):
        return tuple(_phases(layer))
    return (ConvPart(layer, channels, out_channels, row),) if isinstance(layer, Conv | Dense) else ()


def _phases(layer: ConvTranspose) -> Iterator[ConvPart]:
    """Yield the row phases, each with whole blocks of neighbouring pixels and the pixels that are left."""
    (height, width), strides, kernel = layer.out_shape[:2], layer.stride, layer.weights.shape[1:3]
    reaches = all(size >= stride for size, stride in zip(kernel, strides, strict=True))
    if layer.dilation != (1, 1) or layer.out_shape.channels % 2 or not reaches:
        return
    blocks, left = divmod(width, strides[1])
    for row in range(min(strides[0], height)):
        if blocks:
            yield _phase(layer, row, 0, Shape(len(range(row, height, strides[0])), blocks, strides[1]))
        if left:
            yield _phase(layer, row, blocks, Shape(len(range(row, height, strides[0])), 1, left))


def _phase(layer: ConvTranspose, row: int, block: int, size: Shape) -> ConvPart:
    """Return the part for the output rows from `row` on and blocks of pixels from `block` on.

    `size` are their rows, blocks and pixels of a block.
    """
    (s_h, s_w), (_, k_h, k_w, inputs) = layer.stride, layer.weights.shape
    channels = layer.out_shape.channels
    top, rows = divmod(row + layer.pads.top, s_h)
    taps = np.arange(rows, k_h, s_h)[::-1]
    places = [divmod(pixel + layer.pads.left, s_w) for pixel in range(size.channels)]
    lowest = min(place - (k_w - 1 - phase) // s_w for place, phase in places)
    back = [place - lowest - np.arange(max(places)[0] - lowest + 1) for place, _ in places]
    columns = np.array([phase + s_w * own for own, (_, phase) in zip(back, places, strict=True)])
    columns = np.where((np.array(back) >= 0) & (columns < k_w), columns, NO_WEIGHT)
    kernel = len(taps), columns.shape[1]
    begins = len(taps) - 1 - top, -block - lowest
    ends = (
        out + own - 1 - own_in - begin
        for out, own, own_in, begin in zip(size[:2], kernel, layer.in_shape[:2], begins, strict=True)
    )
    own = Conv(
        name=layer.name,
        inputs=layer.inputs,
        output=layer.output,
        in_shape=layer.in_shape,
        activation=layer.activation,
        weights=np.broadcast_to(np.float32(0), (size.channels * channels, *kernel, inputs)),
        bias=np.broadcast_to(np.float32(0), size.channels * channels),
        window=Window(kernel, pads=Pads(*begins, *ends)),
    )
    width = layer.out_shape.width
    first = (row * width + block * s_w) * channels
    return ConvPart(own, layer.in_shape.channels, s_w * channels, s_h * width * channels, first, taps=(taps, columns))
