"""RCC and PWR of the STM32F401 and F446 (RM0368, RM0390); the STM32F7 has both, too (RM0385, RM0410)."""

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
from virtual_stm32.peripherals.dma.builder import DmaBuilder, DmaSystem, streams
from virtual_stm32.peripherals.dma.controller import RequestLines
from virtual_stm32.peripherals.dma.streams import StreamSelection
from virtual_stm32.peripherals.exti import Exti, ExtiLayout
from virtual_stm32.peripherals.families.family import Family, StopMode, check_hz
from virtual_stm32.peripherals.flash.cells import FlashCells
from virtual_stm32.peripherals.flash.stm32f4 import FlashF4
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
from virtual_stm32.peripherals.reset import reset_flags
from virtual_stm32.peripherals.rtc import RtcV2
from virtual_stm32.peripherals.usart_v1 import UsartV1

HSI_HZ = 16_000_000
FLASH_LIMITS = ClockLimits(tuple(range(30_000_000, 300_000_000, 30_000_000)))  # 2.7 V to 3.6 V
_CR, _PLLCFGR, _CFGR = 0x00, 0x04, 0x08
_RESET = {_CR: 0x83, _PLLCFGR: 0x24003010, _CFGR: 0, 0x30: 0, 0x34: 0, 0x40: 0, 0x44: 0, 0x70: 0, 0x74: 0}
_HSIRDY, _PLLRDY = 1, 25
_SELECTS_HSI, _SELECTS_PLL = 0, 2


class RccF4(Rcc):
    """HSI, HSE and PLL output P."""

    pll_source = PllSource(_SELECTS_PLL, _PLLCFGR, 1, hsi=0, hse=1, position=22)
    oscillators = (Oscillator(0, _HSIRDY, 2), Oscillator(24, _PLLRDY, 100))
    switch = SwitchFields(_CFGR, 2, 2)
    dividers = BusDividers(_CFGR, 4, 10, 13)
    lsi_offset, backup_offset = 0x74, 0x70
    reset_flags = reset_flags(
        0x74, 24, always=(26,), power_up=(25, 27), brown_out=(25,), software=(28,), watchdog=(29,)
    )
    gates: ClassVar[Mapping[str, ClockGate]] = {
        **{f"GPIO{port}": ClockGate(0x30, bit) for bit, port in enumerate("ABCDEFGH")},
        "CRC": ClockGate(0x30, 12),
        "DMA1": ClockGate(0x30, 21),
        "DMA2": ClockGate(0x30, 22),
        "USART2": ClockGate(0x40, 17),
        "USART3": ClockGate(0x40, 18),
        "UART4": ClockGate(0x40, 19),
        "UART5": ClockGate(0x40, 20),
        "PWR": ClockGate(0x40, 28),
        "USART1": ClockGate(0x44, 4),
        "USART6": ClockGate(0x44, 5),
        "SYSCFG": ClockGate(0x44, 14),
    }

    def __init__(self, cycle_of: Callable[[int, int], int], hse_hz: int | None) -> None:
        super().__init__(_RESET, cycle_of, hse_hz)

    @override
    def source_is_ready(self, selection: int) -> bool:
        ready_bit = {_SELECTS_HSI: _HSIRDY, _SELECTS_PLL: _PLLRDY}.get(selection)
        return ready_bit is not None and self.is_ready(ready_bit)

    @override
    def source_hz(self, selection: int) -> int:
        if selection == _SELECTS_HSI:
            return HSI_HZ
        m = self.field(_PLLCFGR, 0, 6)
        n = self.field(_PLLCFGR, 6, 9)
        p = 2 * (self.field(_PLLCFGR, 16, 2) + 1)
        return pll_hz(self.pll_source_hz(HSI_HZ), max(m, 1), n, p, (950_000, 2_100_000), (100_000_000, 432_000_000))


_PWR_CR, _PWR_CSR = 0x00, 0x04
_VOS, _ODEN, _ODSWEN = 14, 16, 17
_VOSRDY, _ODRDY, _ODSWRDY = 14, 16, 17
_OVERDRIVE_CYCLES = 1000
_LPDS, _PDDS, _DBP, _FPDS = 0, 1, 8, 9


