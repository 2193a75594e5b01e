from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from rigs.fake_boards import ALL, CORE_HZ
from rigs.fake_rig import COPY_TICKS, CUT_TICKS, FIRST_S, LAST_S, LAYER_TICKS, FakeRig, make_inputs, make_project
from tinysplit.common.errors import ToolError, UsageError
from tinysplit_hil.measure.measure import FAILURES_IN_A_ROW, Failure, measure
from tinysplit_hil.wire.frames import Frame
from tinysplit_hil.wire.protocol import BoardError, ErrorCode, MessageType, RecordKind, TimeRecord

CUT_S = (CUT_TICKS + COPY_TICKS) / CORE_HZ


@pytest.fixture
def fake() -> FakeRig:
    return FakeRig.make()


def test_outputs_are_what_the_boards_computed(fake: FakeRig) -> None:
    inputs = make_inputs()
    done: list[int] = []
    measurement = measure(make_project(), fake.rig, inputs, done.append)
    assert np.array_equal(measurement.outputs, inputs.reshape(3, -1)[:, ::-1])
    assert measurement.outputs.dtype == np.int8
    assert done == [1, 2, 3]
    assert (measurement.samples, measurement.failures) == ((0, 1, 2), ())


def test_times_come_from_the_boards_clocks(fake: FakeRig) -> None:
    first, _ = fake.boards
    first.identity = replace(first.identity, timer_hz=CORE_HZ // 4)
    measurement = measure(make_project(), fake.rig, make_inputs())
    assert [time.layer.board for time in measurement.layers] == [1, 1, 2]
    assert [layer.cycles.mean for layer in measurement.layers] == [
        4 * LAYER_TICKS[0],
        4 * LAYER_TICKS[1],
        LAYER_TICKS[2],
    ]
    assert [layer.seconds.mean for layer in measurement.layers] == pytest.approx([0.04, 0.004, 0.0001])
    assert measurement.cuts[0].seconds.mean == pytest.approx((4 * CUT_TICKS + COPY_TICKS) / CORE_HZ)
    assert measurement.l_s.mean == pytest.approx(0.0441)
    assert measurement.t_s.mean == pytest.approx(0.07997)


def test_an_inference_lasts_from_start_to_done(fake: FakeRig) -> None:
    i_s = measure(make_project(), fake.rig, make_inputs()).i_s
    assert (i_s.smallest, i_s.largest) == pytest.approx((FIRST_S + LAST_S,) * 2, rel=1e-6)


def test_copies_take_turns() -> None:
    fake, inputs = FakeRig.make(copies=2), make_inputs(5)
    fake.boards[2].records = [replace(record, ticks=3 * record.ticks) for record in fake.boards[2].records]
    fake.boards[3].duration_s = 2 * LAST_S
    measurement = measure(make_project(copies=2), fake.rig, inputs)
    assert np.array_equal(measurement.outputs, inputs.reshape(5, -1)[:, ::-1])
    assert [board.n_inferences for board in fake.boards] == [3, 3, 2, 2]
    assert [(time.layer.board, time.layer.number) for time in measurement.layers] == [
        *((1, 1), (1, 2), (2, 3)),
        *((3, 1), (3, 2), (4, 3)),
    ]
    seconds = [layer.seconds.mean for layer in measurement.layers]
    assert seconds[3:] == pytest.approx([3 * seconds[0], 3 * seconds[1], seconds[2]])
    assert len(measurement.cuts) == 2
    # Both are estimated alike, so that the first counts as the slowest.
    assert measurement.l_s.mean == pytest.approx(sum(seconds[:3]))
    assert measurement.t_s.mean == pytest.approx(CUT_S)
    assert (measurement.i_s.smallest, measurement.i_s.largest) == pytest.approx((FIRST_S + LAST_S,) * 2, rel=1e-6)


def test_a_copy_without_a_good_sample() -> None:
    fake = FakeRig.make(copies=2)
    fake.boards[3].failures = dict.fromkeys(range(100), BoardError(ErrorCode.FAULT, 0x08001234))
    with pytest.raises(ToolError, match=r"no sample succeeded on boards 3, 4: board 4 \(nucleo_g071rb\) reports FAULT"):
        measure(make_project(copies=2), fake.rig, make_inputs(4))


def test_fewer_samples_than_copies() -> None:
    with pytest.raises(UsageError, match="1 sample for 2 copies of the network: at least 2 are needed"):
        measure(make_project(copies=2), FakeRig.make(copies=2).rig, make_inputs(1))


def test_spread_over_samples(fake: FakeRig) -> None:
    last = fake.boards[1]

    def slow_down(frame: Frame) -> None:
        if frame.type == MessageType.RESET:
            last.records = [last.records[0], TimeRecord(RecordKind.LAYER, 3, last.records[1].ticks + 100)]

    last.on_request = slow_down
    cycles = measure(make_project(), fake.rig, make_inputs()).layers[2].cycles
    assert cycles.values == tuple(LAYER_TICKS[2] + more for more in (100, 200, 300))


def test_every_sample_has_a_run_of_its_own(fake: FakeRig) -> None:
    runs: list[list[int]] = [[], []]

    def note(own: list[int], frame: Frame) -> None:
        own += [int.from_bytes(frame.payload, "little")] if frame.type == MessageType.RESET else []

    for own, board in zip(runs, fake.boards, strict=True):
        board.on_request = partial(note, own)
    measure(make_project(), fake.rig, make_inputs(3))
    assert runs[0] == runs[1]
    assert np.diff(np.array(runs[0], np.uint32)).tolist() == [1, 1]
    assert runs[0][0] != 0


def test_runs_follow_those_of_an_earlier_host(fake: FakeRig) -> None:
    for board, run in zip(fake.boards, (2**32 - 1, 0), strict=True):
        board.change(run=run)
    measure(make_project(), fake.rig, make_inputs(1))
    assert [board.identity.run for board in fake.boards] == [1, 1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"project_hash": 0xABCD},
            "board 2 (nucleo_g071rb) on fake://2 runs firmware of project 0000abcd instead",
        ),
        ({"board_index": 0}, "runs the firmware of board 1: check that the ports are in board order"),
        ({"clock_ok": False}, "could not set its clock to 64 MHz"),
        ({"core_hz": 16_000_000}, "runs at 16 MHz instead of 64 MHz"),
        (
            {"protocol": 9, "project_hash": 0xABCD},
            "speaks version 9 of the protocol, this program version 2: build and flash it again",
        ),
    ],
)
def test_wrong_board(fake: FakeRig, change: dict[str, Any], message: str) -> None:
    last = fake.boards[1]
    last.identity = replace(last.identity, **change)
    with pytest.raises(ToolError) as caught:
        measure(make_project(), fake.rig, make_inputs())
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_wrong_input_size(fake: FakeRig) -> None:
    with pytest.raises(ToolError, match="board 1 expects inputs of 300 bytes, the samples have 150"):
        measure(make_project(), fake.rig, make_inputs()[:, :5])


