"""RCC, PWR, SYSCFG and FLASH of the STM32H743 (RM0433) and H723 (RM0468)."""

from collections.abc import Callable, Mapping
from typing import ClassVar

from typing_extensions import override

from tinysplit.boards.board import Board
from virtual_stm32.clock import BoardClock
from virtual_stm32.errors import NotModelledError
from virtual_stm32.peripherals.base import Registers
from virtual_stm32.peripherals.crc import CrcUnit
from virtual_stm32.peripherals.dma import requests
from virtual_stm32.peripherals.dma.builder import DMA1, DMA2, DMAMUX_BASE, STREAMS, DmaBuilder, DmaSystem, streams
from virtual_stm32.peripherals.dma.controller import RequestLines
from virtual_stm32.peripherals.dma.multiplexer import Dmamux, RequestSelection
from virtual_stm32.peripherals.exti import Exti, ExtiLayout
from virtual_stm32.peripherals.families.family import Family, StopMode, check_hz
from virtual_stm32.peripherals.flash.cells import FlashCells
from virtual_stm32.peripherals.flash.stm32h7 import FlashH7, FlashH743
from virtual_stm32.peripherals.rcc import (
    ClockGate,
    ClockLimits,
    Frequencies,
    Oscillator,
    PllSource,
    Rcc,
    SwitchFields,
    ahb_divider,
    apb_divider,
    pll_hz,
)
from virtual_stm32.peripherals.reset import reset_flags
from virtual_stm32.peripherals.rtc import RtcV2
from virtual_stm32.peripherals.usart_v2 import UsartV2

HSI_HZ = 64_000_000
_MHZ = 1_000_000
FLASH_LIMITS_H743 = ClockLimits(tuple(mhz * _MHZ for mhz in (70, 140, 210, 225, 240)))
FLASH_LIMITS_H723 = ClockLimits(tuple(mhz * _MHZ for mhz in (70, 140, 210, 275)))
_CR, _CFGR, _D1CFGR, _D2CFGR, _D3CFGR = 0x00, 0x10, 0x18, 0x1C, 0x20
_PLLCKSELR, _PLLCFGR, _PLL1DIVR = 0x28, 0x2C, 0x30
_RESET = {
    _CR: 0x25,
    _CFGR: 0,
    _D1CFGR: 0,
    _D2CFGR: 0,
    _D3CFGR: 0,
    _PLLCKSELR: 0x02020200,
    _PLLCFGR: 0x01FF0000,
    _PLL1DIVR: 0x01010280,
    0x70: 0,
    0x74: 0,
    0xD8: 0,
    0xE0: 0,
    0xE8: 0,
    0xEC: 0,
    0xF0: 0,
    0xF4: 0x00010000,
}
_HSIRDY, _PLL1RDY = 2, 25
_SELECTS_HSI, _SELECTS_PLL = 0, 3
_VCOSEL, _RGE, _DIVP1EN = 1, 2, 16
_INPUT_RANGES = ((1, 2), (2, 4), (4, 8), (8, 16))  # MHz, by PLL1RGE


