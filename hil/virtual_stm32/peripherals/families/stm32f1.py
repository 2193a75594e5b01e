"""RCC and AFIO of the STM32F1 (RM0008, RM0041). PWR and flash are almost those of the F3."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import ClassVar

from typing_extensions import override

from tinysplit.boards.board import Board
from virtual_stm32.clock import BoardClock
from virtual_stm32.peripherals.base import Registers
from virtual_stm32.peripherals.crc import CrcUnit
from virtual_stm32.peripherals.dma import requests
from virtual_stm32.peripherals.dma.channels import FixedRequests
from virtual_stm32.peripherals.exti import Exti, ExtiLayout
from virtual_stm32.peripherals.families import stm32f3
from virtual_stm32.peripherals.families.family import Family, StopMode, check_hz
from virtual_stm32.peripherals.flash.cells import FlashCells
from virtual_stm32.peripherals.flash.stm32f3 import OPTION_BYTES_BASE, FlashF1, OptionBytes
from virtual_stm32.peripherals.gpio import GpioF1
from virtual_stm32.peripherals.rcc import ClockGate, PllSource, pll_hz
from virtual_stm32.peripherals.reset import reset_flags
from virtual_stm32.peripherals.rtc_counter import RtcCounter
from virtual_stm32.peripherals.usart_v1 import UsartF1

HSI_HZ, LSI_HZ = 8_000_000, 40_000
MAX_HZ = {"0": 24_000_000, "1": 36_000_000, "2": 48_000_000, "3": 72_000_000}  # by line: stm32f103
_LINE, _FLASH_LETTER = 8, 10  # in names: stm32f103rB
_SMALL_PAGES = ("4", "6", "8", "b")  # sizes of the flash in names with pages of 1 KB, of others 2
_CR, _CFGR, _CSR = 0x00, 0x04, 0x24
_RESET = {_CR: 0x83, **dict.fromkeys((_CFGR, 0x08, 0x0C, 0x10, 0x18, 0x1C, 0x20, _CSR), 0), 0x14: 0x14}
_SELECTS_HSI, _SELECTS_HSE, _SELECTS_PLL = range(3)
_FROM_HALF_HSI, _FROM_HSE = range(2)  # PLLSRC
_PLLSRC, _PLLXTPRE, _PLLMUL = 16, 17, 18
_LARGEST = 16  # multiplier
_BKPEN = 27


class RccF1(stm32f3.RccF1F3):
    """HSI, HSE and the PLL."""

    pll_fields = 0x3F << 16
    pll_source = PllSource(_SELECTS_PLL, _CFGR, 1, hsi=_FROM_HALF_HSI, hse=_FROM_HSE, position=_PLLSRC)
    reset_flags = reset_flags(_CSR, 24, always=(26,), power_up=(27,), brown_out=(27,), software=(28,), watchdog=(29,))
    gates: ClassVar[Mapping[str, ClockGate]] = {
        **{f"GPIO{port}": ClockGate(0x18, bit) for bit, port in enumerate("ABCDE", 2)},
        "AFIO": ClockGate(0x18, 0),
        "DMA1": ClockGate(0x14, 0),
        "DMA2": ClockGate(0x14, 1),
        "CRC": ClockGate(0x14, 6),
        "USART1": ClockGate(0x18, 14),
        "USART2": ClockGate(0x1C, 17),
        "USART3": ClockGate(0x1C, 18),
        "UART4": ClockGate(0x1C, 19),
        "PWR": ClockGate(0x1C, 28),
    }

    def __init__(self, cycle_of: Callable[[int, int], int], hse_hz: int | None) -> None:
        super().__init__(_RESET, cycle_of, hse_hz)

    @override
    def source_hz(self, selection: int) -> int:
        if selection == _SELECTS_HSI:
            return HSI_HZ
        if selection == _SELECTS_HSE:
            return self.hse_hz
        is_hse = self.field(_CFGR, _PLLSRC, 1) == _FROM_HSE
        m = 1 + self.field(_CFGR, _PLLXTPRE, 1) if is_hse else 2
        n = min(self.field(_CFGR, _PLLMUL, 4) + 2, _LARGEST)
        hz = self.pll_source_hz(HSI_HZ)
        return pll_hz(hz, m, n, 1, (1_000_000, 25_000_000), (16_000_000, MAX_HZ["3"]))

    @property
    def backup_is_clocked(self) -> bool:
        """Whether the RTC's registers have a clock, and it counts LSI."""
        return self.rtc_runs_from_lsi and bool(self.words[0x1C] >> _BKPEN & 1)


def _check(rcc: RccF1, line: str) -> None:
    frequencies = rcc.frequencies()
    check_hz("a clock", frequencies.ahb_hz, MAX_HZ[line])
    check_hz("PCLK1", frequencies.bus_hz["apb1"], stm32f3.APB1_MAX_HZ)


_EXTI = ExtiLayout(mask=0x00, rising=0x08, falling=0x0C, pending=0x14, timer_line=17, timer_interrupts=("RTC_Alarm",))


def stm32f1(board: Board, cells: FlashCells, clock: BoardClock) -> Family:
    """Return the peripherals of an STM32F1."""
    rcc = RccF1(clock.cycle_after, board.hse_hz)
    page_bytes = 1024 if board.device.name[_FLASH_LETTER] in _SMALL_PAGES else 2048
    flash = FlashF1(cells, clock.cycle_after, page_bytes)
    pwr = stm32f3.PwrF3()
    afio = Registers("AFIO", dict.fromkeys((0x00, 0x04, *range(0x08, 0x18, 4)), 0))
    rtc = RtcCounter(clock, lambda: rcc.backup_is_clocked and pwr.writes_backup, LSI_HZ)
    return Family(
        rcc=rcc,
        plain=(
            (0x40021000, rcc),
            (0x40022000, flash),
            (OPTION_BYTES_BASE, OptionBytes(flash)),
            (0x40007000, pwr),
            (0x40023000, CrcUnit(reverses=False)),
            (0x40010000, afio),
        ),
        flash=flash,
        limits=stm32f3.FLASH_LIMITS,
        gpio_base=0x40010800,
        ports="ABCDE",
        gpio=partial(GpioF1, afio=afio),
        usart=UsartF1,
        dma=lambda builder: stm32f3.two_dma(builder, FixedRequests(requests.F3)),
        check=partial(_check, rcc, board.device.name[_LINE]),
        stop=StopMode(
            rtc=(0x40002800, rtc),
            exti=(0x40010400, Exti(_EXTI, clock, rtc, afio)),
            wake_us=6,
            check=pwr.check_stop,
            left=rtc.left_stop,
        ),
        lsi_hz=LSI_HZ,
    )
