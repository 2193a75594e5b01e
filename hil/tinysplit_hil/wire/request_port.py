"""Requests on one serial port: sequence numbers, repetition, time-outs, and the events between the replies."""

import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from serial import SerialException

from tinysplit.common.errors import ToolError
from tinysplit.common.protocol_limits import BITS_PER_BYTE, FRAME_OVERHEAD_BYTES
from tinysplit.settings.programs import HOST_BAUD
from tinysplit_hil.wire.frames import Frame, FrameDecoder
from tinysplit_hil.wire.protocol import HOST_PAYLOAD_BYTES, REPLY_BIT, BoardError, ErrorCode, MessageType
from tinysplit_hil.wire.tasks import Clock, Task

REPLY_TIMEOUT_S = 0.5
ATTEMPTS = 4
DAMAGED_ATTEMPTS = 16  # of a request that arrives damaged, which the board says at once
LARGEST_SEQUENCE = 255  # requests have 1..255, events have 0
QUIET_S = 0.1  # after a silence inside a frame its rest will not come
BYTES_AT_ONCE = 4096
FOREIGN_BYTES = 80  # that are kept of what is no frame


class ClientError(ToolError):
    """A board or its port failed; `board` is the board's number."""

    def __init__(self, board: int, text: str) -> None:
        """`text` names the board."""
        super().__init__(text)
        self.board = board


class ReportedError(ClientError):
    """An error that a board reported."""

    def __init__(self, board: int, name: str, error: BoardError) -> None:
        """`name` is the board's name in messages."""
        super().__init__(board, f"{name} reports {error}")
        self.name = name
        self.error = error


class Port(Protocol):
    """The used part of `serial.SerialBase`; `timeout` is in seconds."""

    baudrate: int
    timeout: float | None

    @property
    def name(self) -> str | None:
        """Device or URL."""

    @property
    def in_waiting(self) -> int:
        """Number of bytes that have arrived."""

    def read(self, size: int = 1, /) -> bytes:
        """Return `size` bytes, or fewer after `timeout` seconds."""

    def write(self, data: bytes, /) -> int | None:
        """Send `data`."""


@dataclass(eq=False)
class Request:
    """A request that has no reply yet."""

    frame: Frame
    timeout_s: float
    deadline_s: float = 0.0
    attempts: int = 0
    damaged: int = 0
    reply: bytes | None = None
    error: BoardError | None = None


