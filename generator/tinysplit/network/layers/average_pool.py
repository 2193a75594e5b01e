"""Average over windows; global average pooling is the window as large as the map."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, frexp, log2
from typing import ClassVar

import numpy as np
from typing_extensions import override

from tinysplit.common.errors import InputError
from tinysplit.network.fixed_point import arithmetic as fixed_point
from tinysplit.network.fixed_point.arithmetic import TfliteRequantization
from tinysplit.network.fixed_point.formats import IntArray, QFormat, ValueFormat
from tinysplit.network.fixed_point.integer_layer import IntegerLayer
from tinysplit.network.fixed_point.layer_formats import LayerFormats
from tinysplit.network.fixed_point.quotients import ProductQuotient
from tinysplit.network.layers.joining import reach
from tinysplit.network.layers.pool import Pool

BYTE_BITS = 8
MOST_RATIO_BITS = 12
LEAST_RATIO_BITS = 8  # with fewer, sums get 64 bits
MOST_ZEROS = 16  # before them, so that the divisor has 32 bits


@dataclass(frozen=True, eq=False, kw_only=True)
class AveragePool(Pool):
    """A pool over `window`, channel by channel.

    Averages are smaller than the values, so the output may have more fraction bits than the input: the sum is shifted
    left by the difference before the division. Sums that could exceed 32 bits with the formats chosen have 64.
    """

    kind: ClassVar[str] = "average_pool"
    keeps_sign: ClassVar[bool] = True

    count_include_pad: bool = False  # ONNX: whether padded elements count in the divisor

    def __post_init__(self) -> None:
        """Raise InputError for a window over padding alone: it has no element to divide by."""
        if not self.count_include_pad and not self.window.counts(self.in_shape).all():
            raise InputError(f"layer {self.name!r}: a window covers nothing but padding; make the padding smaller")

    def ratio(self, formats: LayerFormats) -> tuple[int, int]:
        """Return steps of the output in one of the input, as a fraction of two integers.

        Exact for powers of two; otherwise with as many bits as sums of 32 bits leave, 8 to 12, and 12 for longer sums.
        Small ratios, as of 16-bit values that become 8-bit ones, have as many significant bits.
        """
        exact = formats.x.scale / formats.y.scale
        numerator, denominator = exact.as_integer_ratio()
        if numerator.bit_count() == 1:
            return numerator, denominator
        zeros = min(MOST_ZEROS, max(0, -frexp(exact)[1]))
        ratio = exact * 2.0**zeros
        reach = self.window.elements * (formats.x.high - formats.x.low) * max(ratio, 1.0)
        shift = min(MOST_RATIO_BITS, floor(log2(fixed_point.ACCUMULATOR_MAX / 2 / reach)))
        shift = shift if shift >= LEAST_RATIO_BITS else MOST_RATIO_BITS
        return round(ratio * (1 << shift)), 1 << (shift + zeros)

    def needs_64_bits(self, formats: LayerFormats) -> bool:
        """Return whether the sum of a window can exceed 32 bits."""
        multiplier, divisor = self.ratio(formats)
        largest = max(abs(bound - formats.x.zero_point) for bound in (formats.x.low, formats.x.high))
        return self.window.elements * (largest * multiplier + divisor) > fixed_point.ACCUMULATOR_MAX

    def whole_window(self, formats: LayerFormats) -> ProductQuotient | None:
        """Return the average of a window inside the map from the sum of its values, None if it takes a division.

        The sum contains the zero points of the values, the average that of the output.
        """
        if self.needs_64_bits(formats):
            return None
        multiplier, divisor = self.ratio(formats)
        elements = self.window.elements
        count = elements * divisor
        addend = count // 2 - elements * formats.x.zero_point * multiplier + count * formats.y.zero_point
        lowest = elements * formats.x.low - self.rounds_away(formats)  # halves of negative sums are rounded down
        return ProductQuotient.of(multiplier, addend, count, (lowest, elements * formats.x.high))

    @override
    def output_format(self, inputs: Sequence[ValueFormat], wanted: ValueFormat) -> ValueFormat:
        """Return the wanted format, as far as sums stay in 32 bits; in the same width never coarser than the input.

        Bounds of the activation outside the input's range need coarser steps.
        Sums that exceed 32 bits in any format have 64: then only the average itself has to stay in 32 bits.
        """
        x = inputs[0]
        if not isinstance(wanted, QFormat):
            return wanted
        largest = 1 - x.low
        room = fixed_point.ACCUMULATOR_MAX // (self.window.elements * largest) or fixed_point.ACCUMULATOR_MAX // largest
        gain = min(floor(log2(x.scale / wanted.scale)), room.bit_length() - 1)
        holds_bounds = self.activation.low <= reach(x) and self.activation.high >= -reach(x)
        least = min(wanted.bits - x.bits, 0) if holds_bounds else gain
        return ValueFormat.of(wanted.bits, x.scale * 2.0 ** -max(gain, least))

    @override
    def sum_bounds(self, quantized: IntegerLayer) -> IntArray:
        # all elements of a window at their largest, scaled, and half the divisor; of sums of 64 bits the averages and
        # the fraction's two integers have 32
        formats = quantized.formats
        largest = max(abs(bound - formats.x.zero_point) for bound in quantized.x_bounds)
        multiplier, divisor = self.ratio(formats)
        if self.needs_64_bits(formats):
            average = largest * multiplier // divisor + 1 + abs(formats.y.zero_point)
            return np.array([max(average, multiplier, divisor)])
        return np.array([self.window.elements * (largest * multiplier + divisor)])

    def rounds_away(self, formats: LayerFormats) -> bool:
        """Whether halves are rounded away from zero, as integers: TensorFlow Lite averages within one format."""
        return self.tflite == "AVERAGE_POOL_2D" and formats.x == formats.y

    def mean(self, formats: LayerFormats) -> TfliteRequantization | None:
        """Return how sums of a whole window, without zero points, become TensorFlow Lite's means; None for other pools.

        The multiplier of the scales is divided by the number of values, rounded down (reduce.cc: Mean).
        """
        if self.tflite != "MEAN" or not formats.x.bits == formats.y.bits == BYTE_BITS:
            return None
        multiplier, exponent = fixed_point.quantized_multiplier(formats.x.scale / formats.y.scale)
        elements = self.window.elements
        bits = min(elements.bit_length() - 1, fixed_point.UPPER_HALF, fixed_point.PRODUCT_BITS + exponent)
        shift = bits - exponent
        return None if shift < 0 else TfliteRequantization(((multiplier << bits) // elements,), (shift,))

    def averages(
        self, formats: LayerFormats, sums: IntArray, elements: IntArray | int, counts: IntArray | int
    ) -> IntArray:
        """Return the outputs, not yet clamped, for `sums` of `elements` values each, of which `counts` count.

        The sums contain the zero points of the values. They may have any shape, to which the others are broadcast.
        """
        if mean := self.mean(formats):
            return mean.apply(sums - elements * formats.x.zero_point, formats.y.zero_point)
        multiplier, divisor = self.ratio(formats)
        if self.rounds_away(formats):
            sums = sums - ((sums < 0) & (np.asarray(counts) % 2 == 0))
        centered = sums - elements * formats.x.zero_point
        averages: IntArray = fixed_point.rounded_quotient(centered * multiplier, counts * divisor)
        return averages + formats.y.zero_point

    @override
    def integer_reference(self, quantized: IntegerLayer, *inputs: IntArray) -> IntArray:
        (x,) = inputs
        sums = self.window.patches(x.astype(np.int64)).sum(axis=(3, 4))
        covered = self.window.counts(self.in_shape)
        counts = self.window.elements if self.count_include_pad else covered
        return quantized.clamped(self.averages(quantized.formats, sums, covered, counts))
