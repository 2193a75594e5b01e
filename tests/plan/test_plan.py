import itertools
from dataclasses import replace
from math import inf

import numpy as np
import pytest
from typing_extensions import override

from models.planned_networks import (
    F4,
    G0,
    LINKS,
    RECEIVE,
    RUN,
    SEND,
    WIDTHS,
    chain,
    dense,
    diamond,
    hops,
    problem,
    steps,
)
from session.profiles import cases
from tinysplit.boards.catalog import load_board
from tinysplit.common.errors import CheckFailedError, InputError, UsageError
from tinysplit.costs.link_options import LinkSetting, LinkSettings
from tinysplit.kernels import Direct
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.memory.layout import BufferId, layer_ram_bytes
from tinysplit.network.bit_widths import Widths
from tinysplit.network.graph import NETWORK_INPUT, Graph
from tinysplit.network.layers import Add, Layer, Shape
from tinysplit.plan.plan import BoardPlan, Plan, make_plan
from tinysplit.split.problem import Problem
from tinysplit.timing.topology import Links


def test_a_board_may_have_several_sub_models_and_one_link_serves_both_directions() -> None:
    plan = make_plan(shipped_table(), chain(), 8, (G0, F4), problem(chain(), 2), (0, 1, 1, 0), LINKS)
    first, second = plan.boards
    assert steps(first) == [(RUN, 0), (SEND, 0), (RECEIVE, 1), (RUN, 3)]
    assert steps(second) == [(RECEIVE, 0), (RUN, 1), (RUN, 2), (SEND, 1)]
    assert [
        (each.cut.after_layer, each.cut.sender, each.cut.receiver, each.cut.payload_bytes) for each in plan.cuts
    ] == [
        (0, 0, 1, 7),
        (2, 1, 0, 5),
    ]
    assert len(plan.links) == 1
    assert plan.links[0].ends == ((0, G0.link_uarts[0]), (1, F4.link_uarts[0]))
    assert (first.takes_input, second.takes_input) == (True, False)


def test_branches_on_two_boards() -> None:
    plan = make_plan(shipped_table(), diamond(), 8, (G0, F4), problem(diamond(), 2), (0, 0, 1, 1), LINKS)
    first, second = plan.boards
    assert steps(first) == [(RUN, 0), (RUN, 1), (SEND, 0)]
    assert steps(second) == [(RECEIVE, 0), (RUN, 2), (RUN, 3)]
    assert first.takes_input
    assert second.takes_input


def test_a_tensor_that_two_layers_read_is_sent_once() -> None:
    plan = make_plan(shipped_table(), diamond(), 8, (G0, F4), problem(diamond(), 2), (0, 1, 0, 1), LINKS)
    assert [(cut.after_layer, cut.sender, cut.receiver) for cut in hops(plan)] == [(0, 0, 1), (2, 0, 1)]


def relayed() -> Problem:
    """Three boards in a row: what goes from the first to the last passes the second."""
    base = problem(diamond(), 3)
    inf = float("inf")
    table = ((0.0, 0.5, inf), (0.5, 0.0, 0.25), (inf, 0.25, 0.0))
    links = Links((table,) * 4, ((True,) * 3,) * 4)
    return replace(base, links=links, transfer_seconds=links.transfer_seconds)


def test_boards_between_pass_a_tensor_on() -> None:
    plan = make_plan(shipped_table(), diamond(), 8, (G0, F4, G0), relayed(), (0, 0, 2, 2), LINKS)
    assert [(cut.after_layer, cut.sender, cut.receiver, cut.seconds) for cut in hops(plan)] == [
        (1, 0, 1, 0.5),
        (1, 1, 2, 0.25),
    ]
    assert steps(plan.boards[1]) == [(RECEIVE, 0), (SEND, 1)]
    assert plan.boards[1].arena.size_bytes == 12
    assert [link.boards for link in plan.links] == [(0, 1), (1, 2)]


