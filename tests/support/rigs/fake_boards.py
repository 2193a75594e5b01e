"""Fake boards with the host protocol of docs/understand/protocol.md, on ports in virtual time."""

import heapq
import struct
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count
from zlib import crc32

from tinysplit_hil.rig.account import Account
from tinysplit_hil.wire.frames import Frame, FrameDecoder
from tinysplit_hil.wire.protocol import (
    HOST_PAYLOAD_BYTES,
    RECORDS_PER_REPLY,
    REPLY_BIT,
    BoardError,
    BoardState,
    Done,
    ErrorCode,
    Identity,
    MessageType,
    Sending,
    Stamps,
    TimeRecord,
    pack_clock,
    pack_taken,
    pack_ticks,
)

CORE_HZ = 64_000_000
BAUD = 921_600
ALL = 1_000_000
LONGEST_S = 600.0  # a client that still waits then would never return


class FakeTime:
    """Virtual time with events; the clock of all ports of a rig."""

    def __init__(self) -> None:
        self.s = 0.0
        self.began_s = 0.0  # when the newest input was complete
        self.ports: list[FakePort] = []
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()

    def at(self, time_s: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._events, (time_s, next(self._order), action))

    def after(self, seconds: float, action: Callable[[], None]) -> None:
        self.at(self.s + seconds, action)

    def now_s(self) -> float:
        return self.s

    def wait(self, timeout_s: float) -> None:
        assert timeout_s > 0
        end_s = self.s + timeout_s
        while not any(port.in_waiting for port in self.ports) and self._events and self._events[0][0] <= end_s:
            self.s, _, action = heapq.heappop(self._events)
            action()
        if not any(port.in_waiting for port in self.ports):
            self.s = end_s
        assert self.s < LONGEST_S, "the client goes on waiting"


