"""The number of the largest channel of every pixel: the class that a network decides for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from typing_extensions import override

from tinysplit.common.errors import InputError
from tinysplit.network.fixed_point.formats import IntArray, ValueFormat
from tinysplit.network.fixed_point.integer_layer import IntegerLayer
from tinysplit.network.layers.base import Layer, Shape

MOST_OF_A_BYTE = 256


@dataclass(frozen=True, eq=False, kw_only=True)
class ArgMax(Layer):
    """The number of the largest channel, from 0; of equal ones the first, or the last if `picks_last`.

    The output counts in steps of 1: from -128 on in 8 bits, from 0 on in 16, which more than 256 channels need.
    """

    kind: ClassVar[str] = "arg_max"

    picks_last: bool = False

    @property
    @override
    def out_shape(self) -> Shape:
        """Shape of the output: one channel."""
        return self.in_shape._replace(channels=1)

    @property
    @override
    def least_bits(self) -> int:
        """Fewest bits that number all channels."""
        return 8 if self.in_shape.channels <= MOST_OF_A_BYTE else 16

    @property
    @override
    def operator_macc(self) -> int:
        """One comparison per element."""
        return self.in_shape.size

    @override
    def output_format(self, inputs: Sequence[ValueFormat], wanted: ValueFormat) -> ValueFormat:
        """Return steps of 1. Raises InputError for more channels than the wanted width has numbers."""
        low = -128 if wanted.bits == 8 else 0  # noqa: PLR2004 - a byte
        y = ValueFormat.of(wanted.bits, 1.0, low)
        if self.in_shape.channels - 1 > y.high - low:
            raise InputError(
                f"layer {self.name!r} numbers {self.in_shape.channels} channels, and {wanted.bits} bits have "
                f"{y.high - low + 1} numbers: leave the end out"
            )
        return y

    @override
    def sum_bounds(self, _: IntegerLayer) -> IntArray:
        return np.zeros(1, np.int64)

    @override
    def integer_reference(self, quantized: IntegerLayer, *inputs: IntArray) -> IntArray:
        (x,) = inputs
        found = x.argmax(axis=-1, keepdims=True)
        if self.picks_last:
            found = x.shape[-1] - 1 - x[..., ::-1].argmax(axis=-1, keepdims=True)
        return quantized.clamped(found + quantized.formats.y.zero_point)
