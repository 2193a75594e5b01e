"""Frame types, error codes and payloads on a host port (docs/understand/protocol.md, version 2), all little endian."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Self

from typing_extensions import override

from tinysplit.common import protocol_limits
from tinysplit_hil.wire.weights_protocol import weights_reason

PROTOCOL_VERSION = protocol_limits.PROTOCOL_VERSION
REPLY_BIT = 0x80
RECORDS_PER_REPLY = 128
HOST_PAYLOAD_BYTES = 1024
# Payload of IDENTIFY: what it asks for.
IDENTIFY_NOTE, IDENTIFY_STACK, IDENTIFY_WEIGHTS, IDENTIFY_STAGING = b"\x01", b"\x02", b"\x03", b"\x04"
IDENTIFY_STANDALONE = b"\x05"

_IDENTITY = struct.Struct("<BBBBIIIIIBBBBIIIIIIII")
_VERSION_1_IDENTITY_BYTES = 24
_RESET = struct.Struct("<I")
_LOAD = struct.Struct("<II")
_START = struct.Struct("<II")
_REPEAT = struct.Struct("<III")
_READ_OUTPUT = struct.Struct("<IIH")
_READ_TIMES = struct.Struct("<H")
_CLOCK = struct.Struct("<Q")
_TICKS = struct.Struct("<I")
_READ_STAMPS = struct.Struct("<BH")
_SENDING = struct.Struct("<QI4x")
_RECORD = struct.Struct("<BBHI")
_DONE = struct.Struct("<II")
_TAKEN = struct.Struct("<I")
_ERROR = struct.Struct("<B3xI")
_STACK = struct.Struct("<II")
_STANDALONE = struct.Struct("<7I")


class MessageType(IntEnum):
    """Types of frames on a host port; a reply has the type of its request with `REPLY_BIT` set."""

    IDENTIFY = 0x01
    RESET = 0x02
    LOAD = 0x03
    START = 0x04
    READ_OUTPUT = 0x05
    READ_TIMES = 0x06
    STOP = 0x07
    CHECK = 0x08
    REBOOT = 0x09
    READ_CLOCK = 0x0A
    READ_STAMPS = 0x0B
    BEGIN_WEIGHTS = 0x0C
    WRITE_WEIGHTS = 0x0D
    COMMIT_WEIGHTS = 0x0E
    KEY = 0x0F
    REPEAT = 0x10
    DONE = 0xE0
    TAKEN = 0xE1
    ERROR = 0xEE


class ErrorCode(IntEnum):
    """Codes of ERROR frames."""

    UNKNOWN_TYPE = 1
    BAD_LENGTH = 2
    BAD_RANGE = 3
    NOT_FIRST = 4
    BUSY = 5
    LINK_NO_ANSWER = 6
    BAD_CRC = 8
    FAULT = 10
    LINK_PEER_STOPPED = 11
    LINK_PEER_RESTARTED = 12
    LINK_OTHER_PLAN = 13
    LINK_OTHER_VERSION = 14
    LINK_WRONG_BOARD = 15
    LINK_CORRUPT = 16
    FLASH_CORRUPT = 17
    INPUT_CORRUPT = 18
    STOPPED = 19
    WRONG_NUMBER = 20
    STACK_OVERFLOW = 21
    LINK_OTHER_RUN = 22
    EXTERNAL_MEMORY = 23
    WEIGHTS = 24
    FLASH_WRITE = 25
    APPLICATION_BLOCKED = 26
    INPUT_OVERRUN = 27


class RecordKind(IntEnum):
    """What a time record measures."""

    LAYER = 0
    TRANSFER = 1
    COPY = 2
    INPUT = 3
    OUTPUT = 4
    GRANT = 5  # not measured
    SENT = 6  # not measured


class Stamps(IntEnum):
    """What READ_STAMPS asks for."""

    ENDS = 0
    SENDINGS = 1
    LINK_TICKS = 2


class BoardState(IntEnum):
    """What a board does: no run, waiting for its first tensor, an inference."""

    STOPPED = 0
    READY = 1
    RUNNING = 2


APPLICATION_FUNCTIONS = {  # by the detail of APPLICATION_BLOCKED
    number: f"application_{name}" for number, name in enumerate(("begin", "input", "output", "failure", "idle"), 1)
}
RESET_CAUSES = ("unknown", "power", "reset pin", "watchdog", "software", "brown-out")

_MEANINGS = {
    ErrorCode.UNKNOWN_TYPE: "unknown request: build and flash the board again",
    ErrorCode.BAD_LENGTH: "wrong length of a request: build and flash the board again",
    ErrorCode.BAD_RANGE: "request out of the tensor's range: build and flash the board again",
    ErrorCode.NOT_FIRST: "this board does not read the network's input: check that the ports are in board order",
    ErrorCode.BUSY: "an input was sent or an output read too early, or the run has ended on this board: run again",
    ErrorCode.LINK_NO_ANSWER: "no answer to the tensor of cut {cut}: check the wiring of the link, TX to RX both ways",
    ErrorCode.BAD_CRC: "requests arrive damaged: check wiring and baud rate",
    ErrorCode.FAULT: "processor fault at 0x{detail:08x}: build and flash the board again, and check its supply",
    ErrorCode.LINK_PEER_STOPPED: "the receiver of cut {cut} is in no run: reset it",
    ErrorCode.LINK_PEER_RESTARTED: "the board at the other end of cut {cut} restarted: check its supply",
    ErrorCode.LINK_OTHER_PLAN: "the board of cut {cut} has another plan or other weights: build and flash it again",
    ErrorCode.LINK_OTHER_VERSION: "the board of cut {cut} has another protocol version: build and flash it again",
    ErrorCode.LINK_WRONG_BOARD: "another board than planned is at the other end of cut {cut}: check the wiring",
    ErrorCode.LINK_CORRUPT: "the tensor of cut {cut} arrives damaged again and again: check ground and baud rate",
    ErrorCode.FLASH_CORRUPT: "code or weights in flash have changed (CRC-32 {detail:08x}): flash the board again",
    ErrorCode.INPUT_CORRUPT: "the input arrived damaged: check wiring and baud rate of the host port",
    ErrorCode.STOPPED: "the board is in no run: it has restarted or reported an error before",
    ErrorCode.WRONG_NUMBER: "inference {detail} was expected: another program uses the port, or the board restarted",
    ErrorCode.LINK_OTHER_RUN: "the board at the other end of cut {cut} is in a newer run: run again",
    ErrorCode.EXTERNAL_MEMORY: "the external memory answers with JEDEC id 0x{detail:06x}: check its wires and supply,"
    " and that it is the one of the board's file",
    ErrorCode.WEIGHTS: "{weights}",
    ErrorCode.FLASH_WRITE: "its flash cannot be erased or programmed: check its supply and write protection",
    ErrorCode.APPLICATION_BLOCKED: "{function} has blocked the board until the watchdog reset it: let it return soon,"
    " and go on when it is called again",
    ErrorCode.INPUT_OVERRUN: "application_input has written beyond the {detail} bytes of the input: fill no more",
    ErrorCode.STACK_OVERFLOW: "stack overflow at 0x{detail:08x} (0: not known): build and flash the board again",
}


@dataclass(frozen=True, kw_only=True)
class Identity:
    """Reply to IDENTIFY: facts of the board, and what it has done in its run. `board_index` counts from 0."""

    protocol: int = PROTOCOL_VERSION
    board_index: int
    clock_ok: bool = True
    line_errors: int = 0  # of all UARTs since RESET, up to 255
    project_hash: int
    core_hz: int
    timer_hz: int
    input_bytes: int
    output_bytes: int
    state: int = BoardState.STOPPED
    reset_cause: int = 0
    link_driver: int = 0
    error: int = 0  # code of the error that ended the last run
    boot_count: int = 0
    run: int = 0
    inputs_taken: int = 0  # number of the input that LOAD accepts next
    outputs_done: int = 0
    output_crc: int = 0  # of the newest output
    retransmissions: int = 0
    link_line_errors: int = 0
    error_detail: int = 0

    @classmethod
    def unpack(cls, payload: bytes) -> Self:
        """Return the identity in the payload of a reply. Raises struct.error for a wrong length.

        Other versions have the same first 24 bytes; what they lack is 0 here.
        """
        if len(payload) >= _VERSION_1_IDENTITY_BYTES and payload[0] != PROTOCOL_VERSION:
            payload = payload[: _IDENTITY.size].ljust(_IDENTITY.size, b"\0")
        values = dict(zip(cls.__dataclass_fields__, _IDENTITY.unpack(payload), strict=True))
        return cls(**{**values, "clock_ok": bool(values["clock_ok"])})

    def pack(self) -> bytes:
        """Return the payload of a reply."""
        return _IDENTITY.pack(*(getattr(self, name) for name in self.__dataclass_fields__))

    @property
    def cause(self) -> str:
        """Cause of the last reset, in words."""
        return RESET_CAUSES[self.reset_cause] if self.reset_cause < len(RESET_CAUSES) else str(self.reset_cause)


@dataclass(frozen=True)
class StackUse:
    """The bytes of a board's stack, and the most of them that were used since its reset."""

    stack_bytes: int
    used_bytes: int

    @classmethod
    def unpack(cls, payload: bytes) -> Self:
        """Return the stack in the payload of a reply. Raises struct.error for a wrong length."""
        return cls(*_STACK.unpack(payload))

    def pack(self) -> bytes:
        """Return the payload of a reply."""
        return _STACK.pack(self.stack_bytes, self.used_bytes)

    @property
    def free_bytes(self) -> int:
        """Bytes that were never used."""
        return self.stack_bytes - self.used_bytes


