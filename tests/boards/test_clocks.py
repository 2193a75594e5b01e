"""Clock trees: exact frequencies within all limits of PLL, buses and flash, for random PLLs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinysplit.boards.clocks import best_pll, bus_divider, clock_tree, wait_states
from tinysplit.boards.schema import BusLimits, PllRules
from tinysplit.common.errors import InputError

MHZ = 1_000_000
# RM0368, RCC_PLLCFGR; P feeds SYSCLK.
F401 = PllRules(
    oscillator_hz=16 * MHZ,
    input_hz=(1 * MHZ, 2 * MHZ),
    vco_hz=(192 * MHZ, 432 * MHZ),
    m=(2, 63),
    n=(50, 432),
    r=(2, 4, 6, 8),
    source="RM0368 RCC_PLLCFGR",
)


def test_f401_takes_the_values_that_the_reference_manual_recommends() -> None:
    # RM0368 RCC_PLLCFGR recommends 2 MHz at the input of the VCO, to limit jitter.
    assert best_pll(F401, 84 * MHZ) == (8, 168, 4)


def test_a_frequency_out_of_reach_is_refused() -> None:
    with pytest.raises(InputError, match="the PLL cannot make 84000001 Hz from 16000000 Hz"):
        best_pll(F401, 84 * MHZ + 1)


def test_a_frequency_above_what_the_pll_makes_is_refused_with_the_highest_one() -> None:
    """RM0008: HSI/2 and PLLMUL of up to 16."""
    f103 = PllRules(
        oscillator_hz=8 * MHZ,
        input_hz=(1 * MHZ, 25 * MHZ),
        vco_hz=(16 * MHZ, 72 * MHZ),
        m=(1, 2),
        hsi_m=2,
        n=(2, 16),
        r=(1,),
        source="RM0008 RCC_CFGR",
    )
    assert best_pll(f103, 72 * MHZ) == (1, 9, 1)
    wanted = "cannot make 72000000 Hz from 8000000 Hz by 2, at most 64000000: set a lower corrections.max_hz or hse"
    with pytest.raises(InputError, match=wanted):
        best_pll(f103.fed_by_hsi(), 72 * MHZ)


@st.composite
def reachable(draw: st.DrawFn) -> tuple[PllRules, int]:
    """Return PLL limits with a frequency that they allow exactly."""
    oscillator_mhz = draw(st.sampled_from([8, 16, 64]))
    m = draw(st.sampled_from([value for value in (1, 2, 4, 8, 16) if value <= oscillator_mhz]))
    r = draw(st.sampled_from([1, 2, 4, 8]))
    n = r * draw(st.integers(1, 50))
    rules = PllRules(
        oscillator_hz=oscillator_mhz * MHZ,
        input_hz=(1 * MHZ, draw(st.integers(oscillator_mhz // m, 64)) * MHZ),
        vco_hz=(
            draw(st.integers(1, oscillator_mhz * n // m)) * MHZ,
            draw(st.integers(oscillator_mhz * n // m, 30_000)) * MHZ,
        ),
        m=(1, draw(st.integers(m, 63))),
        n=(draw(st.integers(1, n)), draw(st.integers(n, 512))),
        r=tuple(draw(st.permutations([1, 2, 4, 8]))),
        source="made up for this test",
    )
    return rules, oscillator_mhz * MHZ * n // m // r


@given(reachable())
def test_pll_values_keep_every_limit_and_make_the_frequency_exactly(case: tuple[PllRules, int]) -> None:
    rules, core_hz = case
    m, n, r = best_pll(rules, core_hz)
    assert rules.oscillator_hz * n == core_hz * m * r
    assert rules.m[0] <= m <= rules.m[1]
    assert rules.n[0] <= n <= rules.n[1]
    assert r in rules.r
    assert rules.input_hz[0] <= rules.oscillator_hz / m <= rules.input_hz[1]
    assert rules.vco_hz[0] <= rules.oscillator_hz * n / m <= rules.vco_hz[1]


@given(st.integers(1, 600 * MHZ), st.integers(40 * MHZ, 600 * MHZ))
def test_the_bus_divider_is_the_smallest_that_keeps_the_limit(clock_hz: int, limit_hz: int) -> None:
    divider = bus_divider(clock_hz, limit_hz)
    assert divider in {1, 2, 4, 8, 16}
    assert clock_hz / divider <= limit_hz
    assert divider == 1 or clock_hz / (divider // 2) > limit_hz


def test_a_bus_that_no_divider_slows_enough_is_refused() -> None:
    with pytest.raises(InputError, match="no bus divider takes 480000000 Hz below 1000000 Hz"):
        bus_divider(480 * MHZ, MHZ)


@pytest.mark.parametrize(("hclk_mhz", "states"), [(24, 0), (25, 1), (48, 1), (49, 2), (64, 2)])
def test_wait_states_change_just_above_their_limits(hclk_mhz: int, states: int) -> None:
    # RM0444 table Number of wait states according to flash clock (HCLK) frequency, range 1
    assert wait_states(hclk_mhz * MHZ, (24 * MHZ, 48 * MHZ, 64 * MHZ)) == states


def test_a_flash_that_is_too_slow_is_refused() -> None:
    with pytest.raises(InputError, match="the flash is too slow for 65000000 Hz: its limit is 64000000 Hz"):
        wait_states(65 * MHZ, (24 * MHZ, 48 * MHZ, 64 * MHZ))


def test_wait_states_follow_hclk_and_not_the_core() -> None:
    limits = BusLimits(
        ahb_max_hz=42 * MHZ,
        apb1_max_hz=21 * MHZ,
        apb2_max_hz=42 * MHZ,
        settings={"vos": 2},
        source="made up for this test",
    )
    tree = clock_tree(F401, limits, 84 * MHZ, (30 * MHZ, 60 * MHZ, 84 * MHZ))
    assert (tree.ahb_divider, tree.apb1_divider, tree.apb2_divider) == (2, 2, 1)
    assert (tree.apb1_hz, tree.apb2_hz, tree.flash_wait_states) == (21 * MHZ, 42 * MHZ, 1)
    assert tree.settings == (("vos", 2),)


@pytest.mark.parametrize(("lowest_mhz", "reachable"), [(2, True), (3, False)])
def test_the_pll_compares_at_no_less_than_its_lower_limit(lowest_mhz: int, reachable: bool) -> None:
    # 35 MHz are 70 MHz of the VCO, which 16 MHz make with M = 8 and N = 35 only: 2 MHz at its input.
    rules = PllRules(
        oscillator_hz=16 * MHZ,
        input_hz=(lowest_mhz * MHZ, 16 * MHZ),
        vco_hz=(64 * MHZ, 344 * MHZ),
        m=(1, 8),
        n=(8, 86),
        r=(2,),
        source="made up for this test",
    )
    if reachable:
        assert best_pll(rules, 35 * MHZ) == (8, 35, 2)
    else:
        with pytest.raises(InputError, match="the PLL cannot make 35000000 Hz from 16000000 Hz"):
            best_pll(rules, 35 * MHZ)