def test_a_board_that_passes_a_tensor_on_and_reads_it_gets_it_once() -> None:
    plan = make_plan(shipped_table(), diamond(), 8, (G0, F4, G0), relayed(), (0, 1, 2, 2), LINKS)
    assert [(cut.after_layer, cut.sender, cut.receiver) for cut in hops(plan)] == [(0, 0, 1), (1, 1, 2)]


def follow(plan: Plan) -> list[int]:
    """Let all boards follow their steps, transfers blocking both ends; return the layers as they run."""
    left = {board.index: list(board.steps) for board in plan.boards}
    ran = []
    while any(left.values()):
        progress = False
        for own in left.values():
            if own and own[0].kind is RUN:
                ran.append(own.pop(0).item)
                progress = True
        for number, cut in enumerate(hops(plan)):
            ends = [left[cut.sender][:1], left[cut.receiver][:1]]
            if all(end and end[0].item == number and end[0].kind is not RUN for end in ends):
                left[cut.sender].pop(0)
                left[cut.receiver].pop(0)
                progress = True
        assert progress, "all boards wait for each other"
    return ran


def random_graph(rng: np.random.Generator) -> Graph:
    shape = Shape(1, 1, 4)
    layers: list[Layer] = [dense("v0", "x", 4, 4)]
    for number in range(1, int(rng.integers(2, 9))):
        names = ["x", *(layer.output for layer in layers)]
        a, b = (str(name) for name in rng.choice(names[-3:], 2))
        common = {"name": f"v{number}", "output": f"v{number}", "in_shape": shape}
        layers.append(Add(**common, inputs=(a, b), other_shapes=(shape,), signs=(1, 1)))  # type: ignore[arg-type]
    unread = [layer.output for layer in layers if not any(layer.output in other.inputs for other in layers)]
    shapes = (shape,) * (len(unread) - 1)
    end = Add(name="end", inputs=tuple(unread), output="end", in_shape=shape, other_shapes=shapes, signs=(1,) * 8)
    return Graph.of_layers("random", [*layers, end])


