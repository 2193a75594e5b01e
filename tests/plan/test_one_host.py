"""Plans with one host: the output comes back over the links, and the input keeps its buffer."""

from dataclasses import replace

import pytest

from models.planned_networks import F4, G0, LINKS, RECEIVE, RUN, SEND, chain, diamond, hops, problem, steps
from tinysplit.common.errors import CheckFailedError, UsageError
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.memory.staging import choose_stages
from tinysplit.plan.plan import Plan, make_plan

ONE_HOST = replace(LINKS, returns_output=True)


def planned(*assignment: int, boards: int = 3, ram_bytes: int = 10_000) -> Plan:
    costs = problem(chain(), boards, ram_bytes)
    return make_plan(shipped_table(), chain(), 8, (F4, F4, F4)[:boards], costs, assignment, ONE_HOST)


def test_one_board_has_both_ends() -> None:
    plan = planned(0, 0, 0, 0, boards=1)
    assert (plan.cuts, plan.output_board) == ((), 0)


def test_the_last_board_sends_the_output_to_the_first() -> None:
    plan = planned(0, 0, 1, 1)
    first, second = plan.boards
    assert steps(first) == [(RUN, 0), (RUN, 1), (SEND, 0), (RECEIVE, 1)]
    assert steps(second) == [(RECEIVE, 0), (RUN, 2), (RUN, 3), (SEND, 1)]
    assert plan.output_board == 0
    assert len(plan.links) == 1


def test_the_output_takes_the_wires_that_there_are() -> None:
    plan = planned(0, 1, 1, 2)
    assert [(cut.after_layer, cut.sender, cut.receiver) for cut in hops(plan)] == [
        *((0, 0, 1), (2, 1, 2)),
        *((3, 2, 1), (3, 1, 0)),
    ]
    assert [link.boards for link in plan.links] == [(0, 1), (1, 2)]
    assert steps(plan.boards[1])[-2:] == [(RECEIVE, 2), (SEND, 3)]


def test_the_output_goes_to_the_board_that_reads_the_input_whatever_its_number() -> None:
    plan = planned(2, 2, 0, 0)
    assert plan.output_board == 2
    assert [(cut.after_layer, cut.sender, cut.receiver) for cut in hops(plan)] == [(1, 2, 0), (3, 0, 2)]


def test_an_output_that_is_at_home_stays_there() -> None:
    assert [(cut.sender, cut.receiver) for cut in hops(planned(0, 1, 1, 0))] == [(0, 1), (1, 0)]


def test_two_boards_that_read_the_input_are_refused() -> None:
    with pytest.raises(UsageError, match=r"boards 1 and 2 read the network's input, .* talks to one board"):
        make_plan(shipped_table(), diamond(), 8, (G0, F4), problem(diamond(), 2), (0, 0, 1, 1), ONE_HOST)


def test_the_input_gets_its_buffer_before_all_others() -> None:
    stages = choose_stages(32, [16], [16], 30, 4, keeps_input=True)
    assert (stages.in_tensors, stages.out_tensors, stages.input, stages.output) == ((False,), (False,), True, False)


def test_an_input_without_room_for_its_buffer_is_refused() -> None:
    least_bytes = planned(0, 0, 0, 0, boards=1).boards[0].arena.size_bytes
    with pytest.raises(CheckFailedError, match=r"board 1 .* and 12 bytes for the input that it keeps"):
        planned(0, 0, 0, 0, boards=1, ram_bytes=least_bytes)
