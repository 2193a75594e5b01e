"""The wiring test on virtual boards: every family, wrong and broken wires, lines that are too bad for a rate."""

from itertools import combinations_with_replacement, pairwise

import pytest

from rigs.wiring_boards import wiring_of
from tinysplit.boards.catalog import load_all, load_board, load_boards
from tinysplit.boards.link_rates import common_rates
from tinysplit.common.errors import CheckFailedError, TinysplitError, ToolError
from tinysplit.costs.link_options import LinkSetting
from tinysplit_hil.measure.wiring_client import MOST_LINKS
from virtual_stm32 import LineFaults

G0, F4, L4, H7, G4 = FAMILIES = (
    "nucleo_g071rb",
    "nucleo_f401re",
    "nucleo_l452re",
    "nucleo_h743zi",
    "nucleo_g474re",
)
OTHERS = (
    "nucleo_f746zg",
    "nucleo_f303re",
    "nucleo_wb55rg",
    "nucleo_wl55jc",
    "nucleo_f072rb",
    "nucleo_u575zi_q",
    "nucleo_h563zi",
    "nucleo_l552ze_q",
    "nucleo_f103rb",
)
TWO = (G0, F4)
CUT = LineFaults(cuts_ps=((0, 10**15),))
FIRST, SECOND = (0, "USART1"), (1, "USART1")


def failure(error: type[TinysplitError], *names: str, **settings: object) -> str:
    with pytest.raises(error) as caught:
        wiring_of(*names, **settings)  # type: ignore[arg-type]
    return str(caught.value)


@pytest.mark.nightly
def test_a_ring_of_all_families_has_the_highest_rates_of_its_dividers() -> None:
    wiring = wiring_of(*FAMILIES, test_bytes=2048)
    assert {link.boards: link.baud for link in wiring.links} == {
        (1, 2): 5_000_000,
        (2, 3): 5_000_000,
        (3, 4): 8_000_000,
        (1, 4): 8_000_000,
    }
    assert all(len(link.trials) == 1 for link in wiring.links)  # none has errors, so that none is tested again
    assert all(link.tested_bytes == 2048 for link in wiring.links)


@pytest.mark.nightly
@pytest.mark.parametrize(
    "names",
    [*combinations_with_replacement(FAMILIES, 2), *((each, other) for each in FAMILIES for other in OTHERS)],
    ids="-".join,
)
def test_every_pair_of_families(names: tuple[str, str]) -> None:
    first, second = load_all(names)
    (link,) = wiring_of(*names, test_bytes=65_536).links
    rates = common_rates(first.link_uarts[0], second.link_uarts[0])
    assert link.baud in rates[: 2 if G0 in names else 1]
    assert link.baud >= 4_000_000


def test_a_wire_that_is_too_slow_for_a_rate_gets_a_lower_one() -> None:
    (link,) = wiring_of(*TWO, faults={FIRST: LineFaults(highest_baud=3_500_000)}).links
    assert [trial.baud for trial in link.trials] == [5_000_000, 4_000_000, 3_000_000]
    assert [trial.passed for trial in link.trials] == [False, False, True]
    (to_second, to_first) = sorted(link.trials[0].directions, key=lambda each: each.to_board, reverse=True)
    assert to_second.is_clean  # only the other direction is bad
    assert (to_first.to_board, to_first.good_frames) == (1, 0)
    assert to_first.line_errors


@pytest.mark.slow
def test_only_the_link_with_errors_gets_a_lower_rate() -> None:
    wiring = wiring_of(G0, F4, L4, faults={(2, "USART1"): LineFaults(highest_baud=4_500_000)})
    assert [(link.boards, link.baud) for link in wiring.links] == [
        ((1, 2), 5_000_000),
        ((2, 3), 4_000_000),
        ((1, 3), 8_000_000),
    ]
    assert [len(link.trials) for link in wiring.links] == [2, 2, 2]  # all are tested again, at all rates of one


@pytest.mark.nightly
def test_a_line_that_is_always_bad_is_named() -> None:
    text = failure(CheckFailedError, *TWO, faults={SECOND: LineFaults(seed=1, bit_error_rate=1e-3)})
    assert text.startswith(
        "link between board 1 (nucleo_g071rb) USART1 (TX PA9, RX PA10) and board 2 (nucleo_f401re) USART1 "
        "(TX PA9, RX PA10) fails at 57600 baud (of 2 frames to board 2 "
    )
    assert text.endswith("use shorter wires, check ground, or choose a lower rate")
    assert "to board 1" not in text


@pytest.mark.slow
def test_a_rate_that_is_asked_for_is_the_only_one_tried() -> None:
    (link,) = wiring_of(*TWO, baud=3_000_000).links
    assert [trial.baud for trial in link.trials] == [3_000_000]
    text = failure(CheckFailedError, *TWO, baud=3_000_000, faults={FIRST: LineFaults(highest_baud=2_500_000)})
    assert "USART1 (TX PA9, RX PA10) fails at 3000000 baud (of 2 frames to board 1 0 arrived" in text


