"""The event engine: boards, links and the host as processes that exchange frames, for any number of inputs."""

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from math import isfinite

from simpy import Environment, Resource

from tinysplit.common.alignment import aligned
from tinysplit.common.errors import CheckFailedError
from tinysplit.common.protocol_limits import LINK_REPLY_BYTES
from tinysplit.timing.board import SimulatedBoard
from tinysplit.timing.channel_end import ChannelEnd
from tinysplit.timing.handoff import TICK_S
from tinysplit.timing.host import Feed, Inbox, Reader, deal
from tinysplit.timing.line import Line
from tinysplit.timing.loss import Loss, Losses
from tinysplit.timing.program import Kind, Program
from tinysplit.timing.receiver import Receiver
from tinysplit.timing.recorder import Recorder
from tinysplit.timing.results import Buffers, Level, Passage, Simulated
from tinysplit.timing.sender import Sender
from tinysplit.timing.topology import Pair, pair_of

LOSSLESS = Loss()


def simulate(
    programs: Sequence[Program],
    arrivals_s: Sequence[float],
    loss: Loss = LOSSLESS,
    *,
    keeps_events: bool = False,
    keeps_outputs: bool = False,
) -> Simulated:
    """Simulate inputs that arrive at these times (seconds, ascending, from 0) on the generated firmware.

    Of several programs, which are copies of the network, each input goes to the first one that can take it, the fastest
    one first. Raises CheckFailedError where a layer or a transfer takes for ever, and where a link fails because it
    loses too much.
    """
    env, recorder = Environment(0.0), Recorder(arrivals_s, keeps_events=keeps_events, keeps_outputs=keeps_outputs)
    is_alone = len(programs) == 1
    inboxes = [Inbox(env, range(len(arrivals_s)) if is_alone else (), is_closed=is_alone) for _ in programs]
    pipelines = [_Pipeline(env, *each, recorder, loss) for each in zip(programs, inboxes, strict=True)]
    if not is_alone:
        by_speed = sorted(pipelines, key=lambda each: each.program.computing_s + each.program.transfers_s)
        env.process(deal(arrivals_s, [(each.inbox, each.feeds) for each in by_speed], env))
    env.run()
    outputs = zip(recorder.output_s, recorder.given_s, strict=True)
    lines = [line for each in pipelines for line in each.lines.values()]
    return Simulated(
        passages=recorder.passages,
        inference_s=tuple(output_s - given_s for output_s, given_s in outputs),
        transfers_s=tuple(recorder.transfers_s),
        l_s=max(program.computing_s for program in programs),
        boards=tuple(recorder.boards.values()),
        buffers=tuple(chain.from_iterable(each.buffers() for each in pipelines)),
        queue=_queue_of(recorder.passages),
        repeated_frames=sum(each.repeated_frames for each in pipelines),
        hidden_s=recorder.hidden_s,
        contended_s=sum(line.contended_s for line in lines),
        overtakings=sum(line.overtakings for line in lines),
        events=tuple(recorder.events),
        n_copies=len(programs),
        outputs=tuple(recorder.outputs),
    )


