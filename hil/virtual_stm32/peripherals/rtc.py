"""The real-time clock on LSI: its sub-seconds and its wake-up timer (RM0444, RM0394, RM0432, RM0368, RM0433: RTC).

A reset of the board resets it, too, which that of a real part does not.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping

from typing_extensions import override

from virtual_stm32.clock import PS_PER_S, BoardClock
from virtual_stm32.errors import NotModelledError
from virtual_stm32.peripherals.base import Peripheral
from virtual_stm32.peripherals.watchdog import LSI_HZ

_PRER, _WUTR, _WPR = 0x10, 0x14, 0x24
_KEYS = (0xCA, 0x53)
_BYPSHAD, _WUCKSEL = 1 << 5, 7
_INITF, _INIT = 1 << 6, 1 << 7
_SUBSECONDS, _ASYNCHRONOUS = 0x7FFF, 0x7F << 16  # fields of PRER
_SYNC_TICKS = 2
LONGEST_DIVISOR = 4  # of LSI for the timer: 16 >> WUCKSEL


class Rtc(Peripheral):
    """SSR with an undivided LSI, and the timer that WUCKSEL divides LSI for; subclasses have the places of flags."""

    cr_offset, ssr_offset, status_offset = 0x08, 0x28, 0x0C
    enable, interrupt_enable = 1 << 10, 1 << 14  # WUTE and WUTIE of CR
    is_writable = 1 << 2  # WUTWF

    def __init__(self, clock: BoardClock, is_clocked: Callable[[], bool], lsi_hz: int | None = None) -> None:
        super().__init__("RTC")
        self._clock = clock
        self._lsi_hz = lsi_hz or LSI_HZ
        self._is_clocked = is_clocked  # by LSI, and the backup domain is writable
        self.rang: Callable[[], None] = lambda: None  # WUTF has risen, with its interrupt enabled
        self._keys: list[int] = []
        self._control = self._timer = 0
        self._prescalers = 0x7F00FF
        self._init_ps: int | None = None  # since when INIT is set
        self._timer_free_ps = 0  # when WUTWF rises, after WUTE was cleared
        self._begin_ps = 0  # of SSR
        self._rings_ps: int | None = None
        self.has_rung = False  # WUTF

    @property
    def is_ringing(self) -> bool:
        """The level of the wake-up timer's interrupt."""
        return self.has_rung and bool(self._control & self.interrupt_enable)

    def _ticks_ps(self, ticks: int) -> int:
        return ticks * PS_PER_S // self._lsi_hz

    def _ticks_until(self, ps: int) -> int:
        """Return the ticks that SSR has counted until a time."""
        return (ps - self._begin_ps) * self._lsi_hz // PS_PER_S

    def _ps(self, now: int) -> int:
        return self._clock.ps(now)

    def next_ps(self) -> int | None:
        """Return when the timer rings, None while it is off or has rung."""
        return None if self.has_rung else self._rings_ps

    @override
    def next_event(self) -> int | None:
        ps = self.next_ps()
        return None if ps is None else self._clock.cycle(ps)

    @override
    def advance(self, now: int) -> None:
        while self._rings_ps is not None and self._rings_ps <= self._ps(now):
            self._rings_ps += self._period_ps
            self.has_rung = True
            if self._control & self.interrupt_enable:
                self.rang()

    @property
    def _period_ps(self) -> int:
        return self._ticks_ps((self._timer + 1) * (16 >> (self._control & _WUCKSEL)))

    @override
    def is_steady(self, offset: int) -> bool:
        return offset not in (self.ssr_offset, self.status_offset)

    @override
    def read(self, offset: int, now: int) -> int:
        if offset == self.ssr_offset:
            return self._subseconds(now)
        known = {self.cr_offset: self._control, _PRER: self._prescalers, _WPR: 0, **self.timer_registers}
        if offset in known:
            return known[offset]
        return self.read_flags(offset, self._states(now))

    def _subseconds(self, now: int) -> int:
        if not self._control & _BYPSHAD or self._prescalers & _ASYNCHRONOUS:
            raise NotModelledError("RTC_SSR is modelled with BYPSHAD and without the asynchronous prescaler")
        ticks = self._ticks_until(self._ps(now))
        return (self._prescalers & _SUBSECONDS) - ticks % ((self._prescalers & _SUBSECONDS) + 1)

    def _states(self, now: int) -> int:
        """Return INIT, INITF, and whether the timer may be written."""
        state = _INIT if self._init_ps is not None else 0
        if self._init_ps is not None and self._ps(now) >= self._init_ps + self._ticks_ps(_SYNC_TICKS):
            state |= _INITF
        is_free = not self._control & self.enable and self._ps(now) >= self._timer_free_ps
        return state | (self.is_writable if is_free else 0)

    @property
    def timer_registers(self) -> Mapping[int, int]:
        """The registers of the timer, by offset."""
        return {_WUTR: self._timer}

    def set_timer(self, offset: int, value: int) -> None:
        """Write a register of the timer."""
        del offset
        self._timer = value & 0xFFFF

    def first_ring_ps(self, ps: int) -> int:
        """Return when the timer that is enabled at a time rings."""
        return ps + self._ticks_ps(1) + self._period_ps

    @abstractmethod
    def read_flags(self, offset: int, states: int) -> int:
        """Return a register of flags; `states` are INIT, INITF and WUTWF or ALRAWF."""

    @override
    def write(self, offset: int, value: int, now: int) -> None:
        if not self._is_clocked():
            raise NotModelledError("the RTC is written without LSI as its clock, or while PWR protects it (DBP)")
        if offset == _WPR:
            self._keys = [*self._keys[-1:], value & 0xFF]
            return
        if tuple(self._keys) != _KEYS:
            raise NotModelledError("the RTC is written without its keys in RTC_WPR before, which has no effect")
        if offset == self.cr_offset:
            self._set_control(value, now)
        elif offset == _PRER:
            self._set_prescalers(value, now)
        elif offset in self.timer_registers:
            if not self._states(now) & self.is_writable:
                raise NotModelledError("the timer of the RTC is written while it is not allowed (WUTWF or ALRAWF is 0)")
            self.set_timer(offset, value)
        else:
            self.write_flags(offset, value, now)

    @abstractmethod
    def write_flags(self, offset: int, value: int, now: int) -> None:
        """Write a register of flags."""

    def _set_control(self, value: int, now: int) -> None:
        known = _BYPSHAD | self.enable | self.interrupt_enable | _WUCKSEL
        if value & ~known or value & _WUCKSEL >= LONGEST_DIVISOR:
            raise NotModelledError(f"bits of RTC_CR = 0x{value:x} are not modelled")
        before, self._control = self._control, value
        if before & ~value & self.enable:
            self._rings_ps, self._timer_free_ps = None, self._ps(now) + self._ticks_ps(_SYNC_TICKS)
        if value & ~before & self.enable:
            self._rings_ps = self.first_ring_ps(self._ps(now))

    def _set_prescalers(self, value: int, now: int) -> None:
        if not self._states(now) & _INITF:
            raise NotModelledError("RTC_PRER is written while INITF is 0")
        self._prescalers = value & (_ASYNCHRONOUS | _SUBSECONDS)

    def initialise(self, value: int, now: int) -> None:
        """Set INIT; the counters begin when it is cleared."""
        if not value & _INIT and self._init_ps is not None:
            self._init_ps, self._begin_ps = None, self._ps(now)
        elif value & _INIT and self._init_ps is None:
            self._init_ps = self._ps(now)


