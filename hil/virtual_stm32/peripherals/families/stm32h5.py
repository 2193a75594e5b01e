"""RCC and PWR of the STM32H5 (RM0481), without TrustZone."""

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
from virtual_stm32.peripherals.flash.stm32h5 import FlashH5
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
from virtual_stm32.peripherals.reset import reset_flags
from virtual_stm32.peripherals.rtc import RtcV3
from virtual_stm32.peripherals.usart_v2 import UsartV2

HSI_HZ = 64_000_000
_MHZ = 1_000_000
FLASH_LIMITS = ClockLimits(tuple(mhz * _MHZ for mhz in (42, 84, 126, 168, 210, 250)))  # VOS0
_CR, _CFGR1, _CFGR2, _PLL1CFGR, _PLL1DIVR, _BDCR, _RSR = 0x00, 0x1C, 0x20, 0x28, 0x34, 0xF0, 0xF4
_RESET = {
    _CR: 0x2B,
    _CFGR1: 0,
    _CFGR2: 0,
    _PLL1CFGR: 0,
    _PLL1DIVR: 0x01010280,
    _BDCR: 0,
    0x88: 0xD0000100,
    0x8C: 0xC0000000,
    0x94: 0,
    0x9C: 0,
    0xA0: 0,
    0xA4: 0,
    0xA8: 0,
}
HSI, PLL1 = Oscillator(0, 1, 2), Oscillator(24, 25, 50)
_SELECTS_HSI, _SELECTS_PLL = 0, 3
_HSIDIV, _RGE, _VCOSEL, _M, _PEN, _P = 3, 2, 5, 8, 16, 9
_INPUT_MHZ = ((1, 2), (2, 4), (4, 8), (8, 16))  # by PLL1RGE
_VCO_MHZ = ((192, 836), (150, 420))  # by PLL1VCOSEL


