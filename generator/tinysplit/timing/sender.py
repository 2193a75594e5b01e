"""The sending end of a channel (firmware/common/link_out.c)."""

from collections.abc import Callable
from enum import Enum, auto

from simpy import Environment
from typing_extensions import override

from tinysplit.common.errors import CheckFailedError
from tinysplit.common.protocol_limits import (
    LINK_BLOCK_BYTES,
    LINK_OVERHEAD_BYTES,
    LINK_REPLY_BYTES,
    TENSOR_CRC_BYTES,
    line_bytes_of,
)
from tinysplit.timing.channel_end import ChannelEnd
from tinysplit.timing.frames import frame_limit
from tinysplit.timing.gate import Gate, Process
from tinysplit.timing.handoff import TICK_S
from tinysplit.timing.line import Line, Note, Say, SimulatedFrame
from tinysplit.timing.program import Stream
from tinysplit.timing.receiver import Data, Receiver
from tinysplit.timing.topology import Cut

QUERY_MS, RETRY_MS, MOST_RETRY_MS = 6, 20, 100  # firmware/common/link_parts.h
MOST_QUESTIONS = 11  # without an answer, until the firmware reports LINK_NO_ANSWER
BUDGET_FACTOR, BUDGET_BLOCKS = 16, 64  # of blocks that are sent again, until it reports LINK_CORRUPT
CONFIRM_BYTES = 7

OnSent = Callable[[float, float, int], None]


class _State(Enum):
    IDLE = auto()
    QUEUED = auto()
    MOVING = auto()
    DONE = auto()


