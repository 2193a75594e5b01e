"""Fake boards with the host protocol of docs/protocol.md, on a port with virtual time."""

import struct
from collections.abc import Callable
from dataclasses import dataclass, field

from tinysplit_hil.frames import Frame, FrameDecoder
from tinysplit_hil.protocol import (
    RECORDS_PER_REPLY,
    REPLY_BIT,
    BoardError,
    ErrorCode,
    Identity,
    MessageType,
    TimeRecord,
)

CORE_HZ = 64_000_000
ALL = 1_000_000
NO_ERROR = BoardError(0, 0)
LONGEST_S = 600.0  # a client that still reads then would never return


@dataclass
class FakeBoard:
    """One board; `run` is called by START and may write into other boards' outputs."""

    identity: Identity
    run: Callable[[bytes], None] = lambda _: None
    on_request: Callable[[Frame], None] = lambda _: None
    takes_input: bool = True
    input: bytearray = field(default_factory=bytearray)
    output: bytes = b""
    records: list[TimeRecord] = field(default_factory=list)
    frames_to_lose: int = 0  # of the first frames that it sends
    wrong_reply: bytes | None = None  # payload of every reply
    sent: bytearray = field(default_factory=bytearray)
    requests: list[Frame] = field(default_factory=list)
    decoder: FrameDecoder = field(default_factory=FrameDecoder)

    def receive(self, data: bytes) -> None:
        for frame in self.decoder.feed(data):
            self.requests.append(frame)
            self.on_request(frame)
            self.reply(frame)

    def reply(self, frame: Frame) -> None:
        kind = MessageType(frame.type)
        error = NO_ERROR
        payload = b""
        if kind is MessageType.IDENTIFY:
            payload = self.identity.pack()
        elif kind is MessageType.LOAD:
            error = self.load(frame.payload)
        elif kind is MessageType.START:
            error = self.start(frame.sequence)
        elif kind is MessageType.READ_OUTPUT:
            offset, length = struct.unpack("<IH", frame.payload)
            payload = self.output[offset : offset + length]
            error = NO_ERROR if self.output else BoardError(ErrorCode.BUSY, frame.type)
        elif kind is MessageType.READ_TIMES:
            (first,) = struct.unpack("<H", frame.payload)
            payload = b"".join(record.pack() for record in self.records[first : first + RECORDS_PER_REPLY])
        if self.wrong_reply is not None:
            payload = self.wrong_reply
        if error != NO_ERROR:
            self.send(Frame(MessageType.ERROR, frame.sequence, error.pack()))
        elif kind is not MessageType.START:
            self.send(
                Frame(kind | REPLY_BIT, frame.sequence, payload if self.wrong_reply is None else self.wrong_reply)
            )

    def load(self, payload: bytes) -> BoardError:
        (offset,) = struct.unpack_from("<I", payload)
        if not self.takes_input:
            return BoardError(ErrorCode.NOT_FIRST, 0)
        if offset + len(payload) - 4 > self.identity.input_bytes:
            return BoardError(ErrorCode.BAD_RANGE, offset)
        self.input[offset : offset + len(payload) - 4] = payload[4:]
        return NO_ERROR

    def start(self, sequence: int) -> BoardError:
        if not self.takes_input:
            return BoardError(ErrorCode.NOT_FIRST, 0)
        self.send(Frame(MessageType.START | REPLY_BIT, sequence))
        self.run(bytes(self.input))
        return NO_ERROR

    def send(self, frame: Frame) -> None:
        if self.frames_to_lose:
            self.frames_to_lose -= 1
            return
        self.sent += frame.encode()


@dataclass
class FakePort:
    """A serial port with virtual time: each byte takes its time on the line, an incomplete read its time-out."""

    board: FakeBoard
    name: str | None = "fake://board"
    baudrate: int = 115200
    timeout: float | None = None
    clock_s: float = 0.0
    is_open: bool = True

    def write(self, data: bytes, /) -> int:
        self.board.receive(data)
        return len(data)

    def read(self, size: int = 1, /) -> bytes:
        assert size > 0
        assert self.timeout is not None
        data = bytes(self.board.sent[:size])
        del self.board.sent[:size]
        self.clock_s += self.timeout if len(data) < size else size * 10 / self.baudrate
        assert self.clock_s < LONGEST_S, "the client goes on reading"
        return data

    def reset_input_buffer(self) -> None:
        self.board.sent.clear()

    def close(self) -> None:
        self.is_open = False


def make_identity(board_index: int = 0, input_bytes: int = 784, output_bytes: int = 10) -> Identity:
    return Identity(1, board_index, True, 0, 0x12345678, CORE_HZ, CORE_HZ, input_bytes, output_bytes)
