"""The baud rates of links that nobody has chosen: of each pair of boards the highest that short wires allow."""

from dataclasses import replace
from itertools import combinations_with_replacement

import pytest

from tinysplit.boards.catalog import load_all, load_boards
from tinysplit.boards.link_driver import LinkDriver
from tinysplit.boards.link_rates import RATES, fastest_rate
from tinysplit.common.errors import UsageError
from tinysplit.costs.link_options import LinkSetting, LinkSettings
from tinysplit.costs.settings import CostSettings
from tinysplit.costs.transfers import check_bauds
from tinysplit.explore.candidates import Space
from tinysplit.plan.wiring import wire
from tinysplit.slices.links import with_links
from tinysplit.timing.topology import Cut

G0, F446, L4 = load_all(("nucleo_g071rb", "nucleo_f446re", "nucleo_l452re"))


@pytest.mark.parametrize("driver", [None, *LinkDriver])
def test_every_pair_of_boards_has_the_highest_rate_that_is_accepted(driver: LinkDriver | None) -> None:
    for pair in combinations_with_replacement(load_boards(), 2):
        fastest = fastest_rate(*pair, driver)
        for baud in (baud for baud in RATES if baud <= 4_000_000):
            links = CostSettings(baud=baud, link_driver=driver).link_settings_on(pair)
            if baud == fastest:
                check_bauds(pair, links)
                break
            with pytest.raises(UsageError):
                check_bauds(pair, links)


def test_rates_by_hand() -> None:
    assert fastest_rate(G0, G0) == 4_000_000  # 64 MHz / 16
    assert fastest_rate(F446, G0) == 3_000_000  # 45 MHz / 15; at 4 Mbaud, 45 MHz / 11 is 2.3 % off
    assert fastest_rate(G0, G0, LinkDriver.INTERRUPT) == 230_400  # 4 bytes of its FIFO in 8000 cycles: 320 000 baud


def test_a_second_uart_that_is_slower_may_get_the_link() -> None:
    first, second = G0.link_uarts
    slow = replace(G0, link_uarts=(first, replace(second, clock_hz=16_000_000)))
    assert fastest_rate(slow, G0) == fastest_rate(G0, slow) == 4_000_000
    assert fastest_rate(slow, G0, n_links=2) == fastest_rate(G0, slow, n_links=2) == 2_000_000  # 16 MHz / 8, the least


@pytest.mark.parametrize("hub", [0, 1, 2])
def test_three_boards_can_be_wired_at_these_rates(hub: int) -> None:
    order = [board for board in range(3) if board != hub]
    for boards in combinations_with_replacement([board for board in load_boards() if len(board.link_uarts) > 1], 3):
        cuts = [Cut(0, hub, board, 1, 0.0) for board in order]
        assert len(wire(boards, cuts, CostSettings().link_settings_on(boards))) == 2


def test_links_between_boards_of_different_rates() -> None:
    links = CostSettings().link_settings_on((G0, F446, L4))
    assert [links.between(*pair).baud for pair in ((0, 1), (1, 2), (0, 2))] == [3_000_000, 3_000_000, 4_000_000]
    assert CostSettings().link_settings_on((G0, L4)).named == ()
    assert CostSettings(baud=9600).link_settings_on((G0, F446, L4)).named == ()


def test_links_that_are_named_stay() -> None:
    named = (LinkSetting((0, 1), 9600), LinkSetting((0, 2), None))
    links = CostSettings(links=named).link_settings_on((G0, F446, L4))
    assert [links.between(*pair).baud for pair in ((0, 1), (0, 2), (1, 2))] == [9600, None, 3_000_000]


def test_what_is_assumed_is_said() -> None:
    settings = CostSettings()
    ending = "assumed for short wires: `tinysplit wiring` tests it"
    assert settings.assumed_rates((G0, G0)) == f"links at 4000000 baud, {ending}"
    assert settings.assumed_rates((G0, F446, L4)) == f"links at 3000000 baud (1-3: 4000000), {ending}"
    assert settings.assumed_rates((G0,)) == ""
    assert replace(settings, baud=4_000_000).assumed_rates((G0, G0)) == ""
    assert replace(settings, links=(LinkSetting((0, 1), 9600),)).assumed_rates((G0, G0)) == ""
    assert replace(settings, cost_model="santamaria-2021").assumed_rates((G0, G0)) == ""


def test_a_set_of_an_exploration_has_a_rate_that_all_its_pairs_make() -> None:
    space = Space(("model",), (G0, F446, L4), 3, (), (8,))
    rates = {each.boards: each.baud for each in space.candidates()}
    assert len(rates) == len(list(space.candidates())) == 3 + 6 + 10
    assert rates[G0.name,] == 0
    assert rates[G0.name, L4.name] == 4_000_000
    assert rates[G0.name, F446.name] == rates[G0.name, G0.name, F446.name] == 3_000_000
    assert rates[G0.name, F446.name, L4.name] == 2_000_000  # at 3 Mbaud, 64 MHz / 21 and 80 MHz / 27 differ by 2.9 %


def test_boards_have_as_many_links_as_uarts_that_make_the_rate() -> None:
    boards = load_all(["nucleo_f446re"] * 3)
    slow, fast = LinkSettings(1_000_000), LinkSettings(11_250_000)
    assert all(count == len(board.link_uarts) for count, board in zip(slow.counts(boards), boards, strict=True))
    makers = [uart.makes(11_250_000) for uart in boards[0].link_uarts]
    assert fast.counts(boards) == (sum(makers),) * 3
    assert 0 < sum(makers) < len(makers)
    wired = with_links(CostSettings(baud=11_250_000), boards, (0, 1, 2), 0).links
    ring = with_links(CostSettings(baud=11_250_000), [*boards, boards[0]], (0, 1, 2, 3), 0).links
    assert [link.boards for link in ring] == [(0, 2), (1, 3)]  # are left out
    assert not wired  # none of three is left out: each board has two