def test_silent_last_board(fake: FakeRig) -> None:
    fake.boards[1].frames_to_lose = ALL
    with pytest.raises(ToolError, match=r"board 2 .* does not reply"):
        measure(make_project(), fake.rig, make_inputs())


def test_board_that_never_finishes(fake: FakeRig) -> None:
    fake.boards[0].duration_s = 1e6
    with pytest.raises(ToolError, match=r"board 2 .* did not finish inference 1 within"):
        measure(make_project(), fake.rig, make_inputs(), fail_fast=True)
    assert fake.time.s < 5


# Failures of single samples

NO_ANSWER = BoardError(ErrorCode.LINK_NO_ANSWER, 0)
NO_ANSWER_TEXT = (
    "cut 1: no answer on the link between board 1 (nucleo_g071rb) and board 2 (nucleo_g071rb) (USART1 to USART1): "
    "check TX/RX wiring in both directions, and that both have power"
)


def test_other_samples_run_after_a_failure(fake: FakeRig) -> None:
    fake.boards[0].failures = {2: NO_ANSWER}
    inputs = make_inputs(4)
    measurement = measure(make_project(), fake.rig, inputs)
    assert measurement.failures == (Failure(1, NO_ANSWER_TEXT),)
    assert measurement.samples == (0, 2, 3)
    assert np.array_equal(measurement.outputs, inputs.reshape(4, -1)[[0, 2, 3], ::-1])


def test_fail_fast(fake: FakeRig) -> None:
    fake.boards[0].failures = {2: NO_ANSWER}
    with pytest.raises(ToolError) as caught:
        measure(make_project(), fake.rig, make_inputs(4), fail_fast=True)
    assert str(caught.value) == NO_ANSWER_TEXT
    assert fake.boards[0].n_inferences == 2


