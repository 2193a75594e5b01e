"""Where a streamed transfer may begin or end: the order of rows and the place of tensors in the arena."""

from dataclasses import replace

import pytest

from tinysplit.boards.catalog import load_board
from tinysplit.common.choices import Optimize
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.memory.layout import BoardMemory, TensorMove
from tinysplit.memory.optimize import plan_memory
from tinysplit.memory.row_steps import BoardRows
from tinysplit.memory.schedule import PlanStep, StepKind
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.graph import Graph
from tinysplit.network.layers import Shape
from tinysplit.network.network_builder import NetworkBuilder

M4, M0 = "nucleo_f401re", "nucleo_g071rb"
RECEIVE, RUN, SEND = StepKind.RECEIVE, StepKind.RUN, StepKind.SEND


def rows_of(net: NetworkBuilder, steps: list[PlanStep], board: str = M0) -> BoardRows:
    graph = Graph.of_layers("n", net.layers)
    widths = BitWidths.all(graph, 8)
    memory = plan_memory(shipped_table(), graph, widths, load_board(board), steps, 30_000, Optimize.CYCLES)
    return BoardRows(graph, widths, memory, steps)


def four_layers() -> NetworkBuilder:
    """Return two convolutions, a depthwise layer and a fully connected one."""
    return NetworkBuilder("n", Shape(8, 8, 4)).conv(8).conv(8, (3, 3)).depthwise((3, 3)).dense(10)


def test_a_layer_gives_away_and_takes_rows() -> None:
    steps = [PlanStep(RUN, 0, 0), PlanStep(SEND, 0, 0)]
    facts = rows_of(four_layers(), steps).out_of(1)
    assert facts.steps is not None
    assert (facts.steps.layers, facts.steps.passes) == ((0,), 1)
    assert facts.steps.done_rows.tolist() == list(range(1, 9))
    steps = [PlanStep(RECEIVE, 0, 0), PlanStep(RUN, 1, 1), PlanStep(RUN, 2, 2), PlanStep(RUN, 3, 3)]
    facts = rows_of(four_layers(), steps).into(0, is_staged=True)
    assert facts.steps is not None
    assert facts.steps.needed_rows.tolist() == [2, 3, 4, 5, 6, 7, 8, 8]


def test_fused_layers_give_away_and_take_tiles() -> None:
    net = NetworkBuilder("n", Shape(30, 30, 3)).conv(16, (3, 3), padded=False).max_pool(2, 2).conv(8)
    steps = [PlanStep(RUN, 0, 0), PlanStep(RUN, 1, 1), PlanStep(SEND, 0, 1)]
    board = rows_of(net, steps)
    assert board.memory.fused
    facts = board.out_of(2)
    assert facts.steps is not None
    assert facts.steps.layers == (0, 1)
    tiles = board.memory.fused[0].tiles
    assert facts.steps.done_rows.tolist() == [14 // tiles * tile for tile in range(1, tiles + 1)]

    net = NetworkBuilder("n", Shape(30, 30, 3)).conv(3).conv(16, (3, 3), padded=False).max_pool(2, 2)
    steps = [PlanStep(RECEIVE, 0, 0), PlanStep(RUN, 1, 1), PlanStep(RUN, 2, 2)]
    board = rows_of(net, steps)
    assert board.memory.fused
    facts = board.into(0, is_staged=True)
    assert facts.steps is not None
    out_rows = 14 // board.memory.fused[1].tiles
    assert facts.steps.needed_rows.tolist() == [2 * rows + 2 for rows in range(out_rows, 15, out_rows)]


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ([PlanStep(RECEIVE, 0, 0), PlanStep(SEND, 1, 0)], "no layer"),  # a relay
        ([PlanStep(RUN, 0, 0), PlanStep(RUN, 1, 1), PlanStep(SEND, 0, 0)], "no layer computes it right before"),
        ([PlanStep(RUN, 0, 0), PlanStep(SEND, 0, 0), PlanStep(SEND, 1, 0)], "no layer computes it right before"),
        (
            [PlanStep(RUN, 0, 0), PlanStep(RUN, 1, 1), PlanStep(RUN, 2, 2), PlanStep(RUN, 3, 3), PlanStep(SEND, 0, 3)],
            "its output has one row",
        ),
    ],
)
def test_a_tensor_that_no_layer_gives_away_in_rows(steps: list[PlanStep], reason: str) -> None:
    facts = rows_of(four_layers(), steps).out_of(len(steps) - 1)
    assert facts.steps is None
    assert reason in facts.reason


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ([PlanStep(RECEIVE, 0, 0)], "no layer reads it right after"),
        ([PlanStep(RECEIVE, 0, 0), PlanStep(SEND, 1, 0)], "no layer"),
        ([PlanStep(RECEIVE, 0, 2), PlanStep(RUN, 3, 3)], "its output has one row"),
    ],
)
def test_a_tensor_that_no_layer_takes_in_rows(steps: list[PlanStep], reason: str) -> None:
    facts = rows_of(four_layers(), steps).into(0, is_staged=True)
    assert facts.steps is None
    assert reason in facts.reason


