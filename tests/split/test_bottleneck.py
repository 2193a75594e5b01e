"""What sets the period: counted by hand on two boards."""

from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console

from splits.pipelines import ROOMY, TIGHT, pipeline, program_of
from tinysplit.split.figures import FigureBottleneck
from tinysplit.split.problem import Assignment, Objective, Period, Problem
from tinysplit.split.report.split import print_details, print_split
from tinysplit.split.solution import Split
from tinysplit.split.solve import solve
from tinysplit.timing.bottleneck import Bottleneck, Busy, Place, bottleneck_text
from tinysplit.timing.figures import Timing

SPLIT = (0, 1)


def bottleneck(problem: Problem, assignment: Assignment = SPLIT) -> Bottleneck:
    return Timing((program_of(problem, assignment),)).bottleneck


def with_host(problem: Problem, in_s: float, out_s: float) -> Problem:
    assert problem.handoff
    return replace(problem, handoff=replace(problem.handoff, host_s=((in_s, out_s),) * 2))


def test_a_board_with_its_layers_copies_and_drivers() -> None:
    """Input: copy and driver; 10 s of layer a; output: copy and driver."""
    found = bottleneck(pipeline(ROOMY, 4.0))
    assert found.busy[1:] == (Place.BOARD, 0, -1)
    assert found.busy.seconds == pytest.approx(0.25 + 0.5 + 10 + 0.25 + 0.5)
    assert found.layers == (0,)
    assert found.share == pytest.approx(1.0)


def test_a_link_that_takes_longer_than_all_boards() -> None:
    found = bottleneck(pipeline(ROOMY, 20.0))
    assert found.busy == Busy(20.0, Place.LINK, 0, 1)
    assert found.layers == ()
    assert 0.97 < found.share <= 1.0


def test_both_directions_of_a_half_duplex_link_count_together() -> None:
    """Two tensors of 7 s cross it, one each way: more than any board works."""
    problem = pipeline(ROOMY, 7.0)
    layers = (*problem.layers, replace(problem.layers[0], seconds=(1.0, 1.0), name="c"))
    three = replace(problem, layers=layers, transfer_seconds=problem.transfer_seconds[:1] * 3)
    own = problem.handoff
    assert own
    copies, drivers = ((0.25,) * 2,) * 4, ((0.5,) * 2,) * 4
    handoff = replace(own, wire_s=own.wire_s[:1] * 3, copy_s=copies, send_s=drivers, receive_s=drivers)
    three = replace(three, handoff=handoff)
    program = program_of(three, (0, 1, 0))
    shared = replace(program, half_duplex=frozenset({(0, 1)}))
    assert Timing((program,)).bottleneck.busy.place is Place.BOARD
    assert Timing((shared,)).bottleneck.busy == Busy(14.0, Place.HALF_DUPLEX_LINK, 0, 1)


@pytest.mark.parametrize(("times_s", "place", "board"), [((50.0, 1.0), Place.INPUT, 0), ((3.0, 60.0), Place.OUTPUT, 1)])
def test_the_port_of_the_host(times_s: tuple[float, float], place: Place, board: int) -> None:
    found = bottleneck(with_host(pipeline(ROOMY, 4.0), *times_s))
    assert found.busy == Busy(max(times_s), place, board)
    assert 0.97 < found.share <= 1.0


def test_a_board_without_buffers_is_busy_while_it_waits_for_its_transfers() -> None:
    """The input of 3 s and the tensor of 4 s pass while board 1 waits."""
    found = bottleneck(pipeline(TIGHT, 4.0))
    assert (found.busy.place, found.busy.device) == (Place.BOARD, 0)
    assert 3 + 10 + 4 <= found.busy.seconds <= found.period_s
    assert found.share > 0.95


def test_of_copies_it_is_that_of_the_slowest() -> None:
    problem = pipeline(ROOMY, 4.0)
    slower = replace(problem, layers=tuple(replace(each, seconds=(10.0, 12.0)) for each in problem.layers))
    found = Timing(tuple(program_of(slower, (board, board)) for board in (0, 1))).bottleneck
    assert (found.busy.device, found.layers) == (1, (0, 1))
    assert found.busy.seconds > 24


def test_every_period_is_printed_with_it_and_the_file_has_it() -> None:
    split = solve(pipeline(ROOMY, 20.0))
    slow = replace(split, assignment=SPLIT)
    assert "bottleneck: the link from board 1 (x) to board 2 (y): busy for" in printed(slow)
    busy = FigureBottleneck.of(bottleneck(pipeline(ROOMY, 4.0)))
    assert (busy.place, busy.boards, busy.layers) == (Place.BOARD, (1,), (1,))
    ideal = replace(pipeline(ROOMY, 4.0), period_definition=Period.LOAD, objective=Objective.LATENCY)
    assert "bottleneck" not in printed(replace(slow, problem=ideal))


def test_layers_of_a_board_are_named_in_runs() -> None:
    text = bottleneck_text(Place.BOARD, ["board 1 (x)"], (1, 2, 3, 5, 7, 8), 0.5)
    assert text == "board 1 (x), layers 1-3, 5, 7-8: busy for 50% of the period"


def printed(split: Split) -> str:
    out = StringIO()
    console = Console(file=out, width=200)
    print_split(split, {}, console)
    print_details(split, console)
    return out.getvalue()
