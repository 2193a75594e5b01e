"""The curve of Ed25519 in Python's integers (RFC 8032 section 5.1), for signatures that nobody would make."""

import hashlib
from dataclasses import dataclass

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493  # of the base point
D = -121665 * pow(121666, -1, P) % P
_ROOT = pow(2, (P - 1) // 4, P)


@dataclass(frozen=True)
class Point:
    """A point of the curve by its affine coordinates."""

    x: int
    y: int

    def __add__(self, other: "Point") -> "Point":
        product = D * self.x * other.x * self.y * other.y
        x = (self.x * other.y + self.y * other.x) * pow(1 + product, -1, P)
        y = (self.y * other.y + self.x * other.x) * pow(1 - product, -1, P)
        return Point(x % P, y % P)

    def __rmul__(self, factor: int) -> "Point":
        found, power = Point(0, 1), self
        for bit in range(factor.bit_length()):
            found = found + power if factor >> bit & 1 else found
            power += power
        return found

    def encoded(self) -> bytes:
        return (self.y | (self.x & 1) << 255).to_bytes(32, "little")

    @classmethod
    def of_y(cls, y: int) -> "Point":
        """Return the point with this y and an even x. Raises ValueError where there is none."""
        square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
        x = pow(square, (P + 3) // 8, P)
        x = x if x * x % P == square else x * _ROOT % P
        if x * x % P != square:
            raise ValueError(f"{y} is the y of no point")
        return cls(x if x % 2 == 0 else P - x, y)


BASE = Point.of_y(4 * pow(5, -1, P) % P)


def of_order_8() -> Point:
    """Return a point of order 8."""
    for y in range(2, 100):
        try:
            found = ORDER * Point.of_y(y)
        except ValueError:
            continue
        if 4 * found != Point(0, 1):
            return found
    raise AssertionError


def hashed(r: bytes, key: bytes, message: bytes) -> int:
    """Return k of a signature (RFC 8032 section 5.1.7)."""
    return int.from_bytes(hashlib.sha512(r + key + message).digest(), "little") % ORDER
