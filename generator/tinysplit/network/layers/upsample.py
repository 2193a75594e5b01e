"""Nearest-neighbour upsampling by integer factors."""

from dataclasses import dataclass
from typing import ClassVar

from typing_extensions import override

from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.fixed_point.integer_layer import IntegerLayer
from tinysplit.network.layers.base import Layer, Shape


@dataclass(frozen=True, eq=False, kw_only=True)
class Upsample(Layer):
    """Nearest neighbour: output pixel (i, j) is input pixel (i // factors[0], j // factors[1])."""

    kind: ClassVar[str] = "upsample"
    keeps_sign: ClassVar[bool] = True

    factors: tuple[int, int]

    @property
    @override
    def keeps_format(self) -> bool:
        return True

    @property
    @override
    def out_shape(self) -> Shape:
        """Shape of the output."""
        height, width, channels = self.in_shape
        return Shape(height * self.factors[0], width * self.factors[1], channels)

    @property
    @override
    def operator_macc(self) -> int:
        """None: values are only moved."""
        return 0

    @override
    def integer_reference(self, quantized: IntegerLayer, *inputs: IntArray) -> IntArray:
        (x,) = inputs
        return quantized.clamped(x.repeat(self.factors[0], axis=1).repeat(self.factors[1], axis=2))