@dataclass(frozen=True, kw_only=True)
class StandaloneCounters:
    """What a board that runs without a host has done since its reset.

    `failure` is the code of the error that ended the last run that failed, 0 before; inputs are dropped where they were
    due while the board was busy.
    """

    runs: int
    failures: int
    failure: int
    failure_detail: int
    dropped: int
    inputs: int
    outputs: int

    @classmethod
    def unpack(cls, payload: bytes) -> Self:
        """Return the counters in the payload of a reply. Raises struct.error for a wrong length."""
        return cls(**dict(zip(cls.__dataclass_fields__, _STANDALONE.unpack(payload), strict=True)))

    def pack(self) -> bytes:
        """Return the payload of a reply."""
        return _STANDALONE.pack(*(getattr(self, name) for name in self.__dataclass_fields__))


@dataclass(frozen=True)
class TimeRecord:
    """Timer ticks of layer `index` (from 1), or of the transfer or copy of cut `index` (from 0).

    `repeats` counts the frames of a transfer that were sent again; a step that has not run yet has 0 ticks.
    """

    kind: RecordKind
    index: int
    ticks: int
    repeats: int = 0

    def pack(self) -> bytes:
        """Return the eight bytes of this record; ticks beyond 32 bits lose their lowest bits."""
        shift = max(0, self.ticks.bit_length() - 32)
        return _RECORD.pack(shift << 4 | self.kind, self.repeats, self.index, self.ticks >> shift)

    @classmethod
    def unpack_all(cls, payload: bytes) -> list[Self]:
        """Return the records of a reply. Raises ValueError or struct.error when they are malformed."""
        return [
            cls(RecordKind(kind & 0x0F), index, ticks << (kind >> 4), repeats)
            for kind, repeats, index, ticks in _RECORD.iter_unpack(payload)
        ]


