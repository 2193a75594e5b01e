"""The interface of a layer kind: shapes, MACs, fixed-point constants and exact integer reference.

A kind is one file in this package plus the C template of the same name in `templates/layers/`.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from tinysplit.network.fixed_point.arithmetic import TfliteRequantization
from tinysplit.network.fixed_point.formats import IntArray, ValueFormat
from tinysplit.network.fixed_point.integer_layer import IntegerLayer, IntegerParameters
from tinysplit.network.fixed_point.layer_formats import LayerFormats

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

    @override
    def __str__(self) -> str:
        return f"{self.height}x{self.width}x{self.channels}"


@dataclass(frozen=True)
class Activation:
    """A clamp fused into a layer's output: ReLU is (0, inf), ReLU6 is (0, 6), none is (-inf, inf)."""

    low: float = -np.inf
    high: float = np.inf

    @override
    def __str__(self) -> str:
        names = {(-np.inf, np.inf): "", (0.0, np.inf): "ReLU", (0.0, 6.0): "ReLU6"}
        return names.get((self.low, self.high), f"Clip({self.low:g}, {self.high:g})")


@dataclass(frozen=True, eq=False, kw_only=True)
class Layer(ABC):
    """One layer. `inputs` and `output` are ONNX value names; `output` is the value after the fused activation.

    `in_shape` is the shape of the first input, `in_shapes` has those of all.

    The ONNX value called `onnx_value`, mostly `output`, holds the same numbers as this layer's output in some layout,
    so ranges can be read from any ONNX runtime.
    """

    kind: ClassVar[str]
    keeps_sign: ClassVar[bool] = False  # the output is never negative where the input is not
    takes_clamp: ClassVar[bool] = False  # a ReLU or Clip behind it may become its `activation`
    is_view: ClassVar[bool] = False  # the output is where the inputs are: nothing is computed
    channel_axis: ClassVar[int] = 0  # of `weights`: the output channels

    name: str
    inputs: tuple[str, ...]
    output: str
    in_shape: Shape
    activation: Activation = Activation()
    x_clamp: Activation = Activation()  # known range of the first input
    qdq_scales: NDArray[np.float64] | None = None  # of weights that came as 8-bit integers: by output channel, or one
    tflite: str = ""  # operator of TensorFlow Lite, as whose reference kernel a quantized layer computes
    moves: str | None = None  # the ONNX value whose elements the layer moves, where `output` names none
    keeps_integers: bool = False  # whatever their formats: of several inputs or outputs of the network side by side

    @property
    def onnx_value(self) -> str:
        """Name of the ONNX value with the numbers of the output, in some layout."""
        return self.moves or self.output

    @property
    def in_shapes(self) -> tuple[Shape, ...]:
        """Shapes of all inputs: equal, unless the kind overrides this."""
        return (self.in_shape,) * len(self.inputs)

    def with_in_shapes(self, shapes: Sequence[Shape]) -> Self:
        """Return the layer with other shapes of its inputs."""
        return replace(self, in_shape=shapes[0])

    @property
    @abstractmethod
    def out_shape(self) -> Shape:
        """Shape of the output."""

    @property
    def keeps_format(self) -> bool:
        """Whether the output has the format of the input."""
        return False

    @property
    def least_bits(self) -> int:
        """Fewest bits of the output, 8 or 16."""
        return 8

    def is_elementwise(self, _: int) -> bool:
        """Return whether each element of input k is read before the output element at its position is written."""
        return False

    @property
    @abstractmethod
    def operator_macc(self) -> int:
        """MACs of the operator alone, without its fused activation."""

    @property
    def macc(self) -> int:
        """MACs as X-CUBE-AI 7.1 counts them (Santamaria 2021, Table 2): ReLU counts 0, a clip 1 per element."""
        return self.operator_macc + (self.out_shape.size if np.isfinite(self.activation.high) else 0)

    @property
    def cost_kind(self) -> str:
        """Key of this layer in the cost table: kernels of one kind may differ in speed by shape."""
        return self.kind

    @property
    def parameters(self) -> dict[str, NDArray[np.float32]]:
        """The trained float parameters by name (`weights`, `bias`); empty for a layer without any."""
        return {}

    @property
    def rounding(self) -> Literal["", "once", "twice"]:
        """How a .tflite file's kernel rounds sums with 8-bit weights (`TfliteRequantization`); empty for others."""
        if not self.tflite or self.qdq_scales is None:
            return ""
        return "once" if self.tflite == "FULLY_CONNECTED" else "twice"

    def weights_bytes(self, bits: int) -> int:
        """Bytes of constants in flash: float32 parameters for 32 bits; for 8 and 16 at most those of `constants`."""
        if bits == FLOAT_BITS:
            return sum(4 * p.size for p in self.parameters.values())
        widths = {
            "bias": 4 + (4 + 1 if self.rounding else 2)
        }  # with the factors of the channels, or as TensorFlow Lite
        return sum(widths.get(name, bits // 8) * p.size for name, p in self.parameters.items())

    def activations_bytes(self, bits: int) -> int:
        """Bytes of all inputs plus output."""
        return (sum(shape.size for shape in self.in_shapes) + self.out_shape.size) * bits // 8

    def by_channel(self, weights: NDArray[T]) -> NDArray[T]:
        """Return an array with the axes of `weights` as output channels x the rest."""
        return np.moveaxis(weights, self.channel_axis, 0).reshape(weights.shape[self.channel_axis], -1)

    def from_channels(self, rows: NDArray[T]) -> NDArray[T]:
        """Return an array of output channels x the rest with the axes of `weights`: undoes `by_channel`."""
        shape = np.moveaxis(self.parameters["weights"], self.channel_axis, 0).shape
        return np.ascontiguousarray(np.moveaxis(rows.reshape(shape), 0, self.channel_axis))

    def round_parameters(self, formats: LayerFormats) -> IntegerParameters | None:
        """Return weights and bias rounded to the nearest integers, None for a layer without weights."""
        if formats.weight_bits is None:
            return None
        weights = np.moveaxis(self.parameters["weights"].astype(np.float64), self.channel_axis, -1)
        steps = np.floor(np.moveaxis(weights / formats.weight_scales, -1, self.channel_axis) + 0.5)
        limit = (1 << (formats.weight_bits - 1)) - 1
        integers = steps.clip(-limit, limit).astype(f"int{formats.weight_bits}")
        return IntegerParameters(integers, formats.round_bias(self.parameters["bias"]))

    def constants(self, _: LayerFormats) -> dict[str, IntArray]:
        """Return the tables and factors that the C kernel reads, by name; none for layers with weights."""
        return {}

    def weight_constants(self, formats: LayerFormats, parameters: IntegerParameters) -> dict[str, IntArray]:
        """Return the integer arrays that the C kernel of a layer with weights reads, by name.

        `bias` is int32 in the scale of the accumulator. It includes the contribution of the input's zero point over a
        whole window, and half of what the first shift drops. `corrections` are the requantization factors, where they
        differ between channels; `multipliers` and `shifts` are those of TensorFlow Lite. `border_bias` is the bias for
        x - zero_point, with which windows at the border leave out their padding; only where the input has a zero point.
        """
        requantization, weights = formats.requantization, parameters.weights
        rounding = requantization.sum_rounding if requantization else 0
        bias = parameters.bias.astype(np.int64) + rounding
        zero_points = formats.x.zero_point * self.by_channel(weights).sum(axis=1, dtype=np.int64)
        constants: dict[str, IntArray] = {"weights": weights, "bias": _as_int32(bias - zero_points)}
        if isinstance(requantization, TfliteRequantization):
            constants["multipliers"] = np.array(requantization.multipliers, np.int32)
            constants["shifts"] = requantization.right_shifts.astype(np.uint8)
        elif requantization and len(requantization.factors) > 1:
            constants["corrections"] = np.array(requantization.factors, np.uint16)
        if formats.x.zero_point and self.has_padding:
            constants["border_bias"] = _as_int32(bias)
        return constants

    @property
    def has_padding(self) -> bool:
        """Whether windows of the layer overlap padding."""
        return False

    def output_format(self, inputs: Sequence[ValueFormat], wanted: ValueFormat) -> ValueFormat:
        """Return the output's format, given those of the inputs and the one wanted for the output's value range."""
        return inputs[0] if self.keeps_format else wanted

    def sum_bounds(self, quantized: IntegerLayer) -> IntArray:
        """Return the largest absolute values of the 32-bit accumulators, per output channel or one for all.

        The inputs are within `quantized.bounds`. An accumulator starts at its bias and passes only values between
        bias + all negative and bias + all positive products, whatever their order.
        """
        lowest, highest = self.sum_range(quantized)
        bounds: IntArray = np.maximum(highest, -lowest)
        return bounds

    def sum_range(self, quantized: IntegerLayer) -> tuple[IntArray, IntArray]:
        """Return the smallest and the largest values that `sum_bounds` counts."""
        constants = quantized.constants
        if "weights" not in constants:
            return np.zeros(1, np.int64), np.zeros(1, np.int64)
        weights = self.by_channel(constants["weights"].astype(np.int64))
        positive, negative = np.maximum(weights, 0).sum(axis=1), np.minimum(weights, 0).sum(axis=1)

        def between(bias: IntArray, low: int, high: int) -> tuple[IntArray, IntArray]:
            return bias + positive * low + negative * high, bias + positive * high + negative * low

        low, high = quantized.x_bounds
        zero_point = quantized.formats.x.zero_point
        lowest, highest = between(constants["bias"].astype(np.int64), min(low, zero_point, 0), max(high, zero_point, 0))
        if "border_bias" in constants:
            shifted = (min(low - zero_point, 0), max(high - zero_point, 0))
            border = between(constants["border_bias"].astype(np.int64), *shifted)
            lowest, highest = np.minimum(lowest, border[0]), np.maximum(highest, border[1])
        return lowest, highest

    @abstractmethod
    def integer_reference(self, quantized: IntegerLayer, *inputs: IntArray) -> IntArray:
        """Compute exactly what the C kernel computes: `inputs` (N x H x W x C) in their formats to the result in y."""


@dataclass(frozen=True, eq=False, kw_only=True)
class WeightedLayer(Layer):
    """A layer that multiplies its input by trained weights; `bias` has a value per output channel."""

    weights: NDArray[np.float32]
    bias: NDArray[np.float32]

    @property
    @override
    def parameters(self) -> dict[str, NDArray[np.float32]]:
        """Float `weights` and `bias`."""
        return {"weights": self.weights, "bias": self.bias}


def _as_int32(values: IntArray) -> IntArray:
    """Return `values` as int32, saturated: `sum_bounds` of values that do not fit also exceed 32 bits."""
    return values.clip(-(1 << 31), (1 << 31) - 1).astype(np.int32)
