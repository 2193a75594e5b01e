"""Timers that count cycles: one of 32 bits, or two of 16, of which one counts the updates of the other."""

from collections.abc import Callable, Sequence

from typing_extensions import override

from virtual_stm32.errors import NotModelledError
from virtual_stm32.peripherals.base import Peripheral

_CR1, _CR2, _SMCR, _EGR, _CNT, _PSC, _ARR = 0x00, 0x04, 0x08, 0x14, 0x24, 0x28, 0x2C
_CEN, _UG = 1, 1
_TRGO_UPDATE = 2 << 4  # MMS of CR2
_EXTERNAL_CLOCK = 7  # SMS of SMCR, with internal trigger 0
_TRIGGER_CYCLES = 3  # from an update to the count of the other timer: assumed, the manuals name no number


class Timer(Peripheral):
    """CR1 (CEN), CR2 (MMS: updates), EGR (UG), CNT, PSC and ARR; counts up through all its bits."""

    def __init__(self, name: str, cycles_per_clock: Callable[[], int], bits: int = 32) -> None:
        super().__init__(name)
        self._cycles_per_clock = cycles_per_clock
        self._bits, self._mask = bits, (1 << bits) - 1
        self._cr1 = self._cr2 = 0
        self._prescaler = 0
        self._next_prescaler = 0
        self._count = 0  # without a limit: the bits above those of CNT are updates
        self._since = 0

    @override
    def is_steady(self, offset: int) -> bool:
        return offset != _CNT

    @override
    def read(self, offset: int, now: int) -> int:
        known = {
            _CR1: self._cr1,
            _CR2: self._cr2,
            _CNT: self._now(now) & self._mask,
            _PSC: self._next_prescaler,
            _ARR: self._mask,
        }
        if offset not in known:
            raise self.unknown(offset)
        return known[offset]

    def _now(self, now: int) -> int:
        if not self._cr1 or now < self._since:
            return self._count
        return self._count + (now - self._since) // (self._cycles_per_clock() * (self._prescaler + 1))

    def updates(self, now: int) -> int:
        """Return the number of updates that TRGO has had until a cycle."""
        return self._now(now) >> self._bits if self._cr2 else 0

    def _hold(self, now: int) -> None:
        """Count from here on with other settings."""
        self._count, self._since = self._now(now), now

    @override
    def write(self, offset: int, value: int, now: int) -> None:
        self._hold(now)
        if offset == _CR1 and not value & ~_CEN:
            self._cr1 = value
        elif offset == _CR2 and value in (0, _TRGO_UPDATE):
            self._cr2 = value
        elif offset == _EGR and value == _UG:
            self._prescaler, self._count = self._next_prescaler, ((self._count >> self._bits) + 1) << self._bits
        elif offset == _CNT:
            self._count = self._count & ~self._mask | value & self._mask
        elif offset == _PSC:
            self._next_prescaler = value & 0xFFFF
        elif offset != _ARR:
            raise self.unknown(offset)
        elif value != self._mask:
            raise NotModelledError(f"{self.name} with a period of less than {self._bits} bits is not modelled")


class UpdateCounter(Timer):
    """The timer whose clock (SMCR) are the updates of another one."""

    def __init__(self, name: str, clocked_by: Timer, bits: int) -> None:
        super().__init__(name, lambda: 1, bits)
        self._clocked_by = clocked_by
        self._smcr = 0
        self._seen = 0  # updates, when it was held

    @override
    def _now(self, now: int) -> int:
        return self._count + (self._clocked_by.updates(now - _TRIGGER_CYCLES) - self._seen if self._cr1 else 0)

    @override
    def _hold(self, now: int) -> None:
        self._count, self._seen = self._now(now), self._clocked_by.updates(now - _TRIGGER_CYCLES)

    @override
    def read(self, offset: int, now: int) -> int:
        return self._smcr if offset == _SMCR else super().read(offset, now)

    @override
    def write(self, offset: int, value: int, now: int) -> None:
        if offset == _SMCR and value == _EXTERNAL_CLOCK:
            self._smcr = value
        elif offset == _SMCR or (offset == _CR1 and not self._smcr):
            raise NotModelledError(f"{self.name} without SMS = {_EXTERNAL_CLOCK} and TS = 0 is not modelled")
        else:
            super().write(offset, value, now)


def cycle_timers(
    named: Sequence[tuple[str, int]], cycles_per_clock: Callable[[], int]
) -> tuple[tuple[int, Peripheral], ...]:
    """Return the timers that count cycles, of which a second one counts the updates of the first, by address."""
    if len(named) < 2:  # noqa: PLR2004 (two of 16 bits)
        return tuple((base, Timer(name, cycles_per_clock)) for name, base in named)
    (name, base), (other, other_base) = named
    low = Timer(name, cycles_per_clock, 16)
    return (base, low), (other_base, UpdateCounter(other, low, 16))
