"""Average over windows; global average pooling is the window as large as the map."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from tinysplit import fixed_point
from tinysplit.errors import InputError
from tinysplit.layers.base import Bounds, Layer, Shape
from tinysplit.layers.window import Window
from tinysplit.qformat import IntArray, ValueFormat

if TYPE_CHECKING:
    from tinysplit.quantized import LayerFormats, QuantizedLayer


@dataclass(frozen=True, eq=False, kw_only=True)
class AveragePool(Layer):
    """A pool over `window`, channel by channel.

    Averages are smaller than what they average, so the output may have more fraction bits than the input: the sum is
    shifted left by the difference before the division.
    """

    kind: ClassVar[str] = "average_pool"
    keeps_sign: ClassVar[bool] = True

    window: Window
    count_include_pad: bool = False  # ONNX: whether padded elements count in the divisor

    def __post_init__(self) -> None:
        """Refuse a window without any element to divide by."""
        if not self.count_include_pad and not self.window.counts(self.in_shape).all():
            raise InputError(f"layer {self.name!r}: a window covers nothing but padding; make the padding smaller")

    @property
    def out_shape(self) -> Shape:
        """Shape of the output."""
        return self.window.out_shape(self.in_shape, self.in_shape.channels)

    @property
    def operator_macc(self) -> int:
        """Elements of all windows."""
        return self.out_shape.size * self.window.elements

    def gain(self, formats: "LayerFormats") -> int:
        """Return how many steps of the output make one of the input, a power of two."""
        return round(formats.x.scale / formats.y.scale)

    def output_format(self, inputs: Sequence[ValueFormat], wanted: ValueFormat) -> ValueFormat:
        """Return the wanted format, as far as the shifted sum stays within 32 bits; never fewer bits than the input."""
        x = inputs[0]
        room = fixed_point.ACCUMULATOR_MAX // (self.window.elements * (1 - x.low))
        wanted_gain = (x.scale / wanted.scale).as_integer_ratio()[0]
        gain = max(min(wanted_gain, room).bit_length() - 1, 0)
        return ValueFormat.of(wanted.bits, x.scale * 2.0**-gain)

    def sum_bounds(self, formats: "LayerFormats", bounds: Sequence[Bounds]) -> IntArray:
        """See `Layer.sum_bounds`: all elements of a window at their largest, shifted, and half the divisor."""
        largest = max(-bounds[0][0], bounds[0][1])
        return np.array([self.window.elements * largest * self.gain(formats) + self.window.elements // 2])

    def integer_reference(self, quantized: "QuantizedLayer", *inputs: IntArray) -> IntArray:
        """See `Layer.integer_reference`."""
        (x,) = inputs
        sums = self.window.patches(x).sum(axis=(3, 4), dtype=np.int64) * self.gain(quantized.formats)
        counts = self.window.elements if self.count_include_pad else self.window.counts(self.in_shape)
        return quantized.clamped(fixed_point.rounded_quotient(sums, counts))
