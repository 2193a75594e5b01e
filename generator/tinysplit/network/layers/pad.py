"""Padding with a constant."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from typing_extensions import override

from tinysplit.network.fixed_point.formats import IntArray, ValueFormat
from tinysplit.network.fixed_point.integer_layer import IntegerLayer
from tinysplit.network.fixed_point.layer_formats import LayerFormats
from tinysplit.network.layers.base import Layer, Shape
from tinysplit.network.layers.joining import Alignment, coarse_enough, reach
from tinysplit.network.layers.window import Pads

MINUS_INFINITY = float(np.finfo(np.float32).min)  # as exporters write it


@dataclass(frozen=True, eq=False, kw_only=True)
class Pad(Layer):
    """Rows, columns and channels of `value` around a map, for padding that no window can include.

    Every format holds 0; with another value, the output has a format of its own.
    """

    kind: ClassVar[str] = "pad"

    pads: Pads
    value: float
    channels: tuple[int, int] = (0, 0)  # before and after those of the map

    @property
    @override
    def keeps_format(self) -> bool:
        # where the value is 0
        return self.value == 0

    @property
    @override
    def out_shape(self) -> Shape:
        """Shape of the output."""
        top, left, bottom, right = self.pads
        height, width, channels = self.in_shape
        return Shape(top + height + bottom, left + width + right, channels + sum(self.channels))

    @property
    @override
    def operator_macc(self) -> int:
        """None: values are only moved."""
        return 0

    def fill(self, formats: LayerFormats) -> int:
        """Return the integer that represents `value`."""
        return int(formats.y.quantize(np.array(self.value)))

    def alignment(self, formats: LayerFormats) -> Alignment:
        """Return how the input is brought to the output's format."""
        x, y = formats.x, formats.y
        return Alignment.of([x.scale / y.scale], [x.zero_point], y.zero_point, -x.low)

    @override
    def output_format(self, inputs: Sequence[ValueFormat], wanted: ValueFormat) -> ValueFormat:
        """Return the input's format for 0, else the wanted one, as far as its steps of the input fit in 32 bits."""
        return inputs[0] if self.keeps_format else coarse_enough(wanted, reach(inputs[0]))

    @override
    def integer_reference(self, quantized: IntegerLayer, *inputs: IntArray) -> IntArray:
        (x,) = inputs
        top, left, bottom, right = self.pads
        (factor,), offset, shift = self.alignment(quantized.formats)
        aligned = (offset + factor * x.astype(np.int64)) >> shift
        fill = self.fill(quantized.formats)
        padded = np.pad(aligned, ((0, 0), (top, bottom), (left, right), self.channels), constant_values=fill)
        return quantized.clamped(padded)