@pytest.mark.parametrize("seed", range(cases(quick=10, full=30, nightly=500)))
def test_no_split_can_deadlock_and_no_tensors_meet(seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = random_graph(rng)
    base = problem(graph, 3)
    if seed % 2:
        row = Links(
            (relayed().links or Links((), ())).direct[:1] * len(graph.layers), ((True,) * 3,) * len(graph.layers)
        )
        base = replace(base, links=row, transfer_seconds=row.transfer_seconds)
    plan = make_plan(
        shipped_table(),
        graph,
        8,
        (F4, F4, F4),
        base,
        tuple(rng.integers(0, 3, len(graph.layers)).tolist()),
        LINKS,
    )
    assert sorted(follow(plan)) == list(range(len(graph.layers)))
    for board in plan.boards:
        run(graph, board, plan)


def run(graph: Graph, plan: BoardPlan, whole: Plan) -> None:
    """Simulate the steps of a board on tagged bytes: every byte read must be the one that was written."""
    memory: list[int | None] = [None] * plan.arena.size_bytes
    offsets = plan.arena.offsets

    def span(tensor: int) -> slice:
        return slice(offsets[BufferId(tensor)], offsets[BufferId(tensor)] + graph.size(tensor))

    def write(tensor: int) -> None:
        memory[span(tensor)] = [tensor] * graph.size(tensor)

    if plan.takes_input:
        write(NETWORK_INPUT)
    for step in plan.steps:
        reads = graph.predecessors[step.item] if step.kind is RUN else [step.tensor] if step.kind is SEND else []
        assert all(set(memory[span(tensor)]) == {tensor} for tensor in reads)
        if step.kind is not SEND:
            write(step.tensor)
    if plan.index == whole.assignment[-1]:
        assert set(memory[span(len(graph.layers) - 1)]) == {len(graph.layers) - 1}


@pytest.mark.parametrize("bits", [8, 16])
def test_tensors_that_live_together_do_not_meet(bits: int) -> None:
    (plan,) = make_plan(shipped_table(), chain(), bits, (G0,), problem(chain(), 1), (0, 0, 0, 0), LINKS).boards
    spans = [(plan.arena.offsets[BufferId(i)], width * bits // 8) for i, width in enumerate(WIDTHS, NETWORK_INPUT)]
    for (a, a_size), (b, b_size) in itertools.pairwise(spans):
        assert a + a_size <= b or b + b_size <= a
    assert all(offset % 4 == 0 and offset + size <= plan.arena.size_bytes for offset, size in spans)


class Buffered(Direct):
    @override
    def scratch_bytes(self, layer: Layer, widths: Widths) -> int:
        return 5


def test_the_arena_is_the_largest_pair_of_neighbours() -> None:
    (plan,) = make_plan(shipped_table(), chain(), 8, (G0,), problem(chain(), 1), (0, 0, 0, 0), LINKS).boards
    assert plan.arena.size_bytes == 36 + 8  # 33 and 7 bytes in whole words
    assert layer_ram_bytes(chain(), 2, 8, Direct()) == 36 + 8
    assert layer_ram_bytes(chain(), 2, 8, Buffered()) == 36 + 8 + 8


def test_a_sum_lies_where_an_input_did() -> None:
    assert layer_ram_bytes(diamond(), 3, 8, Direct()) == 12 + 12


def test_an_arena_that_does_not_fit_is_named() -> None:
    with pytest.raises(
        CheckFailedError,
        match=r"board 1 \(nucleo_g071rb\) has 40 bytes .* needs an arena of 44.*, most of it for layer \d+ '",
    ):
        make_plan(shipped_table(), chain(), 8, (G0,), problem(chain(), 1, ram_bytes=40), (0, 0, 0, 0), LINKS)


def test_too_few_link_uarts_are_named() -> None:
    boards = (G0, load_board("nucleo_l412kb"), G0, G0)
    with pytest.raises(UsageError, match=r"board 2 \(nucleo_l412kb\) has 1 link UART, .* 2 boards \(1, 3\)"):
        make_plan(shipped_table(), chain(), 8, boards, problem(chain(), 4), (0, 1, 2, 3), LINKS)


def test_boards_that_no_links_join_are_named() -> None:
    own = problem(chain(), 2)
    apart = Links(((((inf,) * 2,) * 2),) * 4, ((False,) * 2,) * 4)
    says = r"board 2 \(nucleo_g071rb\) needs 33 bytes of the output of layer 2 from board 1 \(.*\), and no links join"
    with pytest.raises(InputError, match=says):
        make_plan(shipped_table(), chain(), 8, (G0, G0), replace(own, links=apart), (0, 0, 1, 1), LINKS)


def test_a_baud_rate_that_a_uart_cannot_make_is_refused() -> None:
    with pytest.raises(UsageError, match="baud"):
        make_plan(shipped_table(), chain(), 8, (G0, G0), problem(chain(), 2), (0, 0, 1, 1), LinkSettings(30_000_000))


def test_links_have_their_own_rates() -> None:
    settings = LinkSettings(115200, (LinkSetting((1, 2), 460800),))
    plan = make_plan(shipped_table(), chain(), 8, (F4, F4, F4), problem(chain(), 3), (0, 1, 2, 2), settings)
    assert [(link.boards, link.baud) for link in plan.links] == [((0, 1), 115200), ((1, 2), 460800)]
    assert [(link.peer, link.baud) for link in plan.boards[1].links] == [(0, 115200), (2, 460800)]


def test_half_duplex_links_cannot_be_built() -> None:
    settings = LinkSettings(115200, (LinkSetting((0, 1), 115200, half_duplex=True),))
    with pytest.raises(UsageError, match="boards 1-2 need a full-duplex link"):
        make_plan(shipped_table(), chain(), 8, (G0, G0), problem(chain(), 2), (0, 0, 1, 1), settings)
