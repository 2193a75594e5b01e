"""The receiving end of a channel (firmware/common/link_in.c)."""

from collections.abc import Callable
from math import inf
from typing import NamedTuple

from simpy import Environment
from typing_extensions import override

from tinysplit.common.protocol_limits import LINK_BLOCK_BYTES, LINK_REPLY_BYTES
from tinysplit.timing.channel_end import ChannelEnd
from tinysplit.timing.gate import Gate, Process
from tinysplit.timing.line import Line, Note, Say
from tinysplit.timing.topology import Cut

SILENCE_MS = 2  # that ends a frame, and two bytes' time
TICK_MS = 0.5  # on average until the silence is noticed
MOST_UNITS = 16  # in which DAMAGED divides a frame


OnFull = Callable[[], None]


class Data(NamedTuple):
    """A frame of tensor `number`; the tensor's CRC comes with the end."""

    number: int
    blocks: range
    is_end: bool


class Receiver(ChannelEnd):
    """Grants tensor after tensor, each once; `full` is open when the board knows that the granted one has arrived.

    That, and the use of the bytes of a frame, come `latency_s` after the last bit; the acknowledgement of a board that
    `is_computing` leaves when it looks at its line, on average `look_bytes` later if frames follow.
    """

    def __init__(
        self, env: Environment, line: Line, cut: Cut, order: int, data_line: Line, latency_s: float = 0.0
    ) -> None:
        super().__init__(env, line, cut, order)
        self.full = Gate(env)
        self.n_frames = 0  # of the granted tensor, so far
        self._latency_s = latency_s
        self._is_whole = False  # has arrived, whether the board knows or not
        self._usable: list[tuple[int, float]] = []  # bytes from the first one on, and when they may be used
        self._heard = Gate(env)
        self.is_computing: Callable[[], bool] = lambda: False
        self.look_bytes, self.look_s = 0, 0.0
        self.seen_s = 0.0  # when the board saw the end of the last tensor
        self.on_full: OnFull = lambda: None
        self._data_line = data_line
        self._number = -1
        self._missing: set[int] = set()
        self._next = 0  # block behind those that have been heard of
        self._hole: set[int] = set()  # to be named by MISSING
        self._has_end = self._awaits_confirm = False
        self._damaged: Data | None = None
        self._bad: frozenset[int] = frozenset()  # blocks of it
        self._unconfirmed: set[int] = set()  # blocks of damaged frames that seem right

    def accept_first(self) -> None:
        """Grant the first tensor as the run begins: its sender knows."""
        self.accept(0)
        self.say_nothing()

    def accept(self, number: int) -> None:
        """Let a tensor come; the grant acknowledges the one before."""
        self.full.close()
        self._see_end()
        self._is_whole, self.n_frames, self._usable = False, 0, []
        self._number, self._missing, self._next = number, set(range(self.n_blocks)), 0
        self._has_end = self._awaits_confirm = False
        self._damaged, self._hole, self._unconfirmed = None, set(), set()
        self.say_nothing()
        self.say(Say.GRANT)

    def _awaits(self, number: int) -> bool:
        return number == self._number and not self._is_whole

    def _acknowledge(self) -> None:
        self.say(Say.ACK if self._is_whole else Say.GRANT)

    def await_bytes(self, n_bytes: int) -> Process:
        """Wait until the first `n_bytes` of the granted tensor may be used."""
        while True:
            usable_s = next((at_s for there, at_s in self._usable if there >= n_bytes), None)
            if usable_s is None:
                self._heard.close()
                yield self._heard.opened
                continue
            if usable_s > self.env.now:
                yield self.env.timeout(usable_s - self.env.now)
            return

    @property
    def usable_bytes(self) -> int:
        """How many bytes from the first one on may be used."""
        return max((there for there, at_s in self._usable if at_s <= self.env.now), default=0)

    def is_usable(self, n_bytes: int) -> bool:
        """Return whether the first `n_bytes` of the granted tensor may be used."""
        return self.usable_bytes >= n_bytes

    @property
    def left_s(self) -> float:
        """Seconds, from now, in which the link still brings the granted tensor; infinite where that is not known."""
        return max(0.0, self._usable[-1][1] - self.env.now) if self._is_whole else inf

    def _note_usable(self) -> None:
        blocks = min(self._missing, default=self.n_blocks)
        there = min(blocks * LINK_BLOCK_BYTES, self.cut.payload_bytes)
        self._usable.append((there, self.env.now + self._latency_s))
        self._heard.open()

    def hear_data(self, data: Data, heard: int, line_bytes: int, *, is_followed: bool) -> None:
        """Hear the first `heard` bytes of a frame; more frames of the tensor follow at once, or a silence."""
        if heard < LINK_REPLY_BYTES:
            return
        if not self._awaits(data.number):
            if data.number <= self._number:
                self._acknowledge()
            return
        self._expect(data.blocks)
        if heard < line_bytes:
            self._hear_damaged(data, heard, is_followed=is_followed)
            return
        self._missing.difference_update(data.blocks)
        self._has_end = self._has_end or data.is_end
        self.n_frames += 1
        self._note_usable()
        if not self._complete() and data.is_end and not self._awaits_confirm:
            self._report()

    def _expect(self, blocks: range) -> None:
        if blocks.start > self._next:
            self._hole.update(range(self._next, blocks.start))
            self.say(Say.MISSING)
        self._next = max(self._next, blocks.stop)

    def _hear_damaged(self, data: Data, heard: int, *, is_followed: bool) -> None:
        """All that follows a lost byte is wrong; a unit is a block, or two in a long frame."""
        if self._damaged:
            if data.is_end:
                self._report()
            return
        unit = 1 if len(data.blocks) <= MOST_UNITS else 2
        first_bad = (heard - LINK_REPLY_BYTES) // (unit * LINK_BLOCK_BYTES) * unit
        self._damaged, self._bad = data, frozenset(data.blocks[first_bad:])
        self._awaits_confirm = True
        silence_s = (SILENCE_MS + self._data_line.ms_of(2) + 1 + TICK_MS) / 1000
        self.env.process(self._notice(data, 0.0 if is_followed else silence_s))

    def _notice(self, data: Data, seconds: float) -> Process:
        yield self.env.timeout(seconds)
        if self._damaged is data:
            self.say(Say.DAMAGED)

    def _complete(self) -> bool:
        if self._missing or not self._has_end:
            return False
        self.say_nothing()
        self._is_whole = True
        self.seen_s = inf
        if self.is_computing():
            self.env.process(self._look(self._number))
        else:
            self._see_end()
        self._note_usable()
        self.on_full()
        if self._latency_s:
            self.env.process(self._know(self._number))
        else:
            self.full.open()
        return True

    def _look(self, number: int) -> Process:
        yield from self._data_line.pause(self.look_bytes)
        yield self.env.timeout(self.look_s)
        if number == self._number:
            self._see_end()

    def _see_end(self) -> None:
        if self.seen_s == inf:
            self.seen_s = self.env.now
            self.say(Say.ACK)

    def _know(self, number: int) -> Process:
        yield self.env.timeout(self._latency_s)
        if number == self._number:
            self.full.open()

    def _report(self) -> None:
        """Name all that is missing, at least the end."""
        if not self._missing:
            self._missing.add(self.n_blocks - 1)
        self._hole = set(self._missing)
        self.say(Say.MISSING)

    def hear_note(self, note: Note) -> None:
        """Hear a question of the sender, or what it confirms."""
        if not self._awaits(note.number):
            if note.number <= self._number:
                self._acknowledge()
            elif note.say is Say.OFFER:
                self.say(Say.WAIT)
        elif note.say is Say.OFFER:
            self.say(Say.GRANT)
        elif note.say is Say.CONFIRM:
            self._awaits_confirm = False
            self._missing -= self._unconfirmed
            self._complete()
        else:
            self._awaits_confirm = False
            self._report()

    @override
    def _note(self, what: Say) -> Note:
        if what is Say.MISSING:
            hole, self._hole = frozenset(self._hole & self._missing), set()
            span = max(hole) // 8 - min(hole) // 8 + 1 if hole else 1
            return Note(what, self._number, hole, span)
        if what is Say.DAMAGED and self._damaged:
            data, self._damaged = self._damaged, None
            self._unconfirmed |= set(data.blocks) - self._bad
            units = min(len(data.blocks), MOST_UNITS)
            return Note(what, self._number, self._bad, 1 + 2 * units)
        return Note(what, self._number + (what is Say.WAIT))
