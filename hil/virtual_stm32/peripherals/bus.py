"""Address decoding of the peripherals."""

from collections.abc import Callable, Iterable

from virtual_stm32.errors import NotModelledError
from virtual_stm32.peripherals.base import Peripheral

_BLOCK_BITS = 10  # peripherals are aligned to 1 KB
_PAGE = 0x1000
_WORD = 4


class Bus:
    """Reads and writes of 1, 2 or 4 bytes; without a clock, peripherals read as 0 and ignore writes."""

    def __init__(self, is_clocked: Callable[[str], bool]) -> None:
        self._is_clocked = is_clocked
        self._blocks: dict[int, tuple[int, Peripheral]] = {}

    def add(self, base: int, size: int, peripheral: Peripheral) -> None:
        """Map a peripheral of `size` bytes at `base`."""
        for block in range(base >> _BLOCK_BITS, (base + size + 0x3FF) >> _BLOCK_BITS):
            self._blocks[block] = (base, peripheral)

    def pages(self) -> Iterable[int]:
        """Return the addresses of the 4 KB pages that contain peripherals."""
        return sorted({(block << _BLOCK_BITS) & ~(_PAGE - 1) for block in self._blocks})

    def _find(self, address: int) -> tuple[int, Peripheral]:
        try:
            return self._blocks[address >> _BLOCK_BITS]
        except KeyError:
            raise NotModelledError(f"no peripheral is modelled at 0x{address:08x}") from None

    def read(self, address: int, size: int, now: int) -> tuple[int, bool]:
        """Return the value, and whether it is the same until the next event.

        Raises NotModelledError for an address without a peripheral.
        """
        base, peripheral = self._find(address)
        if not self._is_clocked(peripheral.name):
            return 0, True
        offset = (address - base) & ~3
        word = peripheral.read(offset, now)
        return word >> 8 * (address & 3) & ((1 << 8 * size) - 1), peripheral.is_steady(offset)

    def write(self, address: int, size: int, value: int, now: int) -> None:
        """Write a value of `size` bytes. Raises NotModelledError for addresses and sizes that are not modelled."""
        base, peripheral = self._find(address)
        if not self._is_clocked(peripheral.name):
            return
        offset, shift = (address - base) & ~3, 8 * (address & 3)
        if size < _WORD and peripheral.merges_bytes:
            mask = ((1 << 8 * size) - 1) << shift
            value = peripheral.read(offset, now) & ~mask | value << shift & mask
        elif shift:
            raise NotModelledError(f"{peripheral.name} cannot be written at 0x{address:08x} with {size} bytes")
        peripheral.write(offset, value, now)
