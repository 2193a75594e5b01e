"""TIM6 as the trigger of conversions (RM0394, Basic timers)."""

from collections.abc import Callable

from typing_extensions import override

from virtual_stm32.errors import NotModelledError
from virtual_stm32.peripherals.base import Registers

_CR1, _CR2, _EGR, _PSC, _ARR = 0x00, 0x04, 0x14, 0x28, 0x2C
_CEN, _UG = 1, 1
_TRGO_UPDATE = 2 << 4  # MMS of CR2
_HALF_WORD = 0xFFFF


class BasicTimer(Registers):
    """CR1 (CEN), CR2 (MMS), EGR (UG), PSC and ARR; its updates are TRGO. CNT and interrupts are not modelled."""

    def __init__(self, name: str, cycles_per_clock: Callable[[], int]) -> None:
        super().__init__(name, {_CR1: 0, _CR2: 0, _EGR: 0, _PSC: 0, _ARR: _HALF_WORD})
        self._cycles_per_clock = cycles_per_clock
        self._since = 0  # the cycle of CEN

    @override
    def store(self, offset: int, value: int, now: int) -> None:
        if self.words[_CR1] and offset != _CR1:
            raise NotModelledError(f"{self.name} is changed while it counts")
        if (offset == _CR1 and value & ~_CEN) or (offset == _CR2 and value not in (0, _TRGO_UPDATE)):
            raise NotModelledError(f"bits of {self.name} at offset 0x{offset:x} = 0x{value:x} are not modelled")
        if offset == _EGR:  # begins to count anew: it does not count
            return
        super().store(offset, value & _HALF_WORD, now)
        self._since = now

    def trigger_after(self, cycle: int) -> int | None:
        """Return the cycle of the first TRGO after a cycle, None if there is none."""
        if not self.words[_CR1] or self.words[_CR2] != _TRGO_UPDATE:
            return None
        period = (self.words[_PSC] + 1) * (self.words[_ARR] + 1) * self._cycles_per_clock()
        return self._since + period * (max(0, cycle - self._since) // period + 1)
