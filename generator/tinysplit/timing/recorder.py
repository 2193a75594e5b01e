"""Records what happens while a simulation runs."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from math import inf

from tinysplit.timing.program import BoardStep
from tinysplit.timing.results import Activity, BoardTimes, Event, Level, Output, Passage
from tinysplit.timing.topology import Cut


class Recorder:
    """Times of inputs and boards, levels of buffers, on request all events, and the times of boards at each output."""

    def __init__(self, arrivals_s: Sequence[float], *, keeps_events: bool, keeps_outputs: bool = False) -> None:
        self.arrivals_s = arrivals_s
        count = len(arrivals_s)
        self.started_s = [inf] * count  # the host began to send the input
        self.given_s = [0.0] * count  # all boards had it
        self.output_s = [0.0] * count  # its output was there
        self.read_s = [0.0] * count
        self.transfers_s = [dict[int, float]() for _ in range(count)]  # of each tensor that a link carried
        self.hidden_s = 0.0  # of the work of drivers, done while boards waited, or for inputs beside layers
        self.boards: dict[int, BoardTimes] = {}
        self.levels: dict[int, Level] = defaultdict(Level)  # of the buffers of a board
        self.events: list[Event] = []
        self.outputs: list[Output] = []
        self.keeps_events, self._keeps_outputs = keeps_events, keeps_outputs

    def note(self, activity: Activity, step: BoardStep, times_s: tuple[float, float], number: int) -> None:
        """Note an activity of a board, or of the host, in a step."""
        if self.keeps_events and times_s[1] > times_s[0]:
            what = (step.layers, step.transfer)
            self.events.append(Event(activity, step.device, None, step.name, *times_s, number, *what))

    def note_sent(self, cut: Cut, transfer: int, times_s: tuple[float, float], number: int) -> None:
        """Note a tensor on the line, from its first bit until the receiver has seen its end."""
        if self.keeps_events:
            name, ends = f"cut {transfer + 1}", (cut.sender, cut.receiver)
            self.events.append(Event(Activity.WIRE, *ends, name, *times_s, number, transfer=transfer))

    def note_output(self, number: int, read_s: float) -> None:
        """Note that the host has read an output."""
        self.read_s[number] = read_s
        if self._keeps_outputs:
            self.outputs.append(Output(read_s, tuple(replace(times) for times in self.boards.values())))

    @property
    def passages(self) -> tuple[Passage, ...]:
        """The times of all inputs."""
        return tuple(map(Passage, self.arrivals_s, self.started_s, self.read_s))
