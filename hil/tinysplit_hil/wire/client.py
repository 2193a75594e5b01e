"""Client of one board: what the host asks of it, as tasks, and what the board has reported in its run."""

import struct
from collections import deque
from collections.abc import Callable
from zlib import crc32

from tinysplit.common.protocol_limits import LOAD_BYTES, READ_BYTES
from tinysplit_hil.wire.frames import Frame
from tinysplit_hil.wire.protocol import (
    HOST_PAYLOAD_BYTES,
    IDENTIFY_NOTE,
    IDENTIFY_STACK,
    IDENTIFY_STAGING,
    IDENTIFY_STANDALONE,
    IDENTIFY_WEIGHTS,
    RECORDS_PER_REPLY,
    BoardError,
    Done,
    ErrorCode,
    Identity,
    MessageType,
    Sending,
    StackUse,
    Stamps,
    StandaloneCounters,
    TimeRecord,
    pack_load,
    pack_read_output,
    pack_read_stamps,
    pack_read_times,
    pack_repeat,
    pack_reset,
    pack_start,
    unpack_clock,
    unpack_ends,
    unpack_taken,
    unpack_ticks,
)
from tinysplit_hil.wire.request_port import REPLY_TIMEOUT_S, ClientError, Port, ReportedError, Request, RequestPort
from tinysplit_hil.wire.tasks import Clock, RealClock, T, Task, run_task
from tinysplit_hil.wire.weights_protocol import WEIGHTS_NO_KEY, Staging, WeightsIdentity, pack_key, pack_weights

CHECK_TIMEOUT_S = 5.0  # CRC-32 of 2 MB of flash; RESET does it, too
ERASE_TIMEOUT_S = 10.0  # of a sector: up to 4 s for 128 KB (DS10086, DS12110, table Flash memory characteristics)
KEY_TIMEOUT_S = 20.0  # 2 MB at 100 KB/s
LOADS_UNDER_WAY = 2
INPUT_ATTEMPTS = 3
OUTPUT_ATTEMPTS = 3
LOST_EVENT_S = 0.5  # without an event the board is asked
MOST_IN_PARTS = 1 << 16  # time records, and bytes of stamps, that a board may have: requests count them in 16 bits
MOST_OUTPUT_BYTES = 1 << 24  # more than the memory of any board