@dataclass(frozen=True)
class Sending:
    """When the first byte of a tensor left, in ticks of the board's clock, and the ticks of the copy before it."""

    started: int
    copied: int

    @classmethod
    def unpack_all(cls, payload: bytes) -> list[Self]:
        """Return the sendings of a reply. Raises struct.error when they are malformed."""
        return [cls(*values) for values in _SENDING.iter_unpack(payload)]

    def pack(self) -> bytes:
        """Return its bytes in a reply."""
        return _SENDING.pack(self.started, self.copied)


@dataclass(frozen=True)
class Done:
    """DONE: the output of inference `number` is complete and has this CRC-32."""

    number: int
    crc: int

    def pack(self) -> bytes:
        """Return the payload of DONE."""
        return _DONE.pack(self.number, self.crc)

    @classmethod
    def unpack(cls, payload: bytes) -> Self:
        """Return what the payload of DONE says. Raises struct.error for a wrong length."""
        return cls(*_DONE.unpack(payload))


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

    @override
    def __str__(self) -> str:
        try:
            code = ErrorCode(self.code)
        except ValueError:
            return f"unknown error {self.code} (detail {self.detail})"
        weights, function = weights_reason(self.detail), APPLICATION_FUNCTIONS.get(self.detail, "a function")
        facts = {"cut": self.detail + 1, "detail": self.detail, "weights": weights, "function": function}
        return f"{code.name}: {_MEANINGS[code].format(**facts)}"


