"""Clocks and flash of the virtual STM32F3 by their registers (RM0316, RM0365)."""

import pytest

from controllers.flash_chip import Chip
from virtual_stm32.errors import NotModelledError
from virtual_stm32.peripherals.families.stm32f3 import RccF3
from virtual_stm32.peripherals.flash.controller import FOR_EVER, KEYS, UNPROTECTED
from virtual_stm32.peripherals.flash.stm32f3 import FlashF3, OptionBytes

MHZ, KB = 1_000_000, 1024
CR, CFGR, CFGR2, CFGR3 = 0x00, 0x04, 0x2C, 0x30
PLLON, SW_PLL, HSI_PREDIV, LSE = 1 << 24, 2, 1 << 15, 2
LONG = 1_000_000  # cycles


def raised(flash_letter: str, cfgr: int, cfgr2: int = 0, cfgr3: int = 0) -> RccF3:
    """Return an RCC whose PLL is the system clock, of a part with this letter for the size of its flash."""
    rcc = RccF3(lambda now, ps: now + ps // MHZ, None, flash_letter)
    for offset, value in ((CFGR2, cfgr2), (CFGR3, cfgr3), (CFGR, cfgr), (CR, rcc.read(CR, 0) | PLLON)):
        rcc.write(offset, value, 0)
    rcc.advance(LONG)
    rcc.write(CFGR, cfgr | SW_PLL, LONG)
    rcc.advance(2 * LONG)
    return rcc


@pytest.mark.parametrize(
    ("flash_letter", "cfgr", "cfgr2", "mhz"),
    [
        ("8", 14 << 18, 0, 64),  # HSI by 2, times 16
        ("8", 15 << 18, 7, 64),  # the last two values are 16, and PREDIV is that of HSE
        ("e", 14 << 18, 0, 64),
        ("e", HSI_PREDIV | 7 << 18, 0, 72),
        ("e", HSI_PREDIV | 8 << 18, 1, 40),
    ],
)
def test_the_pll_of_hsi(flash_letter: str, cfgr: int, cfgr2: int, mhz: int) -> None:
    assert raised(flash_letter, cfgr, cfgr2).frequencies().core_hz == mhz * MHZ


def test_small_parts_have_no_prediv_for_hsi() -> None:
    with pytest.raises(NotModelledError, match="PLLSRC = 1: this device has no PREDIV for HSI"):
        raised("8", HSI_PREDIV | 7 << 18).frequencies()


@pytest.mark.parametrize(("flash_letter", "cfgr3", "mhz"), [("8", 0, 32), ("8", 1, 64), ("8", 3, 8), ("e", 0, 64)])
def test_the_clock_of_usart1(flash_letter: str, cfgr3: int, mhz: int) -> None:
    """PCLK1 of small parts, of 32 MHz here, else PCLK2; or SYSCLK or HSI."""
    frequencies = raised(flash_letter, 14 << 18 | 4 << 8, cfgr3=cfgr3).frequencies()
    assert (frequencies.uart_hz("USART1"), frequencies.uart_hz("USART2")) == (mhz * MHZ, 32 * MHZ)


def test_usart1_from_lse_is_not_modelled() -> None:
    with pytest.raises(NotModelledError, match="USART1SW selects LSE"):
        raised("8", 14 << 18, cfgr3=LSE).frequencies()


KEYR, SR, CONTROL, AR, OBR, WRPR = 0x04, 0x0C, 0x10, 0x14, 0x1C, 0x20
PG, PER, MER, OPTPG, STRT, LOCK = 1, 1 << 1, 1 << 2, 1 << 4, 1 << 6, 1 << 7
BSY, PGERR, WRPERR, EOP = 1, 1 << 2, 1 << 4, 1 << 5
FLASH_START = 0x08000000


@pytest.fixture
def f3() -> Chip:
    """An unlocked controller, whose flash is occupied."""
    chip = Chip(FlashF3, 64 * KB, fill=0xA5)
    chip.write(KEYR, *KEYS)
    assert chip.read(CONTROL) == 0
    return chip


def test_an_f3_erases_a_page(f3: Chip) -> None:
    f3.write(CONTROL, PER)
    f3.write(AR, FLASH_START + 2 * KB + 6)
    f3.write(CONTROL, PER | STRT)
    assert f3.read(SR) == BSY
    f3.wait()
    assert f3.read(SR) == EOP
    assert set(f3.flash[2 * KB : 4 * KB]) == {0xFF}
    assert set(f3.flash[: 2 * KB]) == set(f3.flash[4 * KB :]) == {0xA5}
    f3.write(CONTROL, MER)
    f3.write(CONTROL, MER | STRT)
    f3.wait()
    assert set(f3.flash) == {0xFF}


def test_an_f3_programs_half_words_that_are_erased_or_become_0(f3: Chip) -> None:
    f3.flash[0x100:0x104] = b"\xff" * 4
    f3.write(CONTROL, PG)
    f3.program(0x100, b"ab")
    assert (bytes(f3.flash[0x100:0x104]), f3.read(SR)) == (b"ab\xff\xff", EOP)
    f3.program(0x104, bytes(2))
    assert (bytes(f3.flash[0x104:0x106]), f3.read(SR)) == (bytes(2), EOP)
    f3.program(0x100, b"cd")
    assert (bytes(f3.flash[0x100:0x102]), f3.read(SR)) == (b"ab", EOP | PGERR)
    f3.write(SR, PGERR | EOP)
    assert f3.read(SR) == 0
    with pytest.raises(NotModelledError, match="one half-word at a time"):
        f3.controller.program(0x102, b"word", f3.now)


def test_an_f3_protects_two_pages_with_a_bit(f3: Chip) -> None:
    f3.controller.words[WRPR] = ~(1 << 1) & 0xFFFFFFFF
    f3.write(CONTROL, PER)
    for page, expected in ((1, BSY), (2, EOP | WRPERR), (3, EOP | WRPERR)):
        f3.write(SR, WRPERR)
        f3.write(AR, FLASH_START + page * 2 * KB)
        f3.write(CONTROL, PER | STRT)
        assert f3.read(SR) == expected
        f3.wait()


def test_an_f3_that_is_locked_takes_nothing(f3: Chip) -> None:
    f3.write(CONTROL, LOCK)
    f3.write(CONTROL, PG)
    assert (f3.read(CONTROL), f3.controller.takes_words) == (LOCK, False)
    f3.write(KEYR, *KEYS)
    with pytest.raises(NotModelledError, match="changing option bytes"):
        f3.write(CONTROL, OPTPG)


@pytest.mark.parametrize(("level", "rdp"), [(0, UNPROTECTED), (1, 0), (3, FOR_EVER)])
def test_option_bytes_have_the_protection_and_its_complement(level: int, rdp: int) -> None:
    controller = Chip(FlashF3, 64 * KB, options={OBR: 0xFFFFFF00 | level << 1}).controller
    assert isinstance(controller, FlashF3)
    assert controller.protection == rdp
    assert OptionBytes(controller).read(0, 0) == 0x00FF0000 | (rdp ^ 0xFF) << 8 | rdp
