"""Simulates a split: boards, links and the host as processes that exchange frames."""

from collections.abc import Callable, Iterator, Sequence
from math import isfinite

from simpy import Environment, Resource

from tinysplit.common.alignment import aligned
from tinysplit.common.errors import CheckFailedError
from tinysplit.split.evaluate.arrivals import Passage
from tinysplit.split.evaluate.firmware import Firmware
from tinysplit.split.evaluate.fused import as_run
from tinysplit.split.evaluate.steps import Kind, Program, tensor_bytes
from tinysplit.split.problem import Assignment, Problem
from tinysplit.split.simulation.board import SimulatedBoard
from tinysplit.split.simulation.host import Feed, Reader
from tinysplit.split.simulation.line import Line
from tinysplit.split.simulation.loss import Loss, Losses
from tinysplit.split.simulation.receiver import Receiver
from tinysplit.split.simulation.recorder import Recorder
from tinysplit.split.simulation.results import Buffers, Level, Simulated
from tinysplit.split.simulation.sender import Sender
from tinysplit.split.topology import Pair, pair_of

LOSSLESS = Loss()


def simulate(
    problem: Problem,
    assignment: Assignment,
    arrivals_s: Sequence[float],
    loss: Loss = LOSSLESS,
    *,
    keeps_events: bool = False,
    program: Program | None = None,
) -> Simulated:
    """Simulate inputs that arrive at these times (seconds, ascending, from 0) on the generated firmware.

    Its steps are those of `program`, by default those that follow from problem and assignment. Raises CheckFailedError
    where a layer or a cut takes for ever, and where a link fails because it loses too much.
    """
    problem = as_run(problem, assignment)
    program = program or Firmware.of(problem, assignment).program
    return _Simulation(problem, assignment, program, Recorder(arrivals_s, keeps_events=keeps_events), loss).run()


