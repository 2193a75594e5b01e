"""Client of one board on one port: requests with retries, and time-outs for all waits."""

import struct
from collections.abc import Iterator
from typing import Protocol

from serial import SerialException

from tinysplit.common.errors import ToolError
from tinysplit.common.protocol_limits import BITS_PER_BYTE, LOAD_BYTES, READ_BYTES
from tinysplit_hil.frames import Frame, FrameDecoder
from tinysplit_hil.protocol import (
    HOST_PAYLOAD_BYTES,
    RECORDS_PER_REPLY,
    REPLY_BIT,
    BoardError,
    ErrorCode,
    Identity,
    MessageType,
    TimeRecord,
    pack_load,
    pack_read_output,
    pack_read_times,
)

REPLY_TIMEOUT_S = 0.5
EVENT_TIMEOUT_S = 0.05
ATTEMPTS = 4
LARGEST_SEQUENCE = 255  # requests have 1..255, events have 0


class ReportedError(ToolError):
    """An error that a board reported."""

    def __init__(self, name: str, error: BoardError) -> None:
        """`name` is the board's name in messages."""
        super().__init__(f"{name} reports {error}")
        self.code = error.code


class Port(Protocol):
    """The used part of `serial.SerialBase`; `timeout` is in seconds of the port's own clock."""

    baudrate: int
    timeout: float | None

    @property
    def name(self) -> str | None:
        """Device or URL."""

    def read(self, size: int = 1, /) -> bytes:
        """Return `size` bytes, or fewer after `timeout` seconds."""

    def write(self, data: bytes, /) -> int | None:
        """Send `data`."""


