"""RCC and PWR of the STM32L5 (RM0438), which are almost those of the L4+, without TrustZone."""

from collections.abc import Callable
from functools import partial

from typing_extensions import override

from tinysplit.boards.board import Board
from virtual_stm32.clock import BoardClock
from virtual_stm32.peripherals.crc import CrcUnit
from virtual_stm32.peripherals.dma import requests
from virtual_stm32.peripherals.dma.multiplexer import RequestSelection
from virtual_stm32.peripherals.exti import Exti, ExtiLayout
from virtual_stm32.peripherals.families.family import Family, StopMode, check_hz
from virtual_stm32.peripherals.families.stm32l4 import ONE_BANK_BYTES, PwrL4, RccL4, dma
from virtual_stm32.peripherals.flash.cells import FlashCells
from virtual_stm32.peripherals.flash.icache import Icache
from virtual_stm32.peripherals.flash.stm32u5 import FlashL5, FlashL5OneBank
from virtual_stm32.peripherals.rcc import ClockLimits
from virtual_stm32.peripherals.rtc import RtcV3
from virtual_stm32.peripherals.usart_v2 import UsartV2

_MHZ = 1_000_000
FLASH_LIMITS = ClockLimits(tuple(mhz * _MHZ for mhz in (20, 40, 60, 80, 100, 110)))  # range 0
_CHANNELS = 8  # of each DMA controller
_SELECTS_MSI = 0
_PLL_FROM_MSI = 1


class RccL5(RccL4):
    """MSI, HSI16, HSE and PLL output R, which MSI can feed, too, as OpenOCD has it."""

    def __init__(self, cycle_of: Callable[[int, int], int], hse_hz: int | None) -> None:
        super().__init__(cycle_of, hse_hz, is_plus=True)

    @override
    def pll_source_hz(self, hsi_hz: int) -> int:
        is_msi = self.field(self.pll_source.offset, 0, self.pll_source.bits) == _PLL_FROM_MSI
        return self.source_hz(_SELECTS_MSI) if is_msi else super().pll_source_hz(hsi_hz)


_CR1, _SR2, _VOS, _VOSF = 0x00, 0x14, 9, 10
_RANGE_HZ = (110 * _MHZ, 80 * _MHZ, 26 * _MHZ, 0)  # by VOS
_SCALE_PS = 20_000_000  # assumed


class PwrL5(PwrL4):
    """Core voltage range, which is 2 after a reset."""

    def __init__(self, cycle_after: Callable[[int, int], int]) -> None:
        super().__init__(is_plus=False)
        self._cycle_after = cycle_after
        self.words[_CR1] = 2 << _VOS

    @override
    def store(self, offset: int, value: int, now: int) -> None:
        before = self.words[offset]
        super().store(offset, value, now)
        if offset == _CR1 and (value ^ before) >> _VOS & 3:
            self.words[_SR2] |= 1 << _VOSF
            self.later(self._cycle_after(now, _SCALE_PS), self._scaled)

    def _scaled(self, _now: int) -> None:
        self.words[_SR2] &= ~(1 << _VOSF)

    @override
    def max_hz(self) -> int:
        return _RANGE_HZ[2 if self.field(_SR2, _VOSF, 1) else self.field(_CR1, _VOS, 2)]


_EXTI = ExtiLayout(
    mask=0x80,
    rising=0x00,
    falling=0x04,
    pending=0x10,
    timer_line=17,
    timer_is_direct=True,
    mask_after_reset=0xFF9E0000,
)


def stm32l5(board: Board, cells: FlashCells, clock: BoardClock) -> Family:
    """Return the peripherals of an STM32L5."""
    cycle_after = clock.cycle_after
    rcc = RccL5(cycle_after, board.hse_hz)
    icache = Icache()
    controller = FlashL5OneBank if board.flash_level.access_bytes == ONE_BANK_BYTES else FlashL5
    flash = controller(cells, cycle_after, icache)
    pwr = PwrL5(cycle_after)
    rtc = RtcV3(clock, lambda: rcc.rtc_runs_from_lsi and pwr.writes_backup)
    return Family(
        rcc=rcc,
        plain=(
            (0x40021000, rcc),
            (0x40022000, flash),
            (0x40007000, pwr),
            (0x40023000, CrcUnit()),
            (0x40030400, icache),
        ),
        flash=flash,
        limits=FLASH_LIMITS,
        gpio_base=0x42020000,
        ports="ABCDEFGH",
        usart=UsartV2,
        dma=partial(dma, channels=_CHANNELS, multiplexer=RequestSelection(requests.L5, _CHANNELS, 2 * _CHANNELS)),
        check=lambda: check_hz("a clock", rcc.frequencies().ahb_hz, pwr.max_hz()),
        stop=StopMode(
            rtc=(0x40002800, rtc),
            exti=(0x4002F400, Exti(_EXTI, clock, rtc)),
            wake_us=8,
            check=pwr.check_stop,
        ),
        port_is_powered=lambda port: port != "G" or pwr.port_g_is_powered,
        fifo_bytes=8,  # RM0438, USART implementation
    )
