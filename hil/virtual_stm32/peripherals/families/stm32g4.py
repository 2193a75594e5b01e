"""RCC and PWR of the STM32G4 (RM0440), which are almost those of the L4+."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import ClassVar

from typing_extensions import override

from tinysplit.boards.board import Board
from virtual_stm32.clock import BoardClock
from virtual_stm32.peripherals.base import Registers
from virtual_stm32.peripherals.crc import CrcUnit
from virtual_stm32.peripherals.dma import requests
from virtual_stm32.peripherals.dma.multiplexer import RequestSelection
from virtual_stm32.peripherals.exti import Exti, ExtiLayout
from virtual_stm32.peripherals.families.family import Family, StopMode, check_hz
from virtual_stm32.peripherals.families.stm32l4 import HSI16, ONE_BANK_BYTES, PLL, PwrL4, RccPllR, dma
from virtual_stm32.peripherals.flash.cells import FlashCells
from virtual_stm32.peripherals.flash.stm32l4 import FlashG4, FlashG4OneBank, FlashG4TwoBanks, FlashL4
from virtual_stm32.peripherals.rcc import ClockLimits, Oscillator
from virtual_stm32.peripherals.rtc import RtcV3
from virtual_stm32.peripherals.usart_v2 import UsartV2

_MHZ = 1_000_000
FLASH_LIMITS = ClockLimits(tuple(mhz * _MHZ for mhz in (34, 68, 102, 136, 170)))  # range 1 boost mode
_RESET = {
    0x00: 0x500,
    0x04: 0x40000000,
    0x08: 0x5,
    0x0C: 0x1000,
    0x48: 0x100,
    0x4C: 0,
    0x50: 0,
    0x58: 0x400,
    0x5C: 0,
    0x60: 0,
    0x88: 0,
    0x90: 0,
    0x94: 0,
}
_SELECTS_HSI, _SELECTS_PLL = 1, 3
_MUX_CHANNELS = 8  # of DMAMUX1 for each controller, also where that has six channels
_TWO_BANKS = "stm32g47", "stm32g48"


class RccG4(RccPllR):
    """HSI16, HSE and PLL output R."""

    oscillators = (HSI16, PLL)
    sources: ClassVar[Mapping[int, int]] = {_SELECTS_HSI: HSI16.ready_bit, _SELECTS_PLL: PLL.ready_bit}

    def __init__(self, cycle_of: Callable[[int, int], int], hse_hz: int | None) -> None:
        super().__init__(_RESET, cycle_of, hse_hz)

    @property
    @override
    def after_stop(self) -> tuple[int, Oscillator]:
        return _SELECTS_HSI, HSI16


class PwrG4(PwrL4):
    """Core voltage range and boost."""

    stop_mode = (1, "Stop 1")
    normal_hz, boost_hz = 150 * _MHZ, 170 * _MHZ


def _flash(board: Board) -> type[FlashL4]:
    if not board.device.name.startswith(_TWO_BANKS):
        return FlashG4
    return FlashG4OneBank if board.flash_level.access_bytes == ONE_BANK_BYTES else FlashG4TwoBanks


_EXTI = ExtiLayout(mask=0x00, rising=0x08, falling=0x0C, pending=0x14, timer_line=20, mask_after_reset=0x1F840000)


def stm32g4(board: Board, cells: FlashCells, clock: BoardClock) -> Family:
    """Return the peripherals of an STM32G4."""
    cycle_after = clock.cycle_after
    rcc = RccG4(cycle_after, board.hse_hz)
    flash = _flash(board)(cells, cycle_after)
    pwr = PwrG4(is_plus=True)
    syscfg = Registers("SYSCFG", dict.fromkeys((0x00, *range(0x08, 0x18, 4)), 0))
    rtc = RtcV3(clock, lambda: rcc.rtc_runs_from_lsi and pwr.writes_backup)
    return Family(
        rcc=rcc,
        plain=(
            (0x40021000, rcc),
            (0x40022000, flash),
            (0x40007000, pwr),
            (0x40023000, CrcUnit()),
            (0x40010000, syscfg),
        ),
        flash=flash,
        limits=FLASH_LIMITS,
        gpio_base=0x48000000,
        ports="ABCDEFG",
        usart=UsartV2,
        dma=partial(
            dma,
            channels=sum(each.name.startswith("DMA1_Channel") for each in board.device.interrupts),
            multiplexer=RequestSelection(requests.L4_PLUS, _MUX_CHANNELS, 2 * _MUX_CHANNELS),
        ),
        check=lambda: check_hz("a clock", rcc.frequencies().ahb_hz, pwr.max_hz()),
        stop=StopMode(
            rtc=(0x40002800, rtc),
            exti=(0x40010400, Exti(_EXTI, clock, rtc, syscfg)),
            wake_us=10,
            check=pwr.check_stop,
        ),
        fifo_bytes=8,  # RM0440, USART implementation
    )
