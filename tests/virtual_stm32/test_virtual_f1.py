"""Clocks, pins, flash and RTC of the virtual STM32F1 by their registers (RM0008, PM0075)."""

import pytest

from controllers.flash_chip import Chip
from tinysplit.boards.parts import Pin
from virtual_stm32.clock import PS_PER_S, BoardClock
from virtual_stm32.errors import NotModelledError
from virtual_stm32.peripherals.base import Registers
from virtual_stm32.peripherals.families.stm32f1 import RccF1
from virtual_stm32.peripherals.flash.controller import FOR_EVER, KEYS
from virtual_stm32.peripherals.flash.stm32f3 import FlashF1, OptionBytes
from virtual_stm32.peripherals.gpio import GpioF1
from virtual_stm32.peripherals.rtc_counter import RtcCounter

MHZ, KB = 1_000_000, 1024
CR, CFGR = 0x00, 0x04
PLLON, SW_PLL, FROM_HSE, BY_2 = 1 << 24, 2, 1 << 16, 1 << 17
HSE_ON = 1 << 16 | 1 << 18
LONG = 1_000_000  # cycles


@pytest.mark.parametrize(
    ("cfgr", "mhz"),
    [
        (14 << 18, 64),  # HSI by 2, times 16
        (15 << 18 | BY_2, 64),  # the last two values are 16, and PLLXTPRE is that of HSE
        (4 << 18, 24),
        (FROM_HSE | 7 << 18, 72),
        (FROM_HSE | BY_2 | 14 << 18, 64),
    ],
)
def test_the_pll(cfgr: int, mhz: int) -> None:
    rcc = RccF1(lambda now, ps: now + ps // MHZ, 8 * MHZ)
    rcc.write(CR, rcc.read(CR, 0) | HSE_ON, 0)
    rcc.advance(LONG)
    rcc.write(CFGR, cfgr, LONG)
    rcc.write(CR, rcc.read(CR, LONG) | PLLON, LONG)
    rcc.advance(2 * LONG)
    rcc.write(CFGR, cfgr | SW_PLL, 2 * LONG)
    rcc.advance(3 * LONG)
    assert rcc.frequencies().core_hz == mhz * MHZ


MAPR, ODR, BSRR = 0x04, 0x0C, 0x10


def test_afio_moves_both_pins_of_a_uart() -> None:
    afio = Registers("AFIO", {MAPR: 0})
    port = GpioF1("GPIOC", afio)
    tx = Pin.remapped("PC10", 4, 1, is_input=False)
    rx = Pin.remapped("PC11", 4, 1, is_input=True)
    elsewhere = Pin.remapped("PB11", 4, 0, is_input=True)
    assert rx.suits(tx)
    assert not elsewhere.suits(tx)
    port.write(BSRR, 1 << 11, 0)
    port.write(0x04, 0x8B << 8, 0)  # CRH: PC10 is an alternate output, PC11 an input with a pull

    def carried() -> list[bool]:
        return [port.carries(pin.number, pin.alternate_function) for pin in (tx, rx)]

    assert carried() == [False, False]
    afio.write(MAPR, 1 << 4, 0)
    assert carried() == [True, True]
    port.write(BSRR, 1 << 27, 0)  # pulled down: a line without a sender is not idle
    assert carried() == [True, False]
    afio.write(MAPR, 3 << 4, 0)
    assert carried() == [False, False]


def test_modes_of_a_pin() -> None:
    port = GpioF1("GPIOA", Registers("AFIO", {MAPR: 0}))
    levels: list[bool] = []
    port.watch(1, lambda level, _now: levels.append(level))
    assert not port.is_output(1)
    port.write(BSRR, 1 << 1, 0)
    port.write(0x00, 0x3 << 4, 0)
    port.write(BSRR, 1 << 17, 0)
    assert (port.is_output(1), levels) == (True, [True, False])
    port.write(0x00, 0xF << 4, 0)
    assert (port.is_output(1), port.is_open_drain(1), port.is_analog(0)) == (False, True, True)


KEYR, SR, CONTROL, AR, OBR = 0x04, 0x0C, 0x10, 0x14, 0x1C
PER, STRT, BSY, EOP = 1 << 1, 1 << 6, 1, 1 << 5


@pytest.mark.parametrize("page_bytes", [KB, 2 * KB])
def test_pages_are_those_of_the_density(page_bytes: int) -> None:
    chip = Chip(lambda cells, cycle_after: FlashF1(cells, cycle_after, page_bytes), 64 * KB, fill=0xA5)
    chip.write(KEYR, *KEYS)
    chip.write(CONTROL, PER)
    chip.write(AR, 0x08000000 + 2 * KB + 6)
    chip.write(CONTROL, PER | STRT)
    assert chip.read(SR) == BSY
    chip.wait()
    assert chip.read(SR) == EOP
    assert set(chip.flash[2 * KB : 2 * KB + page_bytes]) == {0xFF}
    assert set(chip.flash[: 2 * KB]) == set(chip.flash[2 * KB + page_bytes :]) == {0xA5}


@pytest.mark.parametrize(("is_protected", "rdp"), [(False, 0xA5), (True, 0)])
def test_there_are_two_levels_of_protection(is_protected: bool, rdp: int) -> None:
    controller = Chip(FlashF1, 64 * KB, options={OBR: 0x03FFFFFC | is_protected << 1}).controller
    assert isinstance(controller, FlashF1)
    assert (controller.is_protected, controller.protection != FOR_EVER) == (is_protected, True)
    assert OptionBytes(controller).read(0, 0) == 0x00FF0000 | (rdp ^ 0xFF) << 8 | rdp


HZ, LSI_HZ = 1_000_000, 40_000
TICK = HZ // LSI_HZ  # cycles
CRH, CRL, PRLL, DIVL, CNTL, ALRH, ALRL = 0x00, 0x04, 0x0C, 0x14, 0x1C, 0x20, 0x24
ALRF, RSF, CNF, RTOFF = 1 << 1, 1 << 3, 1 << 4, 1 << 5


def rtc_with(prescaler: int, alarm: int) -> tuple[RtcCounter, list[int]]:
    """Return an RTC that runs since cycle 0, and the list of its alarms."""
    clock = BoardClock(HZ)
    rtc, rang = RtcCounter(clock, lambda: True, LSI_HZ), []
    rtc.rang = lambda: rang.append(1)
    rtc.write(CRH, ALRF, 0)
    rtc.write(CRL, CNF | RSF, 0)
    for offset, value in ((PRLL, prescaler), (ALRH, 0), (ALRL, alarm)):
        rtc.write(offset, value, 0)
    rtc.write(CRL, 0, 0)
    return rtc, rang


def test_the_alarm_rings_when_the_counter_reaches_it() -> None:
    rtc, rang = rtc_with(1, 10)
    assert rtc.next_ps() == 20 * PS_PER_S // LSI_HZ
    rtc.advance(20 * TICK - 1)
    assert not rang
    assert (rtc.read(CNTL, 19 * TICK + 1), rtc.read(DIVL, 19 * TICK + 1)) == (9, 0)
    rtc.advance(20 * TICK)
    assert (rang, rtc.read(CRL, 20 * TICK) & ALRF, rtc.read(CNTL, 20 * TICK + 1)) == ([1], ALRF, 10)
    rtc.write(CRL, RSF, 21 * TICK)
    assert not rtc.read(CRL, 21 * TICK) & ALRF


def test_writes_and_reads_wait_for_lsi() -> None:
    rtc, _ = rtc_with(1, 10)
    assert not rtc.read(CRL, TICK) & (RTOFF | RSF)
    with pytest.raises(NotModelledError, match="while the last write goes on"):
        rtc.write(CRL, CNF, TICK)
    with pytest.raises(NotModelledError, match="before its registers are synchronized"):
        rtc.read(CNTL, TICK)
    assert rtc.read(CRL, 4 * TICK) & (RTOFF | RSF) == RTOFF | RSF
    rtc.left_stop()
    with pytest.raises(NotModelledError, match="before its registers are synchronized"):
        rtc.read(CNTL, 5 * TICK)
