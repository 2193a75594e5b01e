import pytest
from serial import SerialException

from fake_boards import ALL, FakeBoard, FakePort, make_identity
from profiles import cases
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


def test_sequence_numbers_skip_that_of_events(client: BoardClient, board: FakeBoard) -> None:
    for _ in range(cases(quick=30, full=300, nightly=3000)):
        client.reset()
    assert [frame.sequence for frame in board.requests[253:258]] == [254, 255, 1, 2, 3]


def test_lost_reply_is_asked_for_again_with_the_same_sequence(client: BoardClient, board: FakeBoard) -> None:
    board.frames_to_lose = 2
    assert client.identify() == make_identity()
    assert [frame.sequence for frame in board.requests] == [1, 1, 1]


def test_done_before_a_repeated_reply_is_not_forgotten(client: BoardClient, board: FakeBoard) -> None:
    board.run = lambda _: board.send(Frame(MessageType.DONE, 0))
    board.frames_to_lose = 1
    client.start()
    client.wait_done(0.1)


def test_lost_done_is_made_good_by_asking(client: BoardClient, board: FakeBoard) -> None:
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
    assert str(caught.value) == f"{NAME} does not answer: is it powered, flashed and wired?"
    assert port.clock_s == pytest.approx(ATTEMPTS * REPLY_TIMEOUT_S)


def test_waiting_for_a_silent_board_ends(client: BoardClient, port: FakePort) -> None:
    with pytest.raises(ToolError, match=r"did not finish within 12.3 s"):
        client.wait_done(12.3)
    assert port.clock_s == pytest.approx(12.3, rel=0.001)


def test_garbage_before_a_reply_is_skipped(client: BoardClient, board: FakeBoard) -> None:
    board.sent += b"\xa5\x81\x00\x01\xf0\x00boot messages\r\n\xa5\xa5"
    assert client.identify() == make_identity()


def test_babbling_board_cannot_hold_us(client: BoardClient, board: FakeBoard, port: FakePort) -> None:
    board.frames_to_lose = ALL
    board.sent += b"U" * 1_000_000
    with pytest.raises(ToolError, match="does not answer"):
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
    assert str(caught.value).startswith(f"{NAME} reports NOT_FIRST: only the board with the first layer takes inputs")


def test_error_event_while_waiting(client: BoardClient, board: FakeBoard) -> None:
    board.send(error_frame(ErrorCode.LINK_TIMEOUT, 2))
    with pytest.raises(ToolError, match="reports LINK_TIMEOUT: its neighbour does not acknowledge cut 3"):
        client.wait_done(1.0)


def test_check_events(client: BoardClient, board: FakeBoard) -> None:
    client.check_events()
    board.send(error_frame(ErrorCode.FAULT, 0x08001234))
    with pytest.raises(ToolError, match="FAULT: the processor stopped with a fault at 0x08001234"):
        client.check_events()


def test_reset_leaves_old_errors_behind(client: BoardClient, board: FakeBoard) -> None:
    board.send(error_frame(ErrorCode.LINK_TIMEOUT, 0))
    client.reset()
    client.check_events()


def test_stop_waits_for_a_long_layer(client: BoardClient, board: FakeBoard, port: FakePort) -> None:
    board.frames_to_lose = ALL
    with pytest.raises(ToolError, match="does not answer"):
        client.stop(3.0)
    assert port.clock_s == pytest.approx(ATTEMPTS * 3.0)


def test_old_error_explains_why_a_board_does_not_answer(client: BoardClient, board: FakeBoard) -> None:
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


def test_unknown_error_is_told_by_number() -> None:
    assert str(BoardError(77, 5)) == "unknown error 77 (detail 5)"


def test_wrong_identification(client: BoardClient, board: FakeBoard) -> None:
    board.wrong_reply = b"123"
    with pytest.raises(ToolError, match="unknown kind of identification"):
        client.identify()
    with pytest.raises(ToolError, match="time stamps that cannot be read"):
        client.read_times()
    board.output = b"0123456789"
    with pytest.raises(ToolError, match="3 bytes of output when asked for 10"):
        client.read_output(10)


def test_unplugged(client: BoardClient, port: FakePort, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> bytes:
        raise SerialException("device disconnected")

    monkeypatch.setattr(port, "read", fail)
    with pytest.raises(ToolError, match=r"the port failed \(device disconnected\): is the board still plugged in"):
        client.identify()
