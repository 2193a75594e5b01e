"""Operators on single elements: scale and shift (BatchNormalization, Add, Sub, Mul, Div) and clamps (Relu, Clip).

They fold into the layer that computes their input, where nothing else reads that. With y = w * x + b and z = s * y + t
follows z = (s * w) * x + (s * b + t), one s and t an output channel. Where nothing can take them, a scale and shift
becomes a 1x1 depthwise convolution and a clamp a 1x1 maximum pool.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tinysplit.network.layers import (
    Activation,
    Add,
    AveragePool,
    Concat,
    Conv,
    Dense,
    DepthwiseConv,
    Layer,
    MaxPool,
    Mul,
    Shape,
    Window,
)

if TYPE_CHECKING:
    from tinysplit.onnx_import.chain import Chain

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Affine:
    """scale * x + shift; both have one value an element, in the order in which the activation is stored."""

    name: str
    output: str
    folds: bool  # whether nothing else reads the activation
    scale: FloatArray
    shift: FloatArray

    def apply(self, chain: "Chain", producer: Layer | None, shape: Shape) -> Layer:
        """Fold into `producer`, or append a depthwise convolution on an activation of `shape`."""
        scale, shift = (_per_channel(values, shape) for values in (self.scale, self.shift))
        if scale is None or shift is None:
            shape = Shape(1, 1, shape.size)
            scale, shift = self.scale, self.shift
        elif self.folds and isinstance(producer, (Conv, DepthwiseConv, Dense)) and producer.activation == Activation():
            return chain.replace(producer, _folded(producer, self.output, scale, shift))
        return chain.append(
            DepthwiseConv(
                name=self.name,
                inputs=(chain.source(producer),),
                output=self.output,
                in_shape=shape,
                weights=scale.reshape(1, 1, -1).astype(np.float32),
                bias=shift.astype(np.float32),
                window=Window(kernel=(1, 1)),
            )
        )

    def reordered(self, order: NDArray[np.int64]) -> "Affine":
        """Return the same operation on an activation that is stored in `order`."""
        return replace(self, scale=self.scale[order], shift=self.shift[order])


@dataclass(frozen=True, eq=False)
class Clamp:
    """min(max(x, low), high)."""

    name: str
    output: str
    folds: bool
    activation: Activation

    def apply(self, chain: "Chain", producer: Layer | None, shape: Shape) -> Layer:
        """Fuse into `producer`, or append a pool on an activation of `shape`."""
        if self.folds and isinstance(producer, (Conv, DepthwiseConv, Dense, MaxPool, AveragePool, Add, Mul, Concat)):
            before = np.array([producer.activation.low, producer.activation.high])
            low, high = np.clip(before, self.activation.low, self.activation.high).tolist()
            return chain.replace(producer, replace(producer, output=self.output, activation=Activation(low, high)))
        return chain.append(
            MaxPool(
                name=self.name,
                inputs=(chain.source(producer),),
                output=self.output,
                in_shape=shape,
                activation=self.activation,
                window=Window(kernel=(1, 1)),
            )
        )

    def reordered(self, order: NDArray[np.int64]) -> "Clamp":  # noqa: ARG002 - the same for every element
        """Return the same operation on an activation that is stored in `order`."""
        return self


def _per_channel(values: FloatArray, shape: Shape) -> FloatArray | None:
    """Return one value a channel, None where pixels differ."""
    pixels = values.reshape(-1, shape.channels)
    return pixels[0] if (pixels == pixels[0]).all() else None


def _folded(layer: Conv | DepthwiseConv | Dense, output: str, scale: FloatArray, shift: FloatArray) -> Layer:
    channels_last = isinstance(layer, DepthwiseConv)
    factors = scale if channels_last else scale.reshape(-1, *[1] * (layer.weights.ndim - 1))
    weights = (layer.weights * factors).astype(np.float32)
    bias = (layer.bias * scale + shift).astype(np.float32)
    return replace(layer, output=output, weights=weights, bias=bias)
