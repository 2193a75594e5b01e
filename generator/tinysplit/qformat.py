"""The Q format of seed 004: sign bit + m integer bits + n fraction bits, Q0.7 and Q3.4 in 8 bits, Q5.10 in 16."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float32] | NDArray[np.float64]
IntArray = NDArray[np.signedinteger]


@dataclass(frozen=True)
class QFormat:
    """Two's complement fixed point of `bits` bits (8, 16 or 32), `fraction_bits` of them behind the point.

    `fraction_bits` may be negative (steps larger than 1) or more than `bits - 1` (all values far below 1).
    """

    bits: int
    fraction_bits: int

    def __str__(self) -> str:
        return f"Q{self.bits - 1 - self.fraction_bits}.{self.fraction_bits}"

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

    @classmethod
    def for_range(cls, bits: int, largest: float) -> Self:
        """Return the format with most fraction bits that holds `largest` (an absolute value) within half a step."""
        high = (1 << (bits - 1)) - 1
        if largest <= 0:
            return cls(bits, bits - 1)
        fraction_bits = int(np.floor(np.log2((high + 0.5) / largest)))
        return cls(bits, fraction_bits)

    def quantize(self, values: FloatArray) -> IntArray:
        """Round `values` to the nearest integer of this format (halves up) and saturate."""
        scaled = np.floor(np.asarray(values, dtype=np.float64) * 2.0**self.fraction_bits + 0.5)
        return np.clip(scaled, self.low, self.high).astype(self.dtype)

    def dequantize(self, integers: IntArray) -> NDArray[np.float64]:
        """Return the real values that `integers` stand for."""
        return integers.astype(np.float64) * 2.0**-self.fraction_bits
