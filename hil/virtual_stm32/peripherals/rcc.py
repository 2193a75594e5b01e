"""Clock trees: frequencies that follow from RCC, FLASH and PWR registers."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from typing_extensions import override

from virtual_stm32.clock import PS_PER_S
from virtual_stm32.errors import NotModelledError
from virtual_stm32.peripherals.base import Registers
from virtual_stm32.peripherals.reset import ResetCause, ResetFlags

_PS_PER_US = PS_PER_S // 10**6
_SWITCH_CYCLES = 8
_ON_APB2 = ("USART1", "USART6")
_LSI_START_US = 130  # DS11912 and others, LSI oscillator characteristics: at most
_RTCSEL, _RTC_FROM_LSI, _RTC_CLOCK, _BDRST = 3 << 8, 2 << 8 | 1 << 15, 3 << 8 | 1 << 15, 1 << 16
_DIVIDED = 8  # prescaler fields below it do not divide
_AHB_DIVIDERS = (2, 4, 8, 16, 64, 128, 256, 512)


@dataclass(frozen=True)
class Frequencies:
    """Clocks of a board in Hz; `bus_hz` by the name of the bus of UARTs and timers, or of a UART with another clock."""

    core_hz: int
    ahb_hz: int
    bus_hz: Mapping[str, int]

    def uart_hz(self, name: str) -> int:
        """Return the clock of a UART."""
        return self.bus_hz.get(name) or self.bus_hz["apb2" if name in _ON_APB2 else "apb1"]


@dataclass(frozen=True)
class Oscillator:
    """A clock source: bits in RCC_CR, and the time from enabling to ready."""

    on_bit: int
    ready_bit: int
    start_us: int


HSE = Oscillator(16, 17, 64)  # in all families; the manuals give no start-up time in bypass mode


@dataclass(frozen=True)
class PllSource:
    """The field that selects the source of the PLL, and its values for HSI and HSE; `selected` is SW for the PLL."""

    selected: int
    offset: int
    bits: int
    hsi: int
    hse: int
    position: int = 0


@dataclass(frozen=True)
class ClockGate:
    """The enable bit of a peripheral's clock."""

    offset: int
    bit: int


@dataclass(frozen=True)
class SwitchFields:
    """Positions of SW and SWS."""

    offset: int  # of CFGR
    bits: int
    status_position: int


@dataclass(frozen=True)
class BusDividers:
    """Positions of HPRE, and of PPRE of APB1 and APB2, which are one field where there is one APB."""

    offset: int  # of CFGR
    ahb: int
    apb1: int
    apb2: int


@dataclass(frozen=True)
class ClockLimits:
    """Highest AHB clock in Hz by flash wait states."""

    by_wait_states: tuple[int, ...]

    def check(self, ahb_hz: int, wait_states: int) -> None:
        """Raise NotModelledError when the flash has too few wait states for the clock."""
        if wait_states >= len(self.by_wait_states):
            raise NotModelledError(f"FLASH_ACR sets {wait_states} wait states, more than this device has")
        if ahb_hz > self.by_wait_states[wait_states]:
            raise NotModelledError(
                f"a clock of {ahb_hz} Hz needs more than the {wait_states} flash wait states of FLASH_ACR,"
                f" which allow up to {self.by_wait_states[wait_states]} Hz"
            )


def ahb_divider(field: int) -> int:
    """Return the divider of a 4-bit HPRE field."""
    return 1 if field < _DIVIDED else _AHB_DIVIDERS[field - _DIVIDED]


def apb_divider(field: int) -> int:
    """Return the divider of a 3-bit PPRE field."""
    return 1 << max(0, field - 3)


def pll_hz(source_hz: int, m: int, n: int, r: int, input_range: tuple[int, int], vco_range: tuple[int, int]) -> int:
    """Return the output of a PLL in Hz. Raises NotModelledError when input or VCO are out of range (Hz)."""
    vco = source_hz * n // m
    if not input_range[0] <= source_hz // m <= input_range[1]:
        raise NotModelledError(f"the PLL's input of {source_hz // m} Hz is outside {input_range[0]}..{input_range[1]}")
    if not vco_range[0] <= vco <= vco_range[1]:
        raise NotModelledError(f"the PLL's oscillator at {vco} Hz is outside {vco_range[0]}..{vco_range[1]}")
    return vco // r


