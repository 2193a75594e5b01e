"""The independent watchdog (RM0444, RM0394, RM0432, RM0368, RM0433: IWDG), on the low-speed oscillator LSI."""

from typing_extensions import override

from virtual_stm32.clock import PS_PER_S, BoardClock
from virtual_stm32.errors import NotModelledError
from virtual_stm32.peripherals.base import Peripheral
from virtual_stm32.peripherals.reset import BoardResetError, ResetCause

LSI_HZ = 32_000  # nominal, of all families but the L0
_KR, _PR, _RLR, _SR, _WINR = range(0x00, 0x14, 4)
_START, _RELOAD, _UNLOCK = 0xCCCC, 0xAAAA, 0x5555
_PVU, _RVU = 1, 2  # of SR: a write of PR or RLR is on its way
_UPDATE_TICKS = 5  # of LSI, from the write to the end of PVU or RVU
_LARGEST_RELOAD = 0xFFF
_FASTEST_DIVIDER, _SLOWEST_PRESCALER = 4, 6
_NO_WINDOW = 0xFFF


class Watchdog(Peripheral):
    """KR, PR, RLR and SR. New values of PR and RLR count from the next reload on; there is no window."""

    def __init__(self, clock: BoardClock, lsi_hz: int | None = None) -> None:
        super().__init__("IWDG")
        self._clock = clock
        self._lsi_hz = lsi_hz or LSI_HZ
        self._is_unlocked = False
        self._is_running = False
        self._values = {_PR: 0, _RLR: _LARGEST_RELOAD}
        self._updated_ps: dict[int, int | None] = {}  # by register; None until the watchdog has started LSI
        self._expires_ps = 0
        self._held_ps: int | None = None  # since when the debugger stops it

    @override
    def read(self, offset: int, now: int) -> int:
        if offset == _SR:
            return sum(bit for bit, register in ((_PVU, _PR), (_RVU, _RLR)) if self._is_updating(register, now))
        known = {_KR: 0, **self._values, _WINR: _NO_WINDOW}
        if offset not in known:
            raise self.unknown(offset)
        return known[offset]

    def _is_updating(self, register: int, now: int) -> bool:
        if register not in self._updated_ps:
            return False
        end_ps = self._updated_ps[register]
        return end_ps is None or self._clock.ps(now) < end_ps

    @override
    def is_steady(self, offset: int) -> bool:
        return offset != _SR

    @override
    def write(self, offset: int, value: int, now: int) -> None:
        if offset == _KR:
            self._key(value & 0xFFFF, now)
        elif offset in self._values:
            self._set(offset, value, now)
        else:
            raise self.unknown(offset)

    def _key(self, key: int, now: int) -> None:
        self._is_unlocked = key == _UNLOCK
        if key == _START and not self._is_running:
            self._is_running = True
            for register, end_ps in self._updated_ps.items():
                self._updated_ps[register] = self._update_end(now) if end_ps is None else end_ps
        if key in (_START, _RELOAD) and self._is_running:
            divider = _FASTEST_DIVIDER << min(self._values[_PR], _SLOWEST_PRESCALER)
            self._expires_ps = self._clock.ps(now) + divider * (self._values[_RLR] + 1) * PS_PER_S // self._lsi_hz

    def _update_end(self, now: int) -> int:
        return self._clock.ps(now) + _UPDATE_TICKS * PS_PER_S // self._lsi_hz

    def _set(self, offset: int, value: int, now: int) -> None:
        if not self._is_unlocked:
            raise NotModelledError("IWDG PR or RLR is written without 0x5555 in KR before, which has no effect")
        if self._is_updating(offset, now):
            raise NotModelledError("IWDG PR or RLR is written while SR shows the update of the last write")
        self._values[offset] = value & (7 if offset == _PR else _LARGEST_RELOAD)
        self._updated_ps[offset] = self._update_end(now) if self._is_running else None

    def hold(self, now: int) -> None:
        """Stop counting: the core is halted."""
        if self._held_ps is None:
            self._held_ps = self._clock.ps(now)

    def go_on(self, now: int) -> None:
        """Count again."""
        if self._held_ps is not None:
            self._expires_ps += self._clock.ps(now) - self._held_ps
            self._held_ps = None

    @property
    def expires_ps(self) -> int | None:
        """When it resets the board, also in stop mode; None while it does not count."""
        return self._expires_ps if self._is_running and self._held_ps is None else None

    @override
    def next_event(self) -> int | None:
        return None if self.expires_ps is None else self._clock.cycle(self.expires_ps)

    @override
    def advance(self, now: int) -> None:
        raise BoardResetError(ResetCause.WATCHDOG)
