"""Frame types, error codes and payloads on a host port (docs/protocol.md), all little endian."""

import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import Self

REPLY_BIT = 0x80
RECORDS_PER_REPLY = 31
HOST_PAYLOAD_BYTES = 252

_IDENTITY = struct.Struct("<BBBBIIIII")
_LOAD = struct.Struct("<I")
_READ_OUTPUT = struct.Struct("<IH")
_READ_TIMES = struct.Struct("<H")
_RECORD = struct.Struct("<BBHI")
_ERROR = struct.Struct("<B3xI")


class MessageType(IntEnum):
    """Types of frames on a host port; a reply has the type of its request with `REPLY_BIT` set."""

    IDENTIFY = 0x01
    RESET = 0x02
    LOAD = 0x03
    START = 0x04
    READ_OUTPUT = 0x05
    READ_TIMES = 0x06
    STOP = 0x07
    DONE = 0xE0
    ERROR = 0xEE


class ErrorCode(IntEnum):
    """Codes of ERROR frames."""

    UNKNOWN_TYPE = 1
    BAD_LENGTH = 2
    BAD_RANGE = 3
    NOT_FIRST = 4
    BUSY = 5
    LINK_TIMEOUT = 6
    LINK_UNEXPECTED = 7
    BAD_CRC = 8
    FAULT = 10


class RecordKind(IntEnum):
    """What a time record measures."""

    LAYER = 0
    TRANSFER = 1


_MEANINGS = {
    ErrorCode.UNKNOWN_TYPE: "unknown request: build and flash the board again",
    ErrorCode.BAD_LENGTH: "wrong length of a request: build and flash the board again",
    ErrorCode.BAD_RANGE: "request out of the tensor's range: build and flash the board again",
    ErrorCode.NOT_FIRST: "this board does not read the network's input: check that the ports are in board order",
    ErrorCode.BUSY: "an inference is running, or has no output yet: reset the board",
    ErrorCode.LINK_TIMEOUT: "no acknowledgement of cut {cut}: check the wiring of the link, TX to RX both ways",
    ErrorCode.LINK_UNEXPECTED: "unexpected tensor of cut {cut}: check that the link is connected to the right board",
    ErrorCode.BAD_CRC: "requests arrive damaged: check wiring and baud rate",
    ErrorCode.FAULT: "processor fault at 0x{detail:08x}",
}


@dataclass(frozen=True)
class Identity:
    """Reply to IDENTIFY. `board_index` counts from 0; `line_errors` saturates at 255 and is cleared by RESET."""

    protocol: int
    board_index: int
    clock_ok: bool
    line_errors: int
    project_hash: int
    core_hz: int
    timer_hz: int
    input_bytes: int
    output_bytes: int

    @classmethod
    def unpack(cls, payload: bytes) -> Self:
        """Return the identity in the payload of a reply. Raises struct.error for a wrong length."""
        protocol, board_index, clock_ok, *numbers = _IDENTITY.unpack(payload)
        return cls(protocol, board_index, bool(clock_ok), *numbers)

    def pack(self) -> bytes:
        """Return the payload of a reply."""
        numbers = (self.project_hash, self.core_hz, self.timer_hz, self.input_bytes, self.output_bytes)
        return _IDENTITY.pack(self.protocol, self.board_index, self.clock_ok, self.line_errors, *numbers)


@dataclass(frozen=True)
class TimeRecord:
    """Timer ticks of layer `index` (from 1) or of the transfer of cut `index` (from 0).

    `repeats` counts the retransmissions (go-back-N) of a transfer; a step that has not run yet has 0 ticks.
    """

    kind: RecordKind
    index: int
    ticks: int
    repeats: int = 0

    def pack(self) -> bytes:
        """Return the eight bytes of this record."""
        return _RECORD.pack(self.kind, self.repeats, self.index, self.ticks)

    @classmethod
    def unpack_all(cls, payload: bytes) -> list[Self]:
        """Return the records of a reply. Raises ValueError or struct.error when they are malformed."""
        return [cls(RecordKind(k), index, ticks, repeats) for k, repeats, index, ticks in _RECORD.iter_unpack(payload)]


@dataclass(frozen=True)
class BoardError:
    """An ERROR frame."""

    code: int
    detail: int

    @classmethod
    def unpack(cls, payload: bytes) -> Self:
        """Return the error in the payload of an ERROR frame. Raises struct.error for a wrong length."""
        return cls(*_ERROR.unpack(payload))

    def pack(self) -> bytes:
        """Return the payload of an ERROR frame."""
        return _ERROR.pack(self.code, self.detail)

    def __str__(self) -> str:
        try:
            code = ErrorCode(self.code)
        except ValueError:
            return f"unknown error {self.code} (detail {self.detail})"
        return f"{code.name}: {_MEANINGS[code].format(cut=self.detail + 1, detail=self.detail)}"


def pack_load(offset: int, data: bytes) -> bytes:
    """Return the payload of LOAD."""
    return _LOAD.pack(offset) + data


def pack_read_output(offset: int, length: int) -> bytes:
    """Return the payload of READ_OUTPUT."""
    return _READ_OUTPUT.pack(offset, length)


def pack_read_times(first_record: int) -> bytes:
    """Return the payload of READ_TIMES."""
    return _READ_TIMES.pack(first_record)
