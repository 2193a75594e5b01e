"""RCC and PWR of the STM32U5 (RM0456), without TrustZone."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import ClassVar

from typing_extensions import override

from tinysplit.boards.board import Board
from virtual_stm32.clock import BoardClock
from virtual_stm32.errors import NotModelledError
from virtual_stm32.peripherals.base import Registers
from virtual_stm32.peripherals.crc import CrcUnit
from virtual_stm32.peripherals.dma import requests
from virtual_stm32.peripherals.dma.gpdma import gpdma
from virtual_stm32.peripherals.exti import Exti, ExtiLayout
from virtual_stm32.peripherals.families.family import Family, StopMode, check_hz
from virtual_stm32.peripherals.flash.cells import FlashCells
from virtual_stm32.peripherals.flash.icache import Icache
from virtual_stm32.peripherals.flash.stm32u5 import FlashU5
from virtual_stm32.peripherals.rcc import (
    ClockGate,
    ClockLimits,
    Frequencies,
    Oscillator,
    PllSource,
    Rcc,
    SwitchFields,
    ahb_divider,
    apb_divider,
    pll_hz,
)
from virtual_stm32.peripherals.reset import csr_reset_flags
from virtual_stm32.peripherals.rtc import RtcV3
from virtual_stm32.peripherals.usart_v2 import UsartV2

HSI_HZ, MSIS_HZ = 16_000_000, 4_000_000
_MHZ = 1_000_000
FLASH_LIMITS = ClockLimits(tuple(mhz * _MHZ for mhz in (32, 64, 96, 128, 160)))  # range 1
_CR, _CFGR1, _CFGR2, _CFGR3, _PLL1CFGR, _PLL1DIVR, _BDCR, _CSR = 0x00, 0x1C, 0x20, 0x24, 0x28, 0x34, 0xF0, 0xF4
_RESET = {
    _CR: 0x35,
    _CFGR1: 0,
    _CFGR2: 0x6000,
    _CFGR3: 0,
    _PLL1CFGR: 0,
    _PLL1DIVR: 0x01010280,
    _BDCR: 0,
    _CSR: 0x4400,
    0x88: 0xD0200100,
    0x8C: 0xC0000000,
    0x90: 0,
    0x94: 0x80000000,
    0x9C: 0,
    0xA0: 0,
    0xA4: 0,
    0xA8: 0,
}
MSIS, HSI16, PLL1 = Oscillator(0, 2, 3), Oscillator(8, 10, 2), Oscillator(24, 25, 50)
_SELECTS_MSIS, _SELECTS_HSI, _SELECTS_HSE, _SELECTS_PLL = range(4)
_STOPWUCK, _REN, _RGE, _M, _MBOOST = 4, 18, 2, 8, 12
_BOOSTER_HZ = (4 * _MHZ, 16 * _MHZ)


class RccU5(Rcc):
    """MSIS at 4 MHz, HSI16, HSE and PLL1 output R."""

    pll_source = PllSource(_SELECTS_PLL, _PLL1CFGR, 2, hsi=2, hse=3)
    oscillators = (MSIS, HSI16, PLL1)
    switch = SwitchFields(_CFGR1, 2, 2)
    lsi_offset, backup_offset, lsi_bit = _BDCR, _BDCR, 26
    reset_flags = csr_reset_flags(_CSR)
    gates: ClassVar[Mapping[str, ClockGate]] = {
        **{f"GPIO{port}": ClockGate(0x8C, bit) for bit, port in enumerate("ABCDEFGHI")},
        "GPDMA1": ClockGate(0x88, 0),
        "CRC": ClockGate(0x88, 12),
        "PWR": ClockGate(0x94, 2),
        "USART2": ClockGate(0x9C, 17),
        "USART3": ClockGate(0x9C, 18),
        "UART4": ClockGate(0x9C, 19),
        "UART5": ClockGate(0x9C, 20),
        "USART1": ClockGate(0xA4, 14),
        "RTC": ClockGate(0xA8, 21),
    }

    def __init__(self, cycle_of: Callable[[int, int], int], hse_hz: int | None) -> None:
        super().__init__(_RESET, cycle_of, hse_hz)

    @override
    def source_is_ready(self, selection: int) -> bool:
        if selection == _SELECTS_PLL:
            return self.is_ready(PLL1.ready_bit) and bool(self.field(_PLL1CFGR, _REN, 1))
        ready_bit = {_SELECTS_MSIS: MSIS.ready_bit, _SELECTS_HSI: HSI16.ready_bit}.get(selection)
        return ready_bit is not None and self.is_ready(ready_bit)

    @override
    def source_hz(self, selection: int) -> int:
        if selection != _SELECTS_PLL:
            return HSI_HZ if selection == _SELECTS_HSI else MSIS_HZ
        m, n = self.field(_PLL1CFGR, _M, 4) + 1, self.field(_PLL1DIVR, 0, 9) + 1
        r = self.field(_PLL1DIVR, 24, 7) + 1
        input_mhz = (8, 16) if self.field(_PLL1CFGR, _RGE, 2) == 3 else (4, 8)  # noqa: PLR2004 (PLL1RGE)
        input_hz = (input_mhz[0] * _MHZ, input_mhz[1] * _MHZ)
        return pll_hz(self.pll_source_hz(HSI_HZ), m, n, r, input_hz, (128 * _MHZ, 544 * _MHZ))

    @property
    def booster_hz(self) -> int:
        """The clock of the booster."""
        return self.pll_source_hz(HSI_HZ) // max(1, 2 * self.field(_PLL1CFGR, _MBOOST, 4))

    @override
    def frequencies(self) -> Frequencies:
        core = self.source_hz(self.selection) // ahb_divider(self.field(_CFGR2, 0, 4))
        apb1, apb2 = (core // apb_divider(self.field(_CFGR2, position, 3)) for position in (4, 8))
        return Frequencies(core, core, {"apb1": apb1, "apb2": apb2})

    @property
    @override
    def after_stop(self) -> tuple[int, Oscillator]:
        return (_SELECTS_HSI, HSI16) if self.field(_CFGR1, _STOPWUCK, 1) else (_SELECTS_MSIS, MSIS)


_CR1, _VOSR, _DBPR = 0x00, 0x0C, 0x28
_LPMS, _STOP_2 = 0, 2
_BOOSTRDY, _VOSRDY, _VOS, _BOOSTEN = 14, 15, 16, 18
_READY_BITS = 1 << _BOOSTRDY | 1 << _VOSRDY
_SCALE_PS, _BOOST_PS = 20_000_000, 20_000_000  # assumed
_RANGE_HZ = {0: 25 * _MHZ, 1: 55 * _MHZ, 2: 110 * _MHZ, 3: 160 * _MHZ}  # by VOS: 3 is range 1
_WITHOUT_BOOSTER_HZ = 55 * _MHZ


class PwrU5(Registers):
    """Voltage range, and the booster, which needs the source of the PLL."""

    def __init__(self, rcc: RccU5, cycle_after: Callable[[int, int], int]) -> None:
        super().__init__("PWR", {_CR1: 0, 0x04: 0, 0x08: 0, _VOSR: 1 << _VOSRDY, _DBPR: 0})
        self._rcc, self._cycle_after = rcc, cycle_after

    @override
    def store(self, offset: int, value: int, now: int) -> None:
        if offset != _VOSR:
            self.words[offset] = value
            return
        before = self.words[_VOSR]
        self.words[_VOSR] = value & ~_READY_BITS | before & _READY_BITS
        if (value ^ before) >> _VOS & 3:
            self.words[_VOSR] &= ~(1 << _VOSRDY)
            self.later(self._cycle_after(now, _SCALE_PS), partial(self._is_ready, _VOSRDY))
        if not value >> _BOOSTEN & 1:
            self.words[_VOSR] &= ~(1 << _BOOSTRDY)
        elif not before >> _BOOSTEN & 1:
            low, high = _BOOSTER_HZ
            if not low <= self._rcc.booster_hz <= high:
                raise NotModelledError(f"the booster runs at {self._rcc.booster_hz} Hz: expected {low} to {high}")
            self.later(self._cycle_after(now, _BOOST_PS), partial(self._is_ready, _BOOSTRDY))

    def _is_ready(self, bit: int, _now: int) -> None:
        self.words[_VOSR] |= 1 << bit

    @property
    def writes_backup(self) -> bool:
        """DBPR DBP."""
        return bool(self.words[_DBPR] & 1)

    def check_stop(self) -> None:
        """Raise NotModelledError unless CR1 LPMS selects Stop 2."""
        if (mode := self.field(_CR1, _LPMS, 3)) != _STOP_2:
            raise NotModelledError(f"PWR_CR1 LPMS = {mode} is not modelled, only Stop 2")

    def leave_stop(self) -> None:
        """Switch the booster off, whose clock has stopped."""
        self.set_bits(_VOSR, 1 << _BOOSTEN | 1 << _BOOSTRDY, 0)

    def max_hz(self) -> int:
        """Return the highest AHB clock (RM0456, dynamic voltage scaling and EPOD booster)."""
        limit = _RANGE_HZ[self.field(_VOSR, _VOS, 2)] if self.field(_VOSR, _VOSRDY, 1) else _RANGE_HZ[0]
        return limit if self.field(_VOSR, _BOOSTRDY, 1) else min(limit, _WITHOUT_BOOSTER_HZ)


_EXTI = ExtiLayout(
    mask=0x80, rising=0x00, falling=0x04, pending=0x10, timer_line=31, timer_is_direct=True, is_wired=True
)


def stm32u5(board: Board, cells: FlashCells, clock: BoardClock) -> Family:
    """Return the peripherals of an STM32U5."""
    cycle_after = clock.cycle_after
    rcc = RccU5(cycle_after, board.hse_hz)
    icache = Icache()
    flash = FlashU5(cells, cycle_after, icache)
    pwr = PwrU5(rcc, cycle_after)
    rtc = RtcV3(clock, lambda: rcc.rtc_runs_from_lsi and pwr.writes_backup)
    return Family(
        rcc=rcc,
        plain=(
            (0x46020C00, rcc),
            (0x40022000, flash),
            (0x46020800, pwr),
            (0x40023000, CrcUnit()),
            (0x40030400, icache),
        ),
        flash=flash,
        limits=FLASH_LIMITS,
        gpio_base=0x42020000,
        ports="ABCDEFGHI",
        usart=UsartV2,
        dma=partial(gpdma, requests=requests.U5, channels=16),
        check=lambda: check_hz("a clock", rcc.frequencies().ahb_hz, pwr.max_hz()),
        stop=StopMode(
            rtc=(0x46007800, rtc),
            exti=(0x46022000, Exti(_EXTI, clock, rtc)),
            wake_us=20,
            check=pwr.check_stop,
            left=pwr.leave_stop,
        ),
        fifo_bytes=8,  # RM0456, USART implementation
    )
