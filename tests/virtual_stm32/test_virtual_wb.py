"""What virtual STM32WB and WL have of their second core: a divider of its clock, and a say in stop mode."""

import pytest

from virtual_stm32.errors import NotModelledError
from virtual_stm32.peripherals.families.stm32wb import PwrWb, RccWb
from virtual_stm32.peripherals.families.stm32wl import PwrWl, RccWl

MHZ = 1_000_000
CR, CFGR, PLLCFGR, EXTCFGR = 0x00, 0x08, 0x0C, 0x108
CR1, C2CR1 = 0x00, 0x80
LONG = 1_000_000  # cycles


@pytest.mark.parametrize(("extcfgr", "mhz"), [(0, 64), (8 << 4, 32), (9 << 4, 16)])
def test_the_clock_of_the_second_core(extcfgr: int, mhz: int) -> None:
    rcc = RccWb(lambda now, ps: now + ps // MHZ, None)
    assert rcc.second_core_hz == 4 * MHZ
    for offset, value in ((EXTCFGR, extcfgr), (PLLCFGR, 2 | 8 << 8 | 1 << 28 | 1 << 29), (CR, 1 << 8 | 1 << 24 | 0x61)):
        rcc.write(offset, value, 0)
    rcc.advance(LONG)
    rcc.write(CFGR, 3, LONG)
    rcc.advance(2 * LONG)
    assert (rcc.frequencies().core_hz, rcc.second_core_hz) == (64 * MHZ, mhz * MHZ)


@pytest.mark.parametrize(
    ("own", "other", "reason"),
    [(2, 2, None), (2, 4, None), (1, 2, "PWR_CR1 LPMS = 1"), (2, 0, "PWR_C2CR1 LPMS = 0 keeps the part from Stop 2")],
)
def test_both_cores_have_to_allow_stop_2(own: int, other: int, reason: str | None) -> None:
    pwr = PwrWb()
    pwr.write(CR1, 0x200 | own, 0)
    pwr.write(C2CR1, other, 0)
    if reason is None:
        pwr.check_stop()
        return
    with pytest.raises(NotModelledError, match=reason):
        pwr.check_stop()


def test_the_second_core_of_a_wl_allows_stop_2_until_it_is_started() -> None:
    pwr = PwrWl()
    pwr.write(CR1, 0x200 | 2, 0)
    pwr.check_stop()


@pytest.mark.parametrize(("cr", "khz"), [(0x61, 4_000), (0x91, 4_000), (0x99, 24_000)])
def test_the_range_of_msi_of_a_wl_is_that_in_csr_until_it_is_selected(cr: int, khz: int) -> None:
    rcc = RccWl(lambda now, ps: now + ps // MHZ, None)
    rcc.write(CR, cr, 0)
    assert rcc.frequencies().core_hz == khz * 1000