@dataclass(eq=False)
class FakeBoard:
    """One board, which computes `compute` in `duration_s` and passes the result to `following`, if there is one.

    It has one place for an input beside the one that it computes, and one for an output.
    """

    time: FakeTime
    identity: Identity
    compute: Callable[[bytes], bytes] = bytes
    duration_s: float = 0.01
    following: "FakeBoard | None" = None
    takes_input: bool = True
    on_request: Callable[[Frame], None] = lambda _: None
    records: list[TimeRecord] = field(default_factory=list)
    ends_s: tuple[float, ...] = ()  # of the steps, and when tensors began to leave, from the begin of an inference
    started_s: tuple[float, ...] = ()
    link_ticks: tuple[int, ...] = ()  # of the steps, all 0 by default
    copied: int = 0  # ticks
    clock_rate: float = 1.0
    clock_offset_s: float = 0.0
    keeps_clock: bool = False
    frames_to_lose: int = 0  # of the next frames that it sends
    wrong_reply: bytes | None = None  # payload of every reply
    facts: dict[bytes, bytes] = field(default_factory=dict)  # what IDENTIFY tells beside the identity, by its payload
    lost_events: set[int] = field(default_factory=set)  # types that never arrive
    damaged_inputs: int = 0  # that arrive damaged
    failures: dict[int, BoardError] = field(default_factory=dict)  # by count of the inferences since power-up
    requests: list[Frame] = field(default_factory=list)
    port: "FakePort | None" = None
    place: tuple[int, bytes] | None = None  # for the next input
    item: tuple[int, bytes] | None = None  # what it computes
    repeats: int = 0  # further inferences of the same input
    is_finished: bool = False
    outputs: dict[int, bytes] = field(default_factory=dict)
    input: bytearray = field(default_factory=bytearray)
    n_inferences: int = 0
    finished_s: float = 0.0  # seconds of computing of finished inferences
    computes_since_s: float = 0.0
    decoder: FrameDecoder = field(default_factory=FrameDecoder)

    # The host port

    def receive(self, data: bytes) -> None:
        for frame in self.decoder.feed(data):
            self.requests.append(frame)
            self.on_request(frame)
            self.reply(frame)

    def reply(self, frame: Frame) -> None:
        kind = MessageType(frame.type)
        answer = getattr(self, f"on_{kind.name.lower()}")(frame.payload)
        if isinstance(answer, BoardError):
            self.send(Frame(MessageType.ERROR, frame.sequence, answer.pack()))
        else:
            payload = answer if self.wrong_reply is None else self.wrong_reply
            self.send(Frame(kind | REPLY_BIT, frame.sequence, payload))

    def on_identify(self, payload: bytes) -> bytes:
        return self.facts.get(payload, self.identity.pack())

    def on_reset(self, payload: bytes) -> bytes:
        (run,) = struct.unpack("<I", payload)
        if run != self.identity.run:
            self.forget()
            self.change(run=run, state=BoardState.READY, error=0, inputs_taken=0, outputs_done=0)
        return b""

    def on_stop(self, _: bytes) -> bytes:
        self.forget()
        self.change(state=BoardState.STOPPED)
        return b""

    def on_check(self, _: bytes) -> bytes:
        return b""

    def on_begin_weights(self, _: bytes) -> bytes:
        return b""

    def on_write_weights(self, _: bytes) -> bytes:
        return b""

    def on_commit_weights(self, _: bytes) -> bytes:
        return b""

    def on_reboot(self, _: bytes) -> bytes:
        self.restart(cause=4)
        return b""

    def on_load(self, payload: bytes) -> bytes | BoardError:
        number, offset = struct.unpack_from("<II", payload)
        if (error := self.refusal(number)) is not None:
            return error
        data = payload[8:]
        if offset + len(data) > self.identity.input_bytes:
            return BoardError(ErrorCode.BAD_RANGE, MessageType.LOAD)
        self.input[offset : offset + len(data)] = data
        return b""

    def on_start(self, payload: bytes) -> bytes | BoardError:
        number, crc = struct.unpack("<II", payload)
        if self.place and self.place[0] == number:
            return b""
        return self.begin(number, crc, 1)

    def on_repeat(self, payload: bytes) -> bytes | BoardError:
        return self.begin(*struct.unpack("<III", payload))

    def begin(self, number: int, crc: int, count: int) -> bytes | BoardError:
        if (error := self.refusal(number)) is not None:
            return error
        if self.damaged_inputs or crc32(self.input) != crc:
            self.damaged_inputs -= 1
            self.event(MessageType.ERROR, BoardError(ErrorCode.INPUT_CORRUPT, number).pack())
            return b""
        self.place, self.repeats = (number, bytes(self.input)), count - 1
        self.time.began_s = self.time.s
        self.time.after(0, self.step)
        return b""

    def refusal(self, number: int) -> BoardError | None:
        if not self.takes_input:
            return BoardError(ErrorCode.NOT_FIRST, 0)
        if self.identity.state == BoardState.STOPPED:
            return BoardError(ErrorCode.STOPPED, 0)
        if number != self.identity.inputs_taken + (self.place is not None):
            return BoardError(ErrorCode.WRONG_NUMBER, self.identity.inputs_taken)
        return BoardError(ErrorCode.BUSY, 0) if self.place else None

    def on_read_output(self, payload: bytes) -> bytes | BoardError:
        number, offset, length = struct.unpack("<IIH", payload)
        for older in [each for each in self.outputs if each < number]:
            del self.outputs[older]
            self.time.after(0, self.step)
        if length == 0:
            return b""
        if number not in self.outputs:
            return BoardError(ErrorCode.BUSY, MessageType.READ_OUTPUT)
        return self.outputs[number][offset : offset + length]

    def on_read_times(self, payload: bytes) -> bytes:
        (first,) = struct.unpack("<H", payload)
        return b"".join(record.pack() for record in self.records[first : first + RECORDS_PER_REPLY])

    def on_read_clock(self, payload: bytes) -> bytes:
        self.keeps_clock = payload == b"\1"
        return pack_clock(self.ticks(self.time.s))

    def on_read_stamps(self, payload: bytes) -> bytes:
        what, first = struct.unpack("<BH", payload)
        begin_s = self.time.began_s
        if what == Stamps.ENDS:
            stamps = pack_ticks([self.ticks(begin_s + seconds) for seconds in self.ends_s])
        elif what == Stamps.LINK_TICKS:
            stamps = pack_ticks(self.link_ticks or [0] * len(self.ends_s))
        else:
            stamps = b"".join(Sending(self.ticks(begin_s + s), self.copied).pack() for s in self.started_s)
        return stamps[first : first + HOST_PAYLOAD_BYTES]

    def ticks(self, time_s: float) -> int:
        return round((time_s * self.clock_rate + self.clock_offset_s) * self.identity.timer_hz)

    def event(self, kind: MessageType, payload: bytes) -> None:
        if kind not in self.lost_events:
            self.send(Frame(kind, 0, payload))

    def send(self, frame: Frame) -> None:
        if self.frames_to_lose:
            self.frames_to_lose -= 1
        elif self.port:
            self.port.carry(frame.encode())

    # The network

    def step(self) -> None:
        """Pass on what is finished, and take the next input."""
        if self.item and self.is_finished and self.has_passed_on(*self.item):
            self.item = None
        if self.item is None and self.place is not None:
            self.item, self.place, self.is_finished = self.place, None, False
            if self.repeats:
                self.repeats -= 1
                self.place = self.item[0] + 1, self.item[1]
            self.computes_since_s = self.time.s
            self.change(inputs_taken=self.item[0] + 1, state=BoardState.RUNNING)
            if self.takes_input:
                self.event(MessageType.TAKEN, pack_taken(self.item[0]))
            self.time.after(self.duration_s, lambda item=self.item: self.finish(item))  # type: ignore[misc]

    def finish(self, item: tuple[int, bytes]) -> None:
        if self.item is not item:
            return  # of an earlier run
        self.n_inferences += 1
        self.finished_s += self.time.s - self.computes_since_s
        if (error := self.failures.get(self.n_inferences)) is not None:
            self.fail(error)
            return
        self.is_finished = True
        self.step()

    def account(self) -> Account:
        """Return what a virtual board would: it sleeps while it does not compute."""
        under_way_s = self.time.s - self.computes_since_s if self.item and not self.is_finished else 0.0
        ran_s = self.finished_s + under_way_s
        return Account(round(self.time.s * CORE_HZ), round((self.time.s - ran_s) * CORE_HZ))

    def has_passed_on(self, number: int, data: bytes) -> bool:
        if self.following:
            if self.following.place is not None:
                self.time.after(0.0001, self.step)
                return False
            self.following.place = number, self.compute(data)
            self.following.step()
            return True
        if self.outputs:
            return False
        self.outputs[number] = self.compute(data)
        crc = crc32(self.outputs[number])
        self.change(outputs_done=number + 1, output_crc=crc)
        self.event(MessageType.DONE, Done(number, crc).pack())
        return True

    # What may happen

    def fail(self, error: BoardError) -> None:
        self.forget()
        self.change(state=BoardState.STOPPED, error=error.code, error_detail=error.detail)
        self.event(MessageType.ERROR, error.pack())

    def restart(self, cause: int) -> None:
        self.forget()
        boots = self.identity.boot_count + 1
        self.change(state=BoardState.STOPPED, run=0, error=0, boot_count=boots, reset_cause=cause)

    def forget(self) -> None:
        self.place = self.item = None
        self.repeats = 0
        self.is_finished = False
        self.outputs.clear()

    def change(self, **values: int) -> None:
        self.identity = replace(self.identity, **values)  # type: ignore[arg-type]