# Highest AHB clock by the value of VOS without over-drive and with it, of devices by their highest clock (datasheets,
# general operating conditions; DS10086 and DS10693 of the F401 and F446, DS11853 of the F72x, as of all F7). VOS of the
# F405 to F417, of 168 MHz, has one bit.
_F7_HZ = 216_000_000
_HZ_BY_SCALE = {
    84_000_000: {1: 60_000_000, 2: 84_000_000},
    100_000_000: {1: 64_000_000, 2: 84_000_000, 3: 100_000_000},
    168_000_000: {0: 144_000_000, 1: 168_000_000},
    180_000_000: {1: 120_000_000, 2: 144_000_000, 3: 168_000_000},
    _F7_HZ: {1: 144_000_000, 2: 168_000_000, 3: 180_000_000},
}
_OVERDRIVEN_HZ = {180_000_000: {2: 168_000_000, 3: 180_000_000}, _F7_HZ: {2: 180_000_000, 3: _F7_HZ}}


class PwrF4(Registers):
    """Voltage scale and over-drive, which limit the clock."""

    def __init__(self, max_hz: int) -> None:
        self._hz_by_scale = _HZ_BY_SCALE[max_hz]
        self._overdriven_hz = _OVERDRIVEN_HZ.get(max_hz, {})
        super().__init__("PWR", {_PWR_CR: max(self._hz_by_scale) << _VOS, _PWR_CSR: 1 << _VOSRDY})

    @override
    def store(self, offset: int, value: int, now: int) -> None:
        if offset == _PWR_CSR:
            return
        if value >> _ODEN & 3 and not self._overdriven_hz:
            raise NotModelledError("this device has no over-drive (PWR_CR)")
        self.words[offset] = value
        for on_bit, ready_bit in ((_ODEN, _ODRDY), (_ODSWEN, _ODSWRDY)):
            if not value >> on_bit & 1:
                self.set_bits(_PWR_CSR, 1 << ready_bit, 0)
            elif not self.field(_PWR_CSR, ready_bit, 1):
                self.later(now + _OVERDRIVE_CYCLES, partial(self._overdrive_ready, 1 << ready_bit))

    def _overdrive_ready(self, mask: int, _now: int) -> None:
        self.words[_PWR_CSR] |= mask

    @property
    def writes_backup(self) -> bool:
        """CR DBP."""
        return bool(self.field(_PWR_CR, _DBP, 1))

    def check_stop(self) -> None:
        """Raise NotModelledError unless CR selects stop mode, with regulator and flash at their least power."""
        if self.field(_PWR_CR, _PDDS, 1) or not (self.field(_PWR_CR, _LPDS, 1) and self.field(_PWR_CR, _FPDS, 1)):
            raise NotModelledError("PWR_CR selects another mode than stop mode with LPDS and FPDS")

    def left_stop(self) -> None:
        """Leave over-drive."""
        self.set_bits(_PWR_CR, 3 << _ODEN, 0)
        self.set_bits(_PWR_CSR, 3 << _ODRDY, 0)

    def max_hz(self) -> int:
        """Return the highest AHB clock."""
        scale = self.field(_PWR_CR, _VOS, 2)
        hz = self._hz_by_scale.get(scale, 0)
        return self._overdriven_hz.get(scale, hz) if self.field(_PWR_CSR, _ODSWRDY, 1) else hz


def stream_dma(builder: DmaBuilder) -> DmaSystem:
    """Return the controllers whose streams select their requests."""
    selection = StreamSelection(requests.F4_F7)
    lines = RequestLines(builder.lines, selection)
    bases = (("DMA1", 0x40026000), ("DMA2", 0x40026400))
    return builder.system(*streams(builder, lines, bases, selection))


EXTI = ExtiLayout(mask=0x00, rising=0x08, falling=0x0C, pending=0x14, timer_line=22)


def stm32f4(board: Board, cells: FlashCells, clock: BoardClock) -> Family:
    """Return the peripherals of an STM32F4."""
    cycle_after = clock.cycle_after
    rcc = RccF4(cycle_after, board.hse_hz)
    flash = FlashF4(cells, cycle_after)
    pwr = PwrF4(board.device.max_hz)
    syscfg = Registers("SYSCFG", dict.fromkeys((0x00, *range(0x08, 0x18, 4)), 0))
    rtc = RtcV2(clock, lambda: rcc.rtc_runs_from_lsi and pwr.writes_backup)
    return Family(
        rcc=rcc,
        plain=(
            (0x40023800, rcc),
            (0x40023C00, flash),
            (0x40007000, pwr),
            (0x40023000, CrcUnit(reverses=False)),
            (0x40013800, syscfg),
        ),
        flash=flash,
        limits=FLASH_LIMITS,
        gpio_base=0x40020000,
        ports="ABCDEH",
        usart=UsartV1,
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