def pack_reset(run: int) -> bytes:
    """Return the payload of RESET."""
    return _RESET.pack(run)


def pack_load(number: int, offset: int, data: bytes) -> bytes:
    """Return the payload of LOAD."""
    return _LOAD.pack(number, offset) + data


def pack_start(number: int, crc: int) -> bytes:
    """Return the payload of START."""
    return _START.pack(number, crc)


def pack_repeat(number: int, crc: int, count: int) -> bytes:
    """Return the payload of REPEAT."""
    return _REPEAT.pack(number, crc, count)


def pack_read_output(number: int, offset: int, length: int) -> bytes:
    """Return the payload of READ_OUTPUT."""
    return _READ_OUTPUT.pack(number, offset, length)


def pack_read_times(first_record: int) -> bytes:
    """Return the payload of READ_TIMES."""
    return _READ_TIMES.pack(first_record)


def pack_taken(number: int) -> bytes:
    """Return the payload of TAKEN."""
    return _TAKEN.pack(number)


def unpack_taken(payload: bytes) -> int:
    """Return the number in the payload of TAKEN. Raises struct.error for a wrong length."""
    return int(_TAKEN.unpack(payload)[0])


def pack_read_stamps(what: Stamps, first_byte: int) -> bytes:
    """Return the payload of READ_STAMPS."""
    return _READ_STAMPS.pack(what, first_byte)


def pack_clock(ticks: int) -> bytes:
    """Return the payload of a reply to READ_CLOCK."""
    return _CLOCK.pack(ticks)


def unpack_clock(payload: bytes) -> int:
    """Return the ticks in a reply to READ_CLOCK. Raises struct.error for a wrong length."""
    return int(_CLOCK.unpack(payload)[0])


def pack_ticks(ticks: Sequence[int]) -> bytes:
    """Return the reply to READ_STAMPS for ends and for ticks of links: of each the low half."""
    return b"".join(_TICKS.pack(each % (1 << 32)) for each in ticks)


def unpack_ends(payload: bytes, now: int) -> list[int]:
    """Return the ticks at which steps ended, the last 2^32 of which count up to `now`. Raises struct.error."""
    return [now - (now - low) % (1 << 32) for (low,) in _TICKS.iter_unpack(payload)]


def unpack_ticks(payload: bytes) -> list[int]:
    """Return the ticks that links took of each step. Raises struct.error."""
    return [ticks for (ticks,) in _TICKS.iter_unpack(payload)]
