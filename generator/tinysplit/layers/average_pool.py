"""Average over windows; global average pooling is the window as large as the map."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from tinysplit import fixed_point
from tinysplit.errors import InputError
from tinysplit.layers.base import Layer, Shape
from tinysplit.layers.window import Window
from tinysplit.qformat import IntArray, QFormat

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

    def output_format(self, x: QFormat, wanted: QFormat) -> QFormat:
        """Return the wanted format, as far as the shifted sum stays within 32 bits; never fewer bits than the input."""
        room = fixed_point.ACCUMULATOR_MAX // (self.window.elements * (1 - x.low))
        gain = min(wanted.fraction_bits - x.fraction_bits, room.bit_length() - 1)
        return QFormat(x.bits, x.fraction_bits + max(gain, 0))

    def accumulator_bound(self, formats: "LayerFormats", x_bounds: tuple[int, int]) -> int:
        """See `Layer.accumulator_bound`: all elements of a window at their largest, shifted, and half the divisor."""
        largest = max(-x_bounds[0], x_bounds[1])
        return (self.window.elements * largest << -formats.shift) + self.window.elements // 2

    def integer_reference(self, quantized: "QuantizedLayer", *inputs: IntArray) -> IntArray:
        """See `Layer.integer_reference`."""
        (x,) = inputs
        sums = self.window.patches(x).sum(axis=(3, 4), dtype=np.int64) << -quantized.formats.shift
        counts = self.window.elements if self.count_include_pad else self.window.counts(self.in_shape)
        return quantized.clamped(fixed_point.rounded_quotient(sums, counts))
