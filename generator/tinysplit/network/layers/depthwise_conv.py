"""Depthwise convolution: one kernel per channel (channel multipliers above 1 are grouped convolutions)."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.fixed_point.integer_layer import IntegerLayer
from tinysplit.network.layers.base import Shape, T, WeightedLayer
from tinysplit.network.layers.window import Window


@dataclass(frozen=True, eq=False, kw_only=True)
class DepthwiseConv(WeightedLayer):
    """`weights` are k_h x k_w x channels."""

    kind: ClassVar[str] = "depthwise_conv"
    takes_clamp: ClassVar[bool] = True
    channel_axis: ClassVar[int] = -1

    window: Window

    @cached_property
    @override
    def out_shape(self) -> Shape:
        """Shape of the output."""
        return self.window.out_shape(self.in_shape, self.in_shape.channels)

    @property
    @override
    def operator_macc(self) -> int:
        """out_h * out_w * c * (k_h * k_w + 1 for the bias)."""
        return self.out_shape.size * (self.window.elements + 1)

    @property
    @override
    def has_padding(self) -> bool:
        """Whether windows of the layer overlap padding."""
        return self.window.is_clipped

    def windows(self, x: NDArray[T]) -> NDArray[T]:
        """See `Conv.windows`: each channel is a group."""
        patches = self.window.patches(x)
        return np.moveaxis(patches, -1, 0).reshape(self.in_shape.channels, -1, self.window.elements)

    @override
    def integer_reference(self, quantized: IntegerLayer, *inputs: IntArray) -> IntArray:
        (x,) = inputs
        patches = self.window.patches(x, fill=quantized.formats.x.zero_point)
        weights = quantized.constants["weights"].astype(np.int64)
        sums = np.broadcast_to(quantized.constants["bias"], patches[..., 0, 0, :].shape).astype(np.int64)
        products = np.empty_like(sums)
        for row, column in np.ndindex(*self.window.kernel):  # all products together take much memory
            sums += np.multiply(patches[..., row, column, :], weights[row, column], out=products)
        return quantized.requantize(sums)
