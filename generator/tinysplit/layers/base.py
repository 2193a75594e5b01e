"""What every layer kind says about itself: shapes, costs, fixed-point constants and exact integer reference.

A kind is one file in this package plus the C template of the same name in `templates/layers/`.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tinysplit.qformat import IntArray, QFormat

if TYPE_CHECKING:
    from tinysplit.quantized import LayerFormats, QuantizedLayer

FLOAT_BITS = 32


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

    @property
    def in_shapes(self) -> tuple[Shape, ...]:
        """Shapes of all inputs: alike, unless the kind says otherwise."""
        return (self.in_shape,) * len(self.inputs)

    @property
    @abstractmethod
    def out_shape(self) -> Shape:
        """Shape of the output."""

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
        """Bytes of the constants in flash: float32 parameters for 32 bits, the arrays of `constants` for 8 and 16."""
        if bits == FLOAT_BITS:
            return sum(4 * p.size for p in self.parameters.values())
        return sum((4 if name == "bias" else bits // 8) * p.size for name, p in self.parameters.items())

    def activations_bytes(self, bits: int) -> int:
        """Bytes of all inputs plus output."""
        return (sum(shape.size for shape in self.in_shapes) + self.out_shape.size) * bits // 8

    def constants(self, formats: "LayerFormats") -> dict[str, IntArray]:
        """Return the integer arrays that the C kernel reads, by name; `bias` is int32 with x.n + w.n fraction bits."""
        constants: dict[str, IntArray] = {}
        if "weights" in self.parameters and formats.w is not None:
            constants["weights"] = formats.w.quantize(self.parameters["weights"])
            constants["bias"] = formats.accumulator.quantize(self.parameters["bias"])
        return constants

    def output_format(self, x: QFormat, wanted: QFormat) -> QFormat:
        """Return the output's format, given the input's and the one that suits the range of the output."""
        return x if self.keeps_format else wanted

    def accumulator_bound(self, formats: "LayerFormats", x_bounds: tuple[int, int]) -> int:
        """Return the largest absolute value that a 32-bit sum can take for inputs within `x_bounds` (low <= 0 <= high).

        A sum starts at its bias and passes only values between bias + all negative and bias + all positive products,
        whatever their order; half a step is added to it for rounding.
        """
        constants = self.constants(formats)
        if "weights" not in constants:
            return 0
        weights = np.moveaxis(constants["weights"].astype(np.int64), self.channel_axis, 0)
        weights = weights.reshape(weights.shape[0], -1)
        positive, negative = np.maximum(weights, 0).sum(axis=1), np.minimum(weights, 0).sum(axis=1)
        bias, (x_low, x_high) = constants["bias"].astype(np.int64), x_bounds
        highest = int((bias + positive * x_high + negative * x_low).max())
        lowest = int((bias + positive * x_low + negative * x_high).min())
        return max(highest + formats.rounding, -lowest)

    @abstractmethod
    def integer_reference(self, quantized: "QuantizedLayer", *inputs: IntArray) -> IntArray:
        """Compute exactly what the C kernel computes: `inputs` are N x H x W x C of their formats, the result of y."""
