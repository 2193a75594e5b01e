from collections.abc import Callable
from dataclasses import replace

import pytest
from serial import SerialException

from rigs.fake_boards import ALL, FakeBoard, FakePort, FakeTime, make_identity
from tinysplit.common.errors import ToolError
from tinysplit_hil.wire.client import LOST_EVENT_S, BoardClient
from tinysplit_hil.wire.frames import Frame
from tinysplit_hil.wire.protocol import BoardError, BoardState, ErrorCode, Identity, MessageType, RecordKind, TimeRecord
from tinysplit_hil.wire.request_port import ATTEMPTS, DAMAGED_ATTEMPTS, REPLY_TIMEOUT_S

NAME = "board 1 (nucleo_g071rb) on fake://board"
RUN = 77
REVERSED = bytes(reversed(range(200)))


@pytest.fixture
def time() -> FakeTime:
    return FakeTime()


@pytest.fixture
def board(time: FakeTime) -> FakeBoard:
    return FakeBoard(time, make_identity(output_bytes=3000), compute=lambda data: data[:10] + data * 3 + bytes(638))


@pytest.fixture
def port(board: FakeBoard) -> FakePort:
    return FakePort(board)


@pytest.fixture
def client(port: FakePort, time: FakeTime) -> BoardClient:
    return BoardClient(port, "board 1 (nucleo_g071rb)", time)


def error_frame(code: int, detail: int = 0, sequence: int = 0) -> Frame:
    return Frame(MessageType.ERROR, sequence, BoardError(code, detail).pack())


def kinds(board: FakeBoard) -> list[int]:
    return [frame.type for frame in board.requests]


def infer(client: BoardClient, number: int, data: bytes) -> bytes:
    client.run(client.send_input(number, data, 1.0))
    return client.run(client.read_output(number, 3000, client.run(client.wait_done(number, 1.0))))


def test_identify(client: BoardClient) -> None:
    assert client.run(client.identify()) == make_identity(output_bytes=3000)


@pytest.mark.parametrize("size", [24, 60, 80])
def test_another_version_is_recognised_by_its_first_bytes(client: BoardClient, board: FakeBoard, size: int) -> None:
    board.wrong_reply = bytes([9]) + make_identity().pack()[1:24].ljust(size - 1, b"x")
    identity = client.run(client.identify())
    assert (identity.protocol, identity.project_hash) == (9, 0x12345678)


def test_inferences_of_a_run(client: BoardClient, board: FakeBoard) -> None:
    board.records = [TimeRecord(RecordKind.LAYER, i + 1, i * 1000, i % 3) for i in range(256)]
    client.run(client.reset(RUN))
    for number in range(3):
        data = bytes([number]) + bytes(range(256)) * 3 + b"x" * 15
        assert infer(client, number, data) == board.compute(data)
    assert board.outputs == {}
    assert list(client.run(client.read_times())) == board.records


def test_large_inputs_are_loaded_in_parts(client: BoardClient, board: FakeBoard) -> None:
    board.identity = replace(board.identity, input_bytes=3000)
    client.run(client.reset(RUN))
    client.run(client.send_input(0, bytes(3000), 1.0))
    loads = [frame.payload for frame in board.requests if frame.type == MessageType.LOAD]
    assert [len(payload) - 8 for payload in loads] == [1016, 1016, 968]


def test_ticks_beyond_32_bits() -> None:
    record = TimeRecord(RecordKind.TRANSFER, 3, 0x1234567890, 2)
    assert TimeRecord.unpack_all(record.pack()) == [replace(record, ticks=0x1234567880)]


def test_sequence_numbers_exclude_that_of_events(client: BoardClient, board: FakeBoard) -> None:
    for _ in range(300):  # sequence numbers wrap after 255
        client.run(client.identify())
    assert [frame.sequence for frame in board.requests[253:258]] == [254, 255, 1, 2, 3]


def test_lost_reply_is_requested_again_with_the_same_sequence(client: BoardClient, board: FakeBoard) -> None:
    board.frames_to_lose = 2
    client.run(client.identify())
    assert [frame.sequence for frame in board.requests] == [1, 1, 1]