class Sender(ChannelEnd):
    """Sends tensor after tensor as they are granted; `free` is open while none is under way.

    `on_sent` takes when the first bit of a tensor left, when the receiver saw its end, and its number. Where nothing
    is lost it asks nothing. The blocks of a tensor that is streamed leave as they become ready.
    """

    def __init__(
        self,
        env: Environment,
        line: Line,
        cut: Cut,
        order: int,
        wire_s: float,
        receiver: Receiver,
        stream: Stream | None = None,
    ) -> None:
        super().__init__(env, line, cut, order)
        self.free = Gate(env, is_open=True)
        self.on_sent: OnSent = lambda *_: None
        self.asks = line.losses.are_possible  # for what may have been lost
        self.repeated_frames = 0
        self.left_s = self.sent_s = 0.0  # when the last tensor had left, and when it was acknowledged
        self._receiver, self._stream = receiver, stream
        self._ready: list[tuple[int, float]] = []  # bytes from the first one on that may leave, and since when
        self._byte_s = wire_s / max(LINK_OVERHEAD_BYTES, line_bytes_of(cut.payload_bytes))
        self._state, self._number, self._granted = _State.IDLE, -1, -1
        self._position = 0  # blocks that have left
        self._again: set[int] = set()  # blocks to send again
        self._budget = self._attempts = self._timer = 0
        self._ready_s = self._started_s = 0.0

    def grant_first(self) -> None:
        """Take the buffer of the receiver as granted for the first tensor."""
        self._granted = 0

    def send(self, number: int) -> None:
        """Let a whole tensor leave as soon as it is granted."""
        self.begin(number)
        self.note_ready(self.cut.payload_bytes)

    def note_ready(self, n_bytes: int) -> None:
        """Let the first `n_bytes` of the tensor leave."""
        self._ready.append((n_bytes, self.env.now))
        self.line.wake()

    def begin(self, number: int) -> None:
        """Let a tensor leave once it is granted, as far as it is ready."""
        self.free.close()
        self._ready = []
        self._number, self._attempts = number, 0
        self._state = _State.QUEUED
        if self._granted == number:
            self._start()
        else:
            self._ask_after(self.line.ms_of(LINK_REPLY_BYTES))

    def _start(self) -> None:
        self._position, self._again = 0, set()
        self._budget = BUDGET_FACTOR * self.n_blocks + BUDGET_BLOCKS
        self._attempts = 0
        self._ready_s = self.env.now
        self._state = _State.MOVING
        self._stop_asking()
        self.line.wake()

    @override
    def waits_before(self, number: int, order: int) -> bool:
        """Return whether a tensor waits here that comes before that one in the program."""
        waits = self._state is _State.QUEUED or (self._state is _State.MOVING and self._position == 0)
        return waits and (self._number, self.order) < (number, order)

    def _has_data(self) -> bool:
        """Return whether a frame may leave now."""
        return self._state is _State.MOVING and bool(self._again or self._position < self._ready_blocks(self.env.now))

    def _ready_blocks(self, at_s: float) -> int:
        """Return how many blocks from the first one on could leave then: whole ones, until the tensor is complete."""
        return max((self._blocks_of(n_bytes) for n_bytes, since_s in self._ready if since_s <= at_s), default=0)

    def _blocks_of(self, n_bytes: int) -> int:
        return self.n_blocks if n_bytes >= self.cut.payload_bytes else n_bytes // LINK_BLOCK_BYTES

    def _next_blocks(self, most: int) -> range:
        """Return the blocks of the next frame; of a stream, those that the driver chose ahead of the line."""
        if self._stream is None:
            return range(self._position, min(self._position + most, self.n_blocks))
        chosen_s = self.env.now
        if self.line.data_left_s == chosen_s:
            ahead_s = chosen_s - self._stream.chunk_bytes * self._byte_s
            chosen_s = max(
                ahead_s, next(at for n_bytes, at in self._ready if self._blocks_of(n_bytes) > self._position)
            )
        left_bytes = self.cut.payload_bytes - self._position * LINK_BLOCK_BYTES
        limit = -(-frame_limit(left_bytes, self._stream.frame_share) // LINK_BLOCK_BYTES)
        return range(self._position, min(self._position + min(most, limit), self._ready_blocks(chosen_s)))

    @override
    def next_data(self) -> SimulatedFrame | None:
        """Take the next frame of the tensor: blocks to send again come first."""
        if not self._has_data():
            return None
        self.line.count_waiting(self._ready_s, self._number, self.order)
        if self._position == 0:
            self._started_s = self.env.now
        most = self.line.next_blocks()
        is_first = not self._again
        if is_first:
            blocks = self._next_blocks(most)
            self._position = blocks.stop
        else:
            blocks = self._take_again(most)
        n_bytes = min(blocks.stop * LINK_BLOCK_BYTES, self.cut.payload_bytes) - blocks.start * LINK_BLOCK_BYTES
        is_part = n_bytes < self.cut.payload_bytes
        is_end = is_part and self._position == self.n_blocks and not self._again
        data = Data(self._number, blocks, is_end or not is_part)
        line_bytes = n_bytes + LINK_OVERHEAD_BYTES + TENSOR_CRC_BYTES * is_end
        return SimulatedFrame(
            line_bytes, line_bytes * self._byte_s, lambda heard: self._arrive(data, heard, line_bytes)
        )

    def _take_again(self, most: int) -> range:
        first = behind = min(self._again)
        while behind in self._again and behind - first < most:
            self._again.remove(behind)
            behind += 1
        self._budget -= behind - first
        self.repeated_frames += 1
        if self._budget < 0:
            raise CheckFailedError("too many bytes are lost: a link fails with LINK_CORRUPT, as it repeats too much")
        return range(first, behind)

    def _arrive(self, data: Data, heard: int, line_bytes: int) -> None:
        self.left_s = self.env.now
        self._receiver.hear_data(data, heard, line_bytes, is_followed=self._has_data())
        self._await_answer()

    def _await_answer(self) -> None:
        self._stop_asking()
        if self._state is _State.MOVING and not self._has_data() and self._position == self.n_blocks:
            self._ask_after(QUERY_MS)

    def _done(self) -> None:
        self._state = _State.DONE
        self._stop_asking()
        self.say_nothing()
        self.sent_s = self.env.now
        self.on_sent(self._started_s, self._receiver.seen_s, self._number)
        self.free.open()

    def hear_note(self, note: Note) -> None:
        """Hear an answer of the receiver."""
        if note.say is Say.GRANT:
            self._hear_grant(note.number)
        elif note.number == self._number and self._state in {_State.QUEUED, _State.MOVING}:
            self._attempts = 0
            if note.say is Say.WAIT:
                self._ask_after(MOST_RETRY_MS)
            elif self._state is _State.MOVING:
                self._hear_answer(note)

    def _hear_grant(self, number: int) -> None:
        if self._state is _State.QUEUED:
            if number == self._number:
                self._start()
        elif self._state is _State.IDLE or number == self._number + 1:
            self._granted = number
            if self._state is _State.MOVING:
                self._done()

    def _hear_answer(self, note: Note) -> None:
        if note.say is Say.ACK:
            self._done()
            return
        if note.say is Say.MISSING:
            self.line.shorten_frames()
        self._again |= {block for block in note.blocks if block < self._position}
        if note.say is Say.DAMAGED:
            self.say(Say.CONFIRM)
            if not self._has_data():
                self._again.add(self._position - 1)  # the end is said again
        self._await_answer()
        self.line.wake()

    @override
    def _note(self, what: Say) -> Note:
        return Note(what, self._number, payload_bytes=CONFIRM_BYTES if what is Say.CONFIRM else 0)

    @override
    def _left(self, what: Say) -> None:
        if what in {Say.OFFER, Say.QUERY} and self._state in {_State.QUEUED, _State.MOVING}:
            self._ask_after(min((self._attempts + 1) * RETRY_MS, MOST_RETRY_MS))

    def _stop_asking(self) -> None:
        self._timer += 1

    def _ask_after(self, ms: int) -> None:
        self._stop_asking()
        if self.asks:
            self.env.process(self._ask(self._timer, (ms + self.line.ms_of(4) + 1) / 1000))

    def _ask(self, timer: int, seconds: float) -> Process:
        yield self.env.timeout(seconds)
        while self._receiver.line.is_sending:  # it can answer at the end of its frame only
            yield self.env.timeout(TICK_S)
        if timer == self._timer:
            self._attempts += 1
            if self._attempts > MOST_QUESTIONS and self.line.losses.are_possible:
                raise CheckFailedError("too many bytes are lost: a link fails with LINK_NO_ANSWER")
            self.say(Say.OFFER if self._state is _State.QUEUED else Say.QUERY)
