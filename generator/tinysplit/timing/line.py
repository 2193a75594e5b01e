"""One direction of a link: frames one after the other, those without data first (firmware/common/link_speak.c)."""

from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple, Protocol

from simpy import Environment, Resource

from tinysplit.common.protocol_limits import LINK_BLOCK_BYTES, LINK_OVERHEAD_BYTES, LINK_PAYLOAD_BYTES, LINK_REPLY_BYTES
from tinysplit.timing.gate import Gate, Process, settled
from tinysplit.timing.loss import Losses

MOST_BLOCKS = LINK_PAYLOAD_BYTES // LINK_BLOCK_BYTES  # of a frame
FEWEST_BLOCKS = 2  # of a frame after losses
GOOD_FRAMES = 16  # before frames grow again


class Say(IntEnum):
    """Frames without data, in the order in which they leave (docs/understand/protocol.md)."""

    GRANT = 1
    OFFER = 2
    WAIT = 3
    ACK = 4
    MISSING = 5
    DAMAGED = 6
    CONFIRM = 7
    QUERY = 8


class SimulatedFrame(NamedTuple):
    """`arrive` takes the number of bytes that are heard before the first lost one; all of them if none is."""

    n_bytes: int
    seconds: float
    arrive: Callable[[int], None]


class Note(NamedTuple):
    """A frame without data for the other end of a channel: what it says of tensor `number` and of its `blocks`."""

    say: Say
    number: int
    blocks: frozenset[int] = frozenset()
    payload_bytes: int = 0


class Speaker(Protocol):
    """An end of a channel, whose frames go over a line."""

    order: int  # of its channel, in the program

    def next_note(self) -> SimulatedFrame | None:
        """Take the next frame without data."""

    def next_data(self) -> SimulatedFrame | None:
        """Take the next frame of a tensor."""

    def waits_before(self, number: int, order: int) -> bool:
        """Return whether a tensor waits here that comes before that one in the program."""


class Line:
    """Frames from one board to another; on a half-duplex link both directions share `wire`.

    `contended_s` is the time that frames waited for others of another direction or kind, which the event graph leaves
    out; `overtakings` counts tensors that left before an earlier one, which had no grant.
    """

    def __init__(self, env: Environment, reply_s: float, losses: Losses, wire: Resource | None) -> None:
        self.env, self.losses = env, losses
        self.speakers: list[Speaker] = []
        self.is_sending = False
        self.contended_s = 0.0
        self.overtakings = 0
        self._frame_blocks, self._good_frames = MOST_BLOCKS, 1
        self._note_byte_s = reply_s / LINK_REPLY_BYTES
        self._wire = wire
        self.data_left_s = 0.0  # when the last frame of data had left
        self._left_s = 0.0  # and when the present frame of any kind has
        self._wish = Gate(env)
        self._turn = 0

    def begin(self) -> None:
        """Start once all speakers are known."""
        self.speakers.sort(key=lambda speaker: speaker.order)
        self.env.process(self._run())

    def wake(self) -> None:
        """Say that something may leave."""
        self._wish.open()

    def frame_of(self, note: Note, said_s: float, arrive: Callable[[bool], None]) -> SimulatedFrame:
        """Return the frame of a note that was said then; `arrive` takes whether it arrives whole."""
        self.contended_s += self.env.now - said_s
        n_bytes = LINK_OVERHEAD_BYTES + note.payload_bytes if note.payload_bytes else LINK_REPLY_BYTES
        return SimulatedFrame(n_bytes, n_bytes * self._note_byte_s, lambda heard: arrive(heard == n_bytes))

    def next_blocks(self) -> int:
        """Return the most blocks of the frame of data that begins."""
        blocks = self._frame_blocks
        self._good_frames += 1
        if self._good_frames >= GOOD_FRAMES:
            self._frame_blocks, self._good_frames = min(2 * blocks, MOST_BLOCKS), 1
        return blocks

    def shorten_frames(self) -> None:
        """Halve the frames after a loss; several reports of one loss count once."""
        if self._good_frames:
            self._good_frames = 0
            self._frame_blocks = max(FEWEST_BLOCKS, self._frame_blocks // 2)

    def count_waiting(self, ready_s: float, number: int, order: int) -> None:
        """Note what a frame of data that begins now has waited for."""
        self.contended_s += self.env.now - max(ready_s, self.data_left_s)
        self.overtakings += any(speaker.waits_before(number, order) for speaker in self.speakers)

    def ms_of(self, n_bytes: int) -> int:
        """Return the time of so many bytes in ms, rounded up as link_ms_of does."""
        return int(-(-n_bytes * self._note_byte_s * 1000 // 1))

    def pause(self, most_bytes: int) -> Process:
        """Wait until a frame has no other one directly behind it, at most for the time of `most_bytes`."""
        end_s = self.env.now + most_bytes * self._note_byte_s
        yield settled(self.env)
        while self.is_sending and self.env.now < end_s:
            yield self.env.timeout(min(self._left_s, end_s) - self.env.now)
            yield settled(self.env)

    def _run(self) -> Process:
        while True:
            yield settled(self.env)
            if self._wire:
                yield from self._on_shared_wire(self._wire)
            elif frame := self._next():
                yield from self._carry(frame)
                continue
            self._wish.close()
            yield self._wish.opened

    def _on_shared_wire(self, wire: Resource) -> Process:
        frame = self._next()
        while frame:
            asked_s = self.env.now
            with wire.request() as turn:
                yield turn
                self.contended_s += self.env.now - asked_s
                yield from self._carry(frame)
            yield settled(self.env)
            frame = self._next()

    def _carry(self, frame: SimulatedFrame) -> Process:
        self.is_sending, self._left_s = True, self.env.now + frame.seconds
        yield self.env.timeout(frame.seconds)
        self.is_sending = False
        frame.arrive(self.losses.heard(frame.n_bytes))

    def _next(self) -> SimulatedFrame | None:
        for speaker in self.speakers:
            if note := speaker.next_note():
                return note
        for place in range(len(self.speakers)):
            index = (self._turn + place) % len(self.speakers)
            if data := self.speakers[index].next_data():
                self._turn = index
                self.data_left_s = self.env.now + data.seconds
                return data
        return None
