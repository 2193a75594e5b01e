"""RCC and PWR of the STM32C0 (RM0490); what is not here is as in the STM32G0."""

from collections.abc import Callable, Mapping
from typing import ClassVar

from typing_extensions import override

from tinysplit.boards.board import Board
from virtual_stm32.clock import BoardClock
from virtual_stm32.errors import NotModelledError
from virtual_stm32.peripherals.base import Registers
from virtual_stm32.peripherals.crc import CrcUnit
from virtual_stm32.peripherals.exti import Exti
from virtual_stm32.peripherals.families.family import Family, StopMode
from virtual_stm32.peripherals.families.stm32g0 import EXTI_G0, RccG0, dma_g0
from virtual_stm32.peripherals.flash.cells import FlashCells
from virtual_stm32.peripherals.flash.stm32l4 import FlashC0
from virtual_stm32.peripherals.rcc import (
    HSE,
    ClockGate,
    ClockLimits,
    Oscillator,
    Rcc,
    SwitchFields,
)
from virtual_stm32.peripherals.rtc import RtcAlarm
from virtual_stm32.peripherals.usart_v2 import UsartV2

HSI_HZ = 48_000_000
FLASH_LIMITS = ClockLimits((24_000_000, 48_000_000))
_CR, _CFGR = 0x00, 0x08
_RESET = {_CR: 0x1540, 0x04: 0x4000, _CFGR: 0, **dict.fromkeys((0x34, 0x3C, 0x40, 0x54, 0x5C, 0x60), 0), 0x38: 0x100}
_HSIRDY = 10
_SELECTS_HSI, _SELECTS_HSE = 0, 1


class RccC0(Rcc):
    """HSI48 with its divider, or HSE: there is no PLL."""

    oscillators = (Oscillator(8, _HSIRDY, 2),)
    switch = SwitchFields(_CFGR, 3, 3)
    dividers = RccG0.dividers
    lsi_offset, backup_offset = RccG0.lsi_offset, RccG0.backup_offset
    reset_flags = RccG0.reset_flags
    gates: ClassVar[Mapping[str, ClockGate]] = {
        **{name: gate for name, gate in RccG0.gates.items() if name not in ("TIM2", "LPUART1")},
        "TIM1": ClockGate(0x40, 11),
        "TIM3": ClockGate(0x3C, 1),
    }

    def __init__(self, cycle_of: Callable[[int, int], int], hse_hz: int | None) -> None:
        super().__init__(_RESET, cycle_of, hse_hz)

    @property
    @override
    def runs_from_hse(self) -> bool:
        return self.selection == _SELECTS_HSE

    @override
    def source_is_ready(self, selection: int) -> bool:
        ready_bit = {_SELECTS_HSI: _HSIRDY, _SELECTS_HSE: HSE.ready_bit}.get(selection)
        return ready_bit is not None and self.is_ready(ready_bit)

    @override
    def source_hz(self, selection: int) -> int:
        return HSI_HZ >> self.field(_CR, 11, 3) if selection == _SELECTS_HSI else self.hse_hz


class PwrC0(Registers):
    """Low-power modes; nothing protects the RTC."""

    def __init__(self) -> None:
        super().__init__("PWR", {0x00: 0x208})

    def check_stop(self) -> None:
        """Raise NotModelledError unless CR1 LPMS selects Stop mode."""
        if mode := self.field(0, 0, 3):
            raise NotModelledError(f"PWR_CR1 LPMS = {mode} is not modelled, only Stop mode")


def stm32c0(board: Board, cells: FlashCells, clock: BoardClock) -> Family:
    """Return the peripherals of an STM32C0."""
    rcc = RccC0(clock.cycle_after, board.hse_hz)
    flash = FlashC0(cells, clock.cycle_after)
    pwr = PwrC0()
    rtc = RtcAlarm(clock, lambda: rcc.rtc_runs_from_lsi)
    return Family(
        rcc=rcc,
        plain=(
            (0x40021000, rcc),
            (0x40022000, flash),
            (0x40007000, pwr),
            (0x40010000, Registers("SYSCFG", {0x00: 0})),
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
            rtc=(0x40002800, rtc), exti=(0x40021800, Exti(EXTI_G0, clock, rtc)), wake_us=6, check=pwr.check_stop
        ),
        cycle_timers=(("TIM1", 0x40012C00), ("TIM3", 0x40000400)),
        fifo_bytes=8,
        without_fifo=("USART2", "USART3", "USART4"),  # RM0490, USART implementation: USART1 alone has one
    )
