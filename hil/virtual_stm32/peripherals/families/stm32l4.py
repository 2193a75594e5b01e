"""RCC and PWR of the STM32L4 (RM0394) and L4+ (RM0432), and what the G4 and WB share with them."""

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
from virtual_stm32.peripherals.dma.builder import CHANNELS, DMA1, DMA2, DMAMUX_BASE, DmaBuilder, DmaSystem
from virtual_stm32.peripherals.dma.channels import ChannelSelection, DmaChannels
from virtual_stm32.peripherals.dma.controller import RequestLines
from virtual_stm32.peripherals.dma.multiplexer import Dmamux, RequestSelection
from virtual_stm32.peripherals.exti import Exti, ExtiLayout
from virtual_stm32.peripherals.families.family import Family, StopMode, check_hz
from virtual_stm32.peripherals.flash.cells import FlashCells
from virtual_stm32.peripherals.flash.stm32l4 import FlashL4, FlashL4Plus, FlashL4PlusOneBank, FlashL4TwoBanks
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
from virtual_stm32.peripherals.reset import csr_reset_flags
from virtual_stm32.peripherals.rtc import RtcV2
from virtual_stm32.peripherals.usart_v2 import UsartV2

HSI_HZ = 16_000_000
_MHZ = 1_000_000
_KHZ = 1_000
# By MSIRANGE (RM0394 and RM0432, section RCC_CR).
_MSI_KHZ = (100, 200, 400, 800, 1_000, 2_000, 4_000, 8_000, 16_000, 24_000, 32_000, 48_000)
MAX_HZ = 80_000_000  # of the L4; the L4+ is faster
FLASH_LIMITS = ClockLimits(tuple(mhz * _MHZ for mhz in (16, 32, 48, 64, 80)))
FLASH_LIMITS_PLUS = ClockLimits(tuple(mhz * _MHZ for mhz in (20, 40, 60, 80, 100, 120)))
_CR, _CFGR, _PLLCFGR = 0x00, 0x08, 0x0C
_RESET = {
    _CR: 0x63,
    0x04: 0x10000000,
    _CFGR: 0,
    _PLLCFGR: 0x1000,
    0x48: 0x100,
    0x4C: 0,
    0x50: 0,
    0x58: 0,
    0x5C: 0,
    0x60: 0,
    0x88: 0,
    0x90: 0,
    0x94: 0x600,
}
HSI16, PLL = Oscillator(8, 10, 2), Oscillator(24, 25, 20)
_MSIRDY = 1
_SELECTS_MSI, _SELECTS_HSI, _SELECTS_PLL = 0, 1, 3
_MSIRGSEL, _MSIRANGE, _MSISRANGE = 3, 4, (0x94, 8)
_STOPWUCK = 15

BANKED_BYTES = 1 << 20  # of a flash that has two banks (RM0351)
ONE_BANK_BYTES = 16  # of a read of the L4+ where its flash is one bank (RM0432, FLASH main features)