class BoardClient:
    """Host side of docs/understand/protocol.md for one board.

    Its tasks raise ClientError, with the board in its message, when the board reports an error or does not reply.
    """

    def __init__(self, port: Port, title: str, clock: Clock | None = None, number: int = 1) -> None:
        """`title` is the board in messages, such as "board 1 (nucleo_g071rb)"; `clock` that of all ports of its rig."""
        self.title = title
        self.name = f"{title} on {port.name}"
        self.clock = clock or RealClock([port])
        self._port = RequestPort(port, number, self.name, self.clock, self._take_event)
        self._forget_run()

    def _forget_run(self) -> None:
        self._port.failure = None
        self.inputs_taken = 0
        self.outputs_done = 0
        self._output_crcs: dict[int, int] = {}
        self.done_s: dict[int, float] = {}  # by the clock of the rig, when DONE began
        self.started_s: dict[int, float] = {}  # at the last byte of START
        self.taken_s: dict[int, float] = {}  # when TAKEN began
        self._corrupt_input: int | None = None

    @property
    def failure(self) -> BoardError | None:
        """The error event that ended the run, or None."""
        return self._port.failure

    def run(self, task: Task[T]) -> T:
        """Run a task of this board alone and return its result."""
        return run_task(self.clock, self.poll, task)

    def poll(self) -> None:
        """Take what has arrived; never waits."""
        self._port.poll()

    def raise_failure(self) -> None:
        """Raise ReportedError when the board has reported an error that ended its run."""
        self._port.raise_failure()

    def identify(self) -> Task[Identity]:
        """Return the board's identity. Raises ClientError also for an invalid one."""
        payload = yield from self._port.ask(MessageType.IDENTIFY)
        identity = self._unpacked(Identity.unpack, payload, "identity")
        if not (identity.core_hz and identity.timer_hz and identity.output_bytes <= MOST_OUTPUT_BYTES):
            raise self._invalid("identity")
        return identity

    def note(self) -> Task[bytes]:
        """Return the note of the board's program, JSON."""
        return (yield from self._port.ask(MessageType.IDENTIFY, IDENTIFY_NOTE))

    def stack(self) -> Task[StackUse]:
        """Return how much of its stack the board has used since its reset. Raises ClientError if it cannot tell."""
        payload = yield from self._port.ask(MessageType.IDENTIFY, IDENTIFY_STACK)
        try:
            return StackUse.unpack(payload)
        except struct.error:
            raise self._port.error("does not tell its stack: generate, build and flash it again") from None

    def standalone(self) -> Task[StandaloneCounters]:
        """Return what a board without a host has counted. Raises ClientError if its program needs a host."""
        payload = yield from self._port.ask(MessageType.IDENTIFY, IDENTIFY_STANDALONE)
        return self._unpacked(StandaloneCounters.unpack, payload, "IDENTIFY")

    def weights(self) -> Task[WeightsIdentity]:
        """Return the configuration file in the board's flash. Raises ClientError if its program takes none."""
        payload = yield from self._port.ask(MessageType.IDENTIFY, IDENTIFY_WEIGHTS)
        try:
            return WeightsIdentity.unpack(payload)
        except struct.error:
            raise self._port.error("does not tell its weights: generate, build and flash it again") from None

    def staging(self) -> Task[Staging]:
        """Return where the board keeps a new configuration file. Raises ClientError if its program takes none."""
        payload = yield from self._port.ask(MessageType.IDENTIFY, IDENTIFY_STAGING)
        try:
            return Staging.unpack(payload)
        except struct.error:
            raise self._port.error("takes no weights over its host port: flash it (`tinysplit flash`)") from None

    def begin_weights(self, header: bytes, *, may_be_older: bool) -> Task[None]:
        """Announce a configuration file by its header. Raises ReportedError for a file that the board does not take."""
        yield from self._port.ask(MessageType.BEGIN_WEIGHTS, pack_weights(int(may_be_older), header))

    def write_weights(self, offset: int, part: bytes) -> Task[None]:
        """Write the next part of the file; the board erases a sector before, where one begins."""
        yield from self._port.ask(MessageType.WRITE_WEIGHTS, pack_weights(offset, part), ERASE_TIMEOUT_S)

    def commit_weights(self) -> Task[None]:
        """Let the board check the file and, if it is right, take it for good."""
        yield from self._port.ask(MessageType.COMMIT_WEIGHTS, timeout_s=CHECK_TIMEOUT_S)

    def stop(self, timeout_s: float) -> Task[None]:
        """End the run of the board. It replies when the current layer is done, which `timeout_s` has to cover."""
        yield from self._port.ask(MessageType.STOP, timeout_s=timeout_s)

    def reset(self, run: int, timeout_s: float = REPLY_TIMEOUT_S) -> Task[None]:
        """Let the board join the run `run`, and forget what it has reported before; `timeout_s` as for stop()."""
        self._port.failure = None
        yield from self._port.ask(MessageType.RESET, pack_reset(run), timeout_s)
        self._forget_run()

    def reboot(self) -> Task[None]:
        """Let the board reset itself."""
        yield from self._port.ask(MessageType.REBOOT)

    def check_flash(self) -> Task[None]:
        """Raise ReportedError when code or weights in flash have changed since they were built.

        Encrypted weights are as they were written, even while the board has no key.
        """
        try:
            yield from self._port.ask(MessageType.CHECK, timeout_s=CHECK_TIMEOUT_S)
        except ReportedError as error:
            if error.error != BoardError(ErrorCode.WEIGHTS, WEIGHTS_NO_KEY):
                raise

    def give_key(self, key: bytes) -> Task[None]:
        """Let the board decrypt its weights into RAM, where they stay until its next start.

        Raises ReportedError for a wrong key, and for weights that have changed.
        """
        yield from self._port.ask(MessageType.KEY, pack_key(key), KEY_TIMEOUT_S)

    def send_input(
        self, number: int, data: bytes, timeout_s: float, count: int = 1, *, is_loaded: bool = False
    ) -> Task[None]:
        """Load the network's input, in the board's layout, as that of `count` inferences from `number` on; start them.

        It may have been loaded before. Ends when the board has taken it for the last of them, so that the next one can
        be sent. Raises ClientError when it is not taken within `timeout_s`, for each inference, or when it arrives
        damaged again and again.
        """
        for _ in range(INPUT_ATTEMPTS):
            self._corrupt_input = None
            if not is_loaded:
                yield from self.load_input(number, data)
            is_loaded = False
            yield from self._start(number, crc32(data), count)
            if (yield from self._is_taken(number, timeout_s)):
                for further in range(number + 1, number + count):
                    yield from self._is_taken(further, timeout_s)
                return
        raise self._port.error(f"got a damaged input {INPUT_ATTEMPTS} times: check the wiring of its host port")

    def wait_done(self, number: int, timeout_s: float) -> Task[int]:
        """Wait until the output of inference `number` is complete and return its CRC-32."""
        text = f"did not finish inference {number + 1} within {timeout_s:.3g} s: check the wiring of all links"
        yield from self._wait_until(lambda: self.outputs_done > number, timeout_s, text)
        if number not in self._output_crcs:
            raise self._port.error(f"reports the outputs out of order, {number + 1} is missing: flash it again")
        return self._output_crcs[number]

    def read_output(self, number: int, size_bytes: int, crc: int) -> Task[bytes]:
        """Return the output of inference `number`, which has `size_bytes` bytes and this CRC-32, and free its place."""
        for _ in range(OUTPUT_ATTEMPTS):
            output = yield from self._read_output(number, size_bytes)
            if crc32(output) == crc:
                yield from self._free_output(number)
                return output
        raise self._port.error(
            f"sent an output with CRC-32 {crc32(output):08x}, announced was {crc:08x}: check wiring and baud rate"
        )

    def read_times(self) -> Task[tuple[TimeRecord, ...]]:
        """Return the time records of the newest inference in the order of its steps; raise ClientError if invalid."""
        records: list[TimeRecord] = []
        while len(records) < MOST_IN_PARTS:
            payload = yield from self._port.ask(MessageType.READ_TIMES, pack_read_times(len(records)))
            part = self._unpacked(TimeRecord.unpack_all, payload, "time records")
            records += part
            if len(part) < RECORDS_PER_REPLY:
                return tuple(records)
        raise self._invalid("time records")

    def read_clock(self, *, keep: bool) -> Task[tuple[int, float, float]]:
        """Return the board's clock in ticks, and the times of the rig's clock between which it was read.

        With `keep` the board's clock does not stop until its next run, and the board notes when steps end.
        """
        request = bytes([keep])
        after_s = self.clock.now_s() + self._port.line_s(len(request))
        payload = yield from self._port.ask(MessageType.READ_CLOCK, request)
        before_s = self.clock.now_s() - self._port.line_s(len(payload))
        return self._unpacked(unpack_clock, payload, "time"), after_s, before_s

    def read_ends(self, now: int) -> Task[list[int]]:
        """Return when the steps of the newest inference ended, in ticks up to `now`, in the order of the records."""
        payload = yield from self._read_stamps(Stamps.ENDS)
        return self._unpacked(lambda payload: unpack_ends(payload, now), payload, "ends of steps")

    def read_link_ticks(self) -> Task[list[int]]:
        """Return the ticks that interrupts of links took of each step, in the order of the time records."""
        return self._unpacked(unpack_ticks, (yield from self._read_stamps(Stamps.LINK_TICKS)), "ticks of links")

    def read_sendings(self) -> Task[list[Sending]]:
        """Return a Sending for each transfer, received ones included, in the order of the time records."""
        return self._unpacked(Sending.unpack_all, (yield from self._read_stamps(Stamps.SENDINGS)), "sendings")

    def _unpacked(self, unpack: Callable[[bytes], T], payload: bytes, what: str) -> T:
        """Return what a payload says. Raises ClientError for an invalid one."""
        try:
            return unpack(payload)
        except (struct.error, ValueError):
            raise self._invalid(what) from None

    def _invalid(self, what: str) -> ClientError:
        return self._port.error(f"sent invalid {what}: build and flash the board again")

    def _read_stamps(self, what: Stamps) -> Task[bytes]:
        stamps = b""
        while len(stamps) < MOST_IN_PARTS:
            part = yield from self._port.ask(MessageType.READ_STAMPS, pack_read_stamps(what, len(stamps)))
            stamps += part
            if len(part) < HOST_PAYLOAD_BYTES:
                return stamps
        raise self._invalid("times of steps")

    def note_progress(self, identity: Identity) -> None:
        """Make up for events that were lost."""
        self.inputs_taken = max(self.inputs_taken, identity.inputs_taken)
        if identity.outputs_done > self.outputs_done:
            self._note_output(identity.outputs_done - 1, identity.output_crc)

    def load_input(self, number: int, data: bytes) -> Task[None]:
        """Write an input, with several requests under way so that the line never rests."""
        under_way: deque[Request] = deque()
        try:
            for offset in range(0, len(data), LOAD_BYTES):
                if len(under_way) >= LOADS_UNDER_WAY:
                    yield from self._port.reply(under_way.popleft())
                payload = pack_load(number, offset, data[offset : offset + LOAD_BYTES])
                under_way.append(self._port.submit(MessageType.LOAD, payload))
            while under_way:
                yield from self._port.reply(under_way.popleft())
        finally:
            for request in under_way:
                self._port.forget(request)

    def _start(self, number: int, crc: int, count: int) -> Task[None]:
        request, payload = MessageType.START, pack_start(number, crc)
        if count > 1:
            request, payload = MessageType.REPEAT, pack_repeat(number, crc, count)
        self.started_s[number] = self.clock.now_s() + self._port.line_s(len(payload))
        yield from self._port.ask(request, payload)

    def _is_taken(self, number: int, timeout_s: float) -> Task[bool]:
        """Wait until the input is taken; return False when it arrived damaged."""
        text = f"did not take input {number + 1} within {timeout_s:.3g} s: check the wiring of all links"
        yield from self._wait_until(
            lambda: self.inputs_taken > number or self._corrupt_input == number, timeout_s, text
        )
        return self.inputs_taken > number

    def _read_output(self, number: int, size_bytes: int) -> Task[bytes]:
        output = b""
        while len(output) < size_bytes:
            length = min(READ_BYTES, size_bytes - len(output))
            part = yield from self._port.ask(MessageType.READ_OUTPUT, pack_read_output(number, len(output), length))
            if len(part) != length:
                raise self._port.error(f"sent {len(part)} bytes of output, requested were {length}: flash it again")
            output += part
        return output

    def _free_output(self, number: int) -> Task[None]:
        """Ask for nothing of the next output: BUSY says that it is not complete."""
        try:
            yield from self._port.ask(MessageType.READ_OUTPUT, pack_read_output(number + 1, 0, 0))
        except ReportedError as error:
            if error.error.code != ErrorCode.BUSY:
                raise

    def _wait_until(self, is_met: Callable[[], bool], timeout_s: float, text: str) -> Task[None]:
        """Wait for an event, and ask for it from time to time, as it may be lost."""
        end_s = self.clock.now_s() + timeout_s
        ask_s = self.clock.now_s() + LOST_EVENT_S
        while not is_met():
            self.raise_failure()
            now_s = self.clock.now_s()
            if now_s >= end_s:
                raise self._port.error(text)
            if now_s >= ask_s:
                self.note_progress((yield from self.identify()))
                ask_s = self.clock.now_s() + LOST_EVENT_S
            else:
                yield

    def _note_output(self, number: int, crc: int) -> None:
        self.outputs_done = max(self.outputs_done, number + 1)
        self._output_crcs[number] = crc

    def _take_event(self, frame: Frame, now_s: float) -> None:
        if frame.type == MessageType.DONE:
            done = Done.unpack(frame.payload)
            self._note_output(done.number, done.crc)
            self.done_s[done.number] = now_s - self._port.line_s(len(frame.payload))
        elif frame.type == MessageType.TAKEN:
            number = unpack_taken(frame.payload)
            self.inputs_taken = max(self.inputs_taken, number + 1)
            self.taken_s[number] = now_s - self._port.line_s(len(frame.payload))
        elif frame.type == MessageType.ERROR:
            self._corrupt_input = BoardError.unpack(frame.payload).detail
