"""Products of two computed matrices, one for each head: scores of queries and keys, and sums of values with them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from typing_extensions import override

from tinysplit.network.fixed_point.arithmetic import ACCUMULATOR_MAX, Requantization
from tinysplit.network.fixed_point.formats import IntArray, ValueFormat
from tinysplit.network.fixed_point.integer_layer import IntegerLayer
from tinysplit.network.fixed_point.layer_formats import LayerFormats
from tinysplit.network.layers.base import Shape
from tinysplit.network.layers.joining import Joining, coarse_enough, product_requantization, reach

HALF_BITS = 16  # of what one factor of a product has at most


@dataclass(frozen=True, eq=False, kw_only=True)
class MatMul(Joining):
    """y[m, h, n] = scale * sum over k of a[m, h, k] * b[k, h, n]; `transposed` is b stored as n x h x k.

    Rows of a map are rows of matrices, its columns are heads, each with matrices of its own: the layers around have
    tokens x heads x features in memory.
    """

    kind: ClassVar[str] = "matmul"
    takes_clamp: ClassVar[bool] = True

    transposed: bool
    scale: float = 1.0

    @property
    @override
    def out_shape(self) -> Shape:
        """Shape of the output: rows of a x heads x columns of b."""
        (b,) = self.other_shapes
        return self.in_shape._replace(channels=b.height if self.transposed else b.channels)

    @property
    def terms(self) -> int:
        """Products of a sum."""
        return self.in_shape.channels

    @property
    @override
    def operator_macc(self) -> int:
        """One per product."""
        return self.out_shape.size * self.terms

    def shifts(self, formats: LayerFormats) -> tuple[int, int]:
        """Return by how many bits the values of both inputs are reduced, so that every sum fits in 32 bits.

        Those of 16 bits lose some, the larger ones first; none has more than 16 bits behind it.
        """
        shifts = [0, 0]
        while self.terms * self._reach(formats, 0, shifts[0]) * self._reach(formats, 1, shifts[1]) > ACCUMULATOR_MAX:
            larger = int(self._reach(formats, 1, shifts[1]) > self._reach(formats, 0, shifts[0]))
            shifts[larger] += 1
        for k, x in enumerate(formats.inputs):
            if shifts[k] == 0 and x.bits == HALF_BITS and x.zero_point:
                shifts[k] = 1
        return shifts[0], shifts[1]

    @staticmethod
    def _reach(formats: LayerFormats, k: int, shift: int) -> int:
        """Return the largest absolute value of input k, without its zero point and reduced by `shift` bits."""
        x = formats.inputs[k]
        return (max(x.high - x.zero_point, x.zero_point - x.low) + (1 << shift >> 1)) >> shift

    def _largest(self, formats: LayerFormats) -> int:
        """Return the largest absolute value of a sum."""
        first, second = (self._reach(formats, k, shift) for k, shift in enumerate(self.shifts(formats)))
        return self.terms * first * second

    def requantization(self, formats: LayerFormats) -> Requantization:
        """Return how sums are brought to the output's format."""
        first, second = formats.inputs
        step = self.scale * first.scale * second.scale * 2.0 ** sum(self.shifts(formats))
        return product_requantization(step / formats.y.scale, formats.y, self._largest(formats))

    @override
    def output_format(self, inputs: Sequence[ValueFormat], wanted: ValueFormat) -> ValueFormat:
        """Return the wanted format, as far as its steps of a sum fit in 32 bits."""
        return coarse_enough(wanted, self.scale * self.terms * reach(inputs[0]) * reach(inputs[1]))

    @override
    def sum_bounds(self, quantized: IntegerLayer) -> IntArray:
        # the largest sum, and what it becomes before the last shift
        formats = quantized.formats
        requantization = self.requantization(formats)
        sums = np.array([self._largest(formats) + requantization.sum_rounding])
        return np.array([requantization.largest(sums, formats.y.zero_point)])

    @override
    def integer_reference(self, quantized: IntegerLayer, *inputs: IntArray) -> IntArray:
        formats = quantized.formats
        requantization = self.requantization(formats)
        a, b = (
            (x.astype(np.int64) - q.zero_point + (1 << shift >> 1)) >> shift
            for x, q, shift in zip(inputs, formats.inputs, self.shifts(formats), strict=True)
        )
        letters = "nhk" if self.transposed else "khn"
        # products of float64 are exact: no sum exceeds 32 bits
        sums = np.einsum(f"smhk,s{letters}->smhn", a.astype(np.float64), b.astype(np.float64), optimize=True)
        sums = sums.astype(np.int64) + requantization.sum_rounding
        return quantized.clamped(requantization.apply(sums, formats.y.zero_point))
