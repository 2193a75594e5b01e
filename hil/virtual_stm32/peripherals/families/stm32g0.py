"""RCC of the STM32G0 (RM0444)."""

from collections.abc import Callable, Mapping
from typing import ClassVar

from typing_extensions import override

from tinysplit.boards.board import Board
from virtual_stm32.clock import BoardClock
from virtual_stm32.errors import NotModelledError
from virtual_stm32.peripherals.base import Registers
from virtual_stm32.peripherals.crc import CrcUnit
from virtual_stm32.peripherals.dma import requests
from virtual_stm32.peripherals.dma.builder import CHANNELS, DMA1, DMAMUX_BASE, DmaBuilder, DmaSystem
from virtual_stm32.peripherals.dma.channels import DmaChannels
from virtual_stm32.peripherals.dma.controller import RequestLines
from virtual_stm32.peripherals.dma.multiplexer import Dmamux, RequestSelection
from virtual_stm32.peripherals.exti import Exti, ExtiLayout
from virtual_stm32.peripherals.families.family import Family, StopMode
from virtual_stm32.peripherals.flash.cells import FlashCells
from virtual_stm32.peripherals.flash.stm32l4 import FlashG0
from virtual_stm32.peripherals.rcc import (
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
from virtual_stm32.peripherals.rtc import RtcV3
from virtual_stm32.peripherals.usart_v2 import UsartV2

HSI_HZ = 16_000_000
FLASH_LIMITS = ClockLimits((24_000_000, 48_000_000, 64_000_000))
_CR, _CFGR, _PLLCFGR = 0x00, 0x08, 0x0C
_RESET = {
    _CR: 0x500,
    0x04: 0x4000,
    _CFGR: 0,
    _PLLCFGR: 0x1000,
    0x34: 0,
    0x38: 0x100,
    0x3C: 0,
    0x40: 0,
    0x54: 0,
    0x5C: 0,
    0x60: 0,
}
_HSIRDY, _PLLRDY = 10, 25
_SELECTS_HSI, _SELECTS_PLL = 0, 2
_PLLREN = 28


class RccG0(Rcc):
    """HSI16, HSE and PLL output R; the firmware uses neither LSI nor LSE."""

    pll_source = PllSource(_SELECTS_PLL, _PLLCFGR, 2, hsi=2, hse=3)
    oscillators = (Oscillator(8, _HSIRDY, 2), Oscillator(24, _PLLRDY, 20))
    switch = SwitchFields(_CFGR, 3, 3)
    dividers = BusDividers(_CFGR, 8, 12, 12)
    lsi_offset, backup_offset = 0x60, 0x5C
    reset_flags = csr_reset_flags(0x60)
    gates: ClassVar[Mapping[str, ClockGate]] = {
        **{f"GPIO{port}": ClockGate(0x34, bit) for bit, port in enumerate("ABCDEF")},
        "CRC": ClockGate(0x38, 12),
        "DMA1": ClockGate(0x38, 0),
        "DMAMUX1": ClockGate(0x38, 0),
        "TIM2": ClockGate(0x3C, 0),
        "USART2": ClockGate(0x3C, 17),
        "USART3": ClockGate(0x3C, 18),
        "USART4": ClockGate(0x3C, 19),
        "LPUART1": ClockGate(0x3C, 20),
        "RTC": ClockGate(0x3C, 10),
        "PWR": ClockGate(0x3C, 28),
        "DBGMCU": ClockGate(0x3C, 27),
        "SYSCFG": ClockGate(0x40, 0),
        "USART1": ClockGate(0x40, 14),
    }

    def __init__(self, cycle_of: Callable[[int, int], int], hse_hz: int | None) -> None:
        super().__init__(_RESET, cycle_of, hse_hz)

    @override
    def source_is_ready(self, selection: int) -> bool:
        if selection == _SELECTS_PLL:
            return self.is_ready(_PLLRDY) and bool(self.field(_PLLCFGR, _PLLREN, 1))
        return selection == _SELECTS_HSI and self.is_ready(_HSIRDY)

    @override
    def source_hz(self, selection: int) -> int:
        if selection == _SELECTS_HSI:
            return HSI_HZ >> self.field(_CR, 11, 3)
        m = self.field(_PLLCFGR, 4, 3) + 1
        n = self.field(_PLLCFGR, 8, 7)
        r = self.field(_PLLCFGR, 29, 3) + 1
        return pll_hz(self.pll_source_hz(HSI_HZ), m, n, r, (2_660_000, 16_000_000), (96_000_000, 344_000_000))


def dma_g0(builder: DmaBuilder) -> DmaSystem:
    """Return DMA1 with its multiplexer; small devices have fewer channels."""
    selection = RequestSelection(requests.G0, CHANNELS, CHANNELS)
    lines = RequestLines(builder.lines, selection)
    name, base = DMA1
    dma = DmaChannels(name, builder.new_channels([*builder.served_channels(1)]), builder.ports.memories, lines)
    return builder.system((base, dma), (DMAMUX_BASE, Dmamux(selection, lines)))


class PwrG0(Registers):
    """Low-power modes."""

    def __init__(self) -> None:
        super().__init__("PWR", {0x00: 0x200})

    @property
    def writes_backup(self) -> bool:
        """CR1 DBP."""
        return bool(self.field(0, _DBP, 1))

    def check_stop(self) -> None:
        """Raise NotModelledError unless CR1 LPMS selects Stop 1."""
        if (mode := self.field(0, _LPMS, 3)) != _STOP_1:
            raise NotModelledError(f"PWR_CR1 LPMS = {mode} is not modelled, only Stop 1")


_LPMS, _STOP_1, _DBP = 0, 1, 8
EXTI_G0 = ExtiLayout(
    mask=0x80,
    rising=0x00,
    falling=0x04,
    pending=0x10,
    timer_line=19,
    timer_is_direct=True,
    mask_after_reset=0xFFF80000,
)


def stm32g0(board: Board, cells: FlashCells, clock: BoardClock) -> Family:
    """Return the peripherals of an STM32G0."""
    cycle_after = clock.cycle_after
    rcc = RccG0(cycle_after, board.hse_hz)
    flash = FlashG0(cells, cycle_after)
    pwr = PwrG0()
    rtc = RtcV3(clock, lambda: rcc.rtc_runs_from_lsi and pwr.writes_backup)
    syscfg = Registers("SYSCFG", {0x00: 0})
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
        ports="ABCDF",
        usart=UsartV2,
        dma=dma_g0,
        check=lambda: None,
        stop=StopMode(
            rtc=(0x40002800, rtc), exti=(0x40021800, Exti(EXTI_G0, clock, rtc)), wake_us=9, check=pwr.check_stop
        ),
        cycle_timers=(("TIM2", 0x40000000),),
        fifo_bytes=8,
        without_fifo=("USART3", "USART4"),  # RM0444, USART implementation: of the STM32G071, USART1 and USART2 have one
    )
