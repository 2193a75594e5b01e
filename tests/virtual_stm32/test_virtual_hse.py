"""HSE of the virtual RCCs: bypass mode, when it is ready, and as the source of the PLL."""

from collections.abc import Callable, Mapping

import pytest

from virtual_stm32.errors import NotModelledError
from virtual_stm32.peripherals.families.stm32c0 import RccC0
from virtual_stm32.peripherals.families.stm32f0 import RccF0
from virtual_stm32.peripherals.families.stm32f1 import RccF1
from virtual_stm32.peripherals.families.stm32f3 import RccF3
from virtual_stm32.peripherals.families.stm32f4 import RccF4
from virtual_stm32.peripherals.families.stm32g0 import RccG0
from virtual_stm32.peripherals.families.stm32g4 import RccG4
from virtual_stm32.peripherals.families.stm32h5 import RccH5
from virtual_stm32.peripherals.families.stm32h7 import RccH7
from virtual_stm32.peripherals.families.stm32l0 import RccL0
from virtual_stm32.peripherals.families.stm32l4 import RccL4
from virtual_stm32.peripherals.families.stm32l5 import RccL5
from virtual_stm32.peripherals.families.stm32u5 import RccU5
from virtual_stm32.peripherals.families.stm32wb import RccWb
from virtual_stm32.peripherals.families.stm32wl import RccWl
from virtual_stm32.peripherals.rcc import Rcc

MHZ = 1_000_000
HSEON, HSERDY, HSEBYP, PLLON = 1 << 16, 1 << 17, 1 << 18, 1 << 24
LONG = 1_000_000  # cycles


def cycle_of(now: int, ps: int) -> int:
    """One cycle takes a microsecond."""
    return now + ps // MHZ


Make = Callable[[int | None], Rcc]
MAKERS: dict[str, Make] = {
    "f0": lambda hz: RccF0(cycle_of, hz),
    "f1": lambda hz: RccF1(cycle_of, hz),
    "f3": lambda hz: RccF3(cycle_of, hz, "8"),
    "f4": lambda hz: RccF4(cycle_of, hz),
    "g0": lambda hz: RccG0(cycle_of, hz),
    "l0": lambda hz: RccL0(cycle_of, hz),
    "l4": lambda hz: RccL4(cycle_of, hz, is_plus=False),
    "l5": lambda hz: RccL5(cycle_of, hz),
    "g4": lambda hz: RccG4(cycle_of, hz),
    "wb": lambda hz: RccWb(cycle_of, hz),
    "wl": lambda hz: RccWl(cycle_of, hz),
    "u5": lambda hz: RccU5(cycle_of, hz),
    "h5": lambda hz: RccH5(cycle_of, hz),
    "h7": lambda hz: RccH7(cycle_of, hz),
}
# Registers and values that multiply HSE of 8 MHz, and the frequency: chapter RCC of the reference manuals.
PLL_FROM_HSE = {
    "f0": ({0x2C: 0, 0x04: 1 << 16 | 4 << 18}, 48 * MHZ),
    "f1": ({0x04: 1 << 16 | 7 << 18}, 72 * MHZ),
    "f3": ({0x2C: 0, 0x04: 1 << 16 | 7 << 18}, 72 * MHZ),
    "f4": ({0x04: 1 << 22 | 1 << 16 | 168 << 6 | 4}, 84 * MHZ),
    "g0": ({0x0C: 3 | 0 << 4 | 16 << 8 | 1 << 28 | 1 << 29}, 64 * MHZ),
    "l0": ({0x0C: 1 << 16 | 3 << 18 | 1 << 22}, 32 * MHZ),
    "l4": ({0x0C: 3 | 0 << 4 | 20 << 8 | 1 << 24}, 80 * MHZ),
    "l5": ({0x0C: 3 | 1 << 4 | 55 << 8 | 1 << 24}, 110 * MHZ),
    "wb": ({0x108: 8 << 4, 0x0C: 3 | 0 << 4 | 16 << 8 | 1 << 28 | 1 << 29}, 64 * MHZ),
    "wl": ({0x0C: 3 | 0 << 4 | 12 << 8 | 1 << 28 | 1 << 29}, 48 * MHZ),
    "u5": ({0x28: 3 | 1 << 18, 0x34: 19}, 160 * MHZ),
    "g4": ({0x0C: 3 | 1 << 4 | 85 << 8 | 1 << 24}, 170 * MHZ),
    "h5": ({0x28: 3 | 2 << 2 | 2 << 8 | 1 << 16, 0x34: 124 | 1 << 9}, 250 * MHZ),
    "h7": ({0x28: 2 | 1 << 4, 0x2C: 3 << 2 | 1 << 16, 0x30: 119 | 1 << 9}, 480 * MHZ),
}
# A value of the field PLLSRC for another source, or none; the F4 has only the two.
OTHER_SOURCE = {"g0": (0x0C, 0), "l4": (0x0C, 1), "g4": (0x0C, 1), "wb": (0x0C, 1), "h7": (0x28, 1), "u5": (0x28, 1)}
OTHER_SOURCE |= {"wl": (0x0C, 1), "h5": (0x28, 2), "l5": (0x0C, 0)}


def make(family: str, hse_hz: int | None) -> Rcc:
    """Return an RCC that computes its frequencies after every write, as on a virtual board."""
    rcc = MAKERS[family](hse_hz)
    rcc.changed = lambda _now: check(rcc)
    return rcc