def test_no_sample_succeeds(fake: FakeRig) -> None:
    fake.boards[0].failures = dict.fromkeys(range(100), NO_ANSWER)
    with pytest.raises(ToolError, match="no sample succeeded: cut 1: no answer on the link"):
        measure(make_project(), fake.rig, make_inputs(3))
    with pytest.raises(ToolError, match="no sample succeeded: cut 1: no answer on the link"):
        measure(make_project(), fake.rig, make_inputs(20))
    assert fake.boards[0].n_inferences == 3 + FAILURES_IN_A_ROW


def test_a_board_that_dies_ends_the_measurement(fake: FakeRig) -> None:
    first = fake.boards[0]

    def die(frame: Frame) -> None:
        if frame.type == MessageType.START and first.n_inferences == 2:
            first.frames_to_lose = ALL

    first.on_request = die
    measurement = measure(make_project(), fake.rig, make_inputs(20))
    assert (measurement.samples, measurement.not_run) == ((0, 1), 16)
    assert [failure.sample for failure in measurement.failures] == [2, 3]
    assert all("does not reply: check its power" in failure.reason for failure in measurement.failures)
    assert fake.time.s < 30


def test_boards_that_go_on_failing_end_the_measurement(fake: FakeRig) -> None:
    fake.boards[0].failures = dict.fromkeys((2, *range(4, 100)), NO_ANSWER)
    measurement = measure(make_project(), fake.rig, make_inputs(20))
    assert measurement.samples == (0, 2)
    assert [failure.sample for failure in measurement.failures] == [1, 3, 4, 5, 6, 7]
    assert measurement.not_run == 12


@pytest.mark.parametrize(("cause", "text"), [(3, "watchdog"), (5, "brown-out): check its supply"), (1, "power")])
def test_a_board_that_restarts_is_named(fake: FakeRig, cause: int, text: str) -> None:
    last = fake.boards[1]
    last.duration_s = 1e6
    fake.time.at(0.09, lambda: last.restart(cause))
    fake.time.at(0.1, lambda: setattr(last, "duration_s", LAST_S))
    measurement = measure(make_project(), fake.rig, make_inputs(2))
    assert measurement.samples == (1,)
    (failure,) = measurement.failures
    assert failure.reason.startswith("board 2 (nucleo_g071rb) restarted in mid-run (cause: ")
    assert text in failure.reason
    assert fake.time.s < 2


def test_the_neighbour_of_a_board_that_restarts_names_the_cut(fake: FakeRig) -> None:
    first, last = fake.boards
    last.duration_s = 1e6
    fake.time.at(0.05, lambda: last.restart(3))
    fake.time.at(0.06, lambda: first.fail(BoardError(ErrorCode.LINK_PEER_RESTARTED, 0)))
    with pytest.raises(ToolError) as caught:
        measure(make_project(), fake.rig, make_inputs(2), fail_fast=True)
    assert str(caught.value).startswith("cut 1: board 2 (nucleo_g071rb) restarted in mid-run (cause: watchdog)")


@pytest.mark.parametrize("kept", ["run", "boot_count"])
def test_a_restart_shows_in_the_run_or_in_the_boot_count(fake: FakeRig, kept: str) -> None:
    last = fake.boards[1]
    last.duration_s = 1e6

    def restart() -> None:
        before = last.identity
        last.restart(3)
        last.change(**{kept: getattr(before, kept)})

    fake.time.at(0.05, restart)
    fake.time.at(0.06, lambda: fake.boards[0].fail(NO_ANSWER))
    with pytest.raises(ToolError, match=r"board 2 \(nucleo_g071rb\) restarted in mid-run \(cause: watchdog\)"):
        measure(make_project(), fake.rig, make_inputs(2), fail_fast=True)


@pytest.mark.parametrize(
    ("number", "code", "text"),
    [
        (
            1,
            ErrorCode.LINK_OTHER_PLAN,
            "cut 1: board 2 (nucleo_g071rb) has another plan or other weights: build and flash it again",
        ),
        (2, ErrorCode.LINK_OTHER_VERSION, "cut 1: board 1 (nucleo_g071rb) speaks another version of the protocol"),
        (1, ErrorCode.LINK_PEER_STOPPED, "cut 1: board 2 (nucleo_g071rb) is in no run"),
        (1, ErrorCode.LINK_WRONG_BOARD, "cut 1: board 1 (nucleo_g071rb) is not connected to board 2 (nucleo_g071rb)"),
        (
            2,
            ErrorCode.LINK_CORRUPT,
            "cut 1: the tensor from board 1 (nucleo_g071rb) to board 2 (nucleo_g071rb) arrives",
        ),
        (2, ErrorCode.FAULT, "board 2 (nucleo_g071rb) reports FAULT: processor fault at 0x00000000"),
    ],
)
def test_errors_name_link_boards_and_remedy(fake: FakeRig, number: int, code: ErrorCode, text: str) -> None:
    fake.boards[number - 1].failures = {1: BoardError(code, 0)}
    with pytest.raises(ToolError) as caught:
        measure(make_project(), fake.rig, make_inputs(), fail_fast=True)
    assert str(caught.value).startswith(text)
    assert ": " in str(caught.value)[len("cut 1: ") :]


