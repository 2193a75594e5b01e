"""Which UARTs links get: by the order of cuts, for a wiring test, and those that such a test has found."""

import pytest

from tinysplit.boards.catalog import load_all
from tinysplit.common.errors import UsageError
from tinysplit.costs.link_options import LinkSetting, LinkSettings
from tinysplit.plan.wiring import Link, wire, wire_all
from tinysplit.timing.topology import Cut

G0, F4, SMALL = "nucleo_g071rb", "nucleo_f401re", "nucleo_l412kb"  # with two, two, and one link UART


def described(links: tuple[Link, ...]) -> list[tuple[tuple[int, int], str, str]]:
    return [(link.boards, link.ends[0].uart.name, link.ends[1].uart.name) for link in links]


def test_two_boards_have_one_link_on_their_first_uarts() -> None:
    assert described(wire_all(load_all([G0, F4]), LinkSettings(115_200))) == [((0, 1), "USART1", "USART1")]


def test_neighbours_get_uarts_first_and_others_what_is_left() -> None:
    assert described(wire_all(load_all([G0, F4, G0]), LinkSettings(115_200))) == [
        ((0, 1), "USART1", "USART1"),
        ((1, 2), "USART6", "USART1"),
        ((0, 2), "USART3", "USART3"),
    ]
    assert [link.boards for link in wire_all(load_all([SMALL, G0, SMALL]), LinkSettings(115_200))] == [(0, 1), (1, 2)]


def test_named_links_get_uarts_before_all_others() -> None:
    named = (LinkSetting((0, 2), 921_600),)
    links = wire_all(load_all([SMALL, G0, F4]), LinkSettings(115_200, named))
    assert [(link.boards, link.baud) for link in links] == [((1, 2), 115_200), ((0, 2), 921_600)]


def test_links_that_are_removed_have_no_wire() -> None:
    links = wire_all(load_all([G0, F4, G0]), LinkSettings(115_200, (LinkSetting((0, 1), None),)))
    assert [link.boards for link in links] == [(1, 2), (0, 2)]


def test_too_many_named_links() -> None:
    named = (LinkSetting((0, 1), 115_200), LinkSetting((0, 2), 115_200))
    with pytest.raises(UsageError, match=r"board 1 \(nucleo_l412kb\) has 1 link UART"):
        wire_all(load_all([SMALL, G0, F4]), LinkSettings(115_200, named))


def test_a_split_uses_the_uarts_that_were_tested() -> None:
    """The first cut would get the first UARTs otherwise."""
    boards = load_all([G0, F4, G0])
    tested = (
        LinkSetting((0, 1), 4_000_000, uarts=("USART1", "USART1")),
        LinkSetting((1, 2), 3_000_000, uarts=("USART6", "USART1")),
        LinkSetting((0, 2), 8_000_000, uarts=("USART3", "USART3")),
    )
    cuts = [Cut(0, 0, 2, 10, 0.0), Cut(1, 2, 1, 10, 0.0)]
    links = wire(boards, cuts, LinkSettings(3_000_000, tested))
    assert described(links) == [((0, 2), "USART3", "USART3"), ((1, 2), "USART6", "USART1")]
    assert [link.baud for link in links] == [8_000_000, 3_000_000]
    untested = wire(boards, cuts, LinkSettings(3_000_000))
    assert described(untested)[0] == ((0, 2), "USART1", "USART1")
