"""Streams through fake boards: order, periods, copies, failures."""

import numpy as np
import pytest

from rigs.fake_boards import ALL
from rigs.fake_rig import FIRST_S, LAST_S, FakeRig, make_inputs, make_project
from tinysplit.common.choices import InputSource
from tinysplit.common.errors import ToolError, UsageError
from tinysplit.project.manifest import Project
from tinysplit.split.figures import PlacementFigures
from tinysplit_hil.measure.measure import FAILURES_IN_A_ROW
from tinysplit_hil.measure.stream import Stream, check_length, check_stream, stream
from tinysplit_hil.wire.protocol import BoardError, ErrorCode, MessageType

NO_ANSWER = BoardError(ErrorCode.LINK_NO_ANSWER, 0)


def test_outputs_come_in_order_in_the_period_of_the_slowest_board() -> None:
    fake, inputs = FakeRig.make(), make_inputs(20)
    done: list[int] = []
    streamed = stream(make_project(), fake.rig, inputs, done.append)
    assert np.array_equal(streamed.outputs, inputs.reshape(20, -1)[:, ::-1])
    assert streamed.samples == tuple(range(20))
    assert streamed.period_s == pytest.approx(FIRST_S, rel=1e-6)
    assert done == list(range(1, 21))
    assert 20 * FIRST_S < fake.time.s < 21 * FIRST_S + LAST_S + 0.1
    assert len({frame.payload for frame in fake.boards[0].requests if frame.type == MessageType.RESET}) == 1


def test_the_last_board_may_be_the_slowest() -> None:
    fake = FakeRig.make()
    fake.boards[1].duration_s = 0.05
    assert stream(make_project(), fake.rig, make_inputs(8)).period_s == pytest.approx(0.05, rel=0.01)


def test_the_start_does_not_count() -> None:
    fake = FakeRig.make()
    fake.boards[0].duration_s = 3 * FIRST_S
    fake.time.at(3.5 * 3 * FIRST_S, lambda: setattr(fake.boards[0], "duration_s", FIRST_S))  # in the fourth inference
    assert stream(make_project(), fake.rig, make_inputs(8)).period_s == pytest.approx(FIRST_S, rel=1e-6)


def test_a_slow_host_port_is_noticed() -> None:
    fake = FakeRig.make()
    assert stream(make_project(), fake.rig, make_inputs(8)).host_port_share < 0.2  # type: ignore[operator]
    slow = FakeRig.make()
    slow.rig.ports[1].baudrate = 57_600  # 52 ms for an input
    streamed = stream(make_project(), slow.rig, make_inputs(8))
    assert streamed.period_s is not None
    assert streamed.period_s > 0.05
    assert streamed.host_port_share > 0.9  # type: ignore[operator]


def test_each_copy_has_its_own_boards() -> None:
    first, second = make_project(copies=2).pipelines
    assert (first.boards, first.input_boards, first.output_board) == ((1, 2), (1,), 2)
    assert (second.boards, second.input_boards, second.output_board) == ((3, 4), (3,), 4)


def test_inputs_are_dealt_to_the_copy_that_has_room() -> None:
    fake, inputs = FakeRig.make(copies=2), make_inputs(40)
    fake.boards[2].duration_s = 3 * FIRST_S
    streamed = stream(make_project(copies=2), fake.rig, inputs)
    assert np.array_equal(streamed.outputs, inputs.reshape(40, -1)[:, ::-1])
    assert streamed.period_s == pytest.approx(1 / (1 / FIRST_S + 1 / (3 * FIRST_S)), rel=1e-6)
    assert fake.boards[0].n_inferences + fake.boards[2].n_inferences == 40
    assert 28 <= fake.boards[0].n_inferences <= 31


def test_a_failure_costs_one_sample() -> None:
    fake, inputs = FakeRig.make(), make_inputs(20)
    fake.boards[0].failures = {8: NO_ANSWER}
    streamed = stream(make_project(), fake.rig, inputs)
    (failure,) = streamed.failures
    assert failure.reason.startswith("cut 1: no answer on the link between board 1 (nucleo_g071rb) and board 2")
    assert failure.sample in (6, 7)
    assert streamed.samples == tuple(i for i in range(20) if i != failure.sample)
    assert np.array_equal(streamed.outputs, inputs.reshape(20, -1)[list(streamed.samples), ::-1])
    assert streamed.period_s == pytest.approx(FIRST_S, rel=1e-6)


def test_a_failure_of_a_copy_is_that_of_its_own_sample() -> None:
    fake = FakeRig.make(copies=2)
    fake.boards[2].failures = {5: BoardError(ErrorCode.FAULT, 0x08001234)}
    (failure,) = stream(make_project(copies=2), fake.rig, make_inputs(30)).failures
    assert failure.reason.startswith("board 3 (nucleo_g071rb) reports FAULT: processor fault at 0x08001234")
    assert failure.sample % 2 == 1