class Rcc(Registers):
    """Clock control; the subclass of each family decodes its fields.

    `hse_hz` is the clock at OSC_IN, None if there is none: HSE runs in bypass mode. With `crystal_us`, the time until
    it is ready, there is a crystal of that frequency in its place, and HSE runs without.
    """

    pll_source: PllSource
    lsi_offset: int  # of CSR
    backup_offset: int  # of BDCR
    lsi_bit = 0  # LSION, before LSIRDY, in CSR, which has the reset flags, too, except on H7; or in BDCR
    oscillators: tuple[Oscillator, ...]  # besides HSE
    switch: SwitchFields
    dividers: BusDividers
    gates: ClassVar[Mapping[str, ClockGate]]
    reset_flags: ResetFlags
    hse_bypass_bit = 18  # of CR

    def __init__(self, reset: Mapping[int, int], cycle_of: Callable[[int, int], int], hse_hz: int | None) -> None:
        super().__init__("RCC", reset)
        self._cycle_of = cycle_of  # (cycle, ps): the cycle ps after a cycle
        self._hse_hz = hse_hz
        self.crystal_us = 0
        self.changed: Callable[[int], None] = lambda _now: None

    def frequencies(self) -> Frequencies:
        """Return the clocks that the registers select; the core's is that of AHB."""
        fields = self.dividers
        core = self.source_hz(self.selection) // ahb_divider(self.field(fields.offset, fields.ahb, 4))
        apb1, apb2 = (
            core // apb_divider(self.field(fields.offset, position, 3)) for position in (fields.apb1, fields.apb2)
        )
        return Frequencies(core, core, {"apb1": apb1, "apb2": apb2})

    @abstractmethod
    def source_hz(self, selection: int) -> int:
        """Return the system clock in Hz for a value of SW."""

    @abstractmethod
    def source_is_ready(self, selection: int) -> bool:
        """Return whether the system clock for a value of SW is ready."""

    @property
    def shown_reset_flags(self) -> int:
        """The reset flags that are set."""
        return self.words.get(self.reset_flags.offset, 0) & self.reset_flags.all_masks

    def was_reset(self, cause: ResetCause, earlier_flags: int) -> None:
        """Show why the board was reset; `earlier_flags` have not been cleared since then."""
        flags = self.reset_flags.masks[cause] | (earlier_flags if cause.keeps_ram else 0)
        self.words[self.reset_flags.offset] = self.words.get(self.reset_flags.offset, 0) | flags

    @property
    def selection(self) -> int:
        """SWS: the system clock in use."""
        return self.field(self.switch.offset, self.switch.status_position, self.switch.bits)

    @property
    def runs_from_hse(self) -> bool:
        """Whether HSE feeds the PLL that is the system clock: no oscillator of the device then matters."""
        return self.selection == self.pll_source.selected and self._pll_source == self.pll_source.hse

    @property
    def _pll_source(self) -> int:
        return self.field(self.pll_source.offset, self.pll_source.position, self.pll_source.bits)

    def pll_source_hz(self, hsi_hz: int) -> int:
        """Return the frequency of the PLL's source. Raises NotModelledError for a source that does not run."""
        if self._pll_source == self.pll_source.hsi:
            return hsi_hz
        if self._pll_source != self.pll_source.hse:
            raise NotModelledError("a PLL source other than HSI and HSE is not modelled")
        return self.hse_hz

    @property
    def hse_hz(self) -> int:
        """The frequency of HSE. Raises NotModelledError while it does not run."""
        if self._hse_hz is None or not self.is_ready(HSE.ready_bit):
            raise NotModelledError("a clock comes from HSE, which is not ready")
        return self._hse_hz

    def is_clocked(self, name: str) -> bool:
        """Return whether a peripheral's clock is enabled."""
        gate = self.gates.get(name)
        return gate is None or bool(self.words[gate.offset] >> gate.bit & 1)

    def is_ready(self, bit: int) -> bool:
        """Return a ready bit of CR."""
        return bool(self.words[0] >> bit & 1)

    @override
    def store(self, offset: int, value: int, now: int) -> None:
        if offset == 0:
            self._store_cr(value, now)
        elif offset == self.switch.offset:
            self._store_cfgr(value, now)
        elif offset == self.backup_offset:
            self._store_backup(value, now)
        elif offset in (self.reset_flags.offset, self.lsi_offset):
            if offset == self.reset_flags.offset:
                self._store_status(value)
            if offset == self.lsi_offset:
                self._store_lsi(value, now)
        else:
            self.words[offset] = value
        self.changed(now)

    @property
    def _lsi_on(self) -> int:
        return 1 << self.lsi_bit

    @property
    def _lsi_ready(self) -> int:
        return 2 << self.lsi_bit

    def _store_lsi(self, value: int, now: int) -> None:
        """Store LSION."""
        if not value & self._lsi_on:
            self.set_bits(self.lsi_offset, self._lsi_on | self._lsi_ready, 0)
        elif not self.words[self.lsi_offset] & self._lsi_on:
            self.words[self.lsi_offset] |= self._lsi_on
            self.later(self._cycle_of(now, _LSI_START_US * _PS_PER_US), self._lsi_started)

    def _lsi_started(self, _now: int) -> None:
        self.words[self.lsi_offset] |= self._lsi_ready if self.words[self.lsi_offset] & self._lsi_on else 0

    @property
    def rtc_runs_from_lsi(self) -> bool:
        """Whether LSI clocks the RTC (BDCR RTCSEL and RTCEN)."""
        is_ready = self.words.get(self.lsi_offset, 0) & self._lsi_ready
        return bool(is_ready) and self.words[self.backup_offset] & _RTC_CLOCK == _RTC_FROM_LSI

    def _store_backup(self, value: int, now: int) -> None:
        """Store BDCR: RTCSEL can be changed once."""
        selected = self.words[self.backup_offset] & _RTCSEL
        lsi = self._lsi_on | self._lsi_ready if self.lsi_offset == self.backup_offset else 0
        if value & _BDRST:
            self.words[self.backup_offset] = _BDRST
        elif selected and value & _RTCSEL != selected:
            raise NotModelledError("RCC_BDCR RTCSEL is changed without a reset of the backup domain (BDRST)")
        else:
            self.words[self.backup_offset] = value & ~lsi | self.words[self.backup_offset] & lsi
        if lsi and not value & _BDRST:
            self._store_lsi(value, now)

    def leave_stop(self, now: int) -> None:
        """Set what stop mode leaves of the clocks: one oscillator, which is the system clock."""
        selection, oscillator = self.after_stop
        for each in (*self.oscillators, HSE):
            bits = 1 << each.on_bit | 1 << each.ready_bit
            self.set_bits(0, bits, bits if each == oscillator else 0)
        mask = (1 << self.switch.bits) - 1
        self.set_bits(self.switch.offset, mask | mask << self.switch.status_position, 0)
        self.words[self.switch.offset] |= selection | selection << self.switch.status_position
        self._later.clear()
        self.changed(now)

    @property
    def after_stop(self) -> tuple[int, Oscillator]:
        """The system clock behind stop mode: the value of SW, and its oscillator."""
        return 0, self.oscillators[0]

    def _store_status(self, value: int) -> None:
        if value >> self.reset_flags.remove_bit & 1:
            self.words[self.reset_flags.offset] &= ~self.reset_flags.all_masks

    def _store_cr(self, value: int, now: int) -> None:
        oscillators = (*self.oscillators, HSE)
        ready_mask = sum(1 << each.ready_bit for each in oscillators)
        before = self.words[0]
        if before >> HSE.on_bit & 1:  # HSEBYP can be written only while HSE is off
            bypass = 1 << self.hse_bypass_bit
            value = value & ~bypass | before & bypass
        if self.runs_from_hse:  # it cannot be switched off
            value |= 1 << HSE.on_bit
        self.words[0] = value & ~ready_mask | before & ready_mask
        for each in oscillators:
            if not value >> each.on_bit & 1:
                self.words[0] &= ~(1 << each.ready_bit)
            elif not before >> each.on_bit & 1 and (each != HSE or self._hse_starts(value)):
                start_us = self.crystal_us if each == HSE and self.crystal_us else each.start_us
                self.later(self._cycle_of(now, start_us * _PS_PER_US), partial(self._started, each))

    def _hse_starts(self, value: int) -> bool:
        """Whether HSE has what CR selects: a clock in bypass mode, else a crystal."""
        return bool(self._hse_hz) and bool(value >> self.hse_bypass_bit & 1) != bool(self.crystal_us)

    def _started(self, oscillator: Oscillator, _now: int) -> None:
        if self.words[0] >> oscillator.on_bit & 1:
            self.words[0] |= 1 << oscillator.ready_bit

    def _store_cfgr(self, value: int, now: int) -> None:
        mask = ((1 << self.switch.bits) - 1) << self.switch.status_position
        wanted = value & ((1 << self.switch.bits) - 1)
        self.words[self.switch.offset] = value & ~mask | self.words[self.switch.offset] & mask
        if wanted == self.selection:
            return
        if not self.source_is_ready(wanted):
            raise NotModelledError(f"RCC_CFGR selects the system clock {wanted}, which is not ready")
        self.later(
            now + _SWITCH_CYCLES, lambda cycle: self._switched(wanted << self.switch.status_position, mask, cycle)
        )

    def _switched(self, status: int, mask: int, now: int) -> None:
        self.set_bits(self.switch.offset, mask, status)
        self.changed(now)
