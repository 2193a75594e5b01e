"""Clocks and DMA requests of the virtual STM32F0 (RM0091)."""

import pytest

from virtual_stm32.errors import NotModelledError
from virtual_stm32.peripherals.dma import requests
from virtual_stm32.peripherals.families.stm32f0 import FLASH_LIMITS, RccF0

MHZ = 1_000_000
CR, CFGR, CFGR2, CFGR3 = 0x00, 0x04, 0x2C, 0x30
PLLON, SW_PLL, SW_HSI48, HSI_PREDIV = 1 << 24, 2, 3, 1 << 15
LONG = 1_000_000  # cycles


def raised(cfgr: int, cfgr2: int = 0) -> RccF0:
    """Return an RCC whose PLL is the system clock."""
    rcc = RccF0(lambda now, ps: now + ps // MHZ, None)
    for offset, value in ((CFGR2, cfgr2), (CFGR, cfgr), (CR, rcc.read(CR, 0) | PLLON)):
        rcc.write(offset, value, 0)
    rcc.advance(LONG)
    rcc.write(CFGR, cfgr | SW_PLL, LONG)
    rcc.advance(2 * LONG)
    return rcc


@pytest.mark.parametrize(
    ("cfgr", "cfgr2", "mhz"),
    [
        (10 << 18, 0, 48),  # HSI by 2, times 12
        (HSI_PREDIV | 4 << 18, 0, 48),
        (HSI_PREDIV | 4 << 18, 1, 24),
    ],
)
def test_the_pll_of_hsi(cfgr: int, cfgr2: int, mhz: int) -> None:
    assert raised(cfgr, cfgr2).frequencies().core_hz == mhz * MHZ


def test_all_uarts_have_the_clock_of_the_only_apb() -> None:
    frequencies = raised(HSI_PREDIV | 4 << 18 | 4 << 8).frequencies()
    assert {frequencies.uart_hz(name) for name in ("USART1", "USART2", "USART3")} == {24 * MHZ}


def test_a_pll_above_48_mhz_is_out_of_range() -> None:
    with pytest.raises(NotModelledError, match=r"oscillator at 56000000 Hz is outside 16000000\.\.48000000"):
        raised(HSI_PREDIV | 5 << 18).frequencies()


def test_hsi48_is_never_ready_and_other_clocks_of_usart1_are_not_modelled() -> None:
    rcc = raised(HSI_PREDIV | 4 << 18)
    assert not rcc.source_is_ready(SW_HSI48)
    rcc.write(CFGR3, 1, LONG)
    with pytest.raises(NotModelledError, match="USART1SW is not modelled, only PCLK"):
        rcc.frequencies()


def test_above_24_mhz_the_flash_needs_a_wait_state() -> None:
    FLASH_LIMITS.check(24 * MHZ, 0)
    FLASH_LIMITS.check(48 * MHZ, 1)
    with pytest.raises(NotModelledError, match="needs more than the 0 flash wait states"):
        FLASH_LIMITS.check(48 * MHZ, 0)


def test_channels_of_the_f09x_select_any_uart_in_their_direction() -> None:
    assert requests.F09["DMA1", 0, 8] == "USART1_RX"
    assert requests.F09["DMA2", 4, 15] == "USART8_TX"
    assert ("DMA1", 0, 7) not in requests.F09
    assert len(requests.F09) == 12 * 8