def test_a_lost_error_event_is_found(fake: FakeRig) -> None:
    fake.boards[0].failures = {1: NO_ANSWER}
    fake.boards[0].lost_events = {MessageType.ERROR}
    with pytest.raises(ToolError) as caught:
        measure(make_project(), fake.rig, make_inputs(), fail_fast=True)
    assert str(caught.value) == NO_ANSWER_TEXT


def test_line_errors_are_reported(fake: FakeRig) -> None:
    first, last = fake.boards
    first.duration_s = 1e6
    last.identity = replace(last.identity, line_errors=12)
    with pytest.raises(ToolError, match=r"board 2 .* counted 12 line errors: check pins, ground and baud rate"):
        measure(make_project(), fake.rig, make_inputs(), fail_fast=True)


def test_a_board_that_hangs_is_reset(fake: FakeRig) -> None:
    first = fake.boards[0]
    hung = [True]

    def hang(frame: Frame) -> None:
        if frame.type == MessageType.REBOOT:
            hung.clear()
        if hung and frame.type in (MessageType.RESET, MessageType.STOP):
            first.frames_to_lose = 1

    first.on_request = hang
    assert measure(make_project(), fake.rig, make_inputs()).samples == (0, 1, 2)
    assert first.identity.boot_count == 2


# Time records


def test_retransmissions_are_summed(fake: FakeRig) -> None:
    first = fake.boards[0]
    first.records[3] = replace(first.records[3], repeats=2)
    assert measure(make_project(), fake.rig, make_inputs(3)).cuts[0].repeats == 6


def test_late_time_records_are_awaited(fake: FakeRig) -> None:
    first = fake.boards[0]
    transfer = first.records.pop()

    def finish_late(frame: Frame) -> None:
        asked = [request for request in first.requests if request.type == MessageType.READ_TIMES]
        if frame.type == MessageType.READ_TIMES and len(asked) == 2:
            first.records.append(transfer)

    first.on_request = finish_late
    assert measure(make_project(), fake.rig, make_inputs(1)).cuts[0].seconds.mean == pytest.approx(CUT_S)


@pytest.mark.parametrize("number", [1, 2])
def test_missing_time_records(fake: FakeRig, number: int) -> None:
    del fake.boards[number - 1].records[0 if number == 2 else -1]
    with pytest.raises(ToolError, match=f"board {number} .* time records that do not match its layers and cuts"):
        measure(make_project(), fake.rig, make_inputs())


def test_a_timer_that_stands_still(fake: FakeRig) -> None:
    first = fake.boards[0]
    first.records = [replace(each, ticks=0) for each in first.records]
    expected = (
        "board 1 .* sent times of 0 for layer 1, layer 2, transfer 1: they did not run, or its timer stands still"
    )
    with pytest.raises(ToolError, match=expected):
        measure(make_project(), fake.rig, make_inputs(1))


def test_lost_frames_do_not_change_the_result(fake: FakeRig) -> None:
    inputs = make_inputs(1)
    for board in fake.boards:
        board.frames_to_lose = 2
    assert np.array_equal(measure(make_project(), fake.rig, inputs).outputs, inputs.reshape(1, -1)[:, ::-1])


def test_a_lost_event_costs_its_sample_only() -> None:
    """I is from START to DONE: without DONE it is not known, though the output is there."""
    fake = FakeRig.make()
    last = fake.boards[1]
    last.lost_events = {MessageType.DONE}
    fake.time.at(1.0, last.lost_events.clear)
    found = measure(make_project(), fake.rig, make_inputs(4))
    assert found.samples
    assert {failure.reason.partition(": ")[2] for failure in found.failures} == {
        "its DONE was lost, so I is not known: check its wiring"
    }
