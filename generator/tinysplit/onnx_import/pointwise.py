"""Steps on single elements: scale and shift (BatchNormalization, Add, Sub, Mul, Div), clamps (Relu, Clip), functions.

The first two fold into the layer that computes their input, unless another node reads it. With y = w * x + b and
z = s * y + t follows z = (s * w) * x + (s * b + t), one s and t per output channel. Other steps wait until a layer
reads their result. Functions are then one function with all clamps and scalar scales and shifts before and behind them:
a look-up table. Elsewhere, a scale and shift becomes a 1x1 depthwise convolution and a clamp a 1x1 maximum pool.
"""

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import zip_longest
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tinysplit.network.layers import (
    Activation,
    Conv,
    Dense,
    DepthwiseConv,
    Layer,
    Lookup,
    MatMul,
    MaxPool,
    Normalization,
    Shape,
    Window,
)

FloatArray = NDArray[np.float64]

LEAST_SHIFT = -1e4  # lower ones are those of masks, which a softmax takes
MOST_STEPS = 64  # of one function: each takes its time wherever formats are chosen


@dataclass(frozen=True, eq=False)
class Affine:
    """scale * x + shift; both have one value per element, in the memory order of the activation."""

    name: str
    output: str
    folds: bool  # whether this is the only reader of the activation
    scale: FloatArray
    shift: FloatArray
    steps: ClassVar[int] = 1

    @property
    def is_scalar(self) -> bool:
        """Whether all elements have the same scale and shift."""
        return bool((self.scale == self.scale[0]).all() and (self.shift == self.shift[0]).all())

    @property
    def is_scale(self) -> bool:
        """Whether all elements have the same positive scale, and no shift."""
        return self.is_scalar and bool(self.scale[0] > 0) and not self.shift[0]

    def __call__(self, x: FloatArray) -> FloatArray:
        """Compute the step, which is scalar."""
        return np.asarray(self.scale[0] * x + self.shift[0])

    def fused(self, producer: Layer, shape: Shape) -> Layer | None:
        """Return `producer` with scale and shift in its weights and bias, None where it cannot take them."""
        if not self.folds or producer.activation != Activation() or self.shift.min() <= LEAST_SHIFT:
            return None
        if isinstance(producer, MatMul) and self.is_scale:
            return replace(producer, output=self.output, scale=producer.scale * float(self.scale[0]))
        scale, shift = (_per_channel(values, shape) for values in (self.scale, self.shift))
        if not isinstance(producer, (Conv, DepthwiseConv, Dense, Normalization)) or scale is None or shift is None:
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
    is_scalar: ClassVar[bool] = True
    steps: ClassVar[int] = 1

    def __call__(self, x: FloatArray) -> FloatArray:
        """Compute the step."""
        return x.clip(self.activation.low, self.activation.high)

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


@dataclass(frozen=True, eq=False)
class Function:
    """function(x), the same for every element."""

    name: str
    output: str
    function: Callable[[FloatArray], FloatArray]
    steps: int = 1  # that it is made of
    is_scalar: ClassVar[bool] = True

    def __call__(self, x: FloatArray) -> FloatArray:
        """Compute the step."""
        return self.function(x)

    def fused(self, _: Layer, __: Shape) -> None:
        """No layer can take a function."""

    def layer(self, source: str, shape: Shape) -> Layer:
        """Return a look-up in the value `source`, an activation of `shape`."""
        return Lookup(name=self.name, inputs=(source,), output=self.output, in_shape=shape, function=self.function)

    def reordered(self, _: NDArray[np.int64]) -> "Function":
        """Return the same operation: the function is the same for every element."""
        return self


Step = Affine | Clamp | Function


@dataclass(frozen=True, eq=False)
class Joined:
    """operation(f(x), g(x), ...), each branch with the steps of one function; without an operation there is only f."""

    branches: Sequence[Sequence[Step]]
    operation: Callable[[FloatArray, FloatArray], FloatArray] | None = None

    @property
    def steps(self) -> int:
        """How many steps there are."""
        return sum(step.steps for steps in self.branches for step in steps)

    def __call__(self, x: FloatArray) -> FloatArray:
        """Compute the function."""
        values = [reduce(lambda value, step: step(value), steps, x) for steps in self.branches]
        return reduce(self.operation, values) if self.operation else values[0]


def merged(steps: Sequence[Step], kept: Container[str]) -> Iterator[tuple[Step, Step]]:
    """Yield steps that each become a layer, or fold into one, with the last of `steps` that each does.

    Functions are one with the scalar steps next to them, up to a value of which the name is in `kept`.
    """
    run: list[Step] = []
    for step, behind in zip_longest(steps, steps[1:]):
        run.append(step)
        function = Joined([run])
        fits = behind is not None and behind.is_scalar and function.steps + behind.steps <= MOST_STEPS
        if fits and step.is_scalar and step.output not in kept:
            continue
        if len(run) > 1 and any(isinstance(each, Function) for each in run):
            yield Function(step.name, step.output, function, function.steps), step
        else:
            yield from zip(run, run, strict=True)
        run = []


def _per_channel(values: FloatArray, shape: Shape) -> FloatArray | None:
    """Return one value per channel, None where pixels differ."""
    pixels = values.reshape(-1, shape.channels)
    return pixels[0] if (pixels == pixels[0]).all() else None


def _folded(
    layer: Conv | DepthwiseConv | Dense | Normalization, output: str, scale: FloatArray, shift: FloatArray
) -> Layer:
    if isinstance(layer, Normalization):
        gamma, beta = layer.gamma * scale, layer.beta * scale + shift
        return replace(layer, output=output, gamma=gamma.astype(np.float32), beta=beta.astype(np.float32))
    channels_last = isinstance(layer, DepthwiseConv)
    factors = scale if channels_last else scale.reshape(-1, *[1] * (layer.weights.ndim - 1))
    weights = (layer.weights * factors).astype(np.float32)
    bias = (layer.bias * scale + shift).astype(np.float32)
    steps = None if layer.qdq_scales is None else layer.qdq_scales * np.where(scale == 0, 1.0, np.abs(scale))
    return replace(layer, output=output, weights=weights, bias=bias, qdq_scales=steps)
