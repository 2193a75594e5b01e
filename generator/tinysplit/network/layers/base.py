"""What every layer kind says about itself: shapes, costs, fixed-point constants and exact integer reference.

A kind is one file in this package plus the C template of the same name in `templates/layers/`.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from tinysplit.network.fixed_point.formats import IntArray, ValueFormat
from tinysplit.network.fixed_point.integer_layer import IntegerLayer
from tinysplit.network.fixed_point.layer_formats import Bounds, LayerFormats

FLOAT_BITS = 32

T = TypeVar("T", bound=np.generic)


class Shape(NamedTuple):
    """Height x width x channels of a tensor, without the batch; a vector is 1 x 1 x n."""

    height: int
    width: int
    channels: int

    @property
    def size(self) -> int:
        """Number of elements."""
        return self.height * self.width * self.channels

    def __str__(self) -> str:
        return f"{self.height}x{self.width}x{self.channels}"


@dataclass(frozen=True)
class Activation:
    """A clamp fused into a layer's output: ReLU is (0, inf), ReLU6 is (0, 6), none is (-inf, inf)."""

    low: float = -np.inf
    high: float = np.inf

    def __str__(self) -> str:
        names = {(-np.inf, np.inf): "", (0.0, np.inf): "ReLU", (0.0, 6.0): "ReLU6"}
        return names.get((self.low, self.high), f"Clip({self.low:g}, {self.high:g})")


