import pytest
from serial import SerialException

from fake_boards import ALL, FakeBoard, FakePort, make_identity
from tinysplit.common.errors import ToolError
from tinysplit_hil.client import ATTEMPTS, REPLY_TIMEOUT_S, BoardClient
from tinysplit_hil.frames import Frame
from tinysplit_hil.protocol import BoardError, ErrorCode, MessageType, RecordKind, TimeRecord

NAME = "board 1 (nucleo_g071rb) on fake://board"


@pytest.fixture
def board() -> FakeBoard:
    return FakeBoard(make_identity())


@pytest.fixture
def port(board: FakeBoard) -> FakePort:
    return FakePort(board)


@pytest.fixture
def client(port: FakePort) -> BoardClient:
    return BoardClient(port, "board 1 (nucleo_g071rb)")


def error_frame(code: int, detail: int = 0, sequence: int = 0) -> Frame:
    return Frame(MessageType.ERROR, sequence, BoardError(code, detail).pack())


def test_identify(client: BoardClient) -> None:
    assert client.identify() == make_identity()


def test_whole_inference(client: BoardClient, board: FakeBoard) -> None:
    data = bytes(range(256)) * 3 + b"x" * 16
    board.output = bytes(reversed(range(256))) * 2
    board.records = [TimeRecord(RecordKind.LAYER, i + 1, i * 1000, i % 3) for i in range(62)]
    board.run = lambda _: board.send(Frame(MessageType.DONE, 0))
    client.reset()
    client.load(data)
    client.start()
    client.wait_done(1.0)
    assert bytes(board.input) == data
    assert client.read_output(512) == board.output
    assert list(client.read_times()) == board.records
    loads = [frame.payload for frame in board.requests if frame.type == MessageType.LOAD]
    assert [len(p) - 4 for p in loads] == [248, 248, 248, 40]


def test_sequence_numbers_exclude_that_of_events(client: BoardClient, board: FakeBoard) -> None:
    for _ in range(300):  # sequence numbers wrap after 255
        client.reset()
    assert [frame.sequence for frame in board.requests[253:258]] == [254, 255, 1, 2, 3]


def test_lost_reply_is_requested_again_with_the_same_sequence(client: BoardClient, board: FakeBoard) -> None:
    board.frames_to_lose = 2
    assert client.identify() == make_identity()
    assert [frame.sequence for frame in board.requests] == [1, 1, 1]


def test_done_before_a_repeated_reply_is_not_forgotten(client: BoardClient, board: FakeBoard) -> None:
    board.run = lambda _: board.send(Frame(MessageType.DONE, 0))
    board.frames_to_lose = 1
    client.start()
    client.wait_done(0.1)


def test_lost_done_is_replaced_by_a_request(client: BoardClient, board: FakeBoard) -> None:
    board.output = b"0123456789"
    client.wait_done(0.1)


def test_reset_forgets_done(client: BoardClient, board: FakeBoard) -> None:
    board.send(Frame(MessageType.DONE, 0))
    client.reset()
    with pytest.raises(ToolError, match=r"did not finish within 0.5 s"):
        client.wait_done(0.5)


def test_silent_board(client: BoardClient, board: FakeBoard, port: FakePort) -> None:
    board.frames_to_lose = ALL
    with pytest.raises(ToolError) as caught:
        client.identify()
    assert str(caught.value) == f"{NAME} does not reply: check its power, firmware and wiring"
    assert port.clock_s == pytest.approx(ATTEMPTS * REPLY_TIMEOUT_S)


def test_waiting_for_a_silent_board_ends(client: BoardClient, port: FakePort) -> None:
    with pytest.raises(ToolError, match=r"did not finish within 12.3 s"):
        client.wait_done(12.3)
    assert port.clock_s == pytest.approx(12.3, rel=0.001)


def test_a_read_that_ends_early_is_the_last_one(client: BoardClient, board: FakeBoard, port: FakePort) -> None:
    board.sent += b"\xa5\xe0\x00"  # what begins like a frame takes its part of the time, too
    client.check_events(0.3)
    assert port.clock_s == pytest.approx(0.3)


