"""The ICACHE of STM32H5, L5 and U5, which stands before the flash, and what a flash controller has to tell of it."""

from collections.abc import Callable

from typing_extensions import override

from virtual_stm32.peripherals.base import Registers

_EN, _CACHEINV = 1, 2
_LATENCY, _CACHE_IS_ON = 0xF, 1 << 9  # where FLASH_ACR of other families has wait states and the cache of code


class Icache(Registers):
    """ICACHE: EN and CACHEINV; that is over at once."""

    def __init__(self) -> None:
        super().__init__("ICACHE", {0x00: 4, 0x04: 0})
        self.connect(lambda: None)
        self.is_on = False

    def connect(self, changed: Callable[[], None]) -> None:
        """Call `changed` when it was switched or forgot its lines."""
        self._changed = changed

    @override
    def store(self, offset: int, value: int, now: int) -> None:
        if offset:
            return
        self.words[0] = value & ~_CACHEINV
        if value & _CACHEINV:
            self.is_on = False
            self._changed()
        self.is_on = bool(value & _EN)
        self._changed()

    def access_control(self, flash_acr: int) -> int:
        """Return FLASH_ACR as most families have it."""
        return flash_acr & _LATENCY | (_CACHE_IS_ON if self.is_on else 0)
