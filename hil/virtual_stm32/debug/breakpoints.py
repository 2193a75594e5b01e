"""Breakpoint units: FPB versions 1 and 2 of ARMv7-M (Arm DDI 0403, C1.11) and BPU of ARMv6-M (Arm DDI 0419, C1.9)."""

from collections.abc import Iterator

BASE, SIZE = 0xE0002000, 0x1000
_CTRL, _REMAP, _COMPARATORS = 0x00, 0x04, 0x08
_ENABLE, _KEY = 1, 2
_ADDRESS_V1 = 0x1FFFFFFC
_VERSION = 28
# Code comparators, literal comparators and version, by core: the manuals DDI 0432, 0484, 0337, 0439 and 0489.
_UNITS = {
    "cortex-m0": (4, 0, 0),
    "cortex-m0plus": (4, 0, 0),
    "cortex-m3": (6, 2, 0),
    "cortex-m4": (6, 2, 0),
    "cortex-m7": (8, 0, 1),
    "cortex-m33": (8, 0, 1),
}


class BreakpointUnit:
    """Comparators that halt the core before an instruction; they do not patch flash (remapping)."""

    def __init__(self, core: str) -> None:
        self._code, self._literal, self._version = _UNITS[core]
        self.clear()

    def clear(self) -> None:
        """Switch all breakpoints off, as at power-up."""
        self._is_enabled = False
        self._comparators = [0] * (self._code + self._literal)

    def read(self, address: int) -> int:
        """Return a register; those that are not there read as 0."""
        offset = address - BASE
        if offset == _CTRL:
            return self._version << _VERSION | self._literal << 8 | self._code << 4 | self._is_enabled
        index = (offset - _COMPARATORS) // 4
        return self._comparators[index] if 0 <= index < len(self._comparators) else 0

    def write(self, address: int, value: int) -> None:
        """Write a register."""
        offset = address - BASE
        index = (offset - _COMPARATORS) // 4
        if offset == _CTRL and value & _KEY:
            self._is_enabled = bool(value & _ENABLE)
        elif 0 <= index < len(self._comparators):
            self._comparators[index] = value

    def addresses(self) -> frozenset[int]:
        """Return the addresses of all breakpoints."""
        if not self._is_enabled:
            return frozenset()
        return frozenset(address for value in self._comparators[: self._code] for address in self._matches(value))

    def _matches(self, value: int) -> Iterator[int]:
        if not value & _ENABLE:
            return
        if self._version:
            yield value & ~_ENABLE
            return
        halfwords = value >> 30  # REPLACE or BP_MATCH: 1 the lower one, 2 the upper one, 3 both
        yield from (((value & _ADDRESS_V1) + 2 * i) for i in range(2) if halfwords >> i & 1)
