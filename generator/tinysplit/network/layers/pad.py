"""Padding with a constant."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.fixed_point.integer_layer import IntegerLayer
from tinysplit.network.fixed_point.layer_formats import LayerFormats
from tinysplit.network.layers.base import Layer, Shape
from tinysplit.network.layers.window import Pads


@dataclass(frozen=True, eq=False, kw_only=True)
class Pad(Layer):
    """Rows and columns of `value` around a map, for padding that no window can include."""

    kind: ClassVar[str] = "pad"
    keeps_format: ClassVar[bool] = True

    pads: Pads
    value: float

    @property
    def out_shape(self) -> Shape:
        """Shape of the output."""
        top, left, bottom, right = self.pads
        height, width, channels = self.in_shape
        return Shape(top + height + bottom, left + width + right, channels)

    @property
    def operator_macc(self) -> int:
        """None: values are only moved."""
        return 0

    def fill(self, formats: LayerFormats) -> int:
        """Return the integer that represents `value`."""
        return int(formats.y.quantize(np.array(self.value)))

    def integer_reference(self, quantized: IntegerLayer, *inputs: IntArray) -> IntArray:
        """See `Layer.integer_reference`."""
        (x,) = inputs
        top, left, bottom, right = self.pads
        fill = self.fill(quantized.formats)
        padded = np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)), constant_values=fill)
        return quantized.clamped(padded)