class RtcV2(Rtc):
    """Of the F4, L4 and H7: ISR has all flags, which are cleared by 0."""

    _WUTF = 1 << 10

    @override
    def read_flags(self, offset: int, states: int) -> int:
        if offset != self.status_offset:
            raise self.unknown(offset)
        return states | (self._WUTF if self.has_rung else 0)

    @override
    def write_flags(self, offset: int, value: int, now: int) -> None:
        if offset != self.status_offset:
            raise self.unknown(offset)
        self.has_rung = self.has_rung and bool(value & self._WUTF)
        self.initialise(value, now)


class RtcV3(Rtc):
    """Of the G0: flags in SR are cleared by SCR."""

    cr_offset, ssr_offset, status_offset = 0x18, 0x08, 0x0C
    _SR, _SCR, _WUTF = 0x50, 0x5C, 1 << 2

    @override
    def read_flags(self, offset: int, states: int) -> int:
        if offset not in (self.status_offset, self._SR):
            raise self.unknown(offset)
        return states if offset == self.status_offset else self._WUTF if self.has_rung else 0

    @override
    def is_steady(self, offset: int) -> bool:
        return super().is_steady(offset) and offset != self._SR

    @override
    def write_flags(self, offset: int, value: int, now: int) -> None:
        if offset == self.status_offset:
            self.initialise(value, now)
        elif offset == self._SCR:
            self.has_rung = self.has_rung and not value & self._WUTF
        else:
            raise self.unknown(offset)


class RtcAlarm(RtcV3):
    """Of the C0, which has no wake-up timer: alarm A rings when SSR has the value of ALRMASSR."""

    enable, interrupt_enable, is_writable = 1 << 8, 1 << 12, 1 << 0  # ALRAE, ALRAIE and ALRAWF
    _WUTF = 1 << 0  # ALRAF
    _ALRMAR, _ALRMASSR = 0x40, 0x44
    _ANY_DATE, _ALL_BITS = 0x80808080, 15 << 24

    def __init__(self, clock: BoardClock, is_clocked: Callable[[], bool]) -> None:
        super().__init__(clock, is_clocked)
        self._alarm = {self._ALRMAR: 0, self._ALRMASSR: 0}

    @property
    @override
    def timer_registers(self) -> Mapping[int, int]:
        return self._alarm

    @override
    def set_timer(self, offset: int, value: int) -> None:
        self._alarm[offset] = value

    @property
    @override
    def _period_ps(self) -> int:
        return self._ticks_ps(_SUBSECONDS + 1)

    @override
    def first_ring_ps(self, ps: int) -> int:
        wanted = self._alarm[self._ALRMASSR] & ~_SUBSECONDS
        if self._alarm[self._ALRMAR] != self._ANY_DATE or wanted != self._ALL_BITS or self._prescalers != _SUBSECONDS:
            raise NotModelledError("the alarm of the RTC is modelled for sub-seconds of an undivided LSI alone")
        ticks = self._ticks_until(ps)
        left = (~self._alarm[self._ALRMASSR] - ticks) % (_SUBSECONDS + 1)
        return self._begin_ps + self._ticks_ps(ticks + (left or _SUBSECONDS + 1))