@pytest.mark.nightly
def test_a_named_link_has_its_rate_and_the_others_the_highest() -> None:
    named = (LinkSetting((0, 1), 460_800), LinkSetting((0, 2), None))
    wiring = wiring_of(G0, F4, L4, named=named)
    assert [(link.boards, link.baud) for link in wiring.links] == [((1, 2), 460_800), ((2, 3), 5_000_000)]


def test_nothing_arrives() -> None:
    assert failure(CheckFailedError, *TWO, wires=[]) == (
        "nothing arrives in either direction of the link between board 1 (nucleo_g071rb) USART1 (TX PA9, RX PA10) "
        "and board 2 (nucleo_f401re) USART1 (TX PA9, RX PA10): check these wires, and ground, and test again"
    )


def test_one_direction_is_cut() -> None:
    assert failure(CheckFailedError, *TWO, faults={SECOND: CUT}) == (
        "board 2 (nucleo_f401re) USART1 RX (PA10) does not hear board 1 (nucleo_g071rb) USART1 TX (PA9): "
        "check these wires, and ground, and test again"
    )


@pytest.mark.slow
def test_noise_in_place_of_frames() -> None:
    assert failure(CheckFailedError, *TWO, faults={FIRST: LineFaults(framing_error_rate=1.0)}) == (
        "board 1 (nucleo_g071rb) USART1 RX (PA10) hears only noise from board 2 (nucleo_f401re) USART1 TX (PA9): "
        "check these wires, and ground, and test again"
    )


@pytest.mark.slow
def test_links_that_are_swapped() -> None:
    planned = [(FIRST, SECOND), ((1, "USART6"), (2, "USART1")), ((0, "USART3"), (2, "USART3"))]
    swapped = [(FIRST, (1, "USART6")), (SECOND, (2, "USART1")), planned[2]]
    faults = failure(CheckFailedError, G0, F4, L4, wires=swapped).split("; ")
    assert faults[0] == (
        "board 1 (nucleo_g071rb) USART1 RX (PA10) is connected to board 2 (nucleo_f401re) USART6 TX (PC6), "
        "not to board 2 (nucleo_f401re) USART1 TX (PA9)"
    )
    assert faults[1].startswith("board 2 (nucleo_f401re) USART1 RX (PA10) is connected to board 3 (nucleo_l452re) ")
    assert len(faults) == 4  # the third link is right


def test_wires_at_another_uart_of_the_right_board() -> None:
    first, second = failure(CheckFailedError, *TWO, wires=[((0, "USART3"), SECOND)]).split("; ")
    assert first == (
        "board 1 (nucleo_g071rb) USART1 RX (PA10) does not hear board 2 (nucleo_f401re) USART1 TX (PA9), which is "
        "connected to board 1 (nucleo_g071rb) USART3 RX (PC11)"
    )
    assert second == (
        "board 2 (nucleo_f401re) USART1 RX (PA10) is connected to board 1 (nucleo_g071rb) USART3 TX (PC10), not to "
        "board 1 (nucleo_g071rb) USART1 TX (PA9): check these wires, and ground, and test again"
    )


@pytest.mark.slow
def test_a_missing_link_beside_good_ones() -> None:
    text = failure(CheckFailedError, G0, F4, L4, wires=[(FIRST, SECOND), ((0, "USART3"), (2, "USART3"))])
    assert text.startswith("nothing arrives in either direction of the link between board 2 (nucleo_f401re) USART6 ")
    assert ";" not in text


@pytest.mark.slow
def test_a_transmitter_at_its_own_receiver() -> None:
    text = failure(CheckFailedError, *TWO, wires=[(FIRST, FIRST)])
    assert text.startswith(
        "board 1 (nucleo_g071rb) USART1 RX (PA10) is connected to board 1 (nucleo_g071rb) USART1 TX (PA9), "
        "not to board 2 (nucleo_f401re) USART1 TX (PA9)"
    )
    assert "board 2 (nucleo_f401re) USART1 RX (PA10) does not hear" in text


@pytest.mark.slow
def test_a_host_port_that_is_cut_is_an_error_of_the_board() -> None:
    assert "does not reply" in failure(ToolError, *TWO, faults={(1, load_board(F4).host_uart.name): CUT})


def test_no_board_has_more_links_than_the_test_has_room_for() -> None:
    assert max(len(board.link_uarts) for board in load_boards()) <= MOST_LINKS


def test_rates_fall() -> None:
    uart = load_board(G0).link_uarts[0]
    assert all(first > second for first, second in pairwise(common_rates(uart, uart)))
