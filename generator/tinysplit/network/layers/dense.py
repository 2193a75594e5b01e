"""Fully connected layer."""

from dataclasses import dataclass
from typing import ClassVar

from numpy.typing import NDArray
from typing_extensions import override

from tinysplit.network.fixed_point import arithmetic as fixed_point
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.fixed_point.integer_layer import IntegerLayer
from tinysplit.network.layers.base import Shape, T, WeightedLayer


@dataclass(frozen=True, eq=False, kw_only=True)
class Dense(WeightedLayer):
    """`weights` are outputs x inputs, the inputs in the HWC order of `in_shape`."""

    kind: ClassVar[str] = "dense"
    takes_clamp: ClassVar[bool] = True

    @property
    @override
    def out_shape(self) -> Shape:
        """A vector."""
        return Shape(1, 1, self.weights.shape[0])

    @property
    @override
    def operator_macc(self) -> int:
        """Inputs * outputs + outputs for the bias."""
        return self.weights.size + self.bias.size

    def windows(self, x: NDArray[T]) -> NDArray[T]:
        """See `Conv.windows`: a sample is a position."""
        return x.reshape(1, len(x), -1)

    @override
    def integer_reference(self, quantized: IntegerLayer, *inputs: IntArray) -> IntArray:
        (x,) = inputs
        sums = fixed_point.dot(x.reshape(len(x), 1, 1, -1), quantized.constants["weights"])
        return quantized.requantize(sums + quantized.constants["bias"])