class RequestPort:
    """Sends requests to one board and finds their replies; errors have the board's number and name."""

    def __init__(
        self, port: Port, number: int, name: str, clock: Clock, on_event: Callable[[Frame, float], None]
    ) -> None:
        """`on_event` takes every frame that is no reply, and the time; it raises struct.error for a malformed one."""
        self.number = number
        self.name = name
        self.clock = clock
        self._port = port
        if port.timeout != 0:  # setting it configures the port, which fails once it is unplugged
            port.timeout = 0
        self._on_event = on_event
        self._decoder = FrameDecoder(HOST_PAYLOAD_BYTES)
        self._last_byte_s = clock.now_s()
        self._sequence = 0
        self._requests: dict[int, Request] = {}  # in the order in which they were sent
        self.failure: BoardError | None = None  # an error that ended the run
        self._foreign: bytes | None = b""  # the newest bytes, until the first good frame

    def ask(self, kind: MessageType, payload: bytes = b"", timeout_s: float = REPLY_TIMEOUT_S) -> Task[bytes]:
        """Send a request and return the payload of its reply."""
        return (yield from self.reply(self.submit(kind, payload, timeout_s)))

    def submit(self, kind: MessageType, payload: bytes = b"", timeout_s: float = REPLY_TIMEOUT_S) -> Request:
        """Send a request, whose reply has to come within `timeout_s` beyond its time on the line."""
        self._sequence = self._sequence % LARGEST_SEQUENCE + 1
        request = Request(Frame(kind, self._sequence, payload), timeout_s)
        self._requests[self._sequence] = request
        self._transmit(request)
        return request

    def reply(self, request: Request) -> Task[bytes]:
        """Return the payload of the reply, repeating the request up to ATTEMPTS times."""
        try:
            while request.reply is None:
                self._raise_if(request.error and (self.failure or request.error))
                if self.clock.now_s() < request.deadline_s:
                    yield
                elif request.attempts < ATTEMPTS:
                    self._transmit(request)
                else:
                    self._raise_if(self.failure)
                    raise self.error(self._silence())
            return request.reply
        finally:
            self.forget(request)

    def _silence(self) -> str:
        """Return why there may be no reply: nothing has arrived, or nothing of ours."""
        if not self._foreign:
            return "does not reply: check its power, firmware and wiring"
        text = self._foreign.decode("ascii", errors="replace")
        if all(letter.isprintable() or letter.isspace() for letter in text.replace("\ufffd", "\0")):
            last = text.strip().splitlines()[-1:] or ["blanks"]
            return f"does not reply, but sends text ({last[0]!r}), as a boot loader or another program does: flash it"
        return (
            "does not reply, but sends bytes that are no frames: it runs another program, or has another baud rate than"
            f" {self._port.baudrate} (`generate {HOST_BAUD.option}`, within what the ST-LINK's port can do): flash it"
        )

    def forget(self, request: Request) -> None:
        """Take no reply to a request any more."""
        self._requests.pop(request.frame.sequence, None)

    def raise_failure(self) -> None:
        """Raise ReportedError when the board has reported an error that ended its run."""
        self._raise_if(self.failure)

    def error(self, text: str) -> ClientError:
        """Return an error of this board."""
        return ClientError(self.number, f"{self.name} {text}")

    def line_s(self, payload_bytes: int) -> float:
        """Return the time of a frame on the line."""
        return (payload_bytes + FRAME_OVERHEAD_BYTES) * BITS_PER_BYTE / self._port.baudrate

    def poll(self) -> None:
        """Take what has arrived; never waits. A flood of bytes takes its time on the line, so that time-outs end it."""
        now_s = self.clock.now_s()
        data = self._read()
        if data:
            self._last_byte_s = now_s
            if self._foreign is not None:
                self._foreign = (self._foreign + data)[-FOREIGN_BYTES:]
        self._take(self._decoder.feed(data), now_s)
        if self._decoder.is_inside_frame and now_s > self._last_byte_s + QUIET_S:
            self._take(self._decoder.give_up(), now_s)

    def _transmit(self, request: Request) -> None:
        """Send a request (again), as the newest of those under way: replies come in their order."""
        self._requests[request.frame.sequence] = self._requests.pop(request.frame.sequence)
        under_way_s = sum(self.line_s(len(each.frame.payload)) for each in self._requests.values())
        request.attempts += 1
        request.deadline_s = self.clock.now_s() + under_way_s + request.timeout_s + self.line_s(HOST_PAYLOAD_BYTES)
        try:
            self._port.write(request.frame.encode())
        except SerialException as error:
            raise self._port_failure(error) from None

    def _read(self) -> bytes:
        try:
            return self._port.read(BYTES_AT_ONCE)
        except SerialException as error:
            raise self._port_failure(error) from None

    def _port_failure(self, error: SerialException) -> ClientError:
        return ClientError(
            self.number, f"{self.name}: the port failed ({error}): check that the board is still connected"
        )

    def _take(self, frames: Iterable[Frame], now_s: float) -> None:
        for frame in frames:
            self._foreign = None
            try:
                if frame.type == MessageType.ERROR:
                    self._take_error(frame, BoardError.unpack(frame.payload), now_s)
                else:
                    self._take_reply(frame, now_s)
            except struct.error:
                raise self.error("sent an invalid event: build and flash the board again") from None

    def _take_reply(self, frame: Frame, now_s: float) -> None:
        """Note a reply or an event. Replies come in order, so requests sent before that have none were lost."""
        request = self._requests.get(frame.sequence)
        if request is None or frame.type != request.frame.type | REPLY_BIT:
            self._on_event(frame, now_s)
            return
        request.reply = frame.payload
        for earlier in list(self._requests.values()):
            if earlier is request:
                return
            if earlier.reply is None and earlier.error is None and earlier.attempts < ATTEMPTS:
                self._transmit(earlier)

    def _take_error(self, frame: Frame, error: BoardError, now_s: float) -> None:
        request = self._requests.get(frame.sequence)
        if error.code == ErrorCode.BAD_CRC:  # its sequence may be damaged, too; all requests may be repeated
            for repeated in [request] if request else list(self._requests.values()):
                repeated.damaged += 1
                repeated.error = error if repeated.damaged >= DAMAGED_ATTEMPTS else None
                if not repeated.error:
                    repeated.attempts = 0
                    self._transmit(repeated)
        elif request:
            request.error = error
        elif error.code == ErrorCode.INPUT_CORRUPT:
            self._on_event(frame, now_s)
        elif frame.sequence == 0:
            self.failure = self.failure or error

    def _raise_if(self, error: BoardError | None) -> None:
        if error:
            raise ReportedError(self.number, self.name, error)