class RccH7(Rcc):
    """HSI at 64 MHz, HSE and PLL1 output P."""

    pll_source = PllSource(_SELECTS_PLL, _PLLCKSELR, 2, hsi=0, hse=2)
    oscillators = (Oscillator(0, _HSIRDY, 2), Oscillator(24, _PLL1RDY, 50))
    switch = SwitchFields(_CFGR, 3, 3)
    lsi_offset, backup_offset = 0x74, 0x70
    reset_flags = reset_flags(
        0xD0, 16, always=(17, 22), power_up=(19, 20, 21, 23), brown_out=(21,), software=(24,), watchdog=(26,)
    )
    gates: ClassVar[Mapping[str, ClockGate]] = {
        **{f"GPIO{port}": ClockGate(0xE0, bit) for bit, port in enumerate("ABCDEFGHIJK")},
        "CRC": ClockGate(0xE0, 19),
        "DMA1": ClockGate(0xD8, 0),
        "DMA2": ClockGate(0xD8, 1),
        "USART2": ClockGate(0xE8, 17),
        "USART3": ClockGate(0xE8, 18),
        "UART4": ClockGate(0xE8, 19),
        "UART5": ClockGate(0xE8, 20),
        "UART7": ClockGate(0xE8, 30),
        "UART8": ClockGate(0xE8, 31),
        "USART1": ClockGate(0xF0, 4),
        "USART6": ClockGate(0xF0, 5),
        "SYSCFG": ClockGate(0xF4, 1),
        "RTC": ClockGate(0xF4, 16),
    }

    def __init__(self, cycle_of: Callable[[int, int], int], hse_hz: int | None) -> None:
        super().__init__(_RESET, cycle_of, hse_hz)

    @override
    def is_clocked(self, name: str) -> bool:
        if name == "DMAMUX1":  # it has the clock of DMA1 or DMA2
            return self.is_clocked("DMA1") or self.is_clocked("DMA2")
        return super().is_clocked(name)

    @override
    def source_is_ready(self, selection: int) -> bool:
        if selection == _SELECTS_PLL:
            return self.is_ready(_PLL1RDY) and bool(self.field(_PLLCFGR, _DIVP1EN, 1))
        return selection == _SELECTS_HSI and self.is_ready(_HSIRDY)

    @override
    def source_hz(self, selection: int) -> int:
        if selection == _SELECTS_HSI:
            return HSI_HZ >> self.field(_CR, 3, 2)
        m = max(self.field(_PLLCKSELR, 4, 6), 1)
        n, p = self.field(_PLL1DIVR, 0, 9) + 1, self.field(_PLL1DIVR, 9, 7) + 1
        low, high = _INPUT_RANGES[self.field(_PLLCFGR, _RGE, 2)]
        vco = (150, 420) if self.field(_PLLCFGR, _VCOSEL, 1) else (192, 960)
        return pll_hz(self.pll_source_hz(HSI_HZ), m, n, p, (low * _MHZ, high * _MHZ), (vco[0] * _MHZ, vco[1] * _MHZ))

    @override
    def frequencies(self) -> Frequencies:
        core = self.source_hz(self.selection) // ahb_divider(self.field(_D1CFGR, 8, 4))
        ahb = core // ahb_divider(self.field(_D1CFGR, 0, 4))
        apb1 = ahb // apb_divider(self.field(_D2CFGR, 4, 3))
        apb2 = ahb // apb_divider(self.field(_D2CFGR, 8, 3))
        return Frequencies(core, ahb, {"apb1": apb1, "apb2": apb2})


_PWR_CR1, _PWR_CSR1, _PWR_CR3, _PWR_CPUCR, _PWR_D3CR = 0x00, 0x04, 0x0C, 0x10, 0x18
_DBP, _SVOS, _SVOS4 = 8, 14, 2
_ACTVOSRDY, _VOSRDY, _VOS = 13, 13, 14
_SCALE_CYCLES = 500
_VOS1 = 3


class PwrH7(Registers):
    """Voltage scale, which is locked until CR3 has been written."""

    def __init__(self, syscfg: "SyscfgH7", core_hz_by_scale: dict[int, int], overdrive_hz: int) -> None:
        reset = {0x00: 0xF000C000, _PWR_CSR1: 0x4000, 0x08: 0, _PWR_CR3: 0x46, 0x10: 0, _PWR_D3CR: 0x4000}
        super().__init__("PWR", reset)
        self._syscfg = syscfg
        self._core_hz_by_scale = core_hz_by_scale  # by the field's value
        self._overdrive_hz = overdrive_hz

    @override
    def store(self, offset: int, value: int, now: int) -> None:
        if offset == _PWR_CR3:
            self.words[offset] = value
            self.later(now + _SCALE_CYCLES, self._unlock)
        elif offset == _PWR_D3CR:
            if not self.field(_PWR_CSR1, _ACTVOSRDY, 1):
                raise NotModelledError("PWR_D3CR is written while locked: PWR_CR3 has to be written first")
            self.words[offset] = value & ~(1 << _VOSRDY)
            self.later(now + _SCALE_CYCLES, self._scaled)
        elif offset != _PWR_CSR1:
            self.words[offset] = value

    def _unlock(self, _now: int) -> None:
        self.words[_PWR_CSR1] |= 1 << _ACTVOSRDY
        self.words[_PWR_D3CR] |= 1 << _VOSRDY

    def _scaled(self, _now: int) -> None:
        self.words[_PWR_D3CR] |= 1 << _VOSRDY
        self.set_bits(_PWR_CSR1, 3 << _VOS, self.words[_PWR_D3CR])

    @property
    def writes_backup(self) -> bool:
        """CR1 DBP."""
        return bool(self.field(_PWR_CR1, _DBP, 1))

    def check_stop(self) -> None:
        """Raise NotModelledError unless all domains stop, at SVOS4 and without over-drive."""
        if self.field(_PWR_CPUCR, 0, 3) or self.field(_PWR_CR1, _SVOS, 2) != _SVOS4 or self._syscfg.overdrive:
            raise NotModelledError("PWR and SYSCFG select another mode than stop mode at SVOS4, without over-drive")

    def max_core_hz(self) -> int:
        """Return the highest core clock (DS12110 and DS13313, general operating conditions)."""
        if self._syscfg.overdrive and self.field(_PWR_CSR1, _VOS, 2) == _VOS1:
            return self._overdrive_hz
        return self._core_hz_by_scale[self.field(_PWR_CSR1, _VOS, 2)]