class BoardClient:
    """Host side of docs/protocol.md for one board.

    Every method raises ToolError, with the board in its message, when the board reports an error or does not reply.
    """

    def __init__(self, port: Port, name: str) -> None:
        """`name` is the board's name in messages, such as "board 1 (nucleo_g071rb)"."""
        self.name = f"{name} on {port.name}"
        self._port = port
        self._decoder = FrameDecoder(HOST_PAYLOAD_BYTES)
        self._sequence = 0
        self._is_done = False

    def identify(self) -> Identity:
        """Return the board's identity. Raises ToolError also for an invalid one."""
        payload = self._request(MessageType.IDENTIFY, is_fresh_start=True)
        try:
            return Identity.unpack(payload)
        except struct.error:
            raise ToolError(f"{self.name} sent an invalid identity: build and flash the board again") from None

    def stop(self, timeout_s: float) -> None:
        """Stop the board. It replies when the current layer is done, which `timeout_s` has to cover."""
        self._request(MessageType.STOP, is_fresh_start=True, timeout_s=timeout_s)

    def reset(self) -> None:
        """Set a stopped board to its first step and discard its earlier events."""
        self._request(MessageType.RESET, is_fresh_start=True)
        self._is_done = False

    def load(self, data: bytes) -> None:
        """Write the network's input, in the first board's layout, into its arena."""
        for offset in range(0, len(data), LOAD_BYTES):
            self._request(MessageType.LOAD, pack_load(offset, data[offset : offset + LOAD_BYTES]))

    def start(self) -> None:
        """Start an inference on the first board."""
        self._request(MessageType.START)

    def wait_done(self, timeout_s: float) -> None:
        """Wait until the last board reports that the output is complete. Raises ToolError after `timeout_s` seconds."""
        if self._is_done:
            return
        for frame in self._frames(timeout_s):
            self._raise_if(self._note(frame))
            if self._is_done:
                return
        if not self._has_output():
            raise ToolError(f"{self.name} did not finish within {timeout_s:.3g} s: check the wiring of all links")

    def check_events(self, timeout_s: float = EVENT_TIMEOUT_S) -> None:
        """Wait `timeout_s` for events and raise ReportedError for an error among them."""
        for frame in self._frames(timeout_s):
            self._raise_if(self._note(frame))

    def read_output(self, size_bytes: int) -> bytes:
        """Return `size_bytes` bytes of the network's output from the last board. Raises ToolError for a short reply."""
        output = b""
        while len(output) < size_bytes:
            length = min(READ_BYTES, size_bytes - len(output))
            part = self._request(MessageType.READ_OUTPUT, pack_read_output(len(output), length))
            if len(part) != length:
                raise ToolError(f"{self.name} sent {len(part)} bytes of output, requested were {length}")
            output += part
        return output

    def read_times(self) -> tuple[TimeRecord, ...]:
        """Return the time records of the last inference in the order of its steps; raise ToolError if invalid."""
        records: list[TimeRecord] = []
        while True:
            payload = self._request(MessageType.READ_TIMES, pack_read_times(len(records)))
            try:
                part = TimeRecord.unpack_all(payload)
            except (struct.error, ValueError):
                raise ToolError(f"{self.name} sent invalid time records") from None
            records += part
            if len(part) < RECORDS_PER_REPLY:
                return tuple(records)

    def _has_output(self) -> bool:
        """Read 0 bytes of the output: this succeeds when the output is complete and only DONE was lost."""
        try:
            self._request(MessageType.READ_OUTPUT, pack_read_output(0, 0))
        except ReportedError as error:
            if error.code != ErrorCode.BUSY:
                raise
            return False
        return True

    def _request(
        self,
        kind: MessageType,
        payload: bytes = b"",
        *,
        is_fresh_start: bool = False,
        timeout_s: float = REPLY_TIMEOUT_S,
    ) -> bytes:
        """Return the payload of the reply, repeating the request up to ATTEMPTS times.

        `is_fresh_start`: errors reported before the reply belong to an earlier inference and are ignored.
        """
        self._sequence = self._sequence % LARGEST_SEQUENCE + 1
        request = Frame(kind, self._sequence, payload)
        reported: BoardError | None = None
        for _ in range(ATTEMPTS):
            self._send(request)
            for frame in self._frames(timeout_s):
                if frame.type == kind | REPLY_BIT and frame.sequence == self._sequence:
                    return frame.payload
                reported = self._note(frame) or reported
                if reported and reported.code == ErrorCode.BAD_CRC:
                    break  # the request was damaged in transit: repeat it
                if frame.sequence == self._sequence or not is_fresh_start:
                    self._raise_if(reported)
        self._raise_if(reported)
        raise ToolError(f"{self.name} does not reply: check its power, firmware and wiring")

    def _note(self, frame: Frame) -> BoardError | None:
        """Store that the output is complete, or return the error that the board reports."""
        if frame.type == MessageType.DONE:
            self._is_done = True
        if frame.type != MessageType.ERROR:
            return None
        try:
            return BoardError.unpack(frame.payload)
        except struct.error:
            raise ToolError(f"{self.name} sent an invalid error report") from None

    def _raise_if(self, error: BoardError | None) -> None:
        if error:
            raise ReportedError(self.name, error)

    def _send(self, frame: Frame) -> None:
        try:
            self._port.write(frame.encode())
        except SerialException as error:
            raise self._port_failure(error) from None

    def _frames(self, timeout_s: float) -> Iterator[Frame]:
        """Yield the frames that arrive within `timeout_s` of the port's own clock.

        Virtual ports count virtual seconds, so that no clock of the host applies. Every received byte reduces the time
        left by at least its time on the line, and an incomplete read is a time-out. Therefore this ends even if the
        board never stops sending.
        """
        byte_s = BITS_PER_BYTE / self._port.baudrate
        left_s = timeout_s
        yield from self._decoder.feed(b"")
        while left_s > 0:
            wanted = self._decoder.missing_bytes
            data = self._read(wanted, left_s)
            left_s -= len(data) * byte_s
            yield from self._decoder.feed(data)
            if len(data) < wanted:
                yield from self._decoder.give_up()
                return

    def _read(self, size: int, timeout_s: float) -> bytes:
        try:
            self._port.timeout = timeout_s
            return self._port.read(size)
        except SerialException as error:
            raise self._port_failure(error) from None

    def _port_failure(self, error: SerialException) -> ToolError:
        return ToolError(f"{self.name}: the port failed ({error}): check that the board is still connected")
