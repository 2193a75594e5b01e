"""Streamed hand-offs: which transfers send rows as they are finished and take rows as they arrive, and what that saves.

A transfer is streamed at one end, at both or at none, as far as the steps at its ends compute row by row
(`memory/row_steps.py`). By default it is streamed where the model of one inference says that this is faster.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from tinysplit.boards.board import Board
from tinysplit.boards.link_driver import LinkDriving
from tinysplit.common.protocol_limits import LINK_REPLY_BYTES
from tinysplit.costs.link_options import HandOffMode
from tinysplit.kernels.cost_table import CycleTable
from tinysplit.kernels.cycle_prediction import kernel_cycles
from tinysplit.memory.layout import BoardMemory
from tinysplit.memory.row_steps import BoardRows, RowFacts, RowSteps
from tinysplit.memory.schedule import PlanStep, StepKind
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.graph import Graph
from tinysplit.plan.stages import StageBuffers
from tinysplit.settings.boards_and_links import HAND_OFF
from tinysplit.split.evaluate.streaming import Costs, Parts, RunCosts, TransferCosts, best_share, inference_s
from tinysplit.split.problem import Problem
from tinysplit.split.topology import Cut

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
class BoardSteps:
    """A board's part of a plan: its steps and memory, the buffers of its transfers, and how its links are driven."""

    board: Board
    steps: Sequence[PlanStep]
    memory: BoardMemory
    stages: StageBuffers
    driving: LinkDriving


