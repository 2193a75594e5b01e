"""The real-time clock of the STM32F1 on LSI (RM0008, section RTC): a counter behind a prescaler, and its alarm.

A reset of the board resets it, too, which that of a real part does not.
"""

from collections.abc import Callable

from typing_extensions import override

from virtual_stm32.clock import BoardClock
from virtual_stm32.errors import NotModelledError
from virtual_stm32.peripherals.rtc import Rtc

_CRH, _CRL, _PRLH, _PRLL, _DIVH, _DIVL, _CNTH, _CNTL, _ALRH, _ALRL = range(0x00, 0x28, 4)
_SECF, _ALRF, _OWF, _RSF, _CNF, _RTOFF = (1 << bit for bit in range(6))
_FLAGS = _SECF | _ALRF | _OWF  # which 0 clears
_HALF_WORDS = (_PRLH, _PRLL, _CNTH, _CNTL, _ALRH, _ALRL)
_WRITE_TICKS, _SYNC_TICKS = 3, 2
_WRAP = 1 << 32


class RtcCounter(Rtc):
    """Writes count when CNF is cleared. Whoever reads the counter with RSF = 0 reads something old, and is stopped."""

    def __init__(self, clock: BoardClock, is_clocked: Callable[[], bool], lsi_hz: int) -> None:
        super().__init__(clock, is_clocked, lsi_hz)
        self._words = {_CRH: 0, **dict.fromkeys(_HALF_WORDS, 0), _PRLL: 0x8000, _ALRH: 0xFFFF, _ALRL: 0xFFFF}
        self._count = 0  # at `_begin_ps`
        self._is_writing = False  # CNF
        self._written_ps = 0  # when RTOFF rises
        self._synced_ps: int | None = None  # when RSF rises, None: not cleared since stop mode

    def left_stop(self) -> None:
        """Note that the registers show what they did before stop mode."""
        self._synced_ps = None

    @property
    def _divider(self) -> int:
        return (self._words[_PRLH] << 16 | self._words[_PRLL]) + 1

    def _place(self, now: int) -> tuple[int, int]:
        """Return the counter, and what is left of the prescaler."""
        periods, passed = divmod(self._ticks_until(self._ps(now)), self._divider)
        return (self._count + periods) % _WRAP, self._divider - 1 - passed

    @override
    def is_steady(self, offset: int) -> bool:
        return offset not in (_CRL, _DIVH, _DIVL, _CNTH, _CNTL)

    @override
    def read(self, offset: int, now: int) -> int:
        if offset == _CRL:
            return self.read_flags(offset, self._state(now))
        if offset in (_DIVH, _DIVL, _CNTH, _CNTL):
            if not self._state(now) & _RSF:
                raise NotModelledError("the counter of the RTC is read before its registers are synchronized (RSF)")
            count, left = self._place(now)
            value = left if offset in (_DIVH, _DIVL) else count
            return value >> 16 if offset in (_DIVH, _CNTH) else value & 0xFFFF
        if offset != _CRH:
            raise self.unknown(offset)
        return self._words[_CRH]

    def _state(self, now: int) -> int:
        ps = self._ps(now)
        state = _RSF if self._synced_ps is not None and ps >= self._synced_ps else 0
        return state | (_CNF if self._is_writing else 0) | (_RTOFF if ps >= self._written_ps else 0)

    @override
    def read_flags(self, offset: int, states: int) -> int:
        return states | (_ALRF if self.has_rung else 0)

    @override
    def write(self, offset: int, value: int, now: int) -> None:
        if not self._is_clocked():
            raise NotModelledError("the RTC is written without LSI as its clock, or while PWR protects it (DBP)")
        if not self._state(now) & _RTOFF:
            raise NotModelledError("the RTC is written while the last write goes on (RTOFF)")
        if offset == _CRL:
            self.write_flags(offset, value, now)
        elif offset == _CRH:
            if value & ~_ALRF:
                raise NotModelledError(f"RTC_CRH = 0x{value:x}: only the interrupt of the alarm is modelled")
            self._words[_CRH] = value
        elif offset in _HALF_WORDS and self._is_writing:
            self._words[offset] = value & 0xFFFF
            if offset in (_CNTH, _CNTL):
                raise NotModelledError("the counter of the RTC is written, which is not modelled")
        else:
            raise self.unknown(offset)

    @override
    def write_flags(self, offset: int, value: int, now: int) -> None:
        self.has_rung = self.has_rung and bool(value & _ALRF)
        if not value & _RSF:
            self._synced_ps = self._ps(now) + self._ticks_ps(_SYNC_TICKS)
        is_writing = bool(value & _CNF)
        if self._is_writing and not is_writing:
            self._written_ps = self._ps(now) + self._ticks_ps(_WRITE_TICKS)
            self._begin(now)
        elif is_writing and not self._is_writing:
            self._before = self._place(now), self._divider
        self._is_writing = is_writing

    def _begin(self, now: int) -> None:
        """Take over what was written: another prescaler begins anew, and the alarm counts from here."""
        (count, _), divider = self._before
        if divider != self._divider:
            self._count, self._begin_ps = count, self._ps(now)
        present, _ = self._place(now)
        alarm = self._words[_ALRH] << 16 | self._words[_ALRL]
        periods = (alarm - present - 1) % _WRAP + 1
        since = present - self._count + periods
        self._rings_ps = self._begin_ps + self._ticks_ps(since * self._divider)

    @override
    def advance(self, now: int) -> None:
        if self._rings_ps is None or self._rings_ps > self._ps(now):
            return
        self._rings_ps = None
        self.has_rung = True
        if self._words[_CRH] & _ALRF:
            self.rang()
