"""What a simulation finds: times of inputs, boards, transfers and buffers."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import NamedTuple

FEW = 4  # outputs of a copy, all of which tell of the period


@dataclass(frozen=True)
class Passage:
    """Times of one input in seconds: its arrival, the start of its processing, and its output."""

    arrival_s: float
    start_s: float
    end_s: float

    @property
    def waiting_s(self) -> float:
        """From arrival to the start of processing."""
        return self.start_s - self.arrival_s

    @property
    def latency_s(self) -> float:
        """From arrival to output, as in Mukherjee 2022, Figure 5."""
        return self.end_s - self.arrival_s


class Activity(StrEnum):
    """What a board does, or the host or a line with it."""

    LAYER = "layer"
    COPY = "copy"
    DRIVER = "driver"
    WAIT = "wait"
    WIRE = "wire"
    HOST = "host"


class Event(NamedTuple):
    """An activity of a board, or of the line from `device` to `receiver`, for an inference; seconds from the start."""

    activity: Activity
    device: int
    receiver: int | None
    name: str
    start_s: float
    end_s: float
    number: int  # of the inference, from 0
    layers: tuple[int, int] = (-1, -1)  # the first and the last one of a RUN
    transfer: int = -1


@dataclass
class BoardTimes:
    """Seconds of a board, summed up over the simulation; it waits for the rest of the time.

    `moving_s` are those of copies and drivers, and of waits in which a driver that only polls moves a tensor. Of its
    waits, the generated firmware stays awake for `awake_s`: where a frame ends soon. `polls`: the driver of its links
    only polls, so that it never sleeps; `tick_share`: of the time asleep that the millisecond interrupt takes. It is in
    stop mode for `stopped_s`.
    """

    device: int
    polls: bool = False
    tick_share: float = 0.0
    computing_s: float = 0.0
    moving_s: float = 0.0
    awake_s: float = 0.0
    stopped_s: float = 0.0

    def since(self, before: "BoardTimes") -> "BoardTimes":
        """Return what the board has done since it had done what is `before`."""
        return replace(
            self,
            computing_s=self.computing_s - before.computing_s,
            moving_s=self.moving_s - before.moving_s,
            awake_s=self.awake_s - before.awake_s,
            stopped_s=self.stopped_s - before.stopped_s,
        )

    def waiting_s(self, span_s: float) -> float:
        """Return the seconds of `span_s` in which it has nothing to do."""
        return max(0.0, span_s - self.computing_s - self.moving_s)


class Output(NamedTuple):
    """When an output was read, and what the boards had done by then."""

    read_s: float
    boards: tuple[BoardTimes, ...]


@dataclass
class Level:
    """How many of something are in use over time."""

    now: int = 0
    highest: int = 0
    _since_s: float = 0.0
    _sum: float = 0.0  # of levels times seconds

    def change(self, by: int, at_s: float) -> None:
        """Note a change."""
        self._sum += self.now * (at_s - self._since_s)
        self._since_s = at_s
        self.now += by
        self.highest = max(self.highest, self.now)

    def mean(self, end_s: float) -> float:
        """Return the mean level from 0 until then."""
        return (self._sum + self.now * (end_s - self._since_s)) / end_s if end_s > 0 else 0.0


@dataclass(frozen=True)
class Buffers:
    """The buffers of a board for tensors, how many are in use at a time, and their bytes."""

    device: int
    count: int
    size_bytes: int
    level: Level


@dataclass(frozen=True)
class Simulated:
    """The simulation of inputs, from time 0 to `end_s`, when the last output was read.

    `inference_s` has for each input the seconds from when the boards had it to when they had its output; `transfers_s`
    those of each transfer, by its index, until its receiver has seen the end. `hidden_s` of the work of drivers was
    done while boards waited for the very tensors, or for inputs beside layers; for `contended_s` frames waited for
    others, and tensors overtook others `overtakings` times (see `Line`). `outputs` are kept on request.
    """

    passages: tuple[Passage, ...]
    inference_s: tuple[float, ...]
    transfers_s: tuple[Mapping[int, float], ...]
    l_s: float
    boards: tuple[BoardTimes, ...]
    buffers: tuple[Buffers, ...]
    queue: Level  # inputs that have arrived and wait for a board
    repeated_frames: int
    hidden_s: float
    contended_s: float
    overtakings: int
    events: tuple[Event, ...]
    n_copies: int = 1  # of the network
    outputs: tuple[Output, ...] = ()

    @property
    def t_s(self) -> tuple[float, ...]:
        """The seconds of all transfers of each input."""
        return tuple(sum(each.values()) for each in self.transfers_s)

    @property
    def end_s(self) -> float:
        """When the last output was read."""
        return max(passage.end_s for passage in self.passages)

    @property
    def period_s(self) -> float | None:
        """Mean seconds between outputs, of the second half of them; None of a single one.

        The last one of each copy is left out where there are many: it comes sooner, as no further input comes
        meanwhile. Copies give outputs in turn: whole rounds of them count.
        """
        ends = sorted(passage.end_s for passage in self.passages)
        last = len(ends) - 1 - (self.n_copies if len(ends) > FEW * self.n_copies else 0)
        rounds = max(1, (last - len(ends) // 2) // self.n_copies)
        first = max(0, last - rounds * self.n_copies)
        return (ends[last] - ends[first]) / (last - first) if len(ends) > 1 else None