@dataclass(frozen=True, eq=False)
class StreamPlanner:
    """Decides how each of `cuts` is handed off. `boards` are the boards that take part, by their index."""

    table: CycleTable
    graph: Graph
    widths: BitWidths
    problem: Problem
    cuts: Sequence[Cut]
    boards: Mapping[int, BoardSteps]

    def choose(self, mode: HandOffMode | None) -> tuple[tuple[CutPlan, ...], float]:
        """Return the cuts with the hand-off of each, as `mode` says where possible, by default what is faster.

        Also returns by how many seconds one inference is shorter than with whole hand-offs.
        """
        chosen = self._chosen(mode)
        planned = tuple(CutPlan(cut, hand_off) for cut, hand_off in zip(self.cuts, chosen, strict=True))
        return planned, self.seconds([WHOLE] * len(self.cuts)) - self.seconds(chosen)

    def _chosen(self, mode: HandOffMode | None) -> tuple[HandOff, ...]:
        chosen = [replace(WHOLE, reason=f"{HAND_OFF.option} whole")] * len(self.cuts)
        if mode is HandOffMode.WHOLE:
            return tuple(chosen)
        possible = [self._possible(number) for number in range(len(self.cuts))]
        if mode is HandOffMode.STREAMED:
            return tuple(possible)
        chosen = [replace(WHOLE, reason=each.reason or "it would not be faster") for each in possible]
        for number, streamed in enumerate(possible):
            for each in self._ends(streamed):
                trial = [*chosen[:number], each, *chosen[number + 1 :]]
                if self.seconds(trial) < self.seconds(chosen) - LEAST_SAVING_S:
                    chosen = trial
        return tuple(chosen)

    def seconds(self, hand_offs: Sequence[HandOff]) -> float:
        """Return the modelled seconds of one inference."""
        return inference_s(list(self._costs(hand_offs)))

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
        gives = POLLS if sender.driving.polls else self._rows(sender).out_of(send)
        takes = POLLS
        if not receiver.driving.polls:
            takes = self._rows(receiver).into(receive, is_staged=number in receiver.stages.cuts)
        share = self._share(number, takes.steps) if takes.steps else 0
        return HandOff(gives.steps, takes.steps, _reason(gives, takes), share)

    def _share(self, number: int, takes: RowSteps) -> int:
        costs = self._transfer(number, WHOLE)
        return best_share(self._runs[takes.output].seconds, costs.payload_bytes * costs.byte_s)

    def _rows(self, board: BoardSteps) -> BoardRows:
        return BoardRows(self.graph, self.widths, board.memory, board.steps)

    def _costs(self, hand_offs: Sequence[HandOff]) -> Iterator[Costs]:
        """Yield the steps of all boards in their order."""
        for number, run in self._runs.items():
            gives = next((each.gives for each in hand_offs if each.gives and each.gives.output == number), None)
            takes = next(
                (cut for cut, each in enumerate(hand_offs) if each.takes and each.takes.output == number), None
            )
            rows = gives if takes is None else hand_offs[takes].takes
            in_bytes = 0 if takes is None else self.cuts[takes].payload_bytes
            yield replace(run, parts=self._parts(rows, in_bytes) if rows else None)
            for cut in range(len(self.cuts)):
                if self.cuts[cut].after_layer == number:
                    yield self._transfer(cut, hand_offs[cut])

    @cached_property
    def _runs(self) -> Mapping[int, RunCosts]:
        """The layers by the one whose output is whole in the end: fused layers are one."""
        runs: dict[int, RunCosts] = {}
        for number in range(len(self.graph.layers)):
            device = next(device for device, board in self.boards.items() if number in board.memory.kernels)
            memory, waiting_s = self.boards[device].memory, 0.0
            producer = memory.producer(self.graph, number)
            if producer is not None:
                waiting_s = runs.pop(producer).seconds
            runs[number] = RunCosts(device, waiting_s + self._layer_s(number, device))
        return runs

    def _layer_s(self, number: int, device: int) -> float:
        board, core = self.boards[device], self.boards[device].board.device.core
        memory, widths = board.memory, self.widths.of_layer(self.graph.layers[number])
        layer, times = memory.layer(self.graph, number), memory.calls(self.graph, number)
        return kernel_cycles(self.table, layer, core, widths, memory.kernels[number], times) / board.board.clock.core_hz

    def _parts(self, rows: RowSteps, in_bytes: int) -> Parts:
        """Return the parts of a run whose streamed input has `in_bytes` bytes, 0 without one."""
        first, last = self.graph.layers[rows.layers[0]], self.graph.layers[rows.output]
        needed = rows.needed_rows * (in_bytes // first.in_shape.height)
        done = rows.done_rows * (self.widths.size_bytes(self.graph, rows.output) // last.out_shape.height)
        return Parts(tuple(needed.tolist()), tuple(done.tolist()), rows.passes)

    def _transfer(self, number: int, hand_off: HandOff) -> TransferCosts:
        cut, parts = self.cuts[number], self.problem.handoff_parts
        sender, receiver, tensor = cut.sender, cut.receiver, cut.after_layer
        is_staged_out, is_staged_in = (number in self.boards[end].stages.cuts for end in (sender, receiver))
        table, target = self.table, self.boards[receiver].board
        reply_s, cpu_s = (
            parts.reply_s[sender][receiver],
            parts.send_s[tensor][sender] + parts.receive_s[tensor][receiver],
        )
        chunk_bytes, driver = self.boards[sender].driving.chunk_bytes, self.boards[receiver].driving.driver
        return TransferCosts(
            sender=sender,
            receiver=receiver,
            payload_bytes=cut.payload_bytes,
            byte_s=reply_s / LINK_REPLY_BYTES if reply_s else cut.seconds / cut.payload_bytes,
            reply_s=parts.reply_s[receiver][sender],
            copy_out_s=parts.copy_s[tensor][sender] * is_staged_out,
            copy_in_s=parts.copy_s[tensor][receiver] * is_staged_in,
            send_s=parts.send_s[tensor][sender],
            receive_s=parts.receive_s[tensor][receiver],
            frame_s=table.handoff[target.device.family].frame / target.clock.core_hz,
            latency_s=table.link[target.device.family][driver].receiving / target.clock.core_hz
            + chunk_bytes * cpu_s / cut.payload_bytes,
            blocks_sender=not is_staged_out,
            gives_rows=hand_off.gives is not None,
            chunk_bytes=chunk_bytes,
            takes_rows=hand_off.takes is not None,
            frame_share=hand_off.frame_share,
        )


def _reason(gives: RowFacts, takes: RowFacts) -> str:
    """Return why a transfer is not streamed at both ends."""
    ends = (("sent as a whole", gives), ("taken as a whole", takes))
    return "; ".join(f"{what}: {facts.reason}" for what, facts in ends if facts.steps is None)
