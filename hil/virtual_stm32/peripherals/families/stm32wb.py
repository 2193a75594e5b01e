"""RCC and PWR of the STM32WB (RM0434), which are almost those of the L4, and what the WL shares with them.

The second core is not started.
"""

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
from virtual_stm32.peripherals.dma.builder import CHANNELS
from virtual_stm32.peripherals.dma.multiplexer import RequestSelection
from virtual_stm32.peripherals.exti import Exti, ExtiLayout
from virtual_stm32.peripherals.families.family import Family, StopMode, check_hz
from virtual_stm32.peripherals.families.stm32l4 import PwrL4, RccMsi, RccPllR, dma
from virtual_stm32.peripherals.flash.cells import FlashCells
from virtual_stm32.peripherals.flash.stm32l4 import FlashWb
from virtual_stm32.peripherals.rcc import ClockGate, ClockLimits, ahb_divider
from virtual_stm32.peripherals.rtc import RtcV2, RtcV3
from virtual_stm32.peripherals.usart_v2 import UsartV2

_MHZ = 1_000_000
FLASH_LIMITS = ClockLimits(tuple(mhz * _MHZ for mhz in (18, 36, 54, 64)))  # range 1
_PLLCFGR, _EXTCFGR, _C2HPRE = 0x0C, 0x108, 4
_RESET = {
    0x00: 0x61,
    0x04: 0x10000000,
    0x08: 0,
    _PLLCFGR: 0x22041000,
    0x48: 0x100,
    0x4C: 0,
    0x50: 0x02080000,
    0x58: 0x400,
    0x5C: 0,
    0x60: 0,
    0x88: 0,
    0x90: 0,
    0x94: 0,
    _EXTCFGR: 0,
}
_ALWAYS_CLOCKED = ("PWR", "SYSCFG")


class RccWb(RccMsi):
    """MSI at 4 MHz, HSI16, HSE and PLL output R; the second core has a divider of its own."""

    gates: ClassVar[Mapping[str, ClockGate]] = {
        name: gate for name, gate in RccPllR.gates.items() if name not in _ALWAYS_CLOCKED
    }
    m_bits, pll_r_enable_bit = 3, 28
    reset: ClassVar[Mapping[int, int]] = _RESET
    second_core_max_hz = 32 * _MHZ

    def __init__(self, cycle_of: Callable[[int, int], int], hse_hz: int | None) -> None:
        super().__init__(self.reset, cycle_of, hse_hz)

    @property
    @override
    def pll_r(self) -> int:
        return self.field(_PLLCFGR, 29, 3) + 1

    @property
    def second_core_hz(self) -> int:
        """The clock of the second core."""
        return self.source_hz(self.selection) // ahb_divider(self.field(_EXTCFGR, _C2HPRE, 4))


_C2CR1, _LPMS, _STOP_2 = 0x80, 0, 2


class PwrWb(PwrL4):
    """Core voltage range, and low-power modes of both cores."""

    range_2_hz, normal_hz = 16 * _MHZ, 64 * _MHZ
    second_core_mode = 0  # LPMS in C2CR1 after a reset

    def __init__(self) -> None:
        super().__init__(is_plus=False)
        self.words[_C2CR1] = self.second_core_mode

    @override
    def check_stop(self) -> None:
        super().check_stop()
        if (mode := self.field(_C2CR1, _LPMS, 3)) < _STOP_2:
            raise NotModelledError(f"PWR_C2CR1 LPMS = {mode} keeps the part from Stop 2")


def _check(rcc: RccWb, pwr: PwrWb) -> None:
    check_hz("a clock", rcc.frequencies().ahb_hz, pwr.max_hz())
    check_hz("the clock of the second core (RCC_EXTCFGR)", rcc.second_core_hz, rcc.second_core_max_hz)


_EXTI = ExtiLayout(mask=0x80, rising=0x00, falling=0x04, pending=0x0C, timer_line=19, mask_after_reset=0x7FC00000)


def wb_wl(
    clock: BoardClock,
    rcc: RccWb,
    pwr: PwrWb,
    flash: FlashWb,
    limits: ClockLimits,
    layout: ExtiLayout,
    numbers: dict[int, str],
) -> Family:
    """Return the peripherals of an STM32WB or WL, whose RTC is that of the G0 where its timer has a direct line."""
    syscfg = Registers("SYSCFG", dict.fromkeys((0x00, *range(0x08, 0x18, 4)), 0))
    rtc = (RtcV3 if layout.timer_is_direct else RtcV2)(clock, lambda: rcc.rtc_runs_from_lsi and pwr.writes_backup)
    return Family(
        rcc=rcc,
        plain=(
            (0x58000000, rcc),
            (0x58004000, flash),
            (0x58000400, pwr),
            (0x40023000, CrcUnit()),
            (0x40010000, syscfg),
        ),
        flash=flash,
        limits=limits,
        gpio_base=0x48000000,
        ports="ABCDEH",
        usart=UsartV2,
        dma=partial(dma, channels=CHANNELS, multiplexer=RequestSelection(numbers, CHANNELS, 2 * CHANNELS)),
        check=partial(_check, rcc, pwr),
        stop=StopMode(
            rtc=(0x40002800, rtc),
            exti=(0x58000800, Exti(layout, clock, rtc, syscfg)),
            wake_us=8,
            check=pwr.check_stop,
        ),
        fifo_bytes=8,  # RM0434 and RM0453, USART implementation
    )


def stm32wb(board: Board, cells: FlashCells, clock: BoardClock) -> Family:
    """Return the peripherals of an STM32WB."""
    rcc = RccWb(clock.cycle_after, board.hse_hz)
    flash = FlashWb(cells, clock.cycle_after)
    return wb_wl(clock, rcc, PwrWb(), flash, FLASH_LIMITS, _EXTI, requests.WB)