def test_fail_fast() -> None:
    fake = FakeRig.make()
    fake.boards[0].failures = {8: NO_ANSWER}
    with pytest.raises(ToolError, match="cut 1: no answer"):
        stream(make_project(), fake.rig, make_inputs(20), fail_fast=True)


def test_failures_with_outputs_between_them_are_not_in_a_row() -> None:
    fake = FakeRig.make()
    fake.boards[0].failures = {4 * i: NO_ANSWER for i in range(1, FAILURES_IN_A_ROW + 2)}
    streamed = stream(make_project(), fake.rig, make_inputs(30))
    assert len(streamed.failures) == FAILURES_IN_A_ROW + 1
    assert (len(streamed.samples), streamed.not_run) == (30 - FAILURES_IN_A_ROW - 1, 0)


def test_boards_that_fail_every_time() -> None:
    fake = FakeRig.make()
    fake.boards[1].failures = dict.fromkeys(range(1000), NO_ANSWER)
    with pytest.raises(ToolError, match="no sample succeeded: cut 1: no answer"):
        stream(make_project(), fake.rig, make_inputs(20))


def test_a_board_that_dies() -> None:
    fake = FakeRig.make()
    fake.time.at(0.3, lambda: setattr(fake.boards[1], "frames_to_lose", ALL))
    streamed = stream(make_project(), fake.rig, make_inputs(20))
    assert 6 <= len(streamed.samples) <= 9
    assert len(streamed.failures) == 2
    assert all("does not reply: check its power" in failure.reason for failure in streamed.failures)
    assert streamed.not_run == 20 - len(streamed.samples) - 2
    assert fake.time.s < 30


@pytest.mark.parametrize("event", [MessageType.DONE, MessageType.TAKEN])
def test_lost_events_lose_no_output(event: MessageType) -> None:
    fake, inputs = FakeRig.make(), make_inputs(8)
    for board in fake.boards:
        fake.time.at(0.1, lambda board=board: board.lost_events.add(event))  # type: ignore[misc]
        fake.time.at(0.17, board.lost_events.clear)
    streamed = stream(make_project(), fake.rig, inputs)
    assert np.array_equal(streamed.outputs, inputs.reshape(8, -1)[:, ::-1])
    assert streamed.failures == ()


def from_board(copies: int = 1) -> Project:
    """Return the project with inputs from its boards, which keep one beside their arenas."""
    project = make_project(copies=copies)
    seconds = {"L": 0.01, "T": 0.02, "I": 0.03, "period_s": 0.03, "throughput": None, "energy_j": None}
    figures = PlacementFigures.model_validate({**seconds, "input_source": InputSource.BOARD})
    boards = tuple(board.model_copy(update={"staged_input": board.takes_input}) for board in project.boards)
    return project.model_copy(update={"figures": figures, "boards": boards})


def test_an_input_from_the_board_crosses_once() -> None:
    fake, inputs = FakeRig.make(), make_inputs(12)
    streamed = stream(from_board(), fake.rig, inputs)
    assert streamed.samples == (0,) * 12
    assert np.array_equal(streamed.outputs, inputs[:1].reshape(1, -1)[:, ::-1].repeat(12, axis=0))
    assert streamed.period_s == pytest.approx(FIRST_S, rel=1e-6)
    assert streamed.host_port_share is None
    sent = [frame.type for frame in fake.boards[0].requests]
    assert (sent.count(MessageType.LOAD), sent.count(MessageType.START), sent.count(MessageType.REPEAT)) == (1, 0, 1)


def test_a_slow_host_port_does_not_limit_inputs_from_the_board() -> None:
    slow = FakeRig.make()
    slow.rig.ports[1].baudrate = 57_600  # 52 ms for an input
    assert stream(from_board(), slow.rig, make_inputs(12)).period_s == pytest.approx(FIRST_S, rel=1e-6)


def test_copies_have_their_own_inputs() -> None:
    fake = FakeRig.make(copies=2)
    streamed = stream(from_board(copies=2), fake.rig, make_inputs(20))
    assert len(streamed.outputs) == 20
    assert streamed.period_s == pytest.approx(FIRST_S / 2, rel=1e-6)
    assert [board.identity.inputs_taken for board in fake.boards[::2]] == [10, 10]


def test_a_failure_of_inputs_from_the_board() -> None:
    fake = FakeRig.make()
    fake.boards[0].failures = {8: NO_ANSWER}
    streamed = stream(from_board(), fake.rig, make_inputs(20))
    assert (len(streamed.outputs), len(streamed.failures), streamed.not_run) == (19, 1, 0)


def test_a_board_without_room_for_an_input() -> None:
    project = from_board()
    boards = tuple(board.model_copy(update={"staged_input": False}) for board in project.boards)
    with pytest.raises(UsageError, match=r"board 1 \(nucleo_g071rb\) has no room to keep an input beside its arena"):
        check_stream(project.model_copy(update={"boards": boards}), 20)


