"""Product of values element by element: gates, and scales that the network computes itself."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np
from typing_extensions import override

from tinysplit.network.fixed_point.arithmetic import ACCUMULATOR_MAX, Requantization
from tinysplit.network.fixed_point.formats import IntArray, ValueFormat
from tinysplit.network.fixed_point.integer_layer import IntegerLayer
from tinysplit.network.fixed_point.layer_formats import LayerFormats
from tinysplit.network.layers.joining import Elementwise, coarse_enough, product_requantization, reach


@dataclass(frozen=True, eq=False, kw_only=True)
class Mul(Elementwise):
    """The product of two inputs; each has a format of its own."""

    kind: ClassVar[str] = "mul"

    def requantization(self, formats: LayerFormats) -> Requantization:
        """Return how the products are brought to the output's format."""
        ratio = prod(x.scale for x in formats.inputs) / formats.y.scale
        return product_requantization(ratio * (1 + self.is_halved(formats)), formats.y, self._largest(formats))

    def is_halved(self, formats: LayerFormats) -> bool:
        """Whether the first input is halved: both have 16 bits, and zero points so large that 32 bits overflow."""
        return prod(map(_reach, formats.inputs)) > ACCUMULATOR_MAX

    def _largest(self, formats: LayerFormats) -> int:
        """Return the largest absolute value of a product."""
        first, second = map(_reach, formats.inputs)
        return ((first + 1) >> 1 if self.is_halved(formats) else first) * second

    @override
    def output_format(self, inputs: Sequence[ValueFormat], wanted: ValueFormat) -> ValueFormat:
        """Return the wanted format, as far as its steps of the product fit in 32 bits."""
        return coarse_enough(wanted, reach(inputs[0]) * reach(inputs[1]))

    @override
    def sum_bounds(self, quantized: IntegerLayer) -> IntArray:
        # the largest product, and what it becomes before the last shift
        formats = quantized.formats
        requantization = self.requantization(formats)
        products = np.array([self._largest(formats) + requantization.sum_rounding])
        return np.array([requantization.largest(products, formats.y.zero_point)])

    @override
    def integer_reference(self, quantized: IntegerLayer, *inputs: IntArray) -> IntArray:
        formats = quantized.formats
        requantization = self.requantization(formats)
        first, second = (x.astype(np.int64) - q.zero_point for x, q in zip(inputs, formats.inputs, strict=True))
        if self.is_halved(formats):
            first = (first + 1) >> 1
        products = first * second + requantization.sum_rounding
        return quantized.clamped(requantization.apply(products, formats.y.zero_point))


def _reach(x: ValueFormat) -> int:
    """Return the largest distance of an integer from the zero point."""
    return max(x.high - x.zero_point, x.zero_point - x.low)
