"""TIM2 as a free-running 32-bit counter."""

from collections.abc import Callable

from typing_extensions import override

from virtual_stm32.errors import NotModelledError
from virtual_stm32.peripherals.base import WORD_MASK, Peripheral

_CR1, _EGR, _CNT, _PSC, _ARR = 0x00, 0x14, 0x24, 0x28, 0x2C
_CEN, _UG = 1, 1


class Timer(Peripheral):
    """CR1 (CEN), EGR (UG), CNT, PSC and ARR; counts up through all 32 bits."""

    def __init__(self, name: str, cycles_per_clock: Callable[[], int]) -> None:
        super().__init__(name)
        self._cycles_per_clock = cycles_per_clock
        self._cr1 = 0
        self._prescaler = 0
        self._next_prescaler = 0
        self._count = 0
        self._since = 0

    @override
    def is_steady(self, offset: int) -> bool:
        return offset != _CNT

    @override
    def read(self, offset: int, now: int) -> int:
        known = {_CR1: self._cr1, _CNT: self._now(now), _PSC: self._next_prescaler, _ARR: WORD_MASK}
        if offset not in known:
            raise self.unknown(offset)
        return known[offset]

    def _now(self, now: int) -> int:
        if not self._cr1:
            return self._count
        passed = (now - self._since) // (self._cycles_per_clock() * (self._prescaler + 1))
        return (self._count + passed) & WORD_MASK

    @override
    def write(self, offset: int, value: int, now: int) -> None:
        self._count, self._since = self._now(now), now
        if offset == _CR1 and not value & ~_CEN:
            self._cr1 = value
        elif offset == _EGR and value == _UG:
            self._prescaler, self._count = self._next_prescaler, 0
        elif offset == _CNT:
            self._count = value
        elif offset == _PSC:
            self._next_prescaler = value & 0xFFFF
        elif offset != _ARR:
            raise self.unknown(offset)
        elif value != WORD_MASK:
            raise NotModelledError(f"{self.name} with a period of less than 32 bits is not modelled")
