"""Memory access ports (Arm IHI 0031, ADIv5, chapter C2): CSW, TAR, DRW, BD0 to BD3, CFG, BASE, IDR."""

from collections.abc import Callable
from typing import Protocol

_CSW, _TAR, _DRW, _BD0, _BD3, _CFG, _BASE, _IDR = 0x00, 0x04, 0x0C, 0x10, 0x1C, 0xF4, 0xF8, 0xFC
_SIZE, _SIZES = 7, (1, 2, 4)
_INCREMENT, _SINGLE = 0x30, 0x10  # packed transfers are not implemented, so the field never shows them
_DEVICE_ENABLED = 1 << 6
_KEPT = 0xFF000000  # HPROT and the like, which a debugger reads back
_NO_ROM_TABLE = 0xFFFFFFFF


class MemoryBus(Protocol):
    """What an access port reads and writes; both raise BusFaultError."""

    def read(self, address: int, size: int) -> int:
        """Return 1, 2 or 4 bytes."""

    def write(self, address: int, size: int, value: int) -> None:
        """Write 1, 2 or 4 bytes."""


class AccessPort:
    """A MEM-AP with its bus; `identification` is IDR. TAR is incremented within blocks of `wrap_bytes`."""

    def __init__(self, identification: int, bus: MemoryBus, wrap_bytes: int = 1024) -> None:
        self._identification = identification
        self._bus = bus
        self._wrap_bytes = wrap_bytes
        self._csw = 2
        self._tar = 0

    def read(self, register: int) -> int:
        """Return a register. Raises BusFaultError where it reads memory that does not answer."""
        if register == _DRW:
            return self._transfer(lambda size, lane: self._bus.read(self._tar, size) << lane)
        if _BD0 <= register <= _BD3:
            return self._bus.read(self._banked(register), 4)
        return {
            _CSW: self._csw | _DEVICE_ENABLED,
            _TAR: self._tar,
            _CFG: 0,
            _BASE: _NO_ROM_TABLE,
            _IDR: self._identification,
        }.get(register, 0)

    def write(self, register: int, value: int) -> None:
        """Write a register. Raises BusFaultError where it writes memory that does not answer."""
        if register == _DRW:
            self._transfer(lambda size, lane: self._store(size, value >> lane))
        elif _BD0 <= register <= _BD3:
            self._bus.write(self._banked(register), 4, value)
        elif register == _CSW:
            increment = _SINGLE if value & _INCREMENT == _SINGLE else 0
            size = min(value & _SIZE, len(_SIZES) - 1)
            self._csw = value & _KEPT | increment | size
        elif register == _TAR:
            self._tar = value

    def _store(self, size: int, value: int) -> int:
        self._bus.write(self._tar, size, value & ((1 << 8 * size) - 1))
        return 0

    def _transfer(self, access: Callable[[int, int], int]) -> int:
        """Call `access` with the size in bytes and the bit of its byte lane, then increment TAR."""
        size = _SIZES[self._csw & _SIZE]
        value = access(size, 8 * (self._tar & 3))
        if self._csw & _INCREMENT:
            block = self._tar // self._wrap_bytes * self._wrap_bytes
            self._tar = block + (self._tar + size) % self._wrap_bytes
        return value

    def _banked(self, register: int) -> int:
        return self._tar & ~0xF | register - _BD0
