"""The host: sends inputs to boards, each over a line of its own, and reads outputs."""

from simpy import Environment

from tinysplit.split.simulation.gate import Gate, Process
from tinysplit.split.simulation.recorder import Recorder
from tinysplit.split.simulation.results import Activity


class Feed:
    """Sends the inputs to a board, one after the other, as soon as there is room; the board opens `room`."""

    def __init__(
        self,
        env: Environment,
        device: int,
        seconds: float,
        taken_s: float,
        recorder: Recorder,
        *,
        is_staged: bool,
    ) -> None:
        self.room, self.there = Gate(env, is_open=is_staged), Gate(env)
        self._env, self._device, self._seconds, self._taken_s = env, device, seconds, taken_s
        self._recorder, self._is_staged = recorder, is_staged

    def run(self) -> Process:
        """Send all inputs."""
        recorder, env = self._recorder, self._env
        for number, arrival_s in enumerate(recorder.arrivals_s):
            if env.now < arrival_s:
                yield env.timeout(arrival_s - env.now)
            yield self.room.opened
            if number:
                yield env.timeout(self._taken_s)
            self.room.close()
            begin_s = env.now
            recorder.started_s[number] = min(recorder.started_s[number], begin_s)
            yield env.timeout(self._seconds)
            recorder.note(Activity.HOST, self._device, "input", (begin_s, env.now), number)
            if self._is_staged:
                recorder.levels[self._device].change(1, env.now)
            self.there.open()


class Reader:
    """Reads the outputs from a board; `room` is open once the last one was read."""

    def __init__(self, env: Environment, device: int, seconds: float, recorder: Recorder, *, is_staged: bool) -> None:
        self.room = Gate(env, is_open=True)
        self._env, self._device, self._seconds = env, device, seconds
        self._recorder, self._is_staged = recorder, is_staged

    def give(self, number: int) -> None:
        """Let the host read an output."""
        self.room.close()
        self._env.process(self._read(number))

    def _read(self, number: int) -> Process:
        begin_s = self._env.now
        yield self._env.timeout(self._seconds)
        self._recorder.read_s[number] = self._env.now
        self._recorder.note(Activity.HOST, self._device, "output", (begin_s, self._env.now), number)
        if self._is_staged:
            self._recorder.levels[self._device].change(-1, self._env.now)
        self.room.open()
