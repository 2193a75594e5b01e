"""Normalization of groups of values by their mean and standard deviation, with a scale and a shift per channel."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log2, sqrt
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from tinysplit.common.errors import InputError
from tinysplit.network.fixed_point import arithmetic as fixed_point
from tinysplit.network.fixed_point.arithmetic import ACCUMULATOR_MAX, MAX_SHIFT
from tinysplit.network.fixed_point.formats import IntArray, ValueFormat
from tinysplit.network.fixed_point.integer_layer import IntegerLayer
from tinysplit.network.fixed_point.layer_formats import LayerFormats
from tinysplit.network.layers.base import FLOAT_BITS, Layer, Shape
from tinysplit.network.layers.joining import coarse_enough

MACC_PER_ELEMENT = 3  # square, product with the reciprocal root, product with the factor
FACTOR_BYTES = 4 + 4
MOST_ELEMENTS = 1 << 16  # of a group: its sum has 32 bits, its variance 64
MOST_EPSILON = 1 << 62
ROUNDED_REACH = 1.02  # times the largest normalized value: what a rounded mean adds


@dataclass(frozen=True)
class Steps:
    """Fraction bits of what a kernel computes between the input and the output.

    Products of 32 bits are enough for 8-bit values; those of 16-bit values have 64.
    """

    centered: int  # of x - mean, in steps of the input
    normalized: int  # of (x - mean) / deviation
    scaled: int  # that the product with the factor of a channel loses at once
    most_shift: int  # of a product


SHORT, LONG = Steps(7, 10, 0, 31), Steps(14, 14, 14, 63)


@dataclass(frozen=True, eq=False, kw_only=True)
class Normalization(Layer):
    """gamma * (x - mean) / sqrt(variance + epsilon) + beta over `groups` of equally many channels.

    A group has its channels of one pixel, or of all with `over_map`. Without `centers` the mean is 0: RMS and, with
    gamma = 1 / sqrt(elements), L2 normalization.
    """

    kind: ClassVar[str] = "normalization"
    takes_clamp: ClassVar[bool] = True

    gamma: NDArray[np.float32]
    beta: NDArray[np.float32]
    epsilon: float
    groups: int = 1
    over_map: bool = False
    centers: bool = True

    def __post_init__(self) -> None:
        """Raise InputError for groups of more elements than the sums can have."""
        if self.elements > MOST_ELEMENTS:
            raise InputError(
                f"layer {self.name!r}: normalizes {self.elements} values together; the limit is {MOST_ELEMENTS}"
            )

    @property
    @override
    def out_shape(self) -> Shape:
        """Shape of the output, which is that of the input."""
        return self.in_shape

    @property
    def elements(self) -> int:
        """Values of a group."""
        pixels = self.in_shape.height * self.in_shape.width if self.over_map else 1
        return pixels * self.in_shape.channels // self.groups

    @property
    def is_in_order(self) -> bool:
        """Whether the values of a group are next to each other in memory."""
        return self.groups == 1 or not self.over_map

    @override
    def is_elementwise(self, _: int) -> bool:
        # sums of a group are known before its first element is written
        return True

    @property
    @override
    def operator_macc(self) -> int:
        """3 per element."""
        return MACC_PER_ELEMENT * self.in_shape.size

    @property
    @override
    def parameters(self) -> dict[str, NDArray[np.float32]]:
        """Scale and shift of every channel."""
        return {"gamma": self.gamma, "beta": self.beta}

    @override
    def weights_bytes(self, bits: int) -> int:
        """Return the bytes of a factor and an offset per channel."""
        return self.gamma.size * (2 * 4 if bits == FLOAT_BITS else FACTOR_BYTES)

    def steps(self, formats: LayerFormats) -> Steps:
        """Return the fraction bits of what is computed."""
        return LONG if max(formats.x.bits, formats.y.bits) > 8 else SHORT  # noqa: PLR2004 - a byte

    def integer_epsilon(self, formats: LayerFormats) -> int:
        """Return epsilon in the steps of elements^2 * variance, as far as their sum has 64 bits."""
        x = formats.x
        largest = max(x.high - x.zero_point, x.zero_point - x.low) * self.elements
        wanted = self.epsilon * (self.elements / x.scale) ** 2
        return round(min(wanted, MOST_EPSILON, (1 << 64) - 1 - largest**2))

    @property
    def count(self) -> tuple[int, int]:
        """The number of elements as a fraction of 2^30 to 2^31 over a power of two: numerator and exponent."""
        exponent = 31 - self.elements.bit_length()
        return self.elements << exponent, exponent

    def shift(self, formats: LayerFormats) -> int:
        """Return the fraction bits of outputs before they are rounded: the most that 32 bits can have."""
        largest = self._reach / formats.y.scale + abs(formats.y.zero_point) + 2
        return max(min(floor(log2((ACCUMULATOR_MAX - (1 << 29)) / largest)), MAX_SHIFT), 1)

    @property
    def _normalized_reach(self) -> int:
        """Upper bound of (x - mean) / deviation, which no group of n elements lets pass sqrt(n)."""
        return ceil(ROUNDED_REACH * sqrt(self.elements))

    @property
    def _reach(self) -> float:
        """Upper bound of the absolute outputs."""
        return float((np.abs(self.gamma.astype(np.float64)) * self._normalized_reach + np.abs(self.beta)).max())

    @override
    def output_format(self, inputs: Sequence[ValueFormat], wanted: ValueFormat) -> ValueFormat:
        """Return the wanted format, as far as its steps of every output fit in 32 bits."""
        return coarse_enough(wanted, self._reach)

    @override
    def constants(self, formats: LayerFormats) -> dict[str, IntArray]:
        """Return `factors` and `offsets` of the channels, which bring normalized values to outputs * 2^shift.

        The offsets have half a step of the output, and half a step of the normalized values, which are rounded down.
        """
        steps = self.steps(formats)
        unit = 2.0 ** self.shift(formats)
        scale = self.gamma.astype(np.float64) / formats.y.scale * unit
        factors = np.rint(scale * 2.0 ** (steps.scaled - steps.normalized))
        half = factors * 2.0 ** -(steps.scaled + 1)
        offsets = self.beta / formats.y.scale * unit + (formats.y.zero_point + 0.5) * unit + half
        return {"factors": factors.astype(np.int32), "offsets": np.rint(offsets).astype(np.int32)}

    @override
    def sum_bounds(self, quantized: IntegerLayer) -> IntArray:
        # outputs of every channel before they are rounded
        steps, constants = self.steps(quantized.formats), quantized.constants
        factors, offsets = (np.abs(constants[name].astype(np.int64)) for name in ("factors", "offsets"))
        products = factors * (self._normalized_reach << steps.normalized)
        return np.asarray((products >> steps.scaled) + 1 + offsets)

    @override
    def integer_reference(self, quantized: IntegerLayer, *inputs: IntArray) -> IntArray:
        formats, constants = quantized.formats, quantized.constants
        steps = self.steps(formats)
        n = self.elements
        axes = (1, 2, 4) if self.over_map else (4,)
        x = inputs[0].astype(np.int64)
        x = x.reshape(*x.shape[:3], self.groups, -1)
        zero = formats.x.zero_point
        if self.centers:
            sums = x.sum(axis=axes, keepdims=True)
            squares = n * (x * x).sum(axis=axes, keepdims=True) - sums * sums
            mean = fixed_point.rounded_quotient(sums << steps.centered, n)
        else:
            squares = n * ((x - zero) ** 2).sum(axis=axes, keepdims=True).astype(np.uint64)
            mean = np.array(zero << steps.centered)
        spread = np.maximum(squares.astype(np.uint64) + np.uint64(self.integer_epsilon(formats)), np.uint64(n))
        root, exponent = fixed_point.scaled_root(spread)
        numerator, count_exponent = self.count
        reciprocal = fixed_point.rounded_quotient(np.array(numerator), root)
        shift = exponent + (count_exponent + steps.centered - steps.normalized)
        normalized = ((x << steps.centered) - mean) * reciprocal >> np.minimum(shift, steps.most_shift)
        products = normalized.reshape(inputs[0].shape) * constants["factors"].astype(np.int64) >> steps.scaled
        return quantized.clamped((products + constants["offsets"]) >> self.shift(formats))
