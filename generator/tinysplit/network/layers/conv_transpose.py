"""Transposed convolution: every input value is spread over a window of the output."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from typing_extensions import override

from tinysplit.network.fixed_point import arithmetic as fixed_point
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.fixed_point.integer_layer import IntegerLayer
from tinysplit.network.layers.base import Shape, WeightedLayer
from tinysplit.network.layers.window import Pads


@dataclass(frozen=True, eq=False, kw_only=True)
class ConvTranspose(WeightedLayer):
    """`weights` are out_channels x k_h x k_w x in_channels; `pads` are cut off the output, `growth` adds to its end."""

    kind: ClassVar[str] = "conv_transpose"

    stride: tuple[int, int]
    dilation: tuple[int, int]
    pads: Pads
    growth: tuple[int, int]

    @property
    @override
    def out_shape(self) -> Shape:
        """Shape of the output (ONNX operators, ConvTranspose)."""
        cut = self.pads.top + self.pads.bottom, self.pads.left + self.pads.right
        height, width = (
            s * (size - 1) + d * (k - 1) + 1 + grown - off
            for size, s, d, k, grown, off in zip(
                self.in_shape[:2], self.stride, self.dilation, self.weights.shape[1:3], self.growth, cut, strict=True
            )
        )
        return Shape(height, width, self.weights.shape[0])

    @property
    @override
    def operator_macc(self) -> int:
        """Every input value times the whole kernel, and the biases."""
        return self.in_shape.size * self.weights[..., 0].size + self.out_shape.size

    @property
    @override
    def has_padding(self) -> bool:
        """Always: outputs at the border use a part of the kernel."""
        return True

    @override
    def integer_reference(self, quantized: IntegerLayer, *inputs: IntArray) -> IntArray:
        (x,) = inputs
        weights = quantized.constants["weights"]
        constants = quantized.constants
        height, width, channels = self.out_shape
        (s_h, s_w), (d_h, d_w) = self.stride, self.dilation
        rows, columns = height + self.pads.top + self.pads.bottom, width + self.pads.left + self.pads.right
        spread = np.zeros((len(x), rows, columns, channels), np.int64)
        value = x.astype(np.int64) - quantized.formats.x.zero_point
        for i in range(weights.shape[1]):
            for j in range(weights.shape[2]):
                part = spread[:, i * d_h :: s_h, j * d_w :: s_w][:, : x.shape[1], : x.shape[2]]
                part += fixed_point.dot(value, weights[:, i, j])
        sums = spread[:, self.pads.top : self.pads.top + height, self.pads.left : self.pads.left + width]
        return quantized.requantize(sums + constants.get("border_bias", constants["bias"]))