def test_too_few_samples() -> None:
    with pytest.raises(UsageError, match="4 samples are too few for a period of these boards: at least 5 are needed"):
        stream(make_project(), FakeRig.make().rig, make_inputs(4))


@pytest.mark.parametrize("boards", [1, 2])
def test_too_few_samples_for_any_split(boards: int) -> None:
    check_length(boards + 3, boards)
    needed = rf"3 samples are too few for a period of these boards: at least {boards + 3} are needed"
    with pytest.raises(UsageError, match=needed):
        check_length(3, boards)


def test_copies_need_samples_in_proportion_to_their_speed() -> None:
    project = make_project(copies=2)
    slow = [layer.model_copy(update={"estimated_s": 10.0}) if layer.board == 4 else layer for layer in project.layers]
    with pytest.raises(UsageError, match=r"40 samples are too few for a period of these boards: at least 16\d\d are"):
        stream(project.model_copy(update={"layers": tuple(slow)}), FakeRig.make(copies=2).rig, make_inputs(40))


def test_failures_may_leave_no_period() -> None:
    fake, inputs = FakeRig.make(), make_inputs(8)
    fake.boards[0].failures = {4: NO_ANSWER}
    streamed = stream(make_project(), fake.rig, inputs)
    assert (streamed.period_s, len(streamed.samples), len(streamed.failures)) == (None, 7, 1)


def test_failures_may_leave_a_copy_without_a_period() -> None:
    fake = FakeRig.make(copies=2)
    fake.boards[2].duration_s = 2.0
    fake.boards[0].failures = {9: NO_ANSWER}
    assert stream(make_project(copies=2), fake.rig, make_inputs(12)).period_s is None


def test_a_copy_with_too_few_outputs() -> None:
    fake = FakeRig.make(copies=2)
    fake.boards[2].duration_s = 2.0
    with pytest.raises(UsageError, match="too few outputs of boards 3, 4 for a period: increase --sample-count"):
        stream(make_project(copies=2), fake.rig, make_inputs(12))


def streamed_activities(first_s: float, last_s: float, samples: int, copies: int = 1) -> Stream:
    fake = FakeRig.make(copies)
    fake.keep_accounts()
    for board in fake.boards:
        board.duration_s = first_s if board.takes_input else last_s
    return stream(make_project(copies=copies), fake.rig, make_inputs(samples))


@pytest.mark.parametrize("samples", [8, 12, 30])
@pytest.mark.parametrize(("first_s", "last_s"), [(0.016, 0.067), (0.067, 0.016), (0.03, 0.03)])
def test_activities_are_those_of_one_inference_of_each_board(first_s: float, last_s: float, samples: int) -> None:
    streamed = streamed_activities(first_s, last_s, samples)
    assert [each.run_s for each in streamed.activities] == pytest.approx([first_s, last_s], rel=0.02)
    assert [each.span_s for each in streamed.activities] == pytest.approx([streamed.period_s] * 2)
    assert not streamed.is_too_short


@pytest.mark.parametrize("samples", [5, 6, 7, 8, 10, 15, 25, 60])
def test_activities_do_not_count_inferences_that_fill_buffers(samples: int) -> None:
    """A first board that is a little faster is ahead only after many inferences."""
    streamed = streamed_activities(0.027, 0.03, samples)
    assert streamed.is_too_short == (not streamed.activities)
    if streamed.activities:
        assert [each.run_s for each in streamed.activities] == pytest.approx([0.027, 0.03], rel=0.02)


def test_too_few_samples_for_activities() -> None:
    streamed = streamed_activities(0.016, 0.067, 5)
    assert (streamed.activities, streamed.is_too_short) == ((), True)
    assert streamed.period_s == pytest.approx(0.067, rel=0.01)


def test_activities_of_copies_share_the_period() -> None:
    streamed = streamed_activities(0.03, 0.06, 40, copies=2)
    assert streamed.period_s == pytest.approx(0.03, rel=0.01)
    assert [each.board for each in streamed.activities] == [1, 2, 3, 4]
    assert [each.run_s for each in streamed.activities] == pytest.approx([0.015, 0.03] * 2, rel=0.02)


def test_activities_are_those_of_all_copies_or_none() -> None:
    fake = FakeRig.make(copies=2)
    fake.keep_accounts()
    fake.boards[3].duration_s = 0.3  # the second copy has hardly filled its buffers
    streamed = stream(make_project(copies=2), fake.rig, make_inputs(40))
    assert streamed.period_s is not None
    assert (streamed.activities, streamed.is_too_short) == ((), True)


def test_real_boards_keep_no_account() -> None:
    streamed = stream(make_project(), FakeRig.make().rig, make_inputs(20))
    assert (streamed.activities, streamed.is_too_short) == ((), False)
