"""RCC of the STM32F0 (RM0091), which is almost that of the F3, as its other peripherals are."""

from collections.abc import Callable, Mapping
from typing import ClassVar

from typing_extensions import override

from tinysplit.boards.board import Board
from virtual_stm32.clock import BoardClock
from virtual_stm32.errors import NotModelledError
from virtual_stm32.peripherals.base import Registers
from virtual_stm32.peripherals.crc import CrcUnit
from virtual_stm32.peripherals.dma import requests
from virtual_stm32.peripherals.dma.builder import DmaBuilder, DmaSystem
from virtual_stm32.peripherals.dma.channels import ChannelSelection, FixedRequests
from virtual_stm32.peripherals.exti import Exti, ExtiLayout
from virtual_stm32.peripherals.families.family import Family, StopMode, check_hz
from virtual_stm32.peripherals.families.stm32f3 import LSI_HZ, PwrF3, RccF3, two_dma
from virtual_stm32.peripherals.flash.cells import FlashCells
from virtual_stm32.peripherals.flash.stm32f3 import OPTION_BYTES_BASE, FlashF3, OptionBytes
from virtual_stm32.peripherals.rcc import BusDividers, ClockGate, ClockLimits, Frequencies, Rcc
from virtual_stm32.peripherals.rtc import RtcV2
from virtual_stm32.peripherals.usart_v2 import UsartV2

MAX_HZ = 48_000_000
FLASH_LIMITS = ClockLimits((24_000_000, MAX_HZ))
_CFGR, _CFGR3, _CR2 = 0x04, 0x30, 0x34
_SW_HSI48 = 3


class RccF0(RccF3):
    """HSI, HSE and the PLL, and one APB. HSI14 and HSI48 are not modelled."""

    dividers = BusDividers(_CFGR, 4, 8, 8)
    gates: ClassVar[Mapping[str, ClockGate]] = {
        **{name: gate for name, gate in RccF3.gates.items() if not name.startswith("UART")},
        "TIM2": ClockGate(0x1C, 0),
        "USART4": ClockGate(0x1C, 19),
        "USART5": ClockGate(0x1C, 20),
    }
    max_hz = MAX_HZ

    def __init__(self, cycle_of: Callable[[int, int], int], hse_hz: int | None) -> None:
        super().__init__(cycle_of, hse_hz, "")
        self.words[_CR2] = 0x80
        self.has_hsi_prediv = True  # of F07x and F09x

    @override
    def source_is_ready(self, selection: int) -> bool:
        return selection != _SW_HSI48 and super().source_is_ready(selection)

    @override
    def frequencies(self) -> Frequencies:
        if self.field(_CFGR3, 0, 2):
            raise NotModelledError("RCC_CFGR3 USART1SW is not modelled, only PCLK")
        return Rcc.frequencies(self)


def _wired(builder: DmaBuilder) -> DmaSystem:
    used = {line.name for line in builder.lines}
    table = {channel: name for channel, names in requests.F0.items() for name in names if name in used}
    return two_dma(builder, FixedRequests(table))


def _selected(builder: DmaBuilder) -> DmaSystem:
    selection = ChannelSelection(requests.F09)
    return two_dma(builder, selection, selection)


_EXTI = ExtiLayout(mask=0x00, rising=0x08, falling=0x0C, pending=0x14, timer_line=20, mask_after_reset=0x7F840000)


def stm32f0(board: Board, cells: FlashCells, clock: BoardClock) -> Family:
    """Return the peripherals of an STM32F0."""
    rcc = RccF0(clock.cycle_after, board.hse_hz)
    flash = FlashF3(cells, clock.cycle_after)
    pwr = PwrF3()
    syscfg = Registers("SYSCFG", dict.fromkeys((0x00, *range(0x08, 0x18, 4)), 0))
    rtc = RtcV2(clock, lambda: rcc.rtc_runs_from_lsi and pwr.writes_backup, LSI_HZ)
    return Family(
        rcc=rcc,
        plain=(
            (0x40021000, rcc),
            (0x40022000, flash),
            (OPTION_BYTES_BASE, OptionBytes(flash)),
            (0x40007000, pwr),
            (0x40023000, CrcUnit()),
            (0x40010000, syscfg),
        ),
        flash=flash,
        limits=FLASH_LIMITS,
        gpio_base=0x48000000,
        ports="ABCDEF",
        usart=UsartV2,
        dma=_selected if board.device.name.startswith("stm32f09") else _wired,
        check=lambda: check_hz("a clock", rcc.frequencies().ahb_hz, MAX_HZ),
        stop=StopMode(
            rtc=(0x40002800, rtc), exti=(0x40010400, Exti(_EXTI, clock, rtc, syscfg)), wake_us=5, check=pwr.check_stop
        ),
        cycle_timers=(("TIM2", 0x40000000),),
        lsi_hz=LSI_HZ,
    )
