"""A RUN whose input is computed with as it arrives, or whose output leaves as its rows are finished."""

from collections.abc import Generator, Mapping
from typing import Any, Protocol

from simpy import Event

from tinysplit.common.protocol_limits import line_bytes_of
from tinysplit.timing.gate import Gate, Process
from tinysplit.timing.program import BoardStep, Program, Rows
from tinysplit.timing.receiver import Receiver
from tinysplit.timing.sender import Sender

MOST_SHARE = 0.9  # of the CPU that a line without pauses takes


class Computing(Protocol):
    """What computes the rows: a board."""

    index: int  # of the inference

    def wait(self, gate: Gate) -> Generator[Event, Any, float]:
        """Wait for a gate."""

    def await_bytes(self, receiver: Receiver, n_bytes: int) -> Process:
        """Wait until the first bytes of a tensor may be used."""

    def compute_rows(self, layer_s: float, moving_s: float) -> Process:
        """Compute some rows."""

    def use_buffer(self, by: int) -> None:
        """Note that a buffer is taken, or free again."""


class RowByRow:
    """One RUN of an inference."""

    def __init__(
        self,
        program: Program,
        step: BoardStep,
        rows: Rows,
        receivers: Mapping[int, Receiver],
        senders: Mapping[int, Sender],
    ) -> None:
        self._handoff, self._program, self._device, self._rows = program.handoff, program, step.device, rows
        self._part_s = step.seconds / (rows.passes * len(rows.done_bytes))
        self._taken, self._given = receivers.get(rows.takes), senders.get(rows.gives)
        staged = {other.transfer for other in program.steps if other.device == step.device and other.is_staged}
        self._takes_copies, self._gives_copies = rows.takes in staged, rows.gives in staged
        self._sent_s = self._layer_s = self._moving_s = 0.0

    def on(self, board: Computing) -> Generator[Event, Any, float]:
        """Compute all parts; return the seconds that the driver sent for meanwhile."""
        if self._given:
            yield from board.wait(self._given.free)
            self._given.begin(board.index)
            board.use_buffer(int(self._gives_copies))
        taken_bytes = 0
        for number in range(self._rows.passes):
            is_last = number == self._rows.passes - 1
            for part, done_bytes in enumerate(self._rows.done_bytes):
                if self._taken:
                    needed = self._rows.needed_bytes[part]
                    yield from self._arrived(board, self._taken, needed)
                    self._take(self._taken, needed - taken_bytes)
                    taken_bytes = max(taken_bytes, needed)
                self._layer_s += self._part_s
                if self._given and is_last:
                    self._give(self._given, part)
                    yield from self._flush(board)
                    self._given.note_ready(done_bytes)
        yield from self._flush(board)
        if self._taken:
            yield from board.wait(self._taken.full)  # for rows that no part needs, too
            if self._takes_copies:
                board.use_buffer(-1)
                self._taken.accept(board.index + 1)
        return self._sent_s

    def _flush(self, board: Computing) -> Process:
        """Let the time of the parts so far pass."""
        layer_s, moving_s, self._layer_s, self._moving_s = self._layer_s, self._moving_s, 0.0, 0.0
        yield from board.compute_rows(layer_s, moving_s)

    def _arrived(self, board: Computing, taken: Receiver, needed: int) -> Process:
        """Wait for the bytes of the next part."""
        if not taken.full.is_open:
            yield from self._flush(board)
            if not taken.is_usable(needed):
                yield from board.await_bytes(taken, needed)

    def _take(self, taken: Receiver, n_bytes: int) -> None:
        """Add what a part takes besides computing: the copy of what it needs more, and the work of the driver."""
        cut, there = taken.cut, taken.usable_bytes
        if self._takes_copies and n_bytes > 0:
            self._moving_s += self._handoff.copy_s[cut.after_layer][self._device] * n_bytes / cut.payload_bytes
        if taken.left_s > 0 and there:
            frames = taken.n_frames * cut.payload_bytes / there
            driver_s = self._handoff.receive_s[cut.after_layer][self._device]
            driver_s += self._program.streams[self._rows.takes].frame_s * frames
            share = min(driver_s / (cut.payload_bytes * self._byte_s(taken)), MOST_SHARE)
            self._moving_s += self._part_s * share / (1 - share)

    def _give(self, given: Sender, part: int) -> None:
        """Add the copy of the rows of a part, and the work of the driver for those before."""
        cut, ends = given.cut, (0, *self._rows.done_bytes)
        if self._gives_copies:
            n_bytes = ends[part + 1] - ends[part]
            self._moving_s += self._handoff.copy_s[cut.after_layer][self._device] * n_bytes / cut.payload_bytes
        if part:
            n_bytes = ends[part] - ends[part - 1]
            frame_s = self._program.streams[self._rows.gives].frame_s
            driver_s = self._handoff.send_s[cut.after_layer][self._device] * n_bytes / cut.payload_bytes + frame_s
            span_s = self._layer_s + self._moving_s
            sent_s = driver_s * min(span_s / (n_bytes * self._byte_s(given)), 1) if n_bytes else 0.0
            self._sent_s += sent_s
            self._moving_s += sent_s

    def _byte_s(self, end: Sender | Receiver) -> float:
        cut = end.cut
        wire_s = self._handoff.wire_s[cut.after_layer][cut.sender][cut.receiver]
        return wire_s / max(1, line_bytes_of(cut.payload_bytes))
