"""HSE: the boards with a clock at OSC_IN, the PLL values from it, and the refusal of the others."""

import dataclasses

import pytest

from rigs.hse_boards import HSE_HZ, with_osc_in
from tinysplit.boards.board import ClockSource, ClockTree
from tinysplit.boards.board_files import board_names
from tinysplit.boards.catalog import boards_to_json, load_board, load_boards, make_board, read_board_file, wake_us
from tinysplit.codegen.platformio_ini import macros
from tinysplit.common.errors import InputError, UsageError

# Boards with a clock of 8 MHz at OSC_IN as delivered, by ST's user manuals.
MCO_BOARDS = {
    "nucleo_h743zi",  # UM2407
    "nucleo_h723zg",  # UM2407
    "nucleo_h563zi",  # UM3115
    "nucleo_f746zg",  # UM1974
    "nucleo_f767zi",  # UM1974
    "nucleo_f446re",  # UM1724
    "nucleo_f401re",  # UM1724
    "nucleo_l053r8",  # UM1724
    "nucleo_l073rz",  # UM1724
    "nucleo_f072rb",  # UM1724
    "nucleo_f334r8",  # UM1724
    "nucleo_f411re",  # UM1724
    "nucleo_f412zg",  # UM1974
    "nucleo_f413zh",  # UM1974
    "nucleo_f429zi",  # UM1974
    "nucleo_f091rc",  # UM1724
    "nucleo_f103rb",  # UM1724
    "nucleo_f302r8",  # UM1724
    "nucleo_f303re",  # UM1724
}
# Boards with a TCXO, which the part supplies: Hz.
TCXOS = {"nucleo_wl55jc": 32_000_000}  # UM2592
# M, N, and R or P of the PLL from 8 MHz, worked out by hand: input frequency as high as possible.
PLL = {
    "nucleo_h743zi": (1, 120, 2),  # 960 MHz / 2
    "nucleo_h723zg": (4, 275, 1),  # 550 / 8 is no integer, 550 / 2 is
    "nucleo_f746zg": (4, 216, 2),  # as in Zephyr's nucleo_f767zi.dts
    "nucleo_f767zi": (4, 216, 2),
    "nucleo_f446re": (4, 180, 2),
    "nucleo_f401re": (4, 168, 4),  # 168 MHz is too slow for the VCO
    "stm32f401rb": (4, 168, 4),
    "nucleo_l4r5zi": (1, 30, 2),
    "nucleo_l452re": (1, 20, 2),
    "nucleo_l433rc_p": (1, 20, 2),
    "nucleo_l412kb": (1, 20, 2),
    "nucleo_g071rb": (1, 16, 2),
    "disco_l496ag": (1, 20, 2),
    "nucleo_g431rb": (2, 85, 2),  # 340 MHz / 2: 170 / 8 is no integer
    "nucleo_g474re": (2, 85, 2),
    "nucleo_l053r8": (1, 8, 2),
    "nucleo_l073rz": (1, 8, 2),
    "nucleo_wb55rg": (1, 16, 2),
    "nucleo_wl55jc": (1, 12, 2),
    "nucleo_g0b1re": (1, 16, 2),
    "nucleo_l476rg": (1, 20, 2),
    **dict.fromkeys(("nucleo_f411re", "nucleo_f412zg", "nucleo_f413zh"), (4, 100, 2)),
    "nucleo_f429zi": (4, 180, 2),
    "nucleo_f072rb": (1, 6, 1),  # as in Zephyr's nucleo_f072rb.dts
    "nucleo_f091rc": (1, 6, 1),
    "nucleo_u575zi_q": (1, 20, 1),
    "nucleo_h563zi": (2, 125, 2),
    "nucleo_l552ze_q": (2, 55, 2),
    "stm32f103ze": (1, 8, 1),
    "nucleo_f303re": (1, 9, 1),  # as in Zephyr's nucleo_f303re.dts
}


CRYSTALS = {
    "bluepill_f103c8": (8_000_000, 2000),
    "nucleo_g431rb": (24_000_000, 2000),
    "nucleo_g474re": (24_000_000, 2000),
    "nucleo_wb55rg": (32_000_000, 2000),
}  # Zephyr stm32_min_dev, UM2505 and UM2435; Hz, microseconds to ready


def values(clock: ClockTree) -> tuple[int, int, int]:
    return clock.pll_m, clock.pll_n, clock.pll_r


def test_boards_with_a_clock_at_osc_in() -> None:
    assert {board.name for board in load_boards() if board.hse_clock} == MCO_BOARDS | CRYSTALS.keys() | TCXOS.keys()
    by_name = {entry["name"]: entry["hse_hz"] for entry in boards_to_json(load_boards())}
    assert by_name == {
        name: HSE_HZ if name in MCO_BOARDS else CRYSTALS.get(name, (TCXOS.get(name), 0))[0] for name in board_names()
    }