class RccPllR(Rcc):
    """RCC of L4, G4 and WB: gates, dividers and PLL output R; subclasses have the other sources of the system clock."""

    pll_source = PllSource(_SELECTS_PLL, _PLLCFGR, 2, hsi=2, hse=3)
    switch = SwitchFields(_CFGR, 2, 2)
    dividers = BusDividers(_CFGR, 4, 8, 11)
    lsi_offset, backup_offset = 0x94, 0x90
    reset_flags = csr_reset_flags(0x94)
    gates: ClassVar[Mapping[str, ClockGate]] = {
        **{f"GPIO{port}": ClockGate(0x4C, bit) for bit, port in enumerate("ABCDEFGHI")},
        "CRC": ClockGate(0x48, 12),
        "DMA1": ClockGate(0x48, 0),
        "DMA2": ClockGate(0x48, 1),
        "DMAMUX1": ClockGate(0x48, 2),
        "ADC1": ClockGate(0x4C, 13),
        "QUADSPI": ClockGate(0x50, 8),
        "TIM2": ClockGate(0x58, 0),
        "TIM6": ClockGate(0x58, 4),
        "USART2": ClockGate(0x58, 17),
        "USART3": ClockGate(0x58, 18),
        "UART4": ClockGate(0x58, 19),
        "UART5": ClockGate(0x58, 20),
        "RTC": ClockGate(0x58, 10),
        "PWR": ClockGate(0x58, 28),
        "LPUART1": ClockGate(0x5C, 0),
        "SYSCFG": ClockGate(0x60, 0),
        "USART1": ClockGate(0x60, 14),
    }
    sources: ClassVar[Mapping[int, int]]  # ready bits in CR by SW
    m_bits = 4
    pll_r_enable_bit = 24

    @property
    def pll_r(self) -> int:
        """The divider of PLL output R."""
        return 2 * (self.field(_PLLCFGR, 25, 2) + 1)

    @override
    def source_is_ready(self, selection: int) -> bool:
        ready_bit = self.sources.get(selection)
        is_routed = selection != _SELECTS_PLL or self.field(_PLLCFGR, self.pll_r_enable_bit, 1)
        return ready_bit is not None and bool(is_routed) and self.is_ready(ready_bit)

    @override
    def source_hz(self, selection: int) -> int:
        if selection != _SELECTS_PLL:
            return HSI_HZ
        m = self.field(_PLLCFGR, 4, self.m_bits) + 1
        n = self.field(_PLLCFGR, 8, 7)
        return pll_hz(self.pll_source_hz(HSI_HZ), m, n, self.pll_r, (2_660_000, 16_000_000), (64_000_000, 344_000_000))


class RccMsi(RccPllR):
    """MSI at 4 MHz, HSI16, HSE and PLL output R."""

    has_second_range = False  # in CSR, which counts until MSIRGSEL is set
    oscillators = (Oscillator(0, _MSIRDY, 3), HSI16, PLL)
    sources: ClassVar[Mapping[int, int]] = {
        _SELECTS_MSI: _MSIRDY,
        _SELECTS_HSI: HSI16.ready_bit,
        _SELECTS_PLL: PLL.ready_bit,
    }

    @property
    def msi_range(self) -> int:
        """The field MSIRANGE that counts."""
        is_in_cr = not self.has_second_range or self.field(_CR, _MSIRGSEL, 1)
        return self.field(_CR, _MSIRANGE, 4) if is_in_cr else self.field(*_MSISRANGE, 4)

    @override
    def source_hz(self, selection: int) -> int:
        if selection != _SELECTS_MSI:
            return super().source_hz(selection)
        if (selected := self.msi_range) >= len(_MSI_KHZ):
            raise NotModelledError(f"MSIRANGE {selected} is reserved")
        return _MSI_KHZ[selected] * _KHZ

    @property
    @override
    def after_stop(self) -> tuple[int, Oscillator]:
        from_hsi = self.field(_CFGR, _STOPWUCK, 1)
        return (_SELECTS_HSI, HSI16) if from_hsi else (_SELECTS_MSI, self.oscillators[0])


class RccL4(RccMsi):
    """M has more bits on the L4+."""

    has_second_range = True

    def __init__(self, cycle_of: Callable[[int, int], int], hse_hz: int | None, *, is_plus: bool) -> None:
        super().__init__(_RESET, cycle_of, hse_hz)
        self.m_bits = 4 if is_plus else 3


_PWR_CR1, _PWR_CR2, _PWR_SR2, _PWR_CR5 = 0x00, 0x04, 0x14, 0x80
_VOS, _VOS_RANGE_1 = 9, 1
_IOSV, _R1MODE = 9, 8
_LPMS, _RRSTP, _DBP = 0, 4, 8
_SRAM3 = range(0x2004_0000, 0x200A_0000)  # of the L4R5 (RM0432, memory organization)


