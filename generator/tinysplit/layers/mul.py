"""Product of values element by element: gates, and scales that the network computes itself."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from tinysplit.layers.joining import Alignment, Elementwise
from tinysplit.qformat import IntArray

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

    def integer_reference(self, quantized: "QuantizedLayer", *inputs: IntArray) -> IntArray:
        """See `Layer.integer_reference`."""
        (factor,), offset, shift = self.alignment(quantized.formats)
        formats = quantized.formats.inputs
        first, second = (x.astype(np.int64) - q.zero_point for x, q in zip(inputs, formats, strict=True))
        return quantized.clamped((offset + factor * first * second) >> shift)
