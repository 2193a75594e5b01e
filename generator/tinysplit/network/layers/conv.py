"""Convolution: any kernel, stride, dilation, padding and number of groups."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from tinysplit.network.fixed_point import arithmetic as fixed_point
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.fixed_point.integer_layer import IntegerLayer
from tinysplit.network.layers.base import Shape, T, WeightedLayer
from tinysplit.network.layers.window import Window


@dataclass(frozen=True, eq=False, kw_only=True)
class Conv(WeightedLayer):
    """`weights` are out_channels x k_h x k_w x in_channels_per_group, so that a kernel row is contiguous as in HWC."""

    kind: ClassVar[str] = "conv"
    takes_clamp: ClassVar[bool] = True

    window: Window
    groups: int = 1

    @cached_property
    @override
    def out_shape(self) -> Shape:
        """Shape of the output."""
        return self.window.out_shape(self.in_shape, self.weights.shape[0])

    @property
    @override
    def operator_macc(self) -> int:
        """out_h * out_w * c_out * (k_h * k_w * c_in_per_group + 1 for the bias)."""
        return self.out_shape.size * (self.window.elements * (self.in_shape.channels // self.groups) + 1)

    @property
    @override
    def cost_kind(self) -> str:
        """1x1 kernels have a cost of their own: they need no loop over a window."""
        return "pointwise_conv" if self.window.elements == 1 else self.kind

    @property
    @override
    def has_padding(self) -> bool:
        """Whether windows of the layer overlap padding."""
        return self.window.is_clipped

    def windows(self, x: NDArray[T]) -> NDArray[T]:
        """Return the input values that the weights of a channel multiply (im2col of `x`, N x H x W x C, padded with 0).

        The axes are groups, positions of the window, and the weights of a channel as `by_channel` has them. Each group
        has as many output channels, one group after the other.
        """
        patches = self.window.patches(x)
        grouped = patches.reshape(-1, *self.window.kernel, self.groups, self.in_shape.channels // self.groups)
        return np.moveaxis(grouped, 3, 0).reshape(self.groups, len(grouped), -1)

    @override
    def integer_reference(self, quantized: IntegerLayer, *inputs: IntArray) -> IntArray:
        (x,) = inputs
        patches = self.window.patches(x, fill=quantized.formats.x.zero_point)
        weights = np.split(quantized.constants["weights"], self.groups)
        maps = np.split(patches, self.groups, axis=-1)
        sums = [
            fixed_point.dot(group.reshape(*group.shape[:3], -1), kernels.reshape(len(kernels), -1))
            for group, kernels in zip(maps, weights, strict=True)
        ]
        return quantized.requantize(np.concatenate(sums, axis=-1) + quantized.constants["bias"])