class _Simulation:
    def __init__(
        self, problem: Problem, assignment: Assignment, program: Program, recorder: Recorder, loss: Loss
    ) -> None:
        self.problem, self.assignment, self.program = problem, assignment, program
        self.recorder, self.loss = recorder, loss
        self.parts = problem.handoff_parts
        self.env = Environment(0.0)
        devices = dict.fromkeys(step.device for step in program.steps)
        self.boards = {device: self._board(device) for device in devices}
        self.lines: dict[tuple[int, int], Line] = {}  # by sender and receiver
        self.wires: dict[Pair, Resource] = {}
        self._add_channels()

    def run(self) -> Simulated:
        recorder, env = self.recorder, self.env
        names = step_names(self.problem, self.assignment, self.program)
        for line in self.lines.values():
            line.begin()
        for device, board in self.boards.items():
            own = [name for step, name in zip(self.program.steps, names, strict=True) if step.device == device]
            env.process(board.run(len(recorder.arrivals_s), own))
        env.run()
        outputs = zip(recorder.output_s, recorder.given_s, strict=True)
        return Simulated(
            passages=recorder.passages,
            inference_s=tuple(output_s - given_s for output_s, given_s in outputs),
            t_s=tuple(recorder.t_s),
            l_s=sum(step.seconds for step in self.program.steps if step.kind is Kind.RUN),
            boards=tuple(recorder.boards.values()),
            buffers=tuple(self._buffers()),
            queue=queue_of(recorder.passages),
            repeated_frames=sum(
                s.repeated_frames for board in self.boards.values() for s in board.ports.senders.values()
            ),
            hidden_s=recorder.hidden_s,
            contended_s=sum(line.contended_s for line in self.lines.values()),
            overtakings=sum(line.overtakings for line in self.lines.values()),
            events=tuple(recorder.events),
        )

    def _board(self, device: int) -> SimulatedBoard:
        board = SimulatedBoard(self.env, device, self.parts, self.recorder, is_distributed=self.problem.is_distributed)
        board.steps = [step for step in self.program.steps if step.device == device]
        in_s, out_s = self.parts.host_s[device]
        for step in board.steps:
            if not isfinite(step.seconds):
                raise CheckFailedError(f"{self.problem.devices[device].name} cannot run a layer")
            if step.kind is Kind.INPUT:
                board.ports.feed = Feed(
                    self.env, device, in_s, self.parts.input_reply_s(device), self.recorder, is_staged=step.is_staged
                )
                self.env.process(board.ports.feed.run())
            elif step.kind is Kind.OUTPUT:
                board.ports.reader = Reader(self.env, device, out_s, self.recorder, is_staged=step.is_staged)
        return board

    def _add_channels(self) -> None:
        staged = {(step.kind, step.transfer) for step in self.program.steps if step.is_staged}
        for number, cut in enumerate(self.program.transfers):
            forth, back = self._line(cut.sender, cut.receiver), self._line(cut.receiver, cut.sender)
            wire_s = self.parts.wire_s[cut.after_layer][cut.sender][cut.receiver]
            if not isfinite(wire_s):
                raise CheckFailedError("a tensor has no link to cross")
            receiver = Receiver(self.env, back, cut, number, forth)
            sender = Sender(self.env, forth, cut, number, wire_s, receiver)
            sender.hear, receiver.hear = receiver.hear_note, sender.hear_note
            if (Kind.RECEIVE, number) in staged:
                receiver.accept_first()
                sender.grant_first()
            for device in (cut.sender, cut.receiver):
                self.recorder.boards[device].polls = not self.parts.overlaps
            self.boards[cut.sender].ports.senders[number] = sender
            self.boards[cut.receiver].ports.receivers[number] = receiver
            sender.on_sent = self._on_sent(number, is_staged=(Kind.SEND, number) in staged)
            if (Kind.RECEIVE, number) in staged:
                receiver.on_full = self._on_full(cut.receiver)

    def _line(self, sender: int, receiver: int) -> Line:
        """Return the line from one board to another, made when it is first asked for."""
        ends = (sender, receiver)
        if ends not in self.lines:
            pair = pair_of(*ends)
            half_duplex = self.problem.links.half_duplex if self.problem.links else frozenset()
            wire = self.wires.setdefault(pair, Resource(self.env)) if pair in half_duplex else None
            losses = Losses(self.loss, f"{sender} {receiver}")
            self.lines[ends] = Line(self.env, self.parts.reply_s[sender][receiver], losses, wire)
        return self.lines[ends]

    def _on_sent(self, transfer: int, *, is_staged: bool) -> Callable[[float, float, int], None]:
        cut = self.program.transfers[transfer]

        nominal_s = self.parts.wire_s[cut.after_layer][cut.sender][cut.receiver]
        nominal_s += self.parts.reply_s[cut.receiver][cut.sender]

        def note(start_s: float, end_s: float, number: int) -> None:
            self.recorder.t_s[number] += cut.seconds + (end_s - start_s) - nominal_s
            self.recorder.note_sent(cut.sender, cut.receiver, f"cut {transfer + 1}", (start_s, end_s), number)
            if is_staged:
                self.recorder.levels[cut.sender].change(-1, end_s)

        return note

    def _on_full(self, device: int) -> Callable[[], None]:
        return lambda: self.recorder.levels[device].change(1, self.env.now)

    def _buffers(self) -> Iterator[Buffers]:
        for device, board in self.boards.items():
            staged = [step for step in board.steps if step.is_staged]
            size_bytes = sum(aligned(tensor_bytes(self.problem, step)) for step in staged)
            yield Buffers(device, len(staged), size_bytes, self.recorder.levels[device])


def step_names(problem: Problem, assignment: Assignment, program: Program) -> list[str]:
    """Return the names of the steps; layers and cuts count from 1, parts of layers have the number of their layer."""
    names, done = [], dict.fromkeys(range(len(problem.devices)), -1)  # the last layer so far, by device
    for step in program.steps:
        if step.transfer >= 0:
            names.append(f"cut {step.transfer + 1}")
        elif step.kind is not Kind.RUN:
            names.append(step.kind.value)
        else:
            layers = range(done[step.device] + 1, step.tensor + 1)
            own = [
                problem.origins[layer] if problem.origins else layer
                for layer in layers
                if assignment[layer] == step.device
            ]
            done[step.device] = step.tensor
            names.append(f"layer {own[0] + 1}" if len(set(own)) == 1 else f"layers {own[0] + 1}-{own[-1] + 1}")
    return names


def queue_of(passages: Sequence[Passage]) -> Level:
    """Return how many inputs waited for the host to send them."""
    changes = [(each.arrival_s, 1) for each in passages] + [(each.start_s, -1) for each in passages]
    level = Level()
    for at_s, by in sorted(changes):
        level.change(by, at_s)
    return level
