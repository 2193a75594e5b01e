"""RCC and PWR of the STM32WL (RM0453, RM0461), which are almost those of the WB."""

from collections.abc import Mapping
from typing import ClassVar

from tinysplit.boards.board import Board
from virtual_stm32.clock import BoardClock
from virtual_stm32.peripherals.dma import requests
from virtual_stm32.peripherals.exti import ExtiLayout
from virtual_stm32.peripherals.families.family import Family
from virtual_stm32.peripherals.families.stm32wb import PwrWb, RccWb, wb_wl
from virtual_stm32.peripherals.flash.cells import FlashCells
from virtual_stm32.peripherals.flash.stm32l4 import FlashWl
from virtual_stm32.peripherals.rcc import ClockLimits

_MHZ = 1_000_000
FLASH_LIMITS = ClockLimits(tuple(mhz * _MHZ for mhz in (18, 36, 48)))  # range 1


class RccWl(RccWb):
    """HSE is a crystal, or a TCXO that the device supplies (HSEBYPPWR)."""

    reset: ClassVar[Mapping[int, int]] = {**RccWb.reset, 0x94: 0x1C600}
    hse_bypass_bit, has_second_range, second_core_max_hz = 21, True, 48 * _MHZ


class PwrWl(PwrWb):
    """The second core allows any mode until it is started."""

    normal_hz, second_core_mode = 48 * _MHZ, 7


# The timer's line is direct, as RTSR1 has no bit for it in ST's stm32wl55xx.h; so are those of the mask after a reset.
_EXTI = ExtiLayout(
    mask=0x80,
    rising=0x00,
    falling=0x04,
    pending=0x0C,
    timer_line=20,
    timer_is_direct=True,
    mask_after_reset=0xFF9E0000,
)


def stm32wl(board: Board, cells: FlashCells, clock: BoardClock) -> Family:
    """Return the peripherals of an STM32WL."""
    rcc = RccWl(clock.cycle_after, board.hse_hz)
    flash = FlashWl(cells, clock.cycle_after)
    return wb_wl(clock, rcc, PwrWl(), flash, FLASH_LIMITS, _EXTI, requests.WL)
