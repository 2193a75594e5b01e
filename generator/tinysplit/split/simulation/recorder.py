"""Records what happens while a simulation runs."""

from collections import defaultdict
from collections.abc import Sequence
from math import inf

from tinysplit.split.evaluate.arrivals import Passage
from tinysplit.split.simulation.results import Activity, BoardTimes, Event, Level


class Recorder:
    """Times of inputs and boards, levels of buffers, and on request all events."""

    def __init__(self, arrivals_s: Sequence[float], *, keeps_events: bool) -> None:
        self.arrivals_s = arrivals_s
        count = len(arrivals_s)
        self.started_s = [inf] * count  # the host began to send the input
        self.given_s = [0.0] * count  # all boards had it
        self.output_s = [0.0] * count  # its output was there
        self.read_s = [0.0] * count
        self.t_s = [0.0] * count
        self.hidden_s = 0.0  # of the work of drivers, done while boards waited
        self.boards: dict[int, BoardTimes] = {}
        self.levels: dict[int, Level] = defaultdict(Level)  # of the buffers of a board
        self.events: list[Event] = []
        self._keeps_events = keeps_events

    def note(self, activity: Activity, device: int, name: str, times_s: tuple[float, float], number: int) -> None:
        """Note an activity of a board."""
        if self._keeps_events and times_s[1] > times_s[0]:
            self.events.append(Event(activity, device, None, name, *times_s, number))

    def note_sent(self, sender: int, receiver: int, name: str, times_s: tuple[float, float], number: int) -> None:
        """Note a tensor on the line, from its first bit to its acknowledgement."""
        if self._keeps_events:
            self.events.append(Event(Activity.WIRE, sender, receiver, name, *times_s, number))

    @property
    def passages(self) -> tuple[Passage, ...]:
        """The times of all inputs."""
        return tuple(map(Passage, self.arrivals_s, self.started_s, self.read_s))
