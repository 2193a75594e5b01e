"""Division by a constant as a product and a shift, exact for all numbers that can occur: cores divide slowly or not."""

from math import gcd
from typing import NamedTuple, Self

from tinysplit.network.fixed_point.arithmetic import ACCUMULATOR_MAX, MAX_SHIFT


class ProductQuotient(NamedTuple):
    """floor((x * multiplier + addend) / divisor) as `(x * factor + offset) >> shift`, in 32 bits."""

    factor: int
    offset: int
    shift: int

    @classmethod
    def of(cls, multiplier: int, addend: int, divisor: int, limits: tuple[int, int]) -> Self | None:
        """Return the quotient that is exact for x within `limits`, None if no product of 32 bits is.

        With u = x * multiplier + addend and r = ceil(2^shift / divisor), u * r / 2^shift differs from u / divisor by
        u * excess / divisor / 2^shift. A constant makes that non-negative for the lowest u; less than 1 / divisor
        changes no floor.
        """
        common = gcd(multiplier, divisor)
        multiplier, addend, divisor = multiplier // common, addend // common, divisor // common
        lowest, highest = (x * multiplier + addend for x in limits)
        for shift in range(MAX_SHIFT + 1):
            reciprocal = -(-(1 << shift) // divisor)
            excess = reciprocal * divisor - (1 << shift)
            constant = -(min(lowest, 0) * excess // divisor)
            is_exact = max(highest, 0) * excess + constant * divisor < 1 << shift
            if is_exact and max(abs(lowest), abs(highest)) * reciprocal + constant <= ACCUMULATOR_MAX // 2:
                return cls(multiplier * reciprocal, addend * reciprocal + constant, shift)
        return None

    def quotient(self, x: int) -> int:
        """Return the quotient of x."""
        return (x * self.factor + self.offset) >> self.shift
