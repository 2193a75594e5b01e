"""A board: takes its steps in their order, inference after inference, as the generated firmware does."""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from simpy import Environment, Event

from tinysplit.common.protocol_limits import frames_of
from tinysplit.timing.gate import Gate, Process
from tinysplit.timing.handoff import TICK_S
from tinysplit.timing.host import Feed, Inbox, Reader
from tinysplit.timing.program import BoardStep, Kind, Program
from tinysplit.timing.receiver import Receiver
from tinysplit.timing.recorder import Recorder
from tinysplit.timing.results import Activity, BoardTimes
from tinysplit.timing.row_by_row import MOST_SHARE, RowByRow
from tinysplit.timing.sender import Sender
from tinysplit.timing.topology import NETWORK_INPUT

QUIET_S = 2.5 * TICK_S  # on average without traffic on links, until a board stops (link_awake.h)
TIMER_LEAD_S = 8 / 32_000  # of the timer that ends stop mode, before an input is due (stop_mode.c)
LOOK_AHEAD_S = TICK_S / 2  # before the end of a frame, on average, a board stays awake (transfers.c)


@dataclass
class BoardPorts:
    """The ends of a board's channels, by transfer, and the host's sides of its input and output."""

    senders: dict[int, Sender] = field(default_factory=dict)
    receivers: dict[int, Receiver] = field(default_factory=dict)
    feed: Feed | None = None
    reader: Reader | None = None


Waited = Generator[Event, Any, float]


