"""The CRC unit, as far as it computes a CRC-32 of words (RM0444, RM0394, RM0433; RM0390, whose unit has no options)."""

import zlib

from typing_extensions import override

from virtual_stm32.errors import NotModelledError
from virtual_stm32.peripherals.base import WORD_MASK, Registers

_DR, _CR = 0x00, 0x08
_RESET, _REV_IN_WORDS, _REV_OUT = 1 << 0, 3 << 5, 1 << 7
_WORD_BITS = 32


class CrcUnit(Registers):
    """DR takes words and gives the CRC; CR resets it and reverses the bits of words, if the unit `reverses` bits."""

    merges_bytes = False

    def __init__(self, *, reverses: bool = True) -> None:
        super().__init__("CRC", {_DR: WORD_MASK, _CR: 0})
        self._reverses = reverses
        self._reflected = WORD_MASK  # the register of zlib's CRC, whose bits are reversed

    @override
    def read(self, offset: int, now: int) -> int:
        if offset != _DR:
            return super().read(offset, now)
        return self._reflected if self.words[_CR] & _REV_OUT else _reversed(self._reflected)

    @override
    def write(self, offset: int, value: int, now: int) -> None:
        if offset == _DR:
            word = value if self.words[_CR] & _REV_IN_WORDS else _reversed(value)
            self._reflected = zlib.crc32(word.to_bytes(4, "little"), self._reflected ^ WORD_MASK) ^ WORD_MASK
        else:
            super().write(offset, value, now)

    @override
    def store(self, offset: int, value: int, now: int) -> None:
        options = value & ~_RESET
        if options & ~(_REV_IN_WORDS | _REV_OUT) or options & _REV_IN_WORDS not in {0, _REV_IN_WORDS}:
            raise NotModelledError(f"CRC_CR = 0x{value:x}: only reversed words are modelled")
        if options and not self._reverses:
            raise NotModelledError(f"CRC_CR = 0x{value:x}: this CRC unit reverses no bits")
        if value & _RESET:
            self._reflected = WORD_MASK
        super().store(offset, options, now)


def _reversed(word: int) -> int:
    return int(f"{word:0{_WORD_BITS}b}"[::-1], 2)
