"""What both ends of a channel have in common: notes that wait to leave."""

from abc import ABC, abstractmethod
from collections.abc import Callable

from simpy import Environment

from tinysplit.common.protocol_limits import LINK_BLOCK_BYTES
from tinysplit.timing.line import Line, Note, Say, SimulatedFrame
from tinysplit.timing.topology import Cut

Hearing = Callable[[Note], None]


class ChannelEnd(ABC):
    """An end of the channel of one cut, which speaks on `line`; `order` is its place in the program."""

    def __init__(self, env: Environment, line: Line, cut: Cut, order: int) -> None:
        self.env, self.line, self.cut, self.order = env, line, cut, order
        self.n_blocks = max(1, -(-cut.payload_bytes // LINK_BLOCK_BYTES))
        self.hear: Hearing = lambda _: None  # of the other end
        self.is_heard: Callable[[], bool] = lambda: True  # whether the other end hears the note that has just left
        self._said_s: dict[Say, float] = {}
        line.speakers.append(self)

    def say(self, what: Say) -> None:
        """Let a note leave; one that waits already is said once."""
        self._said_s.setdefault(what, self.env.now)
        self.line.wake()

    def say_nothing(self) -> None:
        """Drop the notes that wait."""
        self._said_s.clear()

    def next_note(self) -> SimulatedFrame | None:
        """Take the next note: its content is that of now."""
        if not self._said_s:
            return None
        what = min(self._said_s)
        note, said_s = self._note(what), self._said_s.pop(what)

        def arrive(is_whole: bool) -> None:
            if is_whole and self.is_heard():
                self.hear(note)
            self._left(what)

        return self.line.frame_of(note, said_s, arrive)

    def next_data(self) -> SimulatedFrame | None:
        """Take the next frame of a tensor: only a sender has some."""
        return None

    def waits_before(self, number: int, order: int) -> bool:  # noqa: ARG002
        """Return whether a tensor waits here that comes before that one in the program."""
        return False

    def _left(self, what: Say) -> None:  # noqa: B027 (a receiver does not care)
        """Learn that a note has left, whether it arrives or not."""

    @abstractmethod
    def _note(self, what: Say) -> Note:
        """Return a note with its content."""