class FakePort:
    """A serial port: each byte takes its time on the line."""

    def __init__(self, board: FakeBoard, name: str = "fake://board") -> None:
        self.name: str | None = name
        self.baudrate = BAUD
        self.timeout: float | None = None
        self.is_open = True
        self._board = board
        self._time = board.time
        self._arrived = bytearray()
        self._free_s = [0.0, 0.0]  # the line to the board, and that to the host
        board.port = self
        self._time.ports.append(self)

    def _when_over(self, line: int, size: int) -> float:
        self._free_s[line] = max(self._time.s, self._free_s[line]) + size * 10 / self.baudrate
        return self._free_s[line]

    def write(self, data: bytes, /) -> int:
        self._time.at(self._when_over(0, len(data)), lambda: self._board.receive(data))
        return len(data)

    def carry(self, data: bytes) -> None:
        """Bring bytes to the host."""
        self._time.at(self._when_over(1, len(data)), lambda: self._arrived.extend(data))

    def arrive(self, data: bytes) -> None:
        """Let bytes be there at once."""
        self._arrived += data

    @property
    def in_waiting(self) -> int:
        return len(self._arrived)

    def read(self, size: int = 1, /) -> bytes:
        assert self.timeout == 0
        data = bytes(self._arrived[:size])
        del self._arrived[:size]
        return data

    def close(self) -> None:
        self.is_open = False


def make_identity(
    board_index: int = 0, input_bytes: int = 784, output_bytes: int = 10, project_hash: int = 0x12345678
) -> Identity:
    return Identity(
        board_index=board_index,
        project_hash=project_hash,
        core_hz=CORE_HZ,
        timer_hz=CORE_HZ,
        input_bytes=input_bytes,
        output_bytes=output_bytes,
        reset_cause=1,
        boot_count=1,
    )
