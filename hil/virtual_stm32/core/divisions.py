"""Finds UDIV and SDIV in code: their cycles depend on the operands."""

import re
from collections.abc import Mapping
from typing import NamedTuple

# Arm DDI 0403, A7.7.127 and A7.7.195, encoding T1: 1111 1011 10s1 nnnn, 1111 dddd 1111 mmmm, s = 0 for SDIV.
_ENCODING = re.compile(rb"(?=([\x90-\x9f\xb0-\xbf]\xfb[\xf0-\xff][\xf0-\xff]))", re.DOTALL)
_UNSIGNED = 0x20


class Operands(NamedTuple):
    """Numbers of the registers, and whether the division is signed."""

    dividend: int
    divisor: int
    is_signed: bool


def find_all_divisions(code: Mapping[int, bytes]) -> dict[int, Operands]:
    """Return the divisions of code by their addresses; constants that look like one are in the result, too."""
    return {
        start + match.start(): _operands(match[1])
        for start, content in code.items()
        for match in _ENCODING.finditer(content)
        if match.start() % 2 == 0
    }


def _operands(code: bytes) -> Operands:
    return Operands(code[0] & 0xF, code[2] & 0xF, not code[0] & _UNSIGNED)