def test_a_part_of_the_input_that_was_lost_is_sent_again_at_once(
    client: BoardClient, board: FakeBoard, time: FakeTime
) -> None:
    board.identity = replace(board.identity, input_bytes=2000)
    client.run(client.reset(RUN))
    start_s = time.s
    board.frames_to_lose = 1  # the reply to the first LOAD
    client.run(client.send_input(0, bytes(2000), 1.0))
    assert kinds(board).count(MessageType.LOAD) == 3
    assert time.s - start_s < REPLY_TIMEOUT_S


@pytest.mark.parametrize("event", [MessageType.TAKEN, MessageType.DONE])
def test_lost_events_are_found_by_asking(client: BoardClient, board: FakeBoard, event: MessageType) -> None:
    board.lost_events = {event}
    client.run(client.reset(RUN))
    for number in range(2):
        assert infer(client, number, bytes(784)) == board.compute(bytes(784))
    assert client.clock.now_s() == pytest.approx(2 * LOST_EVENT_S, abs=0.2)


def test_reset_forgets_the_run_before(client: BoardClient, board: FakeBoard) -> None:
    client.run(client.reset(RUN))
    infer(client, 0, bytes(784))
    client.run(client.reset(RUN + 1))
    with pytest.raises(ToolError, match=r"did not finish inference 1 within 0.5 s"):
        client.run(client.wait_done(0, 0.5))
    assert infer(client, 0, bytes(784)) == board.compute(bytes(784))


def test_damaged_input_is_sent_again(client: BoardClient, board: FakeBoard) -> None:
    board.damaged_inputs = 2
    client.run(client.reset(RUN))
    assert infer(client, 0, b"a" * 784) == board.compute(b"a" * 784)
    assert kinds(board).count(MessageType.START) == 3


def test_input_that_is_always_damaged(client: BoardClient, board: FakeBoard) -> None:
    board.damaged_inputs = ALL
    client.run(client.reset(RUN))
    with pytest.raises(ToolError, match="got a damaged input 3 times"):
        client.run(client.send_input(0, bytes(784), 1.0))


def test_damaged_output_is_read_again(client: BoardClient, board: FakeBoard) -> None:
    client.run(client.reset(RUN))
    client.run(client.send_input(0, bytes(784), 1.0))
    crc = client.run(client.wait_done(0, 1.0))
    good = board.outputs[0]
    board.outputs[0] = b"?" + good[1:]

    def mend(_: Frame) -> None:
        if len([f for f in board.requests if f.type == MessageType.READ_OUTPUT]) == 4:
            board.outputs[0] = good

    board.on_request = mend
    assert client.run(client.read_output(0, 3000, crc)) == good


def test_output_with_another_crc(client: BoardClient) -> None:
    client.run(client.reset(RUN))
    client.run(client.send_input(0, bytes(784), 1.0))
    client.run(client.wait_done(0, 1.0))
    with pytest.raises(ToolError, match=r"sent an output with CRC-32 .*, announced was 00000001"):
        client.run(client.read_output(0, 3000, 1))


def test_every_bit_of_the_crc_of_an_output_counts(client: BoardClient) -> None:
    client.run(client.reset(RUN))
    client.run(client.send_input(0, bytes(784), 1.0))
    crc = client.run(client.wait_done(0, 1.0))
    for bit in range(32):
        with pytest.raises(ToolError, match="sent an output with CRC-32"):
            client.run(client.read_output(0, 3000, crc ^ 1 << bit))


def test_silent_board(client: BoardClient, board: FakeBoard, time: FakeTime) -> None:
    board.frames_to_lose = ALL
    with pytest.raises(ToolError) as caught:
        client.run(client.identify())
    assert str(caught.value) == f"{NAME} does not reply: check its power, firmware and wiring"
    assert time.s == pytest.approx(ATTEMPTS * REPLY_TIMEOUT_S, rel=0.1)


def test_waiting_for_an_output_ends(client: BoardClient, time: FakeTime) -> None:
    client.run(client.reset(RUN))
    with pytest.raises(ToolError, match=r"did not finish inference 1 within 12.3 s"):
        client.run(client.wait_done(0, 12.3))
    assert time.s == pytest.approx(12.3, rel=0.01)