@dataclass(frozen=True, eq=False, kw_only=True)
class Layer(ABC):
    """One layer. `inputs` and `output` are ONNX value names; `output` is the value after the fused activation.

    `in_shape` is the shape of the first input, `in_shapes` has those of all.

    The ONNX value called `output` holds the same numbers as this layer's output in some layout, so ranges can be
    read from any ONNX runtime.
    """

    kind: ClassVar[str]
    keeps_format: ClassVar[bool] = False  # the output's Q format is the input's
    keeps_sign: ClassVar[bool] = False  # the output is never negative where the input is not
    channel_axis: ClassVar[int] = 0  # of `weights`: the output channels

    name: str
    inputs: tuple[str, ...]
    output: str
    in_shape: Shape
    activation: Activation = Activation()
    x_clamp: Activation = Activation()  # between which the values of the first input are known to lie

    @property
    def in_shapes(self) -> tuple[Shape, ...]:
        """Shapes of all inputs: alike, unless the kind says otherwise."""
        return (self.in_shape,) * len(self.inputs)

    @property
    @abstractmethod
    def out_shape(self) -> Shape:
        """Shape of the output."""

    def is_elementwise(self, _: int) -> bool:
        """Return whether every element of input k is read before the output's element at its place is written."""
        return False

    @property
    @abstractmethod
    def operator_macc(self) -> int:
        """Multiply-accumulates of the operator alone, without its fused activation."""

    @property
    def macc(self) -> int:
        """Multiply-accumulates as X-CUBE-AI 7.1 counts them (seed 000, Table 2): ReLU free, a clip 1 an element."""
        return self.operator_macc + (self.out_shape.size if np.isfinite(self.activation.high) else 0)

    @property
    def cost_kind(self) -> str:
        """Key of this layer in the table of cycles per MACC: kernels of one kind may differ in speed by shape."""
        return self.kind

    @property
    def parameters(self) -> dict[str, NDArray[np.float32]]:
        """The trained float parameters by name (`weights`, `bias`); empty for a layer without any."""
        return {}

    def weights_bytes(self, bits: int) -> int:
        """Bytes of constants in flash: float32 parameters for 32 bits; for 8 and 16 at most those of `constants`."""
        if bits == FLOAT_BITS:
            return sum(4 * p.size for p in self.parameters.values())
        widths = {"bias": 4 + 2}  # with the factors of the channels
        return sum(widths.get(name, bits // 8) * p.size for name, p in self.parameters.items())

    def activations_bytes(self, bits: int) -> int:
        """Bytes of all inputs plus output."""
        return (sum(shape.size for shape in self.in_shapes) + self.out_shape.size) * bits // 8

    def by_channel(self, weights: NDArray[T]) -> NDArray[T]:
        """Return an array with the axes of `weights` as output channels x the rest."""
        return np.moveaxis(weights, self.channel_axis, 0).reshape(weights.shape[self.channel_axis], -1)

    def with_parameters(self, weights: NDArray[np.float64], bias: NDArray[np.float32]) -> Self:
        """Return the layer with other weights, as output channels x the rest, and bias; for kinds that have them."""
        own = self.parameters["weights"]
        shape = np.moveaxis(own, self.channel_axis, 0).shape
        moved = np.moveaxis(weights.astype(np.float32).reshape(shape), 0, self.channel_axis)
        changed: dict[str, Any] = {"weights": np.ascontiguousarray(moved), "bias": bias}
        return replace(self, **changed)

    def constants(self, formats: LayerFormats) -> dict[str, IntArray]:
        """Return the integer arrays that the C kernel reads, by name.

        `weights` are symmetric (-127 to 127 in 8 bits). `bias` is int32 in the steps of the sums; it holds what the
        input's zero point adds to a whole window, and half of what the first shift drops. `corrections` are the
        factors, where channels differ in them. `border_bias` is the bias for x - zero_point, with which windows at the
        border leave out their padding; only where the input has a zero point.
        """
        if formats.weight_bits is None:
            return {}
        weights = self._integer_weights(formats)
        bias = self._integer_bias(formats)
        zero_points = formats.x.zero_point * self.by_channel(weights).sum(axis=1, dtype=np.int64)
        constants = {"weights": weights, "bias": _as_int32(bias - zero_points)}
        requantization = formats.requantization
        if requantization and len(requantization.factors) > 1:
            constants["corrections"] = np.array(requantization.factors, np.uint16)
        if formats.x.zero_point and self.has_padding:
            constants["border_bias"] = _as_int32(bias)
        return constants

    def _integer_weights(self, formats: LayerFormats) -> IntArray:
        """Return the weights in the steps of their channels."""
        weights, bits = self.parameters["weights"].astype(np.float64), formats.weight_bits or 0
        steps = np.moveaxis(np.moveaxis(weights, self.channel_axis, -1) / formats.weight_scales, -1, self.channel_axis)
        limit = (1 << (bits - 1)) - 1
        return np.floor(steps + 0.5).clip(-limit, limit).astype(f"int{bits}")

    def _integer_bias(self, formats: LayerFormats) -> NDArray[np.int64]:
        """Return the bias in the steps of the sums, with half a step of what the first shift leaves."""
        steps = np.floor(self.parameters["bias"].astype(np.float64) / formats.sum_scales + 0.5)
        rounding = formats.requantization.sum_rounding if formats.requantization else 0
        return steps.clip(-(2.0**31), 2.0**31 - 1).astype(np.int64) + rounding

    @property
    def has_padding(self) -> bool:
        """Whether windows of the layer reach over the map."""
        return False

    def output_format(self, inputs: Sequence[ValueFormat], wanted: ValueFormat) -> ValueFormat:
        """Return the output's format, given those of the inputs and the one that suits the range of the output."""
        return inputs[0] if self.keeps_format else wanted

    def sum_bounds(self, formats: LayerFormats, bounds: Sequence[Bounds]) -> IntArray:
        """Return the largest absolute values of 32-bit sums, an output channel or for all.

        `bounds` are the integers between which each input lies. A sum starts at its bias and passes only values
        between bias + all negative and bias + all positive products, whatever their order.
        """
        constants = self.constants(formats)
        if "weights" not in constants:
            return np.zeros(1, np.int64)
        weights = self.by_channel(constants["weights"].astype(np.int64))
        positive, negative = np.maximum(weights, 0).sum(axis=1), np.minimum(weights, 0).sum(axis=1)

        def largest(bias: IntArray, low: int, high: int) -> IntArray:
            highest, lowest = bias + positive * high + negative * low, bias + positive * low + negative * high
            bounds: IntArray = np.maximum(highest, -lowest)
            return bounds

        low, high = bounds[0]
        zero_point = formats.x.zero_point
        sums = largest(constants["bias"].astype(np.int64), min(low, zero_point, 0), max(high, zero_point, 0))
        if "border_bias" in constants:
            shifted = (min(low - zero_point, 0), max(high - zero_point, 0))
            sums = np.maximum(sums, largest(constants["border_bias"].astype(np.int64), *shifted))
        return sums

    @abstractmethod
    def integer_reference(self, quantized: IntegerLayer, *inputs: IntArray) -> IntArray:
        """Compute exactly what the C kernel computes: `inputs` are N x H x W x C of their formats, the result of y."""


def _as_int32(values: IntArray) -> IntArray:
    """Return `values` as int32, saturated: what does not fit is out of bounds afterwards, too."""
    return values.clip(-(1 << 31), (1 << 31) - 1).astype(np.int32)