def test_kernels_of_planes_take_the_whole_input() -> None:
    steps = [PlanStep(RECEIVE, 0, 1), PlanStep(RUN, 2, 2), PlanStep(RUN, 3, 3)]
    assert "two channels" in rows_of(four_layers(), steps, M4).into(0, is_staged=True).reason
    assert "all rows of a channel" in rows_of(four_layers(), steps, M0).into(0, is_staged=True).reason


def test_an_input_that_moves_is_taken_as_a_whole() -> None:
    steps = [PlanStep(RECEIVE, 0, 0), PlanStep(RUN, 1, 1), PlanStep(RUN, 2, 2), PlanStep(RUN, 3, 3)]
    board = rows_of(four_layers(), steps)
    moving = replace(board, memory=replace(board.memory, moves=(TensorMove(1, 0),)))
    assert "moves" in moving.into(0, is_staged=True).reason


def at(board: BoardRows, offsets: dict[int, int]) -> BoardRows:
    """Return the board with some tensors at other offsets."""
    arena = board.memory.arena
    moved = {
        buffer: offsets.get(buffer.tensor, offset) if not buffer.is_scratch else offset
        for buffer, offset in arena.offsets.items()
    }
    memory: BoardMemory = replace(board.memory, arena=replace(arena, offsets=moved))
    return replace(board, memory=memory)


def test_rows_must_not_arrive_over_outputs() -> None:
    steps = [PlanStep(RECEIVE, 0, 0), PlanStep(RUN, 1, 1), PlanStep(RUN, 2, 2), PlanStep(RUN, 3, 3)]
    board = rows_of(four_layers(), steps)
    row_bytes = 8 * 8
    assert at(board, {0: 0, 1: 8 * row_bytes}).into(0, is_staged=True).steps is not None
    assert at(board, {0: row_bytes, 1: 0}).into(0, is_staged=True).steps is not None
    assert at(board, {0: 0, 1: row_bytes}).into(0, is_staged=True).steps is not None  # row 0 is written where row 1 was
    board_in_place = at(board, {0: row_bytes, 1: 0})
    assert "where outputs are" in board_in_place.into(0, is_staged=False).reason
    assert at(board, {0: 8 * row_bytes, 1: 0}).into(0, is_staged=False).steps is not None
    assert "where outputs are" in at(board, {0: 0, 1: 2 * row_bytes}).into(0, is_staged=True).reason


def test_calls_for_rows_must_not_overwrite_inputs() -> None:
    net = NetworkBuilder("n", Shape(8, 8, 4)).conv(4).conv(16, (1, 1)).conv(4)
    steps = [PlanStep(RECEIVE, 0, 0), PlanStep(RUN, 1, 1), PlanStep(SEND, 1, 1)]
    board = rows_of(net, steps, M4)
    assert at(board, {0: 1024, 1: 0}).into(0, is_staged=True).steps is not None
    assert "every row" in at(board, {0: 0, 1: 0}).into(0, is_staged=True).reason
    assert "every row" in at(board, {0: 0, 1: 0}).out_of(2).reason
