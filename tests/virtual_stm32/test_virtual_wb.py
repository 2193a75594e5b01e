"""What the virtual STM32WB has of its second core: a divider of its clock, and a say in stop mode (RM0434)."""

import pytest

from virtual_stm32.errors import NotModelledError
from virtual_stm32.peripherals.families.stm32wb import PwrWb, RccWb

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