@pytest.mark.parametrize("name", PLL)
def test_hse_gives_the_clocks_of_hsi(name: str) -> None:
    board = with_osc_in(name)
    fed = board.with_clock(ClockSource.HSE)
    assert (board.clock, fed.clock) == (board.hsi_clock, board.hse_clock)
    assert (fed.clock.oscillator_hz, values(fed.clock)) == (HSE_HZ, PLL[name])
    pll = {each: getattr(board.clock, each) for each in ("oscillator_hz", "pll_m", "pll_n", "pll_r")}
    assert dataclasses.replace(fed.clock, **pll) == board.clock, "they differ only before the core"
    assert fed.with_clock(ClockSource.HSI) == board
    if name in MCO_BOARDS:
        assert board == load_board(name)


def test_a_split_does_not_depend_on_the_clock_source() -> None:
    board = load_board("nucleo_f446re")
    assert board.with_clock(ClockSource.HSE).sha256 == board.sha256


@pytest.mark.parametrize("name", CRYSTALS)
def test_a_crystal_feeds_the_pll_and_delays_the_end_of_stop_mode(name: str) -> None:
    board = load_board(name)
    fed = board.with_clock(ClockSource.HSE)
    assert (fed.clock.oscillator_hz, fed.hse_crystal_us) == CRYSTALS[name]
    by_hand = {"nucleo_wb55rg": (2, 8, 2), "bluepill_f103c8": (1, 9, 1)}  # others as in Zephyr's nucleo_g474re.dts
    assert values(fed.clock) == by_hand.get(name, (6, 85, 2))
    assert wake_us(fed) == wake_us(board) + fed.hse_crystal_us
    assert "CLOCK_HSE_CRYSTAL" in macros(fed)
    assert "CLOCK_HSE_CRYSTAL" not in (*macros(board), *macros(with_osc_in(name).with_clock(ClockSource.HSE)))


def test_a_tcxo_feeds_the_pll_in_bypass_mode() -> None:
    fed = load_board("nucleo_wl55jc").with_clock(ClockSource.HSE)
    assert (fed.clock.oscillator_hz, values(fed.clock)) == (TCXOS[fed.name], (2, 6, 2))
    assert "CLOCK_HSE_CRYSTAL" not in macros(fed)


@pytest.mark.parametrize("name", sorted(PLL.keys() - MCO_BOARDS - CRYSTALS.keys() - TCXOS.keys()))
def test_hse_without_a_clock_at_osc_in_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=f"{name} has no clock for HSE at OSC_IN .*: use --clock hsi") as error:
        load_board(name).with_clock(ClockSource.HSE)
    assert "\n" not in str(error.value)


def test_hse_of_an_stm32c0_is_the_clock_of_the_core() -> None:
    """RM0490: there is no PLL."""
    fed = with_osc_in("nucleo_c031c6", 48_000_000).with_clock(ClockSource.HSE)
    assert values(fed.clock) == (1, 1, 1)
    with pytest.raises(InputError, match=r"the PLL cannot make 48000000 Hz from 8000000 Hz, .*without a PLL"):
        with_osc_in("nucleo_c031c6")


def test_the_pll_of_an_stm32l0_has_few_multipliers() -> None:
    """RM0367, PLLMUL: 8 and 16, but not 10."""
    assert values(with_osc_in("nucleo_l053r8", 4_000_000).with_clock(ClockSource.HSE).clock) == (1, 16, 2)
    with pytest.raises(InputError, match="the PLL cannot make 32000000 Hz from 6400000 Hz"):
        with_osc_in("nucleo_l053r8", 6_400_000)


def test_hse_from_which_the_pll_cannot_make_the_clock_is_refused() -> None:
    with pytest.raises(InputError, match="the PLL cannot make 64000000 Hz from 7000001 Hz"):
        with_osc_in("nucleo_g071rb", 7_000_001)


@pytest.mark.parametrize("name", ["nucleo_f103rb", "bluepill_f103c8", "nucleo_f302r8", "nucleo_f334r8"])
def test_hse_gives_a_higher_clock_than_half_of_hsi(name: str) -> None:
    """RM0008, RM0364 and RM0365: the PLL makes 16 times HSI/2, and 9 times HSE (as in Zephyr's nucleo_f302r8.dts)."""
    board = load_board(name)
    fed = board.with_clock(ClockSource.HSE)
    assert (board.clock.core_hz, fed.clock.core_hz, values(fed.clock)) == (64_000_000, 72_000_000, (1, 9, 1))
    clocks = {uart.name: uart.clock_hz for uart in (fed.host_uart, *fed.link_uarts)}
    assert clocks == {"USART1": 72_000_000, "USART2": 36_000_000, "USART3": 36_000_000}
    assert fed.with_clock(ClockSource.HSI) == board


def test_hse_with_other_dividers_than_hsi_is_refused() -> None:
    file = read_board_file("nucleo_f103rb")
    hse = file.hse.model_copy(update={"core_hz": 36_000_000}) if file.hse else None
    with pytest.raises(InputError, match=r"hse\.core_hz is 36000000: it needs another apb1_div"):
        make_board("nucleo_f103rb", file.model_copy(update={"hse": hse}))
