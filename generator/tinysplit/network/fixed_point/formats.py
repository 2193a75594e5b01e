"""Number formats: integers with a scale and a zero point, and Q formats (Singh 2024) as the special case."""

from dataclasses import dataclass
from math import floor, frexp, log2
from typing import Self

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

FloatArray = NDArray[np.float32] | NDArray[np.float64]
IntArray = NDArray[np.signedinteger]

SMALLEST = 2.0**-126


@dataclass(frozen=True)
class ValueFormat:
    """Two's complement integers of `bits` bits (8, 16 or 32): i represents (i - zero_point) * scale."""

    bits: int
    scale: float
    zero_point: int = 0

    @override
    def __str__(self) -> str:
        """Name the next coarser Q format, the factor of its step, and the zero point: 0.585*Q7.0 at 83."""
        fraction, exponent = frexp(self.scale)
        factor, places = (1.0, 1 - exponent) if fraction == 0.5 else (fraction, -exponent)  # noqa: PLR2004
        name = f"{factor:.3g}*{QFormat(self.bits, places)}" if factor < 1 else str(QFormat(self.bits, places))
        return f"{name} at {self.zero_point}" if self.zero_point else name

    @staticmethod
    def of(bits: int, scale: float, zero_point: int = 0) -> "ValueFormat":
        """Return the format, as `QFormat` where it is one."""
        mantissa, exponent = frexp(scale)
        is_q_format = mantissa == 0.5 and zero_point == 0  # noqa: PLR2004 - frexp's mantissa of a power of two
        return QFormat(bits, 1 - exponent) if is_q_format else ValueFormat(bits, scale, zero_point)

    @property
    def low(self) -> int:
        """Smallest integer that the format holds."""
        return -(1 << (self.bits - 1))

    @property
    def high(self) -> int:
        """Largest integer that the format holds."""
        return (1 << (self.bits - 1)) - 1

    @property
    def dtype(self) -> np.dtype[np.signedinteger]:
        """NumPy's integer type of this width."""
        return np.dtype(f"int{self.bits}")

    def quantize(self, values: FloatArray) -> IntArray:
        """Round `values` (any shape) to the nearest integers of this format (halves up) and saturate."""
        scaled = np.floor(np.asarray(values, dtype=np.float64) / self.scale + (self.zero_point + 0.5))
        return np.clip(scaled, self.low, self.high).astype(self.dtype)

    def dequantize(self, integers: IntArray) -> NDArray[np.float64]:
        """Return the real values (integer - zero_point) * scale of `integers` (any shape)."""
        return (integers.astype(np.float64) - self.zero_point) * self.scale


class QFormat(ValueFormat):
    """The Q format of Singh 2024: sign bit + m integer bits + n fraction bits, Q0.7 and Q3.4 in 8 bits, Q5.10 in 16.

    `fraction_bits` may be negative (steps larger than 1) or more than `bits - 1` (all values far below 1).
    """

    def __init__(self, bits: int, fraction_bits: int) -> None:
        super().__init__(bits, 2.0**-fraction_bits)

    @override
    def __str__(self) -> str:
        return f"Q{self.bits - 1 - self.fraction_bits}.{self.fraction_bits}"

    @property
    def fraction_bits(self) -> int:
        """Number of fraction bits."""
        return 1 - frexp(self.scale)[1]

    @classmethod
    def for_range(cls, bits: int, low: float, high: float) -> Self:
        """Return the format with the most fraction bits that holds `low` to `high` within half a step; Q0.n for 0 to 0.

        Two's complement reaches one step further below zero than above: -1 fits Q0.7, 1 does not. Values
        below the smallest normal float32 count as 0.
        """
        limits = ((-low, (1 << (bits - 1)) + 0.5), (high, (1 << (bits - 1)) - 0.5))
        fraction_bits = [floor(log2(limit / value)) for value, limit in limits if value >= SMALLEST]
        return cls(bits, min(fraction_bits, default=bits - 1))
