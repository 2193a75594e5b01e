"""RCC and PWR of the STM32F3 (RM0316, RM0365, RM0366)."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import ClassVar

from typing_extensions import override

from tinysplit.boards.board import Board
from virtual_stm32.clock import BoardClock
from virtual_stm32.errors import NotModelledError
from virtual_stm32.peripherals.base import Peripheral, Registers
from virtual_stm32.peripherals.crc import CrcUnit
from virtual_stm32.peripherals.dma import requests
from virtual_stm32.peripherals.dma.builder import DMA1, DMA2, DmaBuilder, DmaSystem
from virtual_stm32.peripherals.dma.channels import ChannelSelection, DmaChannels, FixedRequests
from virtual_stm32.peripherals.dma.controller import RequestLines, RequestRouter
from virtual_stm32.peripherals.exti import Exti, ExtiLayout
from virtual_stm32.peripherals.families.family import Family, StopMode, check_hz
from virtual_stm32.peripherals.flash.cells import FlashCells
from virtual_stm32.peripherals.flash.stm32f3 import OPTION_BYTES_BASE, FlashF3, OptionBytes
from virtual_stm32.peripherals.rcc import (
    HSE,
    BusDividers,
    ClockGate,
    ClockLimits,
    Frequencies,
    Oscillator,
    PllSource,
    Rcc,
    SwitchFields,
    pll_hz,
)
from virtual_stm32.peripherals.reset import reset_flags
from virtual_stm32.peripherals.rtc import RtcV2
from virtual_stm32.peripherals.usart_v2 import UsartV2

HSI_HZ, LSI_HZ = 8_000_000, 40_000
MAX_HZ, APB1_MAX_HZ = 72_000_000, 36_000_000
FLASH_LIMITS = ClockLimits((24_000_000, 48_000_000, 72_000_000))
_CR, _CFGR, _CSR, _CFGR2, _CFGR3 = 0x00, 0x04, 0x24, 0x2C, 0x30
_RESET = {
    _CR: 0x83,
    **dict.fromkeys((_CFGR, 0x08, 0x0C, 0x10, 0x18, 0x1C, 0x20, _CSR, 0x28, _CFGR2, _CFGR3), 0),
    0x14: 0x14,
}
_HSIRDY, _PLLRDY, _PLLON = 1, 25, 24
_SELECTS_HSI, _SELECTS_HSE, _SELECTS_PLL = range(3)
_FROM_HALF_HSI, _FROM_HSI, _FROM_HSE = range(3)  # PLLSRC, of which lines without PREDIV for HSI have the upper bit
_PLLSRC, _PLLMUL = 15, 18
_LARGEST = 16  # multiplier
_BY_PCLK, _BY_SYSCLK, _BY_HSI = 0, 1, 3  # USART1SW
_HAS_HSI_PREDIV = ("d", "e")  # sizes of the flash in names: stm32f303xD and xE, F302xD and xE
_FEW_PERIPHERALS = ("6", "8")  # USART1 of these has PCLK1 (RCC_CFGR3, USART1SW), others PCLK2


class RccF1F3(Rcc):
    """What the F1 has of it, too: oscillators, the switch, dividers, and fields that the PLL holds while it is on."""

    oscillators = (Oscillator(0, _HSIRDY, 2), Oscillator(_PLLON, _PLLRDY, 200))
    switch = SwitchFields(_CFGR, 2, 2)
    dividers = BusDividers(_CFGR, 4, 8, 11)
    lsi_offset, backup_offset = _CSR, 0x20
    pll_fields: ClassVar[int]  # of CFGR

    @override
    def store(self, offset: int, value: int, now: int) -> None:
        if offset == _CFGR and self.words[_CR] >> _PLLON & 1:
            value = value & ~self.pll_fields | self.words[_CFGR] & self.pll_fields
        super().store(offset, value, now)

    @override
    def source_is_ready(self, selection: int) -> bool:
        return self.is_ready((_HSIRDY, HSE.ready_bit, _PLLRDY)[selection])


class RccF3(RccF1F3):
    """HSI, HSE and the PLL."""

    pll_fields = 0x7F << 15
    pll_source = PllSource(_SELECTS_PLL, _CFGR, 2, hsi=_FROM_HALF_HSI, hse=_FROM_HSE, position=_PLLSRC)
    reset_flags = reset_flags(
        _CSR, 24, always=(26,), option_bytes=(25,), power_up=(27,), brown_out=(27,), software=(28,), watchdog=(29,)
    )
    gates: ClassVar[Mapping[str, ClockGate]] = {
        **{f"GPIO{port}": ClockGate(0x14, bit) for bit, port in enumerate("ABCDEF", 17)},
        "DMA1": ClockGate(0x14, 0),
        "DMA2": ClockGate(0x14, 1),
        "CRC": ClockGate(0x14, 6),
        "SYSCFG": ClockGate(0x18, 0),
        "USART1": ClockGate(0x18, 14),
        "USART2": ClockGate(0x1C, 17),
        "USART3": ClockGate(0x1C, 18),
        "UART4": ClockGate(0x1C, 19),
        "UART5": ClockGate(0x1C, 20),
        "PWR": ClockGate(0x1C, 28),
    }

    max_hz = MAX_HZ

    def __init__(self, cycle_of: Callable[[int, int], int], hse_hz: int | None, flash_letter: str) -> None:
        """Take the letter for the size of the flash in the name of the part, which tells the line."""
        super().__init__(_RESET, cycle_of, hse_hz)
        self.has_hsi_prediv = flash_letter in _HAS_HSI_PREDIV
        self._pclk_of_usart1 = "apb1" if flash_letter in _FEW_PERIPHERALS else "apb2"

    @override
    def source_hz(self, selection: int) -> int:
        if selection == _SELECTS_HSI:
            return HSI_HZ
        if selection == _SELECTS_HSE:
            return self.hse_hz
        source, m = self.field(_CFGR, _PLLSRC, 2), self.field(_CFGR2, 0, 4) + 1
        if source == _FROM_HSI and not self.has_hsi_prediv:
            raise NotModelledError("RCC_CFGR PLLSRC = 1: this device has no PREDIV for HSI")
        if source == _FROM_HALF_HSI:
            m = 2
        hz = HSI_HZ if source == _FROM_HSI else self.pll_source_hz(HSI_HZ)
        n = min(self.field(_CFGR, _PLLMUL, 4) + 2, _LARGEST)
        return pll_hz(hz, m, n, 1, (1_000_000, 24_000_000), (16_000_000, self.max_hz))

    @override
    def frequencies(self) -> Frequencies:
        own = super().frequencies()
        selected = self.field(_CFGR3, 0, 2)
        by_usart1sw = {
            _BY_PCLK: own.bus_hz[self._pclk_of_usart1],
            _BY_SYSCLK: self.source_hz(self.selection),
            _BY_HSI: HSI_HZ,
        }
        if selected not in by_usart1sw:
            raise NotModelledError("RCC_CFGR3 USART1SW selects LSE, which is not modelled")
        return Frequencies(own.core_hz, own.ahb_hz, {**own.bus_hz, "USART1": by_usart1sw[selected]})


_PWR_CR, _PWR_CSR = 0x00, 0x04
_LPDS, _PDDS, _DBP = 0, 1, 8


class PwrF3(Registers):
    """Low-power modes."""

    def __init__(self) -> None:
        super().__init__("PWR", {_PWR_CR: 0, _PWR_CSR: 0})

    @property
    def writes_backup(self) -> bool:
        """CR DBP."""
        return bool(self.field(_PWR_CR, _DBP, 1))

    def check_stop(self) -> None:
        """Raise NotModelledError unless CR selects stop mode with the regulator in low-power mode."""
        if self.field(_PWR_CR, _PDDS, 1) or not self.field(_PWR_CR, _LPDS, 1):
            raise NotModelledError("PWR_CR selects another mode than stop mode with LPDS")


def two_dma(builder: DmaBuilder, router: RequestRouter, selection: ChannelSelection | None = None) -> DmaSystem:
    """Return DMA1, and DMA2 where vectors serve its channels."""
    lines = RequestLines(builder.lines, router)
    peripherals: list[tuple[int, Peripheral]] = []
    for number, (name, base) in enumerate((DMA1, DMA2), 1):
        channels = builder.new_channels([*builder.served_channels(number)])
        if channels:
            peripherals.append((base, DmaChannels(name, channels, builder.ports.memories, lines, selection)))
    return builder.system(*peripherals)


def _check(rcc: RccF3) -> None:
    frequencies = rcc.frequencies()
    check_hz("a clock", frequencies.ahb_hz, MAX_HZ)
    check_hz("PCLK1", frequencies.bus_hz["apb1"], APB1_MAX_HZ)


_EXTI = ExtiLayout(mask=0x00, rising=0x08, falling=0x0C, pending=0x14, timer_line=20, mask_after_reset=0x1F800000)
_FLASH_LETTER = 10  # in names: stm32f303rE


def stm32f3(board: Board, cells: FlashCells, clock: BoardClock) -> Family:
    """Return the peripherals of an STM32F3."""
    rcc = RccF3(clock.cycle_after, board.hse_hz, board.device.name[_FLASH_LETTER])
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
        dma=lambda builder: two_dma(builder, FixedRequests(requests.F3)),
        check=partial(_check, rcc),
        stop=StopMode(
            rtc=(0x40002800, rtc), exti=(0x40010400, Exti(_EXTI, clock, rtc, syscfg)), wake_us=8, check=pwr.check_stop
        ),
        lsi_hz=LSI_HZ,
    )