def check(rcc: Rcc) -> None:
    rcc.frequencies()


@pytest.fixture(params=MAKERS)
def family(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def cr(rcc: Rcc) -> int:
    """Return the bits of HSE in RCC_CR, with HSEBYP where most families have it."""
    value = rcc.read(0, 0)
    return value & (HSEON | HSERDY) | (HSEBYP if value >> rcc.hse_bypass_bit & 1 else 0)


def set_cr(rcc: Rcc, bits: int, mask: int) -> None:
    if mask & HSEBYP:
        mask = mask & ~HSEBYP | 1 << rcc.hse_bypass_bit
        bits = bits & ~HSEBYP | (1 << rcc.hse_bypass_bit if bits & HSEBYP else 0)
    rcc.write(0, rcc.read(0, 0) & ~mask | bits, 0)


def write_cr(rcc: Rcc, bits: int, *, mask: int = HSEON | HSEBYP | PLLON) -> int:
    """Write bits of RCC_CR, and return those of HSE after a long time."""
    set_cr(rcc, bits, mask)
    rcc.advance(LONG)
    return cr(rcc)


def start_pll(rcc: Rcc, registers: Mapping[int, int]) -> None:
    """Switch the system clock to the PLL."""
    for offset, value in registers.items():
        rcc.write(offset, value, 0)
    write_cr(rcc, PLLON, mask=0)
    rcc.write(rcc.switch.offset, rcc.pll_source.selected, 0)
    rcc.advance(LONG)


def test_hse_is_ready_in_bypass_mode_with_a_clock(family: str) -> None:
    rcc = make(family, 8 * MHZ)
    set_cr(rcc, HSEBYP, HSEBYP)
    set_cr(rcc, HSEON, HSEON)
    assert cr(rcc) == HSEON | HSEBYP, "not at once"
    rcc.advance(LONG)
    assert rcc.read(0, 0) & HSERDY
    assert write_cr(rcc, HSEBYP) == HSEBYP


def test_hse_is_not_ready_without_a_clock_or_without_bypass_mode(family: str) -> None:
    assert write_cr(make(family, None), HSEON | HSEBYP) == HSEON | HSEBYP
    assert write_cr(make(family, 8 * MHZ), HSEON) == HSEON, "no crystal"


def test_a_crystal_is_ready_without_bypass_mode_after_its_time() -> None:
    rcc = make("g4", 24 * MHZ)
    rcc.crystal_us = 2000
    assert write_cr(rcc, HSEON | HSEBYP) == HSEON | HSEBYP, "there is no clock"
    write_cr(rcc, 0)
    write_cr(rcc, 0)  # bypass mode ends while HSE is off
    rcc.write(0, rcc.read(0, 0) | HSEON, LONG)
    rcc.advance(LONG + 1999)
    assert not rcc.read(0, 0) & HSERDY
    rcc.advance(LONG + 2000)
    assert rcc.read(0, 0) & HSERDY


def test_bypass_mode_cannot_be_changed_while_hse_is_on(family: str) -> None:
    rcc = make(family, 8 * MHZ)
    assert write_cr(rcc, HSEON) == HSEON
    assert write_cr(rcc, HSEON | HSEBYP) == HSEON
    assert write_cr(rcc, 0) == 0
    assert write_cr(rcc, HSEON | HSEBYP) == HSEON | HSEBYP | HSERDY
    assert write_cr(rcc, HSEON) == HSEON | HSEBYP | HSERDY


def test_the_pll_multiplies_hse(family: str) -> None:
    rcc = make(family, 8 * MHZ)
    before = rcc.frequencies().core_hz
    write_cr(rcc, HSEON | HSEBYP)
    assert (rcc.frequencies().core_hz, rcc.runs_from_hse) == (before, False)
    start_pll(rcc, PLL_FROM_HSE[family][0])
    assert (rcc.frequencies().core_hz, rcc.runs_from_hse) == (PLL_FROM_HSE[family][1], True)
    assert write_cr(rcc, 0, mask=HSEON) & (HSEON | HSERDY) == HSEON | HSERDY, "it is in use"


def test_hse_is_the_clock_of_an_stm32c0() -> None:
    """RM0490: there is no PLL; HSI48 is divided by 4 after a reset."""
    rcc = RccC0(cycle_of, 48 * MHZ)
    assert (rcc.frequencies().core_hz, rcc.runs_from_hse) == (12 * MHZ, False)
    write_cr(rcc, HSEON | HSEBYP)
    rcc.write(0x08, 1, 0)
    rcc.advance(LONG)
    assert (rcc.frequencies().core_hz, rcc.runs_from_hse) == (48 * MHZ, True)


def test_a_pll_without_its_hse_stops_the_board(family: str) -> None:
    with pytest.raises(NotModelledError, match="a clock comes from HSE, which is not ready"):
        start_pll(make(family, 8 * MHZ), PLL_FROM_HSE[family][0])


@pytest.mark.parametrize("family", OTHER_SOURCE)
def test_other_sources_of_the_pll_are_not_modelled(family: str) -> None:
    rcc = make(family, 8 * MHZ)
    offset, source = OTHER_SOURCE[family]
    registers, _ = PLL_FROM_HSE[family]
    write_cr(rcc, HSEON | HSEBYP)
    with pytest.raises(NotModelledError, match="a PLL source other than HSI and HSE"):
        start_pll(rcc, {**registers, offset: registers[offset] & ~3 | source})
