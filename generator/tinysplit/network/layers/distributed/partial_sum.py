"""Global average pooling over rows on several boards: sums of the rows of each board, and their average.

Both together compute what `AveragePool` computes, exactly. They occur only in distributed networks.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from typing_extensions import override

from tinysplit.network.fixed_point.formats import IntArray, ValueFormat
from tinysplit.network.fixed_point.integer_layer import IntegerLayer
from tinysplit.network.fixed_point.layer_formats import LayerFormats
from tinysplit.network.layers.average_pool import AveragePool
from tinysplit.network.layers.base import Layer, Shape
from tinysplit.network.layers.joining import Joining

X_BITS, SUM_BITS = 8, 16
MOST_ELEMENTS = 1 << (SUM_BITS - X_BITS)  # of a sum that fits SUM_BITS


@dataclass(frozen=True, eq=False, kw_only=True)
class PartialSum(Layer):
    """The sum of each channel over all pixels: 16 bits for at most MOST_ELEMENTS values of 8 bits."""

    kind: ClassVar[str] = "partial_sum"

    @property
    @override
    def out_shape(self) -> Shape:
        """A value for each channel."""
        return Shape(1, 1, self.in_shape.channels)

    @property
    @override
    def operator_macc(self) -> int:
        """One per element."""
        return self.in_shape.size

    @property
    def elements(self) -> int:
        """Values of a channel."""
        return self.in_shape.height * self.in_shape.width

    def sums_format(self, x: ValueFormat) -> ValueFormat:
        """Return the format of the sums of values of format `x`: their integers are those of the values, added."""
        return ValueFormat.of(SUM_BITS, x.scale, self.elements * x.zero_point)

    @override
    def integer_reference(self, quantized: IntegerLayer, *inputs: IntArray) -> IntArray:
        (x,) = inputs
        sums: IntArray = x.astype(np.int64).sum(axis=(1, 2), keepdims=True)
        return sums.astype(quantized.formats.y.dtype)


@dataclass(frozen=True, eq=False, kw_only=True)
class AverageOfSums(Joining):
    """The average of `pool`, whose window is the whole map, from the sums of its rows."""

    kind: ClassVar[str] = "average_of_sums"

    pool: AveragePool

    @property
    @override
    def out_shape(self) -> Shape:
        """A value for each channel."""
        return self.pool.out_shape

    @property
    @override
    def operator_macc(self) -> int:
        """One per sum."""
        return sum(shape.size for shape in self.in_shapes)

    def pool_formats(self, formats: LayerFormats) -> LayerFormats:
        """Return the formats of `pool`."""
        zero_point = sum(sums.zero_point for sums in formats.inputs) // self.pool.window.elements
        return replace(formats, inputs=(ValueFormat.of(X_BITS, formats.x.scale, zero_point),))

    @override
    def integer_reference(self, quantized: IntegerLayer, *inputs: IntArray) -> IntArray:
        formats = self.pool_formats(quantized.formats)
        elements = self.pool.window.elements
        total = np.sum([sums.astype(np.int64) for sums in inputs], axis=0)
        return quantized.clamped(self.pool.averages(formats, total, elements, elements))


def can_sum_rows(layer: Layer, x_bits: int) -> bool:
    """Return whether a layer averages its whole map, and sums of some of its rows fit SUM_BITS."""
    if not isinstance(layer, AveragePool) or x_bits > X_BITS:
        return False
    is_global = layer.window.kernel == layer.in_shape[:2] and not layer.window.is_clipped
    return is_global and layer.window.elements <= MOST_ELEMENTS
