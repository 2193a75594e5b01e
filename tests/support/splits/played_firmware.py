"""The generated firmware played through, inference after inference: an own definition of its period.

Boards go through one list of steps; what is known is when each board, each buffer and each line is free again. Nothing
is shared with the event graph. Once all these times grow by the same amount every few inferences, they do so for ever.
"""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tinysplit.split.problem import Problem

MOST_INFERENCES = 100_000  # where the slowest two parts are almost equally slow it takes long to fill all buffers
LONGEST_CYCLE = 8  # inferences after which the pattern repeats


@dataclass(frozen=True)
class Step:
    """`kind`: in, run, move or out; `to` receives what `device` sends; `seconds` of a run."""

    kind: str
    device: int
    tensor: int
    to: int = -1
    seconds: float = 0.0


Staged = frozenset[tuple[str, int, int]]  # (in or out, tensor, device)


def staged(problem: Problem, steps: Sequence[Step], used_bytes: Sequence[int]) -> Staged:
    """Return what has a buffer in the RAM beside `used_bytes`, in the order: received, sent, input, output."""
    chosen = set()
    for device, limits in enumerate(problem.devices):
        received = [("in", step.tensor, device) for step in steps if step.kind == "move" and step.to == device]
        sent = [("out", step.tensor, step.to) for step in steps if step.kind == "move" and step.device == device]
        fed = [("in", step.tensor, device) for step in steps if step.kind == "in" and step.device == device]
        read = [("out", step.tensor, -1) for step in steps if step.kind == "out" and step.device == device]
        free = limits.ram_bytes - used_bytes[device]
        for wanted in (*received, *sent, *fed, *read):
            n_bytes = problem.input_bytes if wanted[1] < 0 else problem.layers[wanted[1]].out_bytes
            words_bytes = (n_bytes + 3) // 4 * 4
            if 0 < words_bytes <= free:
                chosen.add(wanted)
                free -= words_bytes
    return frozenset(chosen)


class PlayedFirmware:
    """When everything is free again: boards, buffers and lines."""

    def __init__(self, problem: Problem, steps: Sequence[Step], buffers: Staged) -> None:
        n_devices = len(problem.devices)
        nothing = [[0.0] * n_devices] * (len(problem.layers) + 1)
        parts = problem.handoff
        table = problem.links.direct if problem.links else problem.transfer_seconds
        self.wire_s = parts.wire_s if parts else table
        self.reply_s = parts.reply_s if parts else [[0.0] * n_devices] * n_devices
        self.copy_s = parts.copy_s if parts else nothing
        self.send_s = parts.send_s if parts else nothing
        self.receive_s = parts.receive_s if parts else nothing
        self.host_s = parts.host_s if parts else problem.host_seconds or ((0.0, 0.0),) * n_devices
        self.taken_s = parts.taken_s if parts and parts.taken_s else [0.0] * n_devices
        self.steps, self.buffers = steps, buffers
        self.board = [0.0] * n_devices
        self.free: dict[tuple[str, int, int], float] = {}

    def period_s(self) -> float:
        """Return the seconds between outputs once they have become regular."""
        seen: deque[list[float]] = deque(maxlen=LONGEST_CYCLE + 1)
        busy = sorted({step.device for step in self.steps} | {step.to for step in self.steps if step.kind == "move"})
        for _ in range(MOST_INFERENCES):
            self.play(0.0)
            seen.append([*(self.board[device] for device in busy), *self.free.values()])
            for n_later in range(1, min(LONGEST_CYCLE, len(seen) - 1) + 1):
                grown = [now - then for now, then in zip(seen[-1], seen[-1 - n_later], strict=True)]
                if max(grown) - min(grown) <= 1e-12 * max(seen[-1]):
                    return sum(grown) / len(grown) / n_later
        raise AssertionError("no regular outputs")

    def play(self, arrival_s: float) -> float:
        """Play one inference through whose input arrives then, and return when the host has its output."""
        done_s = 0.0
        for step in self.steps:
            if step.kind == "in":
                self._feed(step.device, arrival_s)
            elif step.kind == "run":
                self.board[step.device] += step.seconds
            elif step.kind == "move":
                self._move(step)
            else:
                done_s = self._read(step)
        return done_s

    def _feed(self, device: int, arrival_s: float) -> None:
        fed_s, buffer = self.host_s[device][0], ("in", -1, device)
        if buffer not in self.buffers:
            self.board[device] = max(self.board[device] + self.taken_s[device], arrival_s) + fed_s
            return
        whole_s = max(arrival_s, self.free.get(buffer, 0.0)) + fed_s
        copied_s = max(self.board[device], whole_s) + self.copy_s[-1][device]
        self.free[buffer] = copied_s + self.taken_s[device]
        self.board[device] = copied_s + self.receive_s[-1][device]

    def _move(self, step: Step) -> None:
        sender, receiver, tensor = step.device, step.to, step.tensor
        out_buffer, in_buffer, line = ("out", tensor, receiver), ("in", tensor, receiver), ("line", sender, receiver)
        ready_s = self.board[sender]
        if out_buffer in self.buffers:
            ready_s = max(ready_s, self.free.get(out_buffer, 0.0)) + self.copy_s[tensor][sender]
        reply_s = self.reply_s[receiver][sender]
        answered = ("answered", tensor, receiver)  # when the acknowledgement has left the line back
        free_s = max(self.board[receiver], self.free.get(answered, 0.0))
        granted_s = self.free.get(in_buffer, 0.0) if in_buffer in self.buffers else free_s + reply_s
        whole_s = max(ready_s, granted_s, self.free.get(line, 0.0)) + self.wire_s[tensor][sender][receiver]
        self.free[line] = whole_s
        self.board[sender] = self.free[answered] = whole_s + reply_s
        if out_buffer in self.buffers:
            self.board[sender], self.free[out_buffer] = ready_s + self.send_s[tensor][sender], whole_s + reply_s
        if in_buffer in self.buffers:
            copied_s = max(self.board[receiver], whole_s) + self.copy_s[tensor][receiver]
            self.free[in_buffer] = max(copied_s, self.free[answered]) + reply_s
            self.board[receiver] = copied_s + self.receive_s[tensor][receiver]
        else:
            self.board[receiver] = whole_s

    def _read(self, step: Step) -> float:
        device, read_s, buffer = step.device, self.host_s[step.device][1], ("out", step.tensor, -1)
        if buffer not in self.buffers:
            self.board[device] += read_s
            return self.board[device]
        ready_s = max(self.board[device], self.free.get(buffer, 0.0))
        ready_s += self.copy_s[step.tensor][device]
        self.board[device], self.free[buffer] = ready_s + self.send_s[-1][device], ready_s + read_s
        return self.free[buffer]


def listed(
    assignment: Sequence[int], seconds: Sequence[float], moves: Sequence[Sequence[tuple[int, int]]], fed: Sequence[int]
) -> Iterator[Step]:
    """Yield the list: the host feeds the devices `fed`; each layer; its tensor over each (sender, receiver)."""
    yield from (Step("in", device, -1) for device in fed)
    for layer, device in enumerate(assignment):
        yield Step("run", device, layer, seconds=seconds[layer])
        has = {device}
        for sender, receiver in moves[layer]:
            if receiver not in has:
                has.add(receiver)
                yield Step("move", sender, layer, receiver)
    yield Step("out", assignment[-1], len(assignment) - 1)