class _Pipeline:
    """The boards and lines of a program."""

    def __init__(self, env: Environment, program: Program, inbox: Inbox, recorder: Recorder, loss: Loss) -> None:
        self.program, self.inbox, self.recorder, self.loss = program, inbox, recorder, loss
        self.env, self.handoff = env, program.handoff
        self.boards = {device: self._board(device) for device in program.devices}
        self.lines: dict[tuple[int, int], Line] = {}  # by sender and receiver
        self.wires: dict[Pair, Resource] = {}
        self._add_channels()
        for line in self.lines.values():
            line.begin()
        for board in self.boards.values():
            env.process(board.run())

    @property
    def feeds(self) -> tuple[Feed, ...]:
        """What sends inputs to its boards."""
        return tuple(board.ports.feed for board in self.boards.values() if board.ports.feed)

    @property
    def repeated_frames(self) -> int:
        """Frames that were sent again."""
        return sum(each.repeated_frames for board in self.boards.values() for each in board.ports.senders.values())

    def buffers(self) -> Iterator[Buffers]:
        """Yield what the boards buffered."""
        for device, board in self.boards.items():
            staged = [step for step in board.steps if step.is_staged]
            size_bytes = sum(aligned(step.n_bytes) for step in staged)
            yield Buffers(device, len(staged), size_bytes, self.recorder.levels[device])

    def _board(self, device: int) -> SimulatedBoard:
        board = SimulatedBoard(self.env, device, self.program, self.inbox, self.recorder)
        in_s, out_s = self.handoff.host_s[device]
        for step in board.steps:
            if not isfinite(step.seconds):
                raise CheckFailedError(f"board {device + 1} cannot run {step.name}")
            if step.kind is Kind.INPUT:
                times_s = in_s, self.handoff.input_reply_s(device)
                feed = Feed(self.env, step, times_s, self.inbox, self.recorder)
                board.ports.feed = feed
                self.env.process(feed.run())
            elif step.kind is Kind.OUTPUT:
                board.ports.reader = Reader(self.env, step, out_s, self.recorder)
        return board

    def _add_channels(self) -> None:
        staged = {(step.kind, step.transfer) for step in self.program.steps if step.is_staged}
        for number, cut in enumerate(self.program.transfers):
            forth, back = self._line(cut.sender, cut.receiver), self._line(cut.receiver, cut.sender)
            wire_s = self.handoff.wire_s[cut.after_layer][cut.sender][cut.receiver]
            if not isfinite(wire_s):
                raise CheckFailedError("a tensor has no link to cross")
            stream = self.program.streams.get(number)
            until_used_s = self.handoff.until_used_s(cut.after_layer, cut.sender, cut.receiver)
            receiver = Receiver(self.env, back, cut, number, forth, stream.latency_s if stream else until_used_s)
            sender = Sender(self.env, forth, cut, number, wire_s, receiver, stream)
            sender.hear, receiver.hear = receiver.hear_note, sender.hear_note
            self._let_miss(sender, cut.sender, cut.receiver)
            self._let_miss(receiver, cut.receiver, cut.sender)
            sender.asks |= self._misses(cut.sender, cut.receiver)
            if (Kind.RECEIVE, number) in staged:
                receiver.accept_first()
                sender.grant_first()
            for device in (cut.sender, cut.receiver):
                self.recorder.boards[device].polls = not self.handoff.overlaps
            self.boards[cut.sender].ports.senders[number] = sender
            self.boards[cut.receiver].ports.receivers[number] = receiver
            sender.on_sent = self._on_sent(number, is_staged=(Kind.SEND, number) in staged)
            receiver.is_computing = self.boards[cut.receiver].is_computing
            if self.handoff.look_bytes:
                receiver.look_bytes = self.handoff.look_bytes[cut.receiver]
                receiver.look_s = self.handoff.look_s[cut.receiver]
            if (Kind.RECEIVE, number) in staged:
                receiver.on_full = self._on_full(cut.receiver)

    def _misses(self, listener: int, speaker: int) -> bool:
        """Return whether a board loses bytes of notes while it works: it looks at a polled UART at every tick."""
        room = self.handoff.polled_room_bytes
        byte_s = self.handoff.reply_s[speaker][listener] / LINK_REPLY_BYTES
        return bool(room) and room[listener] * byte_s < TICK_S

    def _let_miss(self, end: ChannelEnd, speaker: int, listener: int) -> None:
        """Let the notes of an end go unheard while the other board works, if it loses them then."""
        if self._misses(listener, speaker):
            board, note_s = self.boards[listener], self.handoff.reply_s[speaker][listener]
            end.is_heard = lambda: not board.has_worked_since(self.env.now - note_s)

    def _line(self, sender: int, receiver: int) -> Line:
        """Return the line from one board to another, made when it is first asked for."""
        ends = (sender, receiver)
        if ends not in self.lines:
            pair = pair_of(*ends)
            shared = pair in self.program.half_duplex
            wire = self.wires.setdefault(pair, Resource(self.env)) if shared else None
            losses = Losses(self.loss, f"{sender} {receiver}")
            self.lines[ends] = Line(self.env, self.handoff.reply_s[sender][receiver], losses, wire)
        return self.lines[ends]

    def _on_sent(self, transfer: int, *, is_staged: bool) -> Callable[[float, float, int], None]:
        cut = self.program.transfers[transfer]
        nominal_s = self.handoff.wire_s[cut.after_layer][cut.sender][cut.receiver]

        def note(start_s: float, end_s: float, index: int) -> None:
            number = self.inbox[index]
            longer_s = 0.0 if transfer in self.program.streams else end_s - start_s - nominal_s
            self.recorder.transfers_s[number][transfer] = cut.seconds - self.handoff.resuming_s(cut.receiver) + longer_s
            self.recorder.note_sent(cut, transfer, (start_s, end_s), number)
            if is_staged:
                self.recorder.levels[cut.sender].change(-1, self.env.now)

        return note

    def _on_full(self, device: int) -> Callable[[], None]:
        return lambda: self.recorder.levels[device].change(1, self.env.now)


def _queue_of(passages: Sequence[Passage]) -> Level:
    """Return how many inputs waited for the host to send them."""
    changes = [(each.arrival_s, 1) for each in passages] + [(each.start_s, -1) for each in passages]
    level = Level()
    for at_s, by in sorted(changes):
        level.change(by, at_s)
    return level