def test_garbage_before_a_reply_is_skipped(client: BoardClient, port: FakePort, time: FakeTime) -> None:
    port.arrive(b"\xa5\x81\x00\x01\xf0\x00boot messages\r\n\xa5\xa5")
    client.run(client.identify())
    assert time.s < REPLY_TIMEOUT_S


@pytest.mark.parametrize("flood", [b"U", b"\xa5", b"\xa5\xe0\x00\x00\x08\x00", b"\xa5\xee\x00\x01\x08\x00\x08"])
def test_a_board_that_never_stops_sending(
    client: BoardClient, board: FakeBoard, port: FakePort, time: FakeTime, flood: bytes
) -> None:
    block = flood * 200

    def send() -> None:
        port.carry(block)
        time.after(len(block) * 10 / port.baudrate, send)

    send()
    board.frames_to_lose = ALL
    with pytest.raises(ToolError, match="does not reply"):
        client.run(client.identify())
    assert time.s < ATTEMPTS * REPLY_TIMEOUT_S * 1.1


def test_late_reply_to_an_older_request_is_ignored(client: BoardClient, board: FakeBoard) -> None:
    client.run(client.identify())
    board.send(Frame(MessageType.IDENTIFY | 0x80, 1, b"old"))
    client.run(client.identify())


def test_error_reply(client: BoardClient, board: FakeBoard) -> None:
    board.takes_input = False
    with pytest.raises(ToolError) as caught:
        client.run(client.send_input(0, b"abc", 1.0))
    assert str(caught.value).startswith(f"{NAME} reports NOT_FIRST: this board does not read the network's input")


def test_error_event_while_waiting(client: BoardClient, board: FakeBoard) -> None:
    client.run(client.reset(RUN))
    board.fail(BoardError(ErrorCode.LINK_NO_ANSWER, 2))
    with pytest.raises(ToolError, match="reports LINK_NO_ANSWER: no answer to the tensor of cut 3"):
        client.run(client.wait_done(0, 1.0))


def test_reset_ignores_earlier_errors(client: BoardClient, board: FakeBoard) -> None:
    board.send(error_frame(ErrorCode.LINK_NO_ANSWER, 0))
    client.run(client.reset(RUN))
    client.raise_failure()


def test_stop_waits_for_a_long_layer(client: BoardClient, board: FakeBoard, time: FakeTime) -> None:
    board.frames_to_lose = ALL
    with pytest.raises(ToolError, match="does not reply"):
        client.run(client.stop(3.0))
    assert time.s == pytest.approx(ATTEMPTS * 3.0, rel=0.1)


def test_stop(client: BoardClient, board: FakeBoard) -> None:
    client.run(client.reset(RUN))
    client.run(client.stop(1.0))
    assert board.identity.state == BoardState.STOPPED


def test_earlier_error_explains_a_missing_reply(client: BoardClient, port: FakePort, board: FakeBoard) -> None:
    board.frames_to_lose = ALL
    port.arrive(error_frame(ErrorCode.FAULT, 0x08000000).encode())
    with pytest.raises(ToolError, match="FAULT: processor fault at 0x08000000"):
        client.run(client.identify())


@pytest.mark.parametrize("sequence", [0, 1, 99])
def test_damaged_request_is_sent_again(
    client: BoardClient, board: FakeBoard, port: FakePort, time: FakeTime, sequence: int
) -> None:
    board.frames_to_lose = 1

    def refuse_first(_: Frame) -> None:
        if len(board.requests) == 1:
            port.carry(error_frame(ErrorCode.BAD_CRC, sequence=sequence).encode())

    board.on_request = refuse_first
    client.run(client.identify())
    assert time.s < REPLY_TIMEOUT_S


def test_requests_that_always_arrive_damaged(client: BoardClient, board: FakeBoard, port: FakePort) -> None:
    board.frames_to_lose = ALL
    board.on_request = lambda frame: port.carry(error_frame(ErrorCode.BAD_CRC, sequence=frame.sequence).encode())
    with pytest.raises(ToolError, match="reports BAD_CRC: requests arrive damaged: check wiring and baud rate"):
        client.run(client.identify())
    assert len(board.requests) == DAMAGED_ATTEMPTS


