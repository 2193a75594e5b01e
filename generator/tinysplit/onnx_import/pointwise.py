"""Operators on single elements: scale and shift (BatchNormalization, Add, Sub, Mul, Div) and clamps (Relu, Clip).

They fold into the layer that computes their input, unless another node reads it. With y = w * x + b and z = s * y + t
follows z = (s * w) * x + (s * b + t), one s and t per output channel. Where they cannot be folded, a scale and
shift becomes a 1x1 depthwise convolution and a clamp a 1x1 maximum pool.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from tinysplit.network.layers import (
    Activation,
    Conv,
    Dense,
    DepthwiseConv,
    Layer,
    MaxPool,
    Shape,
    Window,
)

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Affine:
    """scale * x + shift; both have one value per element, in the memory order of the activation."""

    name: str
    output: str
    folds: bool  # whether this is the only reader of the activation
    scale: FloatArray
    shift: FloatArray

    def fused(self, producer: Layer, shape: Shape) -> Layer | None:
        """Return `producer` with scale and shift in its weights and bias, None where it cannot take them."""
        scale, shift = (_per_channel(values, shape) for values in (self.scale, self.shift))
        if not self.folds or not isinstance(producer, (Conv, DepthwiseConv, Dense)):
            return None
        if producer.activation != Activation() or scale is None or shift is None:
            return None
        return _folded(producer, self.output, scale, shift)

    def layer(self, source: str, shape: Shape) -> Layer:
        """Return a depthwise convolution of the value `source`, an activation of `shape`."""
        scale, shift = (_per_channel(values, shape) for values in (self.scale, self.shift))
        if scale is None or shift is None:
            shape = Shape(1, 1, shape.size)
            scale, shift = self.scale, self.shift
        return DepthwiseConv(
            name=self.name,
            inputs=(source,),
            output=self.output,
            in_shape=shape,
            weights=scale.reshape(1, 1, -1).astype(np.float32),
            bias=shift.astype(np.float32),
            window=Window(kernel=(1, 1)),
        )

    def reordered(self, order: NDArray[np.int64]) -> "Affine":
        """Return the same operation on an activation stored in `order`: the former index of each element."""
        return replace(self, scale=self.scale[order], shift=self.shift[order])


@dataclass(frozen=True, eq=False)
class Clamp:
    """min(max(x, low), high)."""

    name: str
    output: str
    folds: bool
    activation: Activation

    def fused(self, producer: Layer, _: Shape) -> Layer | None:
        """Return `producer` with the clamp in its activation, None where it cannot take it."""
        if not self.folds or not producer.takes_clamp:
            return None
        before = np.array([producer.activation.low, producer.activation.high])
        low, high = np.clip(before, self.activation.low, self.activation.high).tolist()
        return replace(producer, output=self.output, activation=Activation(low, high))

    def layer(self, source: str, shape: Shape) -> Layer:
        """Return a 1x1 maximum pool of the value `source`, an activation of `shape`."""
        return MaxPool(
            name=self.name,
            inputs=(source,),
            output=self.output,
            in_shape=shape,
            activation=self.activation,
            window=Window(kernel=(1, 1)),
        )

    def reordered(self, _: NDArray[np.int64]) -> "Clamp":
        """Return the same operation: the clamp is the same for every element."""
        return self


def _per_channel(values: FloatArray, shape: Shape) -> FloatArray | None:
    """Return one value per channel, None where pixels differ."""
    pixels = values.reshape(-1, shape.channels)
    return pixels[0] if (pixels == pixels[0]).all() else None


def _folded(layer: Conv | DepthwiseConv | Dense, output: str, scale: FloatArray, shift: FloatArray) -> Layer:
    channels_last = isinstance(layer, DepthwiseConv)
    factors = scale if channels_last else scale.reshape(-1, *[1] * (layer.weights.ndim - 1))
    weights = (layer.weights * factors).astype(np.float32)
    bias = (layer.bias * scale + shift).astype(np.float32)
    steps = None if layer.qdq_scales is None else layer.qdq_scales * np.where(scale == 0, 1.0, np.abs(scale))
    return replace(layer, output=output, weights=weights, bias=bias, qdq_scales=steps)
