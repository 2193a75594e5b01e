"""Softmax over the channels of every pixel."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from tinysplit.network.fixed_point import arithmetic as fixed_point
from tinysplit.network.fixed_point.formats import IntArray, QFormat, ValueFormat
from tinysplit.network.fixed_point.integer_layer import IntegerLayer
from tinysplit.network.fixed_point.layer_formats import LayerFormats
from tinysplit.network.layers.base import FLOAT_BITS, Layer, Shape

MACC_PER_ELEMENT = 15  # X-CUBE-AI 7.1's count for exp, sum and division
TABLE_SIZE = 256
ONE = (1 << 15) - 1  # exp(0) in the tables: the common factor cancels in the division


@dataclass(frozen=True, eq=False, kw_only=True)
class Softmax(Layer):
    """exp(x_i) / sum_j exp(x_j), from tables of exp in Q0.15.

    The output has steps of 1/256 from 0 on in 8 bits, as in TensorFlow Lite. In 16 bits it is Q0.15, as the division
    has no bit to spare.

    The tables hold exp(-d) for the distance d to the largest input, in steps of the input's format. 16-bit distances
    take one table for each of their bytes: exp(-(256 h + l)) = exp(-256 h) exp(-l).

    Elements that are `masked` (height x width x channels, a width of 1 for all pixels of a row) take no part: they have
    a probability of 0, and some element of each pixel is none of them.
    """

    kind: ClassVar[str] = "softmax"

    masked: NDArray[np.bool_] | None = None

    @property
    @override
    def out_shape(self) -> Shape:
        """Shape of the output, which is that of the input."""
        return self.in_shape

    @override
    def is_elementwise(self, _: int) -> bool:
        # sums are known before the first element is written
        return True

    @property
    @override
    def operator_macc(self) -> int:
        """15 per element."""
        return MACC_PER_ELEMENT * self.in_shape.size

    @override
    def weights_bytes(self, bits: int) -> int:
        """One table of 256 16-bit values for 8 bits, two for 16; what tells which elements are masked."""
        if bits == FLOAT_BITS:
            return 0
        return TABLE_SIZE * 2 * (bits // 8) + sum(array.nbytes for array in self._unmasked.values())

    @property
    def computed_share(self) -> float:
        """The share of elements that are not masked."""
        return 1.0 if self.masked is None else float(1 - self.masked.mean())

    @cached_property
    def _unmasked(self) -> dict[str, IntArray]:
        """The elements of each pixel (or row) that are not masked: `runs` of (first, end), and where those `begin`."""
        if self.masked is None:
            return {}
        computed = np.pad(~self.masked.reshape(-1, self.masked.shape[-1]), ((0, 0), (1, 1))).astype(np.int8)
        changes = np.diff(computed, axis=1)
        begin = np.append(0, np.cumsum(2 * (changes > 0).sum(axis=1)))
        return {"runs": np.nonzero(changes)[1].astype(np.int16), "begin": begin.astype(np.int32)}

    @override
    def constants(self, formats: LayerFormats) -> dict[str, IntArray]:
        """Return the tables: `exp_low` by the low byte of the distance and, for 16 bits, `exp_high` by the high one.

        Where elements are masked, `runs` and `begin` say which are not.
        """
        steps = {"exp_low": 1, "exp_high": TABLE_SIZE} if formats.x.bits > 8 else {"exp_low": 1}  # noqa: PLR2004 - a byte
        distances = np.arange(TABLE_SIZE) * formats.x.scale
        tables = {name: np.rint(ONE * np.exp(-step * distances)).astype(np.int16) for name, step in steps.items()}
        return tables | self._unmasked

    @override
    def output_format(self, inputs: Sequence[ValueFormat], wanted: ValueFormat) -> ValueFormat:
        """Return steps of 1/256 from the lowest integer on in 8 bits, Q0.15 in 16."""
        return QFormat(16, 15) if wanted.bits > 8 else ValueFormat(8, 2.0**-8, -128)  # noqa: PLR2004 - a byte

    @override
    def sum_bounds(self, _: IntegerLayer) -> IntArray:
        # the sum of all exponentials; a quotient's numerator needs half of 32 bits
        return np.array([self.in_shape.channels * ONE])

    @override
    def integer_reference(self, quantized: IntegerLayer, *inputs: IntArray) -> IntArray:
        (x,) = inputs
        tables = quantized.constants
        masked = np.broadcast_to(False if self.masked is None else self.masked, x.shape)
        largest = np.where(masked, quantized.formats.x.low, x).max(axis=-1, keepdims=True)
        distance = np.where(masked, 0, largest.astype(np.int64) - x)
        exponentials = tables["exp_low"][distance % TABLE_SIZE].astype(np.int64)
        if "exp_high" in tables:
            products = exponentials * tables["exp_high"][distance // TABLE_SIZE]
            exponentials = fixed_point.rounded_shift(products, 15)
        exponentials[masked] = 0
        sums = exponentials.sum(axis=-1, keepdims=True)
        scaled = exponentials * round(1 / quantized.formats.y.scale)
        return quantized.clamped(fixed_point.rounded_quotient(scaled, sums) + quantized.formats.y.zero_point)
