from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest

from fake_boards import ALL, CORE_HZ, FakePort
from fake_rig import CUT_TICKS, LAYER_TICKS, FakeRig, make_inputs, make_project
from tinysplit.common.errors import ToolError
from tinysplit_hil.frames import Frame
from tinysplit_hil.measure import Spread, measure
from tinysplit_hil.protocol import BoardError, ErrorCode, MessageType, RecordKind, TimeRecord


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


def test_times_come_from_the_boards_clocks(fake: FakeRig) -> None:
    first, _ = fake.boards
    first.identity = replace(first.identity, timer_hz=CORE_HZ // 4)
    measurement = measure(make_project(), fake.rig, make_inputs())
    assert [layer.board for layer in measurement.layers] == [1, 1, 2]
    assert [layer.cycles.mean for layer in measurement.layers] == [
        4 * LAYER_TICKS[0],
        4 * LAYER_TICKS[1],
        LAYER_TICKS[2],
    ]
    assert [layer.seconds for layer in measurement.layers] == pytest.approx([0.04, 0.004, 0.0001])
    assert measurement.cuts[0].seconds.mean == pytest.approx(4 * CUT_TICKS / CORE_HZ)
    assert measurement.l_s == pytest.approx(0.0441)
    assert measurement.t_s == pytest.approx(0.08)


def test_spread_over_samples(fake: FakeRig) -> None:
    first, last = fake.boards
    run = first.run

    def slower_every_time(data: bytes) -> None:
        run(data)
        last.records = [TimeRecord(RecordKind.LAYER, 3, last.records[0].ticks + 100)]

    first.run = slower_every_time
    cycles = measure(make_project(), fake.rig, make_inputs()).layers[2].cycles
    assert cycles == Spread(LAYER_TICKS[2] + 200, LAYER_TICKS[2] + 100, LAYER_TICKS[2] + 300)


def test_all_boards_are_stopped_before_the_last_is_reset(fake: FakeRig) -> None:
    everything: list[tuple[int, Frame]] = []
    for number, board in enumerate(fake.boards, start=1):
        board.on_request = partial(lambda number, frame: everything.append((number, frame)), number)
    measure(make_project(), fake.rig, make_inputs(2))
    kinds = MessageType.STOP, MessageType.RESET
    assert [(number, frame.type) for number, frame in everything if frame.type in kinds] == 2 * [
        *((1, MessageType.STOP), (2, MessageType.STOP)),
        *((2, MessageType.RESET), (1, MessageType.RESET)),
    ]


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
        ({"protocol": 9}, "has protocol version 9 instead of 1"),
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
    fake.boards[0].run = lambda _: None
    with pytest.raises(ToolError, match=r"board 2 .* did not finish within"):
        measure(make_project(), fake.rig, make_inputs())
    port = fake.rig.ports[2]
    assert isinstance(port, FakePort)
    assert port.clock_s < 10


def test_the_error_of_another_board_is_reported(fake: FakeRig) -> None:
    first = fake.boards[0]
    error = BoardError(ErrorCode.LINK_TIMEOUT, 0)
    first.run = lambda _: first.send(Frame(MessageType.ERROR, 0, error.pack()))
    with pytest.raises(ToolError, match=r"board 1 .* reports LINK_TIMEOUT"):
        measure(make_project(), fake.rig, make_inputs())


def test_line_errors_are_reported(fake: FakeRig) -> None:
    first, last = fake.boards
    first.run = lambda _: None
    last.identity = replace(last.identity, line_errors=12)
    with pytest.raises(ToolError, match=r"board 2 .* counted 12 line errors: check pins, ground and baud rate"):
        measure(make_project(), fake.rig, make_inputs())


def test_retransmissions_are_summed(fake: FakeRig) -> None:
    first = fake.boards[0]
    first.records[2] = replace(first.records[2], repeats=2)
    assert measure(make_project(), fake.rig, make_inputs(3)).cuts[0].repeats == 6


def test_late_time_records_are_awaited(fake: FakeRig) -> None:
    first = fake.boards[0]
    transfer = first.records.pop()

    def finish_late(frame: Frame) -> None:
        asked = [request for request in first.requests if request.type == MessageType.READ_TIMES]
        if frame.type == MessageType.READ_TIMES and len(asked) == 2:
            first.records.append(transfer)

    first.on_request = finish_late
    assert measure(make_project(), fake.rig, make_inputs(1)).cuts[0].seconds.mean == CUT_TICKS / CORE_HZ


def test_missing_time_records(fake: FakeRig) -> None:
    fake.boards[0].records.pop()
    with pytest.raises(ToolError, match=r"board 1 .* sent 2 time records that do not match its layers and cuts"):
        measure(make_project(), fake.rig, make_inputs())


def test_lost_frames_do_not_change_the_result(fake: FakeRig) -> None:
    inputs = make_inputs(1)
    for board in fake.boards:
        board.frames_to_lose = 2
    assert np.array_equal(measure(make_project(), fake.rig, inputs).outputs, inputs.reshape(1, -1)[:, ::-1])
