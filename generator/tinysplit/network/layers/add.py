"""Sum of values element by element: residual connections, and differences."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from typing_extensions import override

from tinysplit.network.fixed_point.formats import IntArray, ValueFormat
from tinysplit.network.fixed_point.integer_layer import IntegerLayer
from tinysplit.network.fixed_point.layer_formats import LayerFormats
from tinysplit.network.layers.joining import Alignment, Elementwise, coarse_enough


@dataclass(frozen=True, eq=False, kw_only=True)
class Add(Elementwise):
    """The inputs, each times its sign (1 or -1), added up; each has a format of its own."""

    kind: ClassVar[str] = "add"

    signs: tuple[int, ...]

    def alignment(self, formats: LayerFormats) -> Alignment:
        """Return how the inputs are brought to the output's format."""
        ratios = [sign * x.scale / formats.y.scale for sign, x in zip(self.signs, formats.inputs, strict=True)]
        zero_points = [x.zero_point for x in formats.inputs]
        return Alignment.of(ratios, zero_points, formats.y.zero_point, -min(x.low for x in formats.inputs))

    @override
    def output_format(self, inputs: Sequence[ValueFormat], wanted: ValueFormat) -> ValueFormat:
        """Return the wanted format, as far as its steps of the sum fit in 32 bits: of the widest integers of all."""
        largest = -min(x.low for x in inputs)
        return coarse_enough(wanted, sum(x.scale * (abs(x.zero_point) + largest) for x in inputs))

    @override
    def integer_reference(self, quantized: IntegerLayer, *inputs: IntArray) -> IntArray:
        factors, offset, shift = self.alignment(quantized.formats)
        total = np.full((), offset, np.int64)
        for factor, x in zip(factors, inputs, strict=True):
            total = total + factor * x.astype(np.int64)
        return quantized.clamped(total >> shift)
