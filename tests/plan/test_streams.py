"""Which transfers of a plan are streamed, and at which ends."""

from dataclasses import replace

import pytest

from tinysplit.boards.catalog import load_all
from tinysplit.boards.link_driver import LinkDriver
from tinysplit.costs.link_options import HandOffMode, LinkSettings
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.network.graph import Graph
from tinysplit.network.layers import Shape
from tinysplit.network.network_builder import NetworkBuilder
from tinysplit.plan.plan import Plan, make_plan
from tinysplit.plan.streams import WHOLE, StreamPlanner
from tinysplit.timing.figures import Timing

BAUD = 921600
LINKS = LinkSettings(BAUD)


def graph() -> Graph:
    """Return two padded convolutions, a depthwise layer and a fully connected one."""
    net = NetworkBuilder("n", Shape(24, 24, 4)).conv(8, (3, 3)).conv(8, (3, 3)).depthwise((3, 3), 2).dense(10)
    return Graph.of_layers("n", net.layers)


def plan_of(
    assignment: tuple[int, ...], links: LinkSettings = LINKS, boards: tuple[str, ...] = ("nucleo_g071rb",) * 2
) -> Plan:
    loaded, net = load_all(boards), graph()
    problem = make_problem(shipped_table(), net, loaded, CostSettings(baud=BAUD))
    return make_plan(shipped_table(), net, 8, loaded, problem, assignment, links)


def saved_s(plan: Plan) -> float:
    """Return by how many seconds an inference is shorter than with whole hand-offs."""
    program = plan.program()
    whole = plan.streams.program([WHOLE] * len(plan.cuts))
    return Timing((whole,)).i_s - Timing((program,)).i_s


def ends(plan: Plan) -> list[tuple[bool, bool]]:
    return [(each.gives is not None, each.takes is not None) for each in (cut.hand_off for cut in plan.cuts)]


def test_a_tensor_between_convolutions_is_streamed_at_both_ends_by_default() -> None:
    plan = plan_of((0, 1, 1, 1))
    assert ends(plan) == [(True, True)]
    consumer_s = plan.problem.layers[1].seconds[1]
    assert saved_s(plan) > 0.6 * min(plan.cuts[0].cut.seconds, consumer_s)
    assert saved_s(plan) < plan.cuts[0].cut.seconds + consumer_s


def test_hand_offs_are_whole_on_request() -> None:
    plan = plan_of((0, 1, 1, 1), replace(LINKS, hand_off=HandOffMode.WHOLE))
    assert (ends(plan), saved_s(plan)) == ([(False, False)], 0)
    assert plan.cuts[0].hand_off.reason == "--hand-off whole"


def test_a_fully_connected_layer_takes_the_whole_tensor() -> None:
    for links in (LINKS, replace(LINKS, hand_off=HandOffMode.STREAMED)):
        plan = plan_of((0, 0, 0, 1), links)
        assert ends(plan) == [(True, False)]
        assert plan.cuts[0].hand_off.reason == "taken as a whole: its output has one row"
        assert plan.cuts[0].hand_off.frame_share == 0
        assert saved_s(plan) > 0


def test_planes_give_the_whole_tensor_and_pointwise_rows_are_taken() -> None:
    plan = plan_of((0, 0, 1, 0), boards=("nucleo_f401re",) * 2)
    assert ends(plan) == [(True, False), (False, False)]
    assert "two channels" in plan.cuts[0].hand_off.reason
    assert "two channels" in plan.cuts[1].hand_off.reason


def test_a_board_that_polls_its_links_streams_nothing() -> None:
    plan = plan_of((0, 1, 1, 1), replace(LINKS, baud=115_200, driver=LinkDriver.POLLING))
    assert ends(plan) == [(False, False)]
    assert "polls" in plan.cuts[0].hand_off.reason


def test_what_would_not_be_faster_is_whole_unless_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StreamPlanner, "seconds", lambda *_: 1.0)
    plan = plan_of((0, 1, 1, 1))
    assert (ends(plan), plan.cuts[0].hand_off.reason) == ([(False, False)], "it would not be faster")
    assert ends(plan_of((0, 1, 1, 1), replace(LINKS, hand_off=HandOffMode.STREAMED))) == [(True, True)]


def test_frames_are_shorter_where_the_receiver_is_slower() -> None:
    streamed = replace(LINKS, hand_off=HandOffMode.STREAMED)
    slow, fast = (
        plan_of((0, 1, 1, 1), streamed, ("nucleo_f401re", board)).cuts[0].hand_off.frame_share
        for board in ("nucleo_g071rb", "nucleo_h743zi")
    )
    assert 0 < slow < fast < 256
