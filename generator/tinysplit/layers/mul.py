"""Product of values element by element: gates, and scales that the network computes itself."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from tinysplit.layers.joining import Alignment, Elementwise, coarse_enough, reach
from tinysplit.qformat import IntArray, ValueFormat

if TYPE_CHECKING:
    from tinysplit.quantized import LayerFormats, QuantizedLayer


@dataclass(frozen=True, eq=False, kw_only=True)
class Mul(Elementwise):
    """The product of two inputs; each has a format of its own."""

    kind: ClassVar[str] = "mul"

    def alignment(self, formats: "LayerFormats") -> Alignment:
        """Return how the products are brought to the output's format."""
        first, second = formats.inputs
        ratio = first.scale * second.scale / formats.y.scale
        largest = (abs(first.zero_point) - first.low) * (abs(second.zero_point) - second.low)
        return Alignment.of([ratio], [0], formats.y.zero_point, largest)

    def output_format(self, inputs: Sequence[ValueFormat], wanted: ValueFormat) -> ValueFormat:
        """Return the wanted format, as far as its steps of the product fit in 32 bits."""
        return coarse_enough(wanted, reach(inputs[0]) * reach(inputs[1]))

    def integer_reference(self, quantized: "QuantizedLayer", *inputs: IntArray) -> IntArray:
        """See `Layer.integer_reference`."""
        (factor,), offset, shift = self.alignment(quantized.formats)
        formats = quantized.formats
        first, second = (x.astype(np.int64) - q.zero_point for x, q in zip(inputs, formats.inputs, strict=True))
        return quantized.clamped((offset + factor * first * second) >> shift)
