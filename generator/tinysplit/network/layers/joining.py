"""Layers with several inputs: their shapes, and the alignment of inputs to one format."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import floor, frexp, log2
from typing import ClassVar, NamedTuple, Self

from typing_extensions import override

from tinysplit.network.fixed_point.arithmetic import ACCUMULATOR_MAX, MAX_FACTOR, MAX_SHIFT, Requantization
from tinysplit.network.fixed_point.formats import ValueFormat
from tinysplit.network.layers.base import Layer, Shape

SPARE_BITS = 29  # of 31: what sums of aligned values may fill
LEAST_REACH = 1 / 8  # steps: products that reach less all become 0


@dataclass(frozen=True, eq=False, kw_only=True)
class Joining(Layer):
    """A layer whose first input has `in_shape`, the others `other_shapes`."""

    other_shapes: tuple[Shape, ...]

    @property
    @override
    def in_shapes(self) -> tuple[Shape, ...]:
        """Shapes of all inputs."""
        return (self.in_shape, *self.other_shapes)

    @override
    def with_in_shapes(self, shapes: Sequence[Shape]) -> Self:
        return replace(self, in_shape=shapes[0], other_shapes=tuple(shapes[1:]))


@dataclass(frozen=True, eq=False, kw_only=True)
class Elementwise(Joining):
    """A layer that joins elements at the same place; another input of 1 x 1 x channels serves every pixel."""

    takes_clamp: ClassVar[bool] = True

    @property
    @override
    def out_shape(self) -> Shape:
        """Shape of the output, which is that of the first input."""
        return self.in_shape

    @override
    def is_elementwise(self, k: int) -> bool:
        # where an input is as large as the output
        return self.in_shapes[k] == self.out_shape

    @property
    @override
    def operator_macc(self) -> int:
        """One per element of each input after the first."""
        return self.out_shape.size * len(self.other_shapes)


def coarse_enough(wanted: ValueFormat, largest: float) -> ValueFormat:
    """Return `wanted`, or a coarser format in whose steps the real value `largest` is below 2**29."""
    excess = frexp(largest / wanted.scale)[1] - SPARE_BITS
    return ValueFormat.of(wanted.bits, wanted.scale * 2.0**excess, wanted.zero_point) if excess > 0 else wanted


def reach(x: ValueFormat) -> float:
    """Return an upper bound of the absolute values in a format."""
    return x.scale * (abs(x.zero_point) - x.low)


class Alignment(NamedTuple):
    """Aligns values x[k] to one format and adds them: y = (offset + sum of factors[k] * x[k]) >> shift.

    `offset` holds the zero points, and half a step for rounding: the sum is rounded once.
    """

    factors: tuple[int, ...]
    offset: int
    shift: int

    @classmethod
    def of(
        cls,
        ratios: Sequence[float],
        zero_points: Sequence[int],
        y_zero_point: int,
        largest: int,
        instead: Sequence[float] = (),
    ) -> "Alignment":
        """Return the factors with most bits that keep the sum in 32 bits.

        `ratios` are steps of the output in one of each input, `largest` is the largest absolute value of any input.
        Ratios `instead` of one of these, and no larger, get no factor, but count for the resolution of all factors.
        """
        reach = sum(abs(ratio) * (largest + abs(zero)) for ratio, zero in zip(ratios, zero_points, strict=True))
        spare = sum(largest + abs(zero) for zero in zero_points) / 2  # for factors that are rounded up
        shift = min(floor(log2((ACCUMULATOR_MAX - spare) / (reach + abs(y_zero_point) + 1))), MAX_SHIFT)
        factors = [round(ratio * 2.0**shift) for ratio in (*ratios, *instead)]
        while shift > 0 and not any(factor % 2 for factor in factors):
            factors = [factor // 2 for factor in factors]
            shift = shift - 1
        factors = factors[: len(ratios)]
        zeros = sum(factor * zero for factor, zero in zip(factors, zero_points, strict=True))
        return cls(tuple(factors), (y_zero_point << shift) + ((1 << shift) >> 1) - zeros, shift)


def product_requantization(ratio: float, y: ValueFormat, largest: int) -> Requantization:
    """Return how products of at most `largest` become integers of `y`, `ratio` of them each, with the least error.

    A first shift takes bits of the products that a factor needs: none where the ratio is a power of two.
    """
    ratio = max(ratio, LEAST_REACH / largest)
    most = min(y.high + abs(y.zero_point), ratio * largest)

    def error(candidate: Requantization) -> float:
        """Return how many steps a product is off at most, before it is rounded."""
        step = ratio * 2.0**candidate.pre_shift
        return (step / 2 if candidate.pre_shift else 0.0) + most * abs(
            candidate.factors[0] * 2.0**-candidate.post_shift / step - 1
        )

    candidates = (_shifted_product(ratio, y, largest, pre_shift) for pre_shift in range(MAX_SHIFT + 1))
    return min((found for found in candidates if found.post_shift >= 0 and found.factors[0]), key=error)


def _shifted_product(ratio: float, y: ValueFormat, largest: int, pre_shift: int) -> Requantization:
    """Return the factor with most bits after a first shift; its other shift is below 0 where there is none."""
    shifted = (largest >> pre_shift) + 2
    step = ratio * 2.0**pre_shift
    room = max(ACCUMULATOR_MAX - shifted, 1) / (shifted * step + abs(y.zero_point) + 1)
    shift = min(floor(log2(min(room, (MAX_FACTOR - 1) / step))), MAX_SHIFT)
    factor = round(step * 2.0**shift)
    while shift > 0 and factor and factor % 2 == 0:
        factor, shift = factor // 2, shift - 1
    return Requantization((factor,), shift, pre_shift)
