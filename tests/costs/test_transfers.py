"""Links of their own, boards that pass data on, and the host's transfers: against counts by hand."""

from dataclasses import replace
from math import inf

import pytest

from models.networks import tiny_cnn
from tinysplit.boards.board import Board
from tinysplit.boards.catalog import load_board
from tinysplit.boards.link_driver import LinkDriver
from tinysplit.common.errors import InputError, UsageError
from tinysplit.costs.link_options import LinkSetting, LinkSettings, parse_links
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.costs.transfers import (
    host_seconds,
    link_seconds,
    links_left,
    pauses_seconds,
    sleeping_share,
    wire_seconds,
)
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.problem import Objective, Period

GRAPH = tiny_cnn()
G0, F4 = load_board("nucleo_g071rb"), load_board("nucleo_f401re")


def test_what_link_says() -> None:
    assert parse_links(("1-2:921600", "3-1:9600:half", "2-3:none"), 3) == (
        LinkSetting((0, 1), 921600),
        LinkSetting((0, 2), 9600, half_duplex=True),
        LinkSetting((1, 2), None),
    )


@pytest.mark.parametrize(
    ("texts", "words"),
    [
        (("1-2",), "expected BOARD-BOARD:BAUD"),
        (("1-2:fast",), "expected BOARD-BOARD:BAUD"),
        (("1-2:none:half",), "expected BOARD-BOARD:BAUD"),
        (("1-3:9600",), "give two different boards from 1 to 2"),
        (("0-1:9600",), "give two different boards from 1 to 2"),
        (("2-2:9600",), "give two different boards from 1 to 2"),
        (("1-2:9600", "2-1:none"), "names the boards 1-2 more than once"),
    ],
)
def test_what_link_may_not_say(texts: tuple[str, ...], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse_links(texts, 2)


def test_pairs_that_are_not_named_have_the_default_link() -> None:
    settings = LinkSettings(115200, (LinkSetting((0, 2), 9600),))
    assert settings.between(2, 0).baud == 9600
    assert settings.between(1, 0) == LinkSetting((0, 1), 115200)


def test_a_link_of_its_own_is_faster() -> None:
    plain = CostSettings(baud=115_200)
    settings = replace(plain, links=(LinkSetting((0, 1), 1_000_000),))
    slow, fast = (make_problem(shipped_table(), GRAPH, (G0, G0, G0), s) for s in (plain, settings))
    assert fast.transfer_seconds[0][0][1] < slow.transfer_seconds[0][0][1] / 8
    assert fast.transfer_seconds[0][0][2] == slow.transfer_seconds[0][0][2]


def test_each_end_sends_at_its_own_rate() -> None:
    problem, table = make_problem(shipped_table(), GRAPH, (G0, F4), CostSettings(baud=115_200)), shipped_table()
    n_bytes = problem.layers[1].out_bytes
    copies_s = sum(n_bytes * table.handoff[b.device.family].copying / b.clock.core_hz for b in (G0, F4))

    def ends_s(sender: Board, receiver: Board) -> float:
        own, other = (table.link[board.device.family]["dma"] for board in (sender, receiver))
        received = other.receiving + table.handoff[receiver.device.family].resuming
        return own.sending / sender.clock.core_hz + received / receiver.clock.core_hz + copies_s

    g0, f4 = (board.link_uarts[0] for board in (G0, F4))
    there_s, back_s = problem.transfer_seconds[1][0][1], problem.transfer_seconds[1][1][0]
    assert there_s == pytest.approx(link_seconds(n_bytes, (g0, f4), LinkDriver.DMA, 115200) + ends_s(G0, F4), rel=1e-9)
    assert back_s == pytest.approx(link_seconds(n_bytes, (f4, g0), LinkDriver.DMA, 115200) + ends_s(F4, G0), rel=1e-9)


def test_a_short_tensor_finds_its_receiver_asleep() -> None:
    uart = F4.link_uarts[0]
    byte_s = 10 / uart.actual_baud(4_000_000)
    # Of 63 bytes 52 follow the header: the ring interrupts in them once in 128 bytes, a tick once in a millisecond, and
    # half of the ticks are near the end.
    share = (1 - 52 / 128) * (1 - 52 * byte_s / 1e-3 / 2)
    assert sleeping_share(48, uart, LinkDriver.DMA, 4_000_000) == pytest.approx(share)
    assert sleeping_share(128, uart, LinkDriver.DMA, 4_000_000) == 0
    slow = tuple(sleeping_share(48, uart, LinkDriver.DMA, baud) for baud in (57_600, 1_000_000))
    assert (1 - 52 / 128) / 2 == slow[0] < slow[1] < share
    late = 1 - (52 - 20e-6 / byte_s) / 128  # it is of no use to find the frame in its last 20 us
    ticks = 1 - (52 * byte_s - 20e-6) / 1e-3 / 2
    assert sleeping_share(48, uart, LinkDriver.DMA, 4_000_000, 10, 20e-6) == pytest.approx(late * ticks)
    long_s, short_s = (link_seconds(n, (uart, uart), LinkDriver.DMA, 4_000_000) for n in (448, 48))
    assert long_s == pytest.approx((448 + 15) * byte_s)
    assert short_s == pytest.approx((48 + 15 + share) * byte_s)


def test_a_short_tensor_waits_for_the_line_and_the_core_of_its_receiver() -> None:
    table, baud, dma = shipped_table(), 921_600, LinkDriver.DMA
    problem = make_problem(table, GRAPH, (G0, F4), CostSettings(baud=baud))
    n_bytes = problem.layers[-1].out_bytes
    for i, sender, receiver in ((0, G0, F4), (1, F4, G0)):
        own, other = (table.link[board.device.family]["dma"] for board in (sender, receiver))
        there, back = sender.link_uarts[0], receiver.link_uarts[0]
        awakening_s = other.sleeping / receiver.clock.core_hz
        share = sleeping_share(n_bytes, back, dma, baud, 10, awakening_s)
        assert 0.5 < share < 1
        idle_s = share * (10 / back.actual_baud(baud) + awakening_s)
        seconds = (own.sending + n_bytes) / sender.clock.core_hz + wire_seconds(n_bytes, there, baud) + idle_s
        more = other.receiving + n_bytes + table.handoff[receiver.device.family].resuming
        expected = seconds + more / receiver.clock.core_hz
        assert problem.transfer_seconds[-1][i][1 - i] == pytest.approx(expected, rel=1e-9)


def test_the_line_pauses_between_chunks_that_do_not_follow_in_time() -> None:
    uart = F4.link_uarts[0]
    two_bytes_s = 20 / uart.actual_baud(1_000_000)
    for restart_s, pause_s in ((0.0, 0.0), (two_bytes_s, 0.0), (two_bytes_s + 3e-6, 3e-6)):
        found_s = pauses_seconds(448, uart, LinkDriver.DMA, 1_000_000, 10, restart_s)
        assert found_s == pytest.approx((448 + 15) / 128 * pause_s)
    assert pauses_seconds(448, uart, LinkDriver.INTERRUPT, 1_000_000, 10, 1.0) == 0


@pytest.mark.parametrize("driver", LinkDriver)
def test_a_driver_has_its_own_cycles(driver: LinkDriver) -> None:
    problem = make_problem(shipped_table(), GRAPH, (G0, F4), CostSettings(link_driver=driver))
    n_bytes = problem.layers[1].out_bytes
    for device, board in enumerate((G0, F4)):
        costs, core_hz = shipped_table().handoff[board.device.family], board.clock.core_hz
        assert problem.handoff_parts.send_s[1][device] == pytest.approx(costs.sent(n_bytes, driver) / core_hz)
        assert problem.handoff_parts.receive_s[1][device] == pytest.approx(costs.received(n_bytes, driver) / core_hz)


def test_data_is_passed_on_where_a_link_is_absent_and_both_hops_are_paid() -> None:
    settings = CostSettings(links=(LinkSetting((0, 2), None),))
    problem, all_linked = (make_problem(shipped_table(), GRAPH, (G0, F4, G0), s) for s in (settings, CostSettings()))
    there = all_linked.transfer_seconds[1]
    assert problem.transfer_seconds[1][0][2] == pytest.approx(there[0][1] + there[1][2])
    (cut,) = evaluate(problem, (0, 0, 2, 2, 2, 2, 2)).cuts
    assert [(hop.sender, hop.receiver) for hop in problem.hops(cut)] == [(0, 1), (1, 2)]
    assert evaluate(problem, (0, 0, 2, 2, 2, 2, 2)).ram_bytes[1] == problem.layers[1].out_bytes


def test_a_way_over_fast_links_beats_a_slow_one() -> None:
    links = (LinkSetting((0, 1), 2_000_000), LinkSetting((1, 2), 2_000_000), LinkSetting((0, 2), 9600))
    problem = make_problem(shipped_table(), GRAPH, (F4, F4, F4), CostSettings(links=links))
    (cut,) = evaluate(problem, (0, 0, 2, 2, 2, 2, 2)).cuts
    assert len(problem.hops(cut)) == 2


def test_a_board_without_ram_does_not_relay() -> None:
    small = replace(G0, device=replace(G0.device, ram=(replace(G0.device.largest_ram, size_bytes=8000),)))
    problem = make_problem(shipped_table(), GRAPH, (F4, small, F4), CostSettings(links=(LinkSetting((0, 2), None),)))
    assert problem.transfer_seconds[0][0][2] == inf  # 28 x 28 x 8 bytes
    assert problem.transfer_seconds[1][0][2] < inf  # a quarter of that


def test_every_link_has_a_rate_that_both_ends_can_make() -> None:
    with pytest.raises(UsageError, match=r"^link 2-3: nucleo_g071rb: USART1 .* cannot make 10000000 baud"):
        make_problem(shipped_table(), GRAPH, (F4, G0, G0), CostSettings(links=(LinkSetting((1, 2), 10_000_000),)))


def test_links_that_a_search_gave_up_stay_away() -> None:
    named = (LinkSetting((0, 1), 1_000_000), LinkSetting((0, 2), 500_000))
    settings = LinkSettings(115200, named)
    problem = make_problem(shipped_table(), GRAPH, (F4, F4, F4), CostSettings(links=named))
    assert problem.links is not None
    assert links_left(settings, problem.links) == named
    assert links_left(settings, problem.links.without([(0, 2)])) == (named[0], LinkSetting((0, 2), None))
    assert links_left(LinkSettings(115200), None) == ()


def test_unconnected_boards_are_refused() -> None:
    links = (LinkSetting((0, 2), None), LinkSetting((1, 2), None))
    with pytest.raises(InputError, match=r"no route from board 1 \(nucleo_f401re\) to board 3 \(nucleo_g071rb\)"):
        make_problem(shipped_table(), GRAPH, (F4, F4, G0), CostSettings(links=links))


def test_what_the_host_sends_and_reads() -> None:
    in_s, out_s = host_seconds(G0, 784, 10, 921600)
    board_baud = 64e6 / 69
    # 784 bytes are a LOAD of number, offset and data, then START of number and CRC; each is answered by an empty frame.
    assert in_s == pytest.approx(10 * ((784 + 8 + 8 + 2 * 8) / 921600 + 2 * 8 / board_baud))
    # DONE of number and CRC, then one READ_OUTPUT of number, offset and length, answered by 10 bytes.
    assert out_s == pytest.approx(10 * ((10 + 8) / 921600 + (8 + 8 + 8 + 10) / board_baud))


def test_the_hosts_transfers_count_where_they_are_asked_for() -> None:
    with_host, without = (
        make_problem(shipped_table(), GRAPH, (G0, F4), CostSettings(host_transfers=counted))
        for counted in (True, False)
    )
    assignment = (0, 0, 0, 1, 1, 1, 1)
    more_s = evaluate(with_host, assignment).t_s - evaluate(without, assignment).t_s
    assert more_s == pytest.approx(host_seconds(G0, 784, 10, 921600)[0] + host_seconds(F4, 784, 10, 921600)[1])


def test_energy_by_hand() -> None:
    """One board alone computes all the time, but for a few copies; with a pace it sleeps for the rest."""
    alone = (0,) * 7
    problem = make_problem(
        shipped_table(), GRAPH, (G0, F4), CostSettings(objective=Objective.ENERGY, period=Period.LOAD)
    )
    l_s = evaluate(problem, alone).l_s
    assert evaluate(problem, alone).value == pytest.approx(l_s * G0.power.run_w)
    paced = make_problem(shipped_table(), GRAPH, (G0, F4), CostSettings(objective=Objective.ENERGY, frame_period_s=1.0))
    assert evaluate(paced, alone).value == pytest.approx(l_s * G0.power.run_w + (1 - l_s) * G0.power.idle_w)
