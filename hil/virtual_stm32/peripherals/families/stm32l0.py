"""RCC and PWR of the STM32L0 (RM0367, RM0377)."""

from collections.abc import Callable, Mapping
from typing import ClassVar

from typing_extensions import override

from tinysplit.boards.board import Board
from virtual_stm32.clock import BoardClock
from virtual_stm32.errors import NotModelledError
from virtual_stm32.peripherals.base import Registers
from virtual_stm32.peripherals.crc import CrcUnit
from virtual_stm32.peripherals.dma import requests
from virtual_stm32.peripherals.dma.builder import DMA1, DmaBuilder, DmaSystem
from virtual_stm32.peripherals.dma.channels import ChannelSelection, DmaChannels
from virtual_stm32.peripherals.dma.controller import RequestLines
from virtual_stm32.peripherals.exti import Exti, ExtiLayout
from virtual_stm32.peripherals.families.family import Family, StopMode, check_hz
from virtual_stm32.peripherals.flash.cells import FlashCells
from virtual_stm32.peripherals.flash.stm32l0 import FlashL0
from virtual_stm32.peripherals.rcc import (
    HSE,
    BusDividers,
    ClockGate,
    ClockLimits,
    Oscillator,
    PllSource,
    Rcc,
    SwitchFields,
    pll_hz,
)
from virtual_stm32.peripherals.reset import csr_reset_flags
from virtual_stm32.peripherals.rtc import RtcV2
from virtual_stm32.peripherals.usart_v2 import UsartV2

HSI_HZ = 16_000_000
LSI_HZ = 37_000
_SLOWEST_MSI_HZ = 65_536  # twice as fast with each step of MSIRANGE
FLASH_LIMITS = ClockLimits((16_000_000, 32_000_000))  # in voltage range 1
_RANGE_MAX_HZ = {1: 32_000_000, 2: 16_000_000, 3: 4_200_000}  # by VOS
_CR, _ICSCR, _CFGR, _CSR = 0x00, 0x04, 0x0C, 0x50
_RESET = {
    _CR: 0x300,
    _ICSCR: 0xB000,
    **dict.fromkeys((0x08, _CFGR, 0x2C, 0x34, 0x38, 0x4C, _CSR), 0),
    0x30: 0x100,
}
_MSIRDY, _HSIRDY, _PLLRDY = 9, 2, 25
_SELECTS_MSI, _SELECTS_HSI, _SELECTS_HSE, _SELECTS_PLL = range(4)
_HSIDIVF, _MSIRANGE, _STOPWUCK, _PLLMUL, _PLLDIV = 4, 13, 15, 18, 22
_PLLON, _PLL_FIELDS = 24, 0xFD << 16  # which can be changed while the PLL is off
_MULTIPLIERS = (3, 4, 6, 8, 12, 16, 24, 32, 48)
_RTC_CLOCK, _RTC_FROM_LSI, _RTCSEL, _RTCRST = 7 << 16, 6 << 16, 3 << 16, 1 << 19  # of CSR


class RccL0(Rcc):
    """MSI at 2.1 MHz, HSI16, HSE and the PLL. CSR has the clock of the RTC, too."""

    pll_source = PllSource(_SELECTS_PLL, _CFGR, 1, hsi=0, hse=1, position=16)
    oscillators = (Oscillator(8, _MSIRDY, 4), Oscillator(0, _HSIRDY, 4), Oscillator(24, _PLLRDY, 115))
    switch = SwitchFields(_CFGR, 2, 2)
    dividers = BusDividers(_CFGR, 4, 8, 11)
    lsi_offset = backup_offset = _CSR
    reset_flags = csr_reset_flags(_CSR)
    gates: ClassVar[Mapping[str, ClockGate]] = {
        **{
            f"GPIO{port}": ClockGate(0x2C, bit)
            for bit, port in ((0, "A"), (1, "B"), (2, "C"), (3, "D"), (4, "E"), (7, "H"))
        },
        "CRC": ClockGate(0x30, 12),
        "DMA1": ClockGate(0x30, 0),
        "SYSCFG": ClockGate(0x34, 0),
        "TIM21": ClockGate(0x34, 2),
        "USART1": ClockGate(0x34, 14),
        "DBGMCU": ClockGate(0x34, 22),
        "TIM2": ClockGate(0x38, 0),
        "USART2": ClockGate(0x38, 17),
        "LPUART1": ClockGate(0x38, 18),
        "USART4": ClockGate(0x38, 19),
        "USART5": ClockGate(0x38, 20),
        "PWR": ClockGate(0x38, 28),
    }

    def __init__(self, cycle_of: Callable[[int, int], int], hse_hz: int | None) -> None:
        super().__init__(_RESET, cycle_of, hse_hz)

    @override
    def store(self, offset: int, value: int, now: int) -> None:
        if offset != _CSR:
            is_fixed = offset == _CFGR and self.words[_CR] >> _PLLON & 1
            super().store(offset, value & ~_PLL_FIELDS | self.words[_CFGR] & _PLL_FIELDS if is_fixed else value, now)
            return
        self._store_status(value)
        self._store_lsi(value, now)
        selected = self.words[_CSR] & _RTCSEL
        if selected and not value & _RTCRST and value & _RTCSEL != selected:
            raise NotModelledError("RCC_CSR RTCSEL is changed without a reset of the RTC (RTCRST)")
        self.set_bits(_CSR, _RTC_CLOCK | _RTCRST, _RTCRST if value & _RTCRST else value)
        self.changed(now)

    @property
    @override
    def rtc_runs_from_lsi(self) -> bool:
        is_ready = self.words[_CSR] & 1 << 1
        return bool(is_ready) and self.words[_CSR] & _RTC_CLOCK == _RTC_FROM_LSI

    @override
    def source_is_ready(self, selection: int) -> bool:
        return self.is_ready((_MSIRDY, _HSIRDY, HSE.ready_bit, _PLLRDY)[selection])

    @override
    def source_hz(self, selection: int) -> int:
        if selection == _SELECTS_MSI:
            return _SLOWEST_MSI_HZ << self.field(_ICSCR, _MSIRANGE, 3)
        if selection == _SELECTS_HSI:
            return HSI_HZ >> 2 * self.field(_CR, _HSIDIVF, 1)
        if selection == _SELECTS_HSE:
            return self.hse_hz
        n, r = _MULTIPLIERS[self.field(_CFGR, _PLLMUL, 4)], self.field(_CFGR, _PLLDIV, 2) + 1
        return pll_hz(self.pll_source_hz(HSI_HZ), 1, n, r, (2_000_000, 24_000_000), (6_000_000, 96_000_000))

    @property
    @override
    def after_stop(self) -> tuple[int, Oscillator]:
        msi, hsi, _ = self.oscillators
        return (_SELECTS_HSI, hsi) if self.field(_CFGR, _STOPWUCK, 1) else (_SELECTS_MSI, msi)