@pytest.mark.parametrize("sequence", [0, 1])
@pytest.mark.parametrize("at_once", [DAMAGED_ATTEMPTS, DAMAGED_ATTEMPTS + 1, 5 * DAMAGED_ATTEMPTS])
def test_floods_of_damaged_requests_end(
    client: BoardClient, board: FakeBoard, port: FakePort, time: FakeTime, at_once: int, sequence: int
) -> None:
    board.frames_to_lose = ALL
    flood = error_frame(ErrorCode.BAD_CRC, sequence=sequence).encode() * at_once
    board.on_request = lambda _: port.carry(flood) if len(board.requests) < 10 * DAMAGED_ATTEMPTS else None
    with pytest.raises(ToolError, match="reports BAD_CRC"):
        client.run(client.identify())
    assert time.s < REPLY_TIMEOUT_S


def test_flash_check_and_reboot(client: BoardClient, board: FakeBoard) -> None:
    client.run(client.check_flash())
    client.run(client.reboot())
    assert kinds(board) == [MessageType.CHECK, MessageType.REBOOT]
    identity = client.run(client.identify())
    assert (identity.boot_count, identity.cause) == (2, "software")


@pytest.mark.parametrize("code", ErrorCode)
def test_every_error_has_a_meaning(code: ErrorCode) -> None:
    text = str(BoardError(code, 3))
    assert text.startswith(f"{code.name}: ")
    assert "{" not in text


def test_unknown_error_has_its_number() -> None:
    assert str(BoardError(77, 5)) == "unknown error 77 (detail 5)"


def read_ten(client: BoardClient) -> object:
    return client.run(client.read_output(0, 10, 0))


@pytest.mark.parametrize(
    ("ask", "text"),
    [
        (lambda client: client.run(client.identify()), "invalid identity"),
        (lambda client: client.run(client.read_times()), "invalid time records"),
        (lambda client: client.run(client.read_ends(0)), "invalid ends of steps"),
        (lambda client: client.run(client.read_link_ticks()), "invalid ticks of links"),
        (lambda client: client.run(client.read_sendings()), "invalid sendings"),
        (read_ten, "3 bytes of output, requested were 10"),
    ],
)
def test_invalid_replies(
    client: BoardClient, board: FakeBoard, ask: Callable[[BoardClient], object], text: str
) -> None:
    board.wrong_reply = b"123"
    board.outputs[0] = b"0123456789"
    with pytest.raises(ToolError, match=text):
        ask(client)


@pytest.mark.parametrize("values", [{"timer_hz": 0}, {"core_hz": 0}, {"output_bytes": 1 << 25}])
def test_impossible_identities(client: BoardClient, board: FakeBoard, values: dict[str, int]) -> None:
    board.change(**values)
    with pytest.raises(ToolError, match="sent invalid identity: build and flash the board again"):
        client.run(client.identify())


def test_replies_without_end(client: BoardClient, board: FakeBoard) -> None:
    board.wrong_reply = TimeRecord(RecordKind.LAYER, 1, 5).pack() * 128
    with pytest.raises(ToolError, match="sent invalid time records"):
        client.run(client.read_times())
    with pytest.raises(ToolError, match="sent invalid times of steps"):
        client.run(client.read_ends(0))


@pytest.mark.parametrize("kind", [MessageType.DONE, MessageType.TAKEN, MessageType.ERROR])
def test_invalid_events(client: BoardClient, board: FakeBoard, kind: MessageType) -> None:
    board.send(Frame(kind, 0, b"12345"))
    with pytest.raises(ToolError, match="sent an invalid event: build and flash the board again"):
        client.run(client.identify())


def test_disconnected(client: BoardClient, port: FakePort, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> bytes:
        raise SerialException("device disconnected")

    monkeypatch.setattr(port, "read", fail)
    with pytest.raises(
        ToolError, match=r"the port failed \(device disconnected\): check that the board is still connected"
    ):
        client.run(client.identify())


def test_identities_are_packed_whole() -> None:
    identity = Identity(
        **{name: 1 + i for i, name in enumerate(Identity.__dataclass_fields__)} | {"protocol": 2, "clock_ok": True}  # type: ignore[arg-type]
    )
    assert len(identity.pack()) == 60
    assert Identity.unpack(identity.pack()) == identity