class PwrL4(Registers):
    """Core voltage range, boost (L4+) and supply of port G."""

    stop_mode = (2, "Stop 2")  # LPMS
    range_2_hz, normal_hz, boost_hz = 26 * _MHZ, 80 * _MHZ, 120 * _MHZ

    def __init__(self, *, is_plus: bool) -> None:
        reset = {_PWR_CR1: 0x200, _PWR_CR2: 0, _PWR_SR2: 0x100}
        super().__init__("PWR", {**reset, _PWR_CR5: 1 << _R1MODE} if is_plus else reset)
        self._is_plus = is_plus

    @property
    def port_g_is_powered(self) -> bool:
        """CR2 IOSV."""
        return bool(self.field(_PWR_CR2, _IOSV, 1))

    @property
    def writes_backup(self) -> bool:
        """CR1 DBP."""
        return bool(self.field(_PWR_CR1, _DBP, 1))

    def check_stop(self) -> None:
        """Raise NotModelledError unless CR1 LPMS selects the stop mode of the family."""
        expected, name = self.stop_mode
        if (mode := self.field(_PWR_CR1, _LPMS, 3)) != expected:
            raise NotModelledError(f"PWR_CR1 LPMS = {mode} is not modelled, only {name}")

    @property
    def lost_in_stop(self) -> range:
        """The addresses of SRAM3 of an L4+, unless CR1 RRSTP retains it."""
        return range(0) if not self._is_plus or self.field(_PWR_CR1, _RRSTP, 1) else _SRAM3

    def max_hz(self) -> int:
        """Return the highest AHB clock (RM0394, RM0432 and RM0440, dynamic voltage scaling)."""
        if self.field(_PWR_CR1, _VOS, 2) != _VOS_RANGE_1:
            return self.range_2_hz
        return self.boost_hz if self._is_plus and not self.field(_PWR_CR5, _R1MODE, 1) else self.normal_hz


def dma(builder: DmaBuilder, *, channels: int, multiplexer: RequestSelection | None) -> DmaSystem:
    """Return two controllers with as many channels each, behind a DMAMUX or with CSELR as on the L4."""
    by_field = ChannelSelection(requests.L4)
    selection = None if multiplexer else by_field
    lines = RequestLines(builder.lines, multiplexer or by_field)
    peripherals: list[tuple[int, Peripheral]] = []
    for name, base in (DMA1, DMA2):
        names = [(f"{name} channel {n}", f"{name}_Channel{n}") for n in range(1, channels + 1)]
        controller = DmaChannels(name, builder.new_channels(names), builder.ports.memories, lines, selection)
        peripherals.append((base, controller))
    if multiplexer:
        peripherals.append((DMAMUX_BASE, Dmamux(multiplexer, lines)))
    return builder.system(*peripherals)


def _flash(board: Board, *, is_plus: bool) -> type[FlashL4]:
    if is_plus:
        return FlashL4PlusOneBank if board.flash_level.access_bytes == ONE_BANK_BYTES else FlashL4Plus
    return FlashL4TwoBanks if board.device.flash.size_bytes >= BANKED_BYTES else FlashL4


_EXTI = ExtiLayout(mask=0x00, rising=0x08, falling=0x0C, pending=0x14, timer_line=20, mask_after_reset=0xFF820000)


def stm32l4(board: Board, cells: FlashCells, clock: BoardClock) -> Family:
    """Return the peripherals of an STM32L4."""
    is_plus = board.device.max_hz > MAX_HZ
    cycle_after = clock.cycle_after
    rcc = RccL4(cycle_after, board.hse_hz, is_plus=is_plus)
    flash = _flash(board, is_plus=is_plus)(cells, cycle_after)
    pwr = PwrL4(is_plus=is_plus)
    syscfg = Registers("SYSCFG", dict.fromkeys((0x00, *range(0x08, 0x18, 4)), 0))
    rtc = RtcV2(clock, lambda: rcc.rtc_runs_from_lsi and pwr.writes_backup)
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
        limits=FLASH_LIMITS_PLUS if is_plus else FLASH_LIMITS,
        gpio_base=0x48000000,
        ports="ABCDEFGH",
        usart=UsartV2,
        dma=partial(
            dma,
            channels=CHANNELS,
            multiplexer=RequestSelection(requests.L4_PLUS, CHANNELS, 2 * CHANNELS) if is_plus else None,
        ),
        check=lambda: check_hz("a clock", rcc.frequencies().ahb_hz, pwr.max_hz()),
        stop=StopMode(
            rtc=(0x40002800, rtc),
            exti=(0x40010400, Exti(_EXTI, clock, rtc, syscfg)),
            wake_us=8,
            check=pwr.check_stop,
            lost=lambda: pwr.lost_in_stop,
        ),
        port_is_powered=lambda port: port != "G" or pwr.port_g_is_powered,
        adc_base=0x50040000,
        fifo_bytes=8 if is_plus else 0,  # RM0432 and RM0394, USART implementation
    )