def test_garbage_before_a_reply_is_skipped(client: BoardClient, board: FakeBoard) -> None:
    board.sent += b"\xa5\x81\x00\x01\xf0\x00boot messages\r\n\xa5\xa5"
    assert client.identify() == make_identity()


def test_board_that_never_stops_sending_times_out(client: BoardClient, board: FakeBoard, port: FakePort) -> None:
    board.frames_to_lose = ALL
    board.sent += b"U" * 1_000_000
    with pytest.raises(ToolError, match="does not reply"):
        client.identify()
    assert port.clock_s < ATTEMPTS * REPLY_TIMEOUT_S * 1.01


def test_late_reply_to_an_older_request_is_ignored(client: BoardClient, board: FakeBoard) -> None:
    client.reset()
    board.send(Frame(MessageType.RESET | 0x80, 1))
    board.send(Frame(MessageType.IDENTIFY | 0x80, 1, b"old"))
    assert client.identify() == make_identity()


def test_error_reply(client: BoardClient, board: FakeBoard) -> None:
    board.takes_input = False
    with pytest.raises(ToolError) as caught:
        client.load(b"abc")
    assert str(caught.value).startswith(f"{NAME} reports NOT_FIRST: this board does not read the network's input")


def test_error_event_while_waiting(client: BoardClient, board: FakeBoard) -> None:
    board.send(error_frame(ErrorCode.LINK_TIMEOUT, 2))
    with pytest.raises(ToolError, match="reports LINK_TIMEOUT: no acknowledgement of cut 3"):
        client.wait_done(1.0)


def test_check_events(client: BoardClient, board: FakeBoard) -> None:
    client.check_events()
    board.send(error_frame(ErrorCode.FAULT, 0x08001234))
    with pytest.raises(ToolError, match="FAULT: processor fault at 0x08001234"):
        client.check_events()


def test_reset_ignores_earlier_errors(client: BoardClient, board: FakeBoard) -> None:
    board.send(error_frame(ErrorCode.LINK_TIMEOUT, 0))
    client.reset()
    client.check_events()


def test_stop_waits_for_a_long_layer(client: BoardClient, board: FakeBoard, port: FakePort) -> None:
    board.frames_to_lose = ALL
    with pytest.raises(ToolError, match="does not reply"):
        client.stop(3.0)
    assert port.clock_s == pytest.approx(ATTEMPTS * 3.0)


def test_earlier_error_explains_a_missing_reply(client: BoardClient, board: FakeBoard) -> None:
    board.send(error_frame(ErrorCode.FAULT, 0x08000000))
    board.frames_to_lose = ALL
    with pytest.raises(ToolError, match="FAULT"):
        client.reset()


def test_damaged_request_is_sent_again(client: BoardClient, board: FakeBoard) -> None:
    board.send(error_frame(ErrorCode.BAD_CRC, sequence=99))
    assert client.identify() == make_identity()


@pytest.mark.parametrize("code", ErrorCode)
def test_every_error_has_a_meaning(code: ErrorCode) -> None:
    text = str(BoardError(code, 3))
    assert text.startswith(f"{code.name}: ")
    assert "{" not in text


def test_unknown_error_has_its_number() -> None:
    assert str(BoardError(77, 5)) == "unknown error 77 (detail 5)"


def test_invalid_replies(client: BoardClient, board: FakeBoard) -> None:
    board.wrong_reply = b"123"
    with pytest.raises(ToolError, match="invalid identity"):
        client.identify()
    with pytest.raises(ToolError, match="invalid time records"):
        client.read_times()
    board.output = b"0123456789"
    with pytest.raises(ToolError, match="3 bytes of output, requested were 10"):
        client.read_output(10)


def test_disconnected(client: BoardClient, port: FakePort, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> bytes:
        raise SerialException("device disconnected")

    monkeypatch.setattr(port, "read", fail)
    with pytest.raises(
        ToolError, match=r"the port failed \(device disconnected\): check that the board is still connected"
    ):
        client.identify()
