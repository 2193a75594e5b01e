"""Finds UDIV and SDIV in a flash image: their cycles depend on the operands."""

import re
from typing import NamedTuple

# Arm DDI 0403, A7.7.127 and A7.7.195, encoding T1: 1111 1011 10s1 nnnn, 1111 dddd 1111 mmmm, s = 0 for SDIV.
_ENCODING = re.compile(rb"(?=([\x90-\x9f\xb0-\xbf]\xfb[\xf0-\xff][\xf0-\xff]))", re.DOTALL)
_UNSIGNED = 0x20


class Operands(NamedTuple):
    """Numbers of the registers, and whether the division is signed."""

    dividend: int
    divisor: int
    is_signed: bool


def find_divisions(image: bytes) -> dict[int, Operands]:
    """Return the divisions by their offset; constants that look like one are in the result, too."""
    found = {}
    for match in _ENCODING.finditer(image):
        code = match[1]
        if match.start() % 2 == 0:
            found[match.start()] = Operands(code[0] & 0xF, code[2] & 0xF, not code[0] & _UNSIGNED)
    return found