_PWR_CR, _PWR_CSR = 0x00, 0x04
_PDDS, _DBP, _VOS = 1, 8, 11


class PwrL0(Registers):
    """Core voltage range, and low-power modes."""

    def __init__(self) -> None:
        super().__init__("PWR", {_PWR_CR: 0x1000, _PWR_CSR: 0x8})

    @property
    def writes_backup(self) -> bool:
        """CR DBP."""
        return bool(self.field(_PWR_CR, _DBP, 1))

    def check_stop(self) -> None:
        """Raise NotModelledError unless CR PDDS selects Stop mode."""
        if self.field(_PWR_CR, _PDDS, 1):
            raise NotModelledError("PWR_CR PDDS = 1 is not modelled, only Stop mode")

    def max_hz(self) -> int:
        """Return the highest clock. Raises NotModelledError for a reserved range."""
        if (voltage_range := self.field(_PWR_CR, _VOS, 2)) not in _RANGE_MAX_HZ:
            raise NotModelledError(f"PWR_CR VOS = {voltage_range} is reserved")
        return _RANGE_MAX_HZ[voltage_range]


def _dma(builder: DmaBuilder) -> DmaSystem:
    selection = ChannelSelection(requests.L0)
    lines = RequestLines(builder.lines, selection)
    name, base = DMA1
    channels = builder.new_channels([*builder.served_channels(1)])
    return builder.system((base, DmaChannels(name, channels, builder.ports.memories, lines, selection)))


_EXTI = ExtiLayout(mask=0x00, rising=0x08, falling=0x0C, pending=0x14, timer_line=20, mask_after_reset=0xFF840000)


def stm32l0(board: Board, cells: FlashCells, clock: BoardClock) -> Family:
    """Return the peripherals of an STM32L0."""
    rcc = RccL0(clock.cycle_after, board.hse_hz)
    flash = FlashL0(cells, clock.cycle_after)
    pwr = PwrL0()
    syscfg = Registers("SYSCFG", dict.fromkeys((0x00, *range(0x08, 0x18, 4)), 0))
    rtc = RtcV2(clock, lambda: rcc.rtc_runs_from_lsi and pwr.writes_backup, LSI_HZ)
    return Family(
        rcc=rcc,
        plain=(
            (0x40021000, rcc),
            (0x40022000, flash),
            (0x40007000, pwr),
            (0x40010000, syscfg),
            (0x40023000, CrcUnit()),
        ),
        flash=flash,
        limits=FLASH_LIMITS,
        gpio_base=0x50000000,
        ports="ABCDEH",
        usart=UsartV2,
        dma=_dma,
        check=lambda: check_hz("a clock", rcc.frequencies().ahb_hz, pwr.max_hz()),
        stop=StopMode(
            rtc=(0x40002800, rtc), exti=(0x40010400, Exti(_EXTI, clock, rtc, syscfg)), wake_us=5, check=pwr.check_stop
        ),
        cycle_timers=(("TIM2", 0x40000000), ("TIM21", 0x40010800)),
        lsi_hz=LSI_HZ,
    )
