"""Streamed hand-offs: which transfers send rows as they are finished and take rows as they arrive, and what that saves.

A transfer is streamed at one end, at both or at none, as far as the steps at its ends compute row by row
(`memory/row_steps.py`). By default it is streamed where the event engine finds an inference to be faster so.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from tinysplit.common.protocol_limits import LINK_REPLY_BYTES
from tinysplit.costs.link_options import HandOffMode
from tinysplit.kernels.cost_table import CycleTable
from tinysplit.memory.row_steps import BoardRows, RowFacts, RowSteps
from tinysplit.memory.schedule import PlanStep, StepKind
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.graph import Graph
from tinysplit.plan.layer_times import as_planned
from tinysplit.plan.program import BoardSteps, RunRows, program_of_boards
from tinysplit.settings.boards_and_links import HAND_OFF
from tinysplit.split.problem import Assignment, Problem
from tinysplit.timing.figures import Timing
from tinysplit.timing.frames import best_share
from tinysplit.timing.program import Program, Rows, Stream
from tinysplit.timing.topology import Cut

LEAST_SAVING_S = 1e-9  # rounding errors are no saving


@dataclass(frozen=True, eq=False)
class HandOff:
    """How a transfer is streamed at each end; None where it is whole there, for the `reason`."""

    gives: RowSteps | None = None
    takes: RowSteps | None = None
    reason: str = ""
    frame_share: int = 0  # of `frame_limit`

    @property
    def is_streamed(self) -> bool:
        """Whether rows leave before the last one is finished, or are used before the last one arrives."""
        return self.gives is not None or self.takes is not None


@dataclass(frozen=True, eq=False)
class CutPlan:
    """A hop of a tensor over a link, and how it crosses."""

    cut: Cut
    hand_off: HandOff


WHOLE = HandOff()
POLLS = RowFacts(None, "the board polls its links, and only while it waits")


@dataclass(frozen=True, eq=False)
class StreamPlanner:
    """Decides how each of `cuts` is handed off. `boards` are the boards that take part, by their index."""

    table: CycleTable
    graph: Graph
    widths: BitWidths
    problem: Problem
    assignment: Assignment
    cuts: Sequence[Cut]
    boards: Mapping[int, BoardSteps]

    def choose(self, mode: HandOffMode | None) -> tuple[CutPlan, ...]:
        """Return the cuts with the hand-off of each, as `mode` says where possible, by default what is faster."""
        return tuple(CutPlan(cut, hand_off) for cut, hand_off in zip(self.cuts, self._chosen(mode), strict=True))

    def _chosen(self, mode: HandOffMode | None) -> tuple[HandOff, ...]:
        chosen = [replace(WHOLE, reason=f"{HAND_OFF.option} whole")] * len(self.cuts)
        if mode is HandOffMode.WHOLE:
            return tuple(chosen)
        possible = [self._possible(number) for number in range(len(self.cuts))]
        if mode is HandOffMode.STREAMED:
            return tuple(possible)
        chosen = [replace(WHOLE, reason=each.reason or "it would not be faster") for each in possible]
        fastest_s = self.seconds(chosen)
        for number, streamed in enumerate(possible):
            for end in self._ends(streamed):
                trial = [*chosen[:number], end, *chosen[number + 1 :]]
                trial_s = self.seconds(trial)
                if trial_s < fastest_s - LEAST_SAVING_S:
                    chosen, fastest_s = trial, trial_s
        return tuple(chosen)

    def seconds(self, hand_offs: Sequence[HandOff]) -> float:
        """Return the seconds of one inference."""
        return Timing((self.program(hand_offs),)).i_s

    def program(self, hand_offs: Sequence[HandOff], problem: Problem | None = None) -> Program:
        """Return the program of the boards; `problem` has the costs of its layers, by default those of the plan."""
        streamed = {number: each for number, each in enumerate(hand_offs) if each.is_streamed}
        streams = {number: self._stream(number, each) for number, each in streamed.items()}
        costs = problem or self._as_planned
        return program_of_boards(
            costs, self.assignment, self.cuts, self.boards.values(), list(self._runs(streamed)), streams
        )

    @cached_property
    def _as_planned(self) -> Problem:
        return as_planned(self.table, self.problem, self.graph, self.widths, self.boards.values())

    def _runs(self, streamed: Mapping[int, HandOff]) -> Iterator[RunRows]:
        """Yield the layers that compute the rows of streamed tensors."""
        steps: dict[int, RowSteps] = {}  # by the layer whose output is computed
        gives, takes = dict[int, int](), dict[int, int]()
        for number, each in streamed.items():
            if each.gives:
                steps.setdefault(each.gives.output, each.gives)
                gives[each.gives.output] = number
            if each.takes:
                steps[each.takes.output] = each.takes
                takes[each.takes.output] = number
        for output, rows in steps.items():
            yield RunRows(rows.layers, self._rows(rows, takes.get(output, -1), gives.get(output, -1)))

    def _rows(self, rows: RowSteps, takes: int, gives: int) -> Rows:
        first, last = self.graph.layers[rows.layers[0]], self.graph.layers[rows.output]
        in_bytes = self.cuts[takes].payload_bytes if takes >= 0 else 0
        needed = rows.needed_rows * (in_bytes // first.in_shape.height)
        done = rows.done_rows * (self.widths.size_bytes(self.graph, rows.output) // last.out_shape.height)
        return Rows(tuple(needed.tolist()), tuple(done.tolist()), rows.passes, takes, gives)

    @staticmethod
    def _ends(streamed: HandOff) -> Iterator[HandOff]:
        """Yield the ways to stream a transfer, both ends last."""
        if streamed.gives and streamed.takes:
            yield replace(streamed, takes=None, frame_share=0)
            yield replace(streamed, gives=None)
        if streamed.is_streamed:
            yield streamed

    def _possible(self, number: int) -> HandOff:
        cut = self.cuts[number]
        sender, receiver = self.boards[cut.sender], self.boards[cut.receiver]
        send = sender.steps.index(PlanStep(StepKind.SEND, number, cut.after_layer))
        receive = receiver.steps.index(PlanStep(StepKind.RECEIVE, number, cut.after_layer))
        gives = POLLS if sender.driving.polls else self._board_rows(sender).out_of(send)
        takes = POLLS
        if not receiver.driving.polls:
            takes = self._board_rows(receiver).into(receive, is_staged=number in receiver.stages.cuts)
        share = self._share(number, takes.steps) if takes.steps else 0
        return HandOff(gives.steps, takes.steps, _reason(gives, takes), share)

    def _share(self, number: int, takes: RowSteps) -> int:
        """Return the share of frames that suits the layers that take the rows."""
        cut = self.cuts[number]
        seconds = sum(self._as_planned.layers[layer].seconds[cut.receiver] for layer in takes.layers)
        return best_share(seconds, cut.payload_bytes * self._byte_s(cut))

    def _board_rows(self, board: BoardSteps) -> BoardRows:
        return BoardRows(self.graph, self.widths, board.memory, board.steps)

    def _byte_s(self, cut: Cut) -> float:
        reply_s = self.problem.handoff_parts.reply_s[cut.sender][cut.receiver]
        return reply_s / LINK_REPLY_BYTES if reply_s else cut.seconds / cut.payload_bytes

    def _stream(self, number: int, hand_off: HandOff) -> Stream:
        cut, parts = self.cuts[number], self.problem.handoff_parts
        table, target = self.table, self.boards[cut.receiver].board
        cpu_s = parts.send_s[cut.after_layer][cut.sender] + parts.receive_s[cut.after_layer][cut.receiver]
        chunk_bytes, driver = self.boards[cut.sender].driving.chunk_bytes, self.boards[cut.receiver].driving.driver
        return Stream(
            frame_s=table.handoff[target.device.family].frame / target.clock.core_hz,
            latency_s=table.link_of(target.device, driver).receiving / target.clock.core_hz
            + parts.resuming_s(cut.receiver)
            + chunk_bytes * cpu_s / cut.payload_bytes,
            chunk_bytes=chunk_bytes,
            frame_share=hand_off.frame_share,
        )


def _reason(gives: RowFacts, takes: RowFacts) -> str:
    """Return why a transfer is not streamed at both ends."""
    ends = (("sent as a whole", gives), ("taken as a whole", takes))
    return "; ".join(f"{what}: {facts.reason}" for what, facts in ends if facts.steps is None)