class RccH5(Rcc):
    """HSI at 64 MHz, divided by 2 after a reset, HSE and PLL1 output P."""

    pll_source = PllSource(_SELECTS_PLL, _PLL1CFGR, 2, hsi=1, hse=3)
    oscillators = (HSI, PLL1)
    switch = SwitchFields(_CFGR1, 2, 3)
    lsi_offset, backup_offset, lsi_bit = _BDCR, _BDCR, 26
    reset_flags = reset_flags(_RSR, 23, always=(26,), power_up=(27,), brown_out=(27,), software=(28,), watchdog=(29,))
    gates: ClassVar[Mapping[str, ClockGate]] = {
        **{f"GPIO{port}": ClockGate(0x8C, bit) for bit, port in enumerate("ABCDEFGHI")},
        "GPDMA1": ClockGate(0x88, 0),
        "CRC": ClockGate(0x88, 12),
        "USART2": ClockGate(0x9C, 17),
        "USART3": ClockGate(0x9C, 18),
        "UART4": ClockGate(0x9C, 19),
        "UART5": ClockGate(0x9C, 20),
        "USART6": ClockGate(0x9C, 25),
        "UART7": ClockGate(0x9C, 30),
        "UART8": ClockGate(0x9C, 31),
        "USART1": ClockGate(0xA4, 14),
        "RTC": ClockGate(0xA8, 21),
    }

    def __init__(self, cycle_of: Callable[[int, int], int], hse_hz: int | None) -> None:
        super().__init__(_RESET, cycle_of, hse_hz)

    @property
    def hsi_hz(self) -> int:
        """HSI behind its divider."""
        return HSI_HZ >> self.field(_CR, _HSIDIV, 2)

    @override
    def source_is_ready(self, selection: int) -> bool:
        if selection == _SELECTS_PLL:
            return self.is_ready(PLL1.ready_bit) and bool(self.field(_PLL1CFGR, _PEN, 1))
        return selection == _SELECTS_HSI and self.is_ready(HSI.ready_bit)

    @override
    def source_hz(self, selection: int) -> int:
        if selection == _SELECTS_HSI:
            return self.hsi_hz
        m, n = max(self.field(_PLL1CFGR, _M, 6), 1), self.field(_PLL1DIVR, 0, 9) + 1
        p = self.field(_PLL1DIVR, _P, 7) + 1
        if p % 2:
            raise NotModelledError(f"PLL1P divides by {p}: expected an even number")
        low, high = (mhz * _MHZ for mhz in _INPUT_MHZ[self.field(_PLL1CFGR, _RGE, 2)])
        slowest, fastest = (mhz * _MHZ for mhz in _VCO_MHZ[self.field(_PLL1CFGR, _VCOSEL, 1)])
        return pll_hz(self.pll_source_hz(self.hsi_hz), m, n, p, (low, high), (slowest, fastest))

    @override
    def frequencies(self) -> Frequencies:
        core = self.source_hz(self.selection) // ahb_divider(self.field(_CFGR2, 0, 4))
        apb1, apb2 = (core // apb_divider(self.field(_CFGR2, position, 3)) for position in (4, 8))
        return Frequencies(core, core, {"apb1": apb1, "apb2": apb2, "USART6": apb1})


_PMCR, _VOSCR, _VOSSR, _DBPCR = 0x00, 0x10, 0x14, 0x24
_LPMS, _SVOS, _SVOS4 = 0, 2, 2
_VOS, _VOSRDY, _ACTVOSRDY, _ACTVOS = 4, 3, 13, 14
_READY = 1 << _VOSRDY | 1 << _ACTVOSRDY
_SCALE_PS = 40_000_000  # assumed
_MAX_HZ = tuple(mhz * _MHZ for mhz in (100, 150, 200, 250))  # by VOS: 3 is VOS0


class PwrH5(Registers):
    """Voltage scale."""

    def __init__(self, cycle_after: Callable[[int, int], int]) -> None:
        super().__init__("PWR", {_PMCR: 0xC, 0x04: 0, _VOSCR: 0, _VOSSR: _READY, _DBPCR: 0})
        self._cycle_after = cycle_after

    @override
    def store(self, offset: int, value: int, now: int) -> None:
        if offset == _VOSCR:
            self.words[_VOSCR] = value
            self.words[_VOSSR] &= ~_READY
            self.later(self._cycle_after(now, _SCALE_PS), self._scaled)
        elif offset != _VOSSR:
            self.words[offset] = value

    def _scaled(self, _now: int) -> None:
        self.words[_VOSSR] = _READY | self.field(_VOSCR, _VOS, 2) << _ACTVOS

    @property
    def writes_backup(self) -> bool:
        """DBPCR DBP."""
        return bool(self.words[_DBPCR] & 1)

    def check_stop(self) -> None:
        """Raise NotModelledError unless PMCR selects stop mode at SVOS4."""
        if self.field(_PMCR, _LPMS, 1) or self.field(_PMCR, _SVOS, 2) != _SVOS4:
            raise NotModelledError("PWR_PMCR selects another mode than stop mode at SVOS4")

    def leave_stop(self) -> None:
        """Begin again at VOS3, as the H7 does: no manual was at hand that says so of the H5."""
        self.words |= {_VOSCR: 0, _VOSSR: _READY}

    def max_hz(self) -> int:
        """Return the highest AHB clock (DS14258, general operating conditions)."""
        return _MAX_HZ[self.field(_VOSSR, _ACTVOS, 2)] if self.field(_VOSSR, _VOSRDY, 1) else _MAX_HZ[0]


_EXTI = ExtiLayout(
    mask=0x80,
    rising=0x00,
    falling=0x04,
    pending=0x10,
    timer_line=17,
    timer_is_direct=True,
    mask_after_reset=0xFFFE0000,
)


def stm32h5(board: Board, cells: FlashCells, clock: BoardClock) -> Family:
    """Return the peripherals of an STM32H5."""
    cycle_after = clock.cycle_after
    rcc = RccH5(cycle_after, board.hse_hz)
    icache = Icache()
    flash = FlashH5(cells, cycle_after, icache)
    pwr = PwrH5(cycle_after)
    rtc = RtcV3(clock, lambda: rcc.rtc_runs_from_lsi and pwr.writes_backup)
    return Family(
        rcc=rcc,
        plain=(
            (0x44020C00, rcc),
            (0x40022000, flash),
            (0x44020800, pwr),
            (0x40023000, CrcUnit()),
            (0x40030400, icache),
        ),
        flash=flash,
        limits=FLASH_LIMITS,
        gpio_base=0x42020000,
        ports="ABCDEFGHI",
        usart=UsartV2,
        dma=partial(gpdma, requests=requests.H5, channels=8),
        check=lambda: check_hz("a clock", rcc.frequencies().ahb_hz, pwr.max_hz()),
        stop=StopMode(
            rtc=(0x44007800, rtc),
            exti=(0x44022000, Exti(_EXTI, clock, rtc)),
            wake_us=50,
            check=pwr.check_stop,
            left=pwr.leave_stop,
        ),
        fifo_bytes=8,  # RM0481, USART implementation
    )