# By the value of VOS: 3 is VOS1, 2 is VOS2, 1 is VOS3; 0 is VOS0 on the H723 and reserved on the H743.
CORE_HZ_H743 = {0: 0, 1: 200 * _MHZ, 2: 300 * _MHZ, 3: 400 * _MHZ}
CORE_HZ_H723 = {0: 550 * _MHZ, 1: 170 * _MHZ, 2: 300 * _MHZ, 3: 400 * _MHZ}
OVERDRIVE_HZ = 480 * _MHZ
_PWRCR = 0x2C


class SyscfgH7(Registers):
    """PWRCR: over-drive of the H743."""

    def __init__(self, *, has_overdrive: bool) -> None:
        selections = dict.fromkeys(range(0x08, 0x18, 4), 0)
        super().__init__("SYSCFG", {**selections, _PWRCR: 0} if has_overdrive else selections)

    @property
    def overdrive(self) -> bool:
        """ODEN."""
        return bool(self.words.get(_PWRCR, 0) & 1)


def _dma(builder: DmaBuilder) -> DmaSystem:
    selection = RequestSelection(requests.H7, STREAMS, 2 * STREAMS)
    lines = RequestLines(builder.lines, selection)
    peripherals = streams(builder, lines, (DMA1, DMA2))
    return builder.system(*peripherals, (DMAMUX_BASE, Dmamux(selection, lines)))


_EXTI = ExtiLayout(mask=0x80, rising=0x00, falling=0x04, pending=0x88, timer_line=19, mask_after_reset=0xFFC00000)


def stm32h7(board: Board, cells: FlashCells, clock: BoardClock) -> Family:
    """Return the peripherals of an STM32H7."""
    settings = dict(board.clock.settings)
    is_h743 = bool(settings["overdrive"])  # or of its line
    cycle_after = clock.cycle_after
    rcc = RccH7(cycle_after, board.hse_hz)
    syscfg = SyscfgH7(has_overdrive=is_h743)
    by_scale = CORE_HZ_H743 if is_h743 else CORE_HZ_H723
    pwr = PwrH7(syscfg, by_scale, OVERDRIVE_HZ)
    rtc = RtcV2(clock, lambda: rcc.rtc_runs_from_lsi and pwr.writes_backup)
    # CPUFREQ_BOOST: an option bit that must be set on boards with `boost`.
    flash = FlashH743(cells, cycle_after) if is_h743 else FlashH7(cells, cycle_after, {0x70: settings["boost"] << 2})
    return Family(
        rcc=rcc,
        plain=(
            (0x58024400, rcc),
            (0x52002000, flash),
            (0x58024800, pwr),
            (0x58000400, syscfg),
            (0x58024C00, CrcUnit()),
        ),
        flash=flash,
        limits=FLASH_LIMITS_H743 if is_h743 else FLASH_LIMITS_H723,
        gpio_base=0x58020000,
        ports="ABCDEFGH",
        usart=UsartV2,
        dma=_dma,
        check=lambda: check_hz("a core clock", rcc.frequencies().core_hz, pwr.max_core_hz()),
        stop=StopMode(
            rtc=(0x58004000, rtc),
            exti=(0x58000000, Exti(_EXTI, clock, rtc, syscfg)),
            wake_us=50,
            check=pwr.check_stop,
        ),
        fifo_bytes=16,
        watchdog_base=0x58004800,
    )
