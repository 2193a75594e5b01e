"""The host: sends inputs to boards, each over a line of its own, and reads outputs."""

from collections.abc import Generator, Iterable, Sequence
from itertools import count
from math import inf
from typing import Any

from simpy import Environment, Event

from tinysplit.timing.gate import Gate, Process, settled
from tinysplit.timing.program import BoardStep
from tinysplit.timing.recorder import Recorder
from tinysplit.timing.results import Activity


class Inbox:
    """The inputs that one pipeline processes: their numbers, in their order; more may come while it is not closed."""

    def __init__(self, env: Environment, numbers: Iterable[int] = (), *, is_closed: bool) -> None:
        self._env, self._numbers, self._is_closed = env, list(numbers), is_closed
        self._changed = Gate(env)

    def add(self, number: int) -> None:
        """Let the pipeline process an input."""
        self._numbers.append(number)
        self._changed.open()

    def close(self) -> None:
        """Say that no more inputs come."""
        self._is_closed = True
        self._changed.open()

    def has(self, index: int) -> bool:
        """Return whether an input has come."""
        return index < len(self._numbers)

    def __getitem__(self, index: int) -> int:
        """Return the number of an input that has come."""
        return self._numbers[index]

    def get(self, index: int) -> Generator[Event, Any, int | None]:
        """Wait for an input, return its number; None if there is none."""
        while not self.has(index) and not self._is_closed:
            self._changed.close()
            yield self._changed.opened
        return self._numbers[index] if self.has(index) else None


class Feed:
    """Sends the inputs of `inbox` to a board as soon as there is room; the board opens `room`.

    Sending takes the first of `times_s`; the second passes after room was made until the host knows. Both are 0 for an
    input from the board itself. `ready` is open while it waits for an input that it could send at once.
    """

    def __init__(
        self,
        env: Environment,
        step: BoardStep,
        times_s: tuple[float, float],
        inbox: Inbox,
        recorder: Recorder,
    ) -> None:
        self.room, self.there, self.ready = Gate(env, is_open=step.is_staged), Gate(env), Gate(env)
        self._env, self._step, self._inbox = env, step, inbox
        self.seconds, self._taken_s = times_s
        self._recorder = recorder
        self._begin_s = inf  # of sending the input that comes

    def let_come(self, index: int) -> None:
        """Make room for an input."""
        arrival_s = self._recorder.arrivals_s[self._inbox[index]] if self._inbox.has(index) else inf
        self._begin_s = max(self._env.now + self._taken_s, arrival_s)
        self.room.open()

    def take(self) -> None:
        """Take the input that has come."""
        self.there.close()
        self._begin_s = inf

    def come_s(self, at_s: float) -> float:
        """Return for how long the input that comes will have come then."""
        return min(max(0.0, at_s - self._begin_s), self.seconds)

    def run(self) -> Process:
        """Send all inputs."""
        recorder, env = self._recorder, self._env
        for index in count():
            yield self.room.opened
            if index:
                yield env.timeout(self._taken_s)
            self.ready.open()
            number = yield from self._inbox.get(index)
            if number is None:
                return
            if env.now < recorder.arrivals_s[number]:
                yield env.timeout(recorder.arrivals_s[number] - env.now)
            self.ready.close()
            self.room.close()
            begin_s = self._begin_s = env.now
            recorder.started_s[number] = min(recorder.started_s[number], begin_s)
            yield env.timeout(self.seconds)
            recorder.note(Activity.HOST, self._step, (begin_s, env.now), number)
            if self._step.is_staged:
                recorder.levels[self._step.device].change(1, env.now)
            self.there.open()


def deal(arrivals_s: Sequence[float], pipelines: Sequence[tuple[Inbox, Sequence[Feed]]], env: Environment) -> Process:
    """Give each input, when it has arrived, to the first of the `pipelines` that could take it at once, or will."""
    for number, arrival_s in enumerate(arrivals_s):
        if env.now < arrival_s:
            yield env.timeout(arrival_s - env.now)
        yield settled(env)
        while True:
            inbox = next((inbox for inbox, feeds in pipelines if all(feed.ready.is_open for feed in feeds)), None)
            if inbox:
                break
            yield env.any_of([feed.ready.opened for _, feeds in pipelines for feed in feeds if not feed.ready.is_open])
            yield settled(env)
        inbox.add(number)
        yield settled(env)
    for inbox, _ in pipelines:
        inbox.close()


class Reader:
    """Reads the outputs from a board; `room` is open once the last one was read."""

    def __init__(self, env: Environment, step: BoardStep, seconds: float, recorder: Recorder) -> None:
        self.room = Gate(env, is_open=True)
        self._env, self._step, self._seconds, self._recorder = env, step, seconds, recorder

    def give(self, number: int) -> None:
        """Let the host read an output."""
        self.room.close()
        self._env.process(self._read(number))

    def _read(self, number: int) -> Process:
        begin_s = self._env.now
        yield self._env.timeout(self._seconds)
        self._recorder.note_output(number, self._env.now)
        self._recorder.note(Activity.HOST, self._step, (begin_s, self._env.now), number)
        if self._step.is_staged:
            self._recorder.levels[self._step.device].change(-1, self._env.now)
        self.room.open()