class SimulatedBoard:
    """One board of a pipeline, which takes its inputs from `inbox`."""

    def __init__(self, env: Environment, device: int, program: Program, inbox: Inbox, recorder: Recorder) -> None:
        self.steps = [step for step in program.steps if step.device == device]
        self.ports = BoardPorts()
        rows = [step.rows for step in self.steps if step.rows is not None]
        self._streamed_to = frozenset(run.gives for run in rows)  # the transfers that a RUN gives away row by row
        self._streamed_from = frozenset(run.takes for run in rows)  # and those that it takes row by row
        self._env, self._device, self._program, self._recorder = env, device, program, recorder
        self._parts, self._is_distributed, self._inbox = program.handoff, program.is_distributed, inbox
        self._times = recorder.boards[device] = BoardTimes(device)
        self._hears_bytes = bool(self._parts.hears_bytes) and self._parts.hears_bytes[device]
        in_s, _ = self._parts.host_s[device]
        fed_s = self._parts.receive_s[NETWORK_INPUT][device]
        self._fed_share = min(fed_s / in_s, MOST_SHARE) if in_s else 0.0  # of the CPU, while an input comes
        if self._parts.tick_shares:
            self._times.tick_share = self._parts.tick_shares[device]
        self.index = self._number = 0  # of the inference: of this pipeline, and of all inputs
        self._step = self.steps[0]
        self._sent_s: dict[int, float] = {}  # of the driver's work for streamed tensors, done while rows were computed
        self._fed_s = 0.0  # of the driver's work for the input that comes, done so far
        self._has_begun = False  # the inference: a board sleeps before, or stops
        self._rests_since_s = 0.0
        self._heard_s = -QUIET_S  # the last traffic that it has received
        self._does: Activity | None = None  # the work that is under way
        self._worked_s = 0.0  # the end of the last work
        self._take: Mapping[Kind, Callable[[BoardStep], Process]] = {
            Kind.INPUT: self._input,
            Kind.RUN: self._run,
            Kind.GRANT: self._grant,
            Kind.SEND: self._send,
            Kind.SENT: self._sent,
            Kind.RECEIVE: self._receive,
            Kind.OUTPUT: self._output,
        }

    def run(self) -> Process:
        """Run an inference for each input."""
        is_fed_directly = not self.steps[0].is_staged  # the input is the first step
        for self.index in count():
            if self.ports.feed and is_fed_directly:
                self.ports.feed.let_come(self.index)
            number = yield from self._inbox.get(self.index)
            if number is None:
                break
            self._number, self._has_begun = number, False
            for step in self.steps:
                self._step = step
                yield from self._take[step.kind](step)
            self._rests_since_s = self._env.now
        end_s = self._env.now
        for sender in self.ports.senders.values():
            yield sender.free.opened
        self._times.awake_s += self._acknowledging_since(end_s)

    def _end_rest(self, at_s: float, awake_s: float = 0.0) -> None:
        """Begin an inference: the board was in stop mode before, but for the time that entering and leaving takes.

        It stays awake for `awake_s` between that and the inference.
        """
        if self._has_begun:
            return
        self._has_begun = True
        if not self._parts.wake_up_s:
            return
        sent_s = max((sender.sent_s for sender in self.ports.senders.values()), default=-QUIET_S)
        begin_s = max(self._rests_since_s, sent_s + QUIET_S, self._heard_s + QUIET_S)
        stopped_s = at_s - self._parts.wake_up_s[self._device] - begin_s
        if stopped_s > 0:
            self._times.stopped_s += stopped_s
            self._times.awake_s += awake_s

    def _work(self, seconds: float, activity: Activity) -> Process:
        self._end_rest(self._env.now - TIMER_LEAD_S, awake_s=TIMER_LEAD_S)
        if seconds <= 0:
            return
        begin_s = self._env.now
        self._does = activity
        yield self._env.timeout(seconds + self._feed_beside(seconds))
        self._does, self._worked_s = None, self._env.now
        if activity is Activity.LAYER:
            self._times.computing_s += seconds
        else:
            self._times.moving_s += seconds
        self._note(activity, begin_s)

    def has_worked_since(self, at_s: float) -> bool:
        """Return whether a layer, a copy or a driver was under way at any time from then on."""
        return self._does is not None or self._worked_s > at_s

    def is_computing(self) -> bool:
        """Return whether a layer is under way."""
        return self._does is Activity.LAYER

    def compute_rows(self, layer_s: float, moving_s: float) -> Process:
        """Compute some rows, for `layer_s` of a layer and `moving_s` of copies and drivers."""
        if layer_s + moving_s <= 0:
            return
        self._times.moving_s += moving_s
        self._times.computing_s -= moving_s
        yield from self._work(layer_s + moving_s, Activity.LAYER)

    def _note(self, activity: Activity, begin_s: float) -> None:
        if self._recorder.keeps_events:
            self._recorder.note(activity, self._step, (begin_s, self._env.now), self._number)

    def wait(self, gate: Gate, *, moves: bool = False) -> Waited:
        """Wait for a gate, return how long; `moves`: meanwhile a driver that only polls moves a tensor."""
        if gate.is_open:
            return 0.0
        begin_s = self._env.now
        yield gate.opened
        return self._has_waited(begin_s, moves=moves)

    def await_bytes(self, receiver: Receiver, n_bytes: int) -> Process:
        """Wait until the first bytes of a tensor may be used."""
        begin_s = self._env.now
        yield from receiver.await_bytes(n_bytes)
        if self._env.now > begin_s:
            self._has_waited(begin_s, moves=False)

    def _has_waited(self, begin_s: float, *, moves: bool) -> float:
        waited_s = self._env.now - begin_s
        if moves and not self._parts.overlaps:
            self._times.moving_s += waited_s
        else:
            self._times.awake_s += self._acknowledging_since(begin_s)
        self._note(Activity.WAIT, begin_s)
        self._feed_in_wait(waited_s - self._step.driver_s)
        return waited_s

    def _due_s(self, at_s: float) -> float:
        """Return for how long the driver of the host's port will have to work then, for what comes of an input."""
        feed = self.ports.feed
        return max(0.0, self._fed_share * feed.come_s(at_s) - self._fed_s) if feed else 0.0

    def _feed(self, fed_s: float) -> float:
        self._fed_s += fed_s
        self._times.moving_s += fed_s
        return fed_s

    def _feed_in_wait(self, waited_s: float) -> None:
        """Let that driver work for what has come while the board waited."""
        fed_s = self._feed(max(0.0, min(waited_s, self._due_s(self._env.now))))
        if fed_s and self._parts.wake_s:
            came = fed_s / self._parts.receive_s[NETWORK_INPUT][self._device]
            self._times.moving_s += came * self._parts.wake_s[NETWORK_INPUT][self._device]

    def _feed_beside(self, seconds: float) -> float:
        """Return for how long that driver works, while the board works for so many seconds."""
        feed = self.ports.feed
        if feed is None or not self._fed_share:
            return 0.0
        left_s = self._fed_share * feed.seconds - self._fed_s
        return self._feed(min(left_s, self._due_s(self._env.now + seconds) / (1 - self._fed_share)))

    def _hidden(self, tensor: int, waited_s: float, line_s: float) -> float:
        """Return the part of a driver's work for a tensor on the line that was done while the board waited for it."""
        share = min(1.0, waited_s / line_s) if line_s > 0 else 0.0
        self._times.moving_s += share * self._parts.asleep_s(tensor, self._device)
        return share * self._parts.receive_s[tensor][self._device]

    def _acknowledging_since(self, begin_s: float) -> float:
        """Return the seconds since then in which the board, on average, stays awake for the ends of acknowledgements.

        It begins when a tensor has left, where less than the time of a reply is left until the next tick, else then.
        """
        if self._hears_bytes:
            return 0.0
        senders = [sender for sender in self.ports.senders.values() if sender.free.is_open]
        waits_s = (max(0.0, sender.sent_s - max(begin_s, sender.left_s)) for sender in senders)
        return sum(LOOK_AHEAD_S if wait_s > TICK_S else wait_s * (1 - wait_s / TICK_S / 2) for wait_s in waits_s)

    def _await_frames(self, n_bytes: int, wire_s: float, waited_s: float) -> None:
        """Count the ends of a tensor's frames as awake: a board waits for them without sleep."""
        frames = frames_of(n_bytes)
        if not self._parts.overlaps or not frames or self._hears_bytes:
            return
        frame_s = wire_s / frames
        seen = min(1.0, frame_s / TICK_S)  # share of the frames that a tick finds under way
        self._times.awake_s += min(waited_s, frames * seen * min(LOOK_AHEAD_S, frame_s / 2))

    def _copy(self, step: BoardStep) -> Process:
        yield from self._work(self._parts.copy_s[step.tensor][self._device], Activity.COPY)

    def use_buffer(self, by: int) -> None:
        """Note that a buffer is taken, or free again."""
        self._recorder.levels[self._device].change(by, self._env.now)

    def _run(self, step: BoardStep) -> Process:
        yield from self._work(step.driver_s, Activity.DRIVER)
        if step.rows is None:
            yield from self._work(step.seconds, Activity.LAYER)
        else:
            run = RowByRow(self._program, step, step.rows, self.ports.receivers, self.ports.senders)
            self._sent_s[step.rows.gives] = yield from run.on(self)

    def _input(self, step: BoardStep) -> Process:
        feed, parts = self.ports.feed, self._parts
        if feed is None:
            return
        yield from self.wait(feed.there)
        feed.take()
        hidden_s, self._fed_s = self._fed_s, 0.0
        driver_s = parts.receive_s[step.tensor][self._device] - hidden_s if step.is_staged else 0.0
        self._recorder.hidden_s += hidden_s if step.is_staged else 0.0
        given_s = self._recorder.given_s
        given_s[self._number] = max(given_s[self._number], self._env.now + driver_s)
        if step.is_staged:
            yield from self._copy(step)
            self.use_buffer(-1)
            feed.let_come(self.index + 1)
            yield from self._work(driver_s, Activity.DRIVER)

    def _output(self, step: BoardStep) -> Process:
        reader = self.ports.reader
        if reader is None:
            return
        yield from self.wait(reader.room)
        self._recorder.output_s[self._number] = self._env.now
        if not step.is_staged:
            reader.give(self._number)
            yield from self.wait(reader.room)
            self._times.moving_s += self._parts.send_s[-1][self._device]
            return
        self.use_buffer(1)
        yield from self._copy(step)
        reader.give(self._number)
        yield from self._work(self._parts.send_s[-1][self._device], Activity.DRIVER)

    def _send(self, step: BoardStep) -> Process:
        sender, driver_s = self.ports.senders[step.transfer], self._parts.send_s[step.tensor][self._device]
        if step.transfer not in self._streamed_to:
            yield from self.wait(sender.free)
            if step.is_staged:
                self.use_buffer(1)
                yield from self._copy(step)
            sender.send(self.index)
        driver_s -= self._sent_s.pop(step.transfer, 0.0)
        if step.is_staged:
            yield from self._work(driver_s, Activity.DRIVER)
        elif not self._is_distributed:
            yield from self.wait(sender.free, moves=True)
            self._times.moving_s += driver_s if self._parts.overlaps else 0.0

    def _sent(self, step: BoardStep) -> Process:
        waited_s = yield from self.wait(self.ports.senders[step.transfer].free)
        yield from self._work_since(waited_s, step)

    def _work_since(self, waited_s: float, step: BoardStep) -> Process:
        """Do what the drivers of links have not done while a board of a distributed network waited in a step."""
        hidden_s = min(step.driver_s, waited_s)
        self._times.moving_s += hidden_s
        yield from self._work(step.driver_s - hidden_s, Activity.DRIVER)

    def _grant(self, step: BoardStep) -> Process:
        self.ports.receivers[step.transfer].accept(self.index)
        yield from ()

    def _receive(self, step: BoardStep) -> Process:
        receiver, driver_s = self.ports.receivers[step.transfer], self._parts.receive_s[step.tensor][self._device]
        wire_s = self._parts.wire_s[step.tensor][receiver.cut.sender][self._device]
        is_blocking = not step.is_staged and not self._is_distributed
        if is_blocking:
            receiver.accept(self.index)
        if step.transfer in self._streamed_from:
            return
        waited_s = yield from self.wait(receiver.full, moves=is_blocking)
        self._await_frames(receiver.cut.payload_bytes, wire_s, waited_s)
        self._end_rest(self._env.now - min(waited_s, wire_s))
        self._heard_s = self._env.now
        if is_blocking:
            if self._parts.overlaps:
                self._hidden(step.tensor, waited_s, wire_s)
        elif step.is_staged:
            hidden_s = self._hidden(step.tensor, waited_s, wire_s)
            self._recorder.hidden_s += hidden_s
            yield from self._copy(step)
            self.use_buffer(-1)
            receiver.accept(self.index + 1)
            yield from self._work(driver_s - hidden_s, Activity.DRIVER)
        else:
            yield from self._work_since(waited_s, step)
