"""The STM32F7 (RM0385, RM0410): clocks, DMA and stop mode of the STM32F4, with the newer USART and CRC unit."""

from collections.abc import Callable, Mapping
from typing import ClassVar

from tinysplit.boards.board import Board
from virtual_stm32.clock import BoardClock
from virtual_stm32.peripherals.base import Registers
from virtual_stm32.peripherals.crc import CrcUnit
from virtual_stm32.peripherals.exti import Exti
from virtual_stm32.peripherals.families.family import Family, StopMode, check_hz
from virtual_stm32.peripherals.families.stm32f4 import EXTI, PwrF4, RccF4, stream_dma
from virtual_stm32.peripherals.flash.cells import FlashCells
from virtual_stm32.peripherals.flash.stm32f4 import FlashF7, FlashF76
from virtual_stm32.peripherals.rcc import ClockGate, ClockLimits
from virtual_stm32.peripherals.rtc import RtcV2
from virtual_stm32.peripherals.usart_v2 import UsartV2

FLASH_LIMITS = ClockLimits((*range(30_000_000, 210_000_001, 30_000_000), 216_000_000))  # 2.7 V to 3.6 V
_AHB1ENR, _APB1ENR, _DTCMRAMEN = 0x30, 0x40, 1 << 20


class RccF7(RccF4):
    """That of the F4, with more ports and UARTs; the clock of the DTCM is on after a reset."""

    gates: ClassVar[Mapping[str, ClockGate]] = {
        **RccF4.gates,
        "GPIOI": ClockGate(_AHB1ENR, 8),
        "UART7": ClockGate(_APB1ENR, 30),
        "UART8": ClockGate(_APB1ENR, 31),
    }

    def __init__(self, cycle_of: Callable[[int, int], int], hse_hz: int | None) -> None:
        super().__init__(cycle_of, hse_hz)
        self.words[_AHB1ENR] = _DTCMRAMEN


def stm32f7(board: Board, cells: FlashCells, clock: BoardClock) -> Family:
    """Return the peripherals of an STM32F7."""
    rcc = RccF7(clock.cycle_after, board.hse_hz)
    has_two_banks = board.device.name.startswith(("stm32f76", "stm32f77"))  # or one, as delivered
    flash = (FlashF76 if has_two_banks else FlashF7)(cells, clock.cycle_after)
    pwr = PwrF4(board.device.max_hz)
    syscfg = Registers("SYSCFG", dict.fromkeys((0x00, *range(0x08, 0x18, 4)), 0))
    rtc = RtcV2(clock, lambda: rcc.rtc_runs_from_lsi and pwr.writes_backup)
    return Family(
        rcc=rcc,
        plain=(
            (0x40023800, rcc),
            (0x40023C00, flash),
            (0x40007000, pwr),
            (0x40023000, CrcUnit()),
            (0x40013800, syscfg),
        ),
        flash=flash,
        limits=FLASH_LIMITS,
        gpio_base=0x40020000,
        ports="ABCDEFGHI",
        usart=UsartV2,
        dma=stream_dma,
        check=lambda: check_hz("a clock", rcc.frequencies().ahb_hz, pwr.max_hz()),
        stop=StopMode(
            rtc=(0x40002800, rtc),
            exti=(0x40013C00, Exti(EXTI, clock, rtc, syscfg)),
            wake_us=113,
            check=pwr.check_stop,
            left=pwr.left_stop,
        ),
    )
