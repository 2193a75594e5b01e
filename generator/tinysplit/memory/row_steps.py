"""Steps of a board that compute their layers row by row: where a streamed transfer may begin or end.

The layer right before a SEND may give its output away row by row, and the layer right after a RECEIVE may take its
input as it arrives, if the kernel has a row order and no row arrives where the arena holds something else already.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from tinysplit.kernels.row_order import are_apart, keeps_lead, may_arrive_in_place, one_row, rows_needed
from tinysplit.memory.fused_rows import FusedRows
from tinysplit.memory.layout import BoardMemory
from tinysplit.memory.schedule import PlanStep, StepKind
from tinysplit.network.bit_widths import BitWidths, Widths
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.graph import Graph

NOT_BEFORE, NOT_AFTER = "no layer computes it right before", "no layer reads it right after"


@dataclass(frozen=True, eq=False)
class RowSteps:
    """The parts of a RUN step: output rows, or tiles of two fused layers; all of them are computed `passes` times.

    Before each part, the first `needed_rows` of the input must have arrived; after it, in the last pass, the first
    `done_rows` of the output are complete. The step runs `layers`.
    """

    layers: tuple[int, ...]
    needed_rows: IntArray
    done_rows: IntArray
    passes: int = 1

    @classmethod
    def of_fused(cls, producer: int, consumer: int, fused: FusedRows) -> Self:
        """Return the tiles of fused layers."""
        return cls((producer, consumer), fused.needed_rows, np.arange(1, fused.tiles + 1) * fused.out_rows)

    @property
    def output(self) -> int:
        """The layer whose output is written as a whole."""
        return self.layers[-1]


@dataclass(frozen=True, eq=False)
class RowFacts:
    """The parts of the step at one end of a transfer, or the reason why it cannot be streamed there."""

    steps: RowSteps | None
    reason: str = ""


@dataclass(frozen=True, eq=False)
class BoardRows:
    """The transfers of a board that may be streamed, by their index in its steps."""

    graph: Graph
    widths: BitWidths
    memory: BoardMemory
    steps: Sequence[PlanStep]

    def out_of(self, send: int) -> RowFacts:
        """Return how the tensor of step `send` is computed, in the step before it."""
        tensor, run = self.steps[send].tensor, send - 1
        if run >= 0 and self.memory.producer(self.graph, tensor) is not None:
            run -= self.steps[run][:2] == (StepKind.RUN, tensor)  # it has run with the layer before
        facts = self._row_steps(run) if run >= 0 else RowFacts(None, NOT_BEFORE)
        return facts if facts.steps is None or facts.steps.output == tensor else RowFacts(None, NOT_BEFORE)

    def into(self, receive: int, *, is_staged: bool) -> RowFacts:
        """Return how the layer in the step after `receive` reads its tensor.

        Without a buffer beside the arena (`is_staged`) rows arrive right in the arena. The link reads them once more,
        for the check of the whole tensor, so that no output may take their place.
        """
        tensor, run = self.steps[receive].tensor, receive + 1
        facts = self._row_steps(run) if run < len(self.steps) else RowFacts(None, NOT_AFTER)
        if facts.steps is None:
            return facts
        number = facts.steps.layers[0]
        layer = self.graph.layers[number]
        inputs = [k for k, source in enumerate(self.graph.predecessors[number]) if source == tensor]
        if not inputs:
            return RowFacts(None, NOT_AFTER)
        if len(inputs) > 1 or layer.in_shapes[inputs[0]].height != layer.in_shape.height:
            return RowFacts(None, "the layer reads it not only row by row")
        if any(move.step == run for move in self.memory.moves):
            return RowFacts(None, "a tensor moves in the arena before the layer runs")
        if not self._may_arrive(run, tensor, inputs[0], facts.steps, is_staged=is_staged):
            return RowFacts(None, "its rows would arrive where outputs are already")
        return facts

    def _row_steps(self, run: int) -> RowFacts:
        """Return the parts of step `run`."""
        kind, number, _ = self.steps[run]
        if kind is not StepKind.RUN or self.memory.producer(self.graph, number) is not None:
            return RowFacts(None, NOT_BEFORE)
        if number in self.memory.fused:
            consumer = self.memory.consumer(self.graph, number)
            return RowFacts(RowSteps.of_fused(number, consumer, self.memory.fused[number]))
        layer = self.graph.layers[number]
        order, needed = self.memory.kernels[number].row_order(layer, self._widths(number)), rows_needed(layer)
        if order.reason or needed is None:
            return RowFacts(None, order.reason)
        if order.by_calls and not self._calls_keep_leads(run, number):
            return RowFacts(None, "called for every row, its kernel would overwrite inputs")
        rows = np.arange(1, layer.out_shape.height + 1)
        return RowFacts(RowSteps((number,), needed, rows, order.passes))

    def _calls_keep_leads(self, run: int, number: int) -> bool:
        layer, kernel = self.graph.layers[number], self.memory.kernels[number]
        row = one_row(layer)

        def keeps(k: int, source: int) -> bool:
            widths = self._widths(number)._replace(x=self.widths.values[layer.inputs[k]])
            return keeps_lead(layer, k, widths, self._distance(run, source, number), kernel.lead(row, k, widths))

        return all(keeps(k, source) for k, source in enumerate(self.graph.predecessors[number]))

    def _may_arrive(self, run: int, tensor: int, k: int, rows: RowSteps, *, is_staged: bool) -> bool:
        in_bytes, out_bytes = (self.widths.size_bytes(self.graph, each) for each in (tensor, rows.output))
        if not is_staged:
            return are_apart(in_bytes, out_bytes, self._distance(run, tensor, rows.output))
        in_height = self.graph.layers[rows.layers[0]].in_shapes[k].height
        arrived = rows.needed_rows * (in_bytes // in_height)
        written = rows.done_rows * (out_bytes // self.graph.layers[rows.output].out_shape.height)
        return may_arrive_in_place(arrived, written, in_bytes, self._distance(run, tensor, rows.output))

    def _distance(self, run: int, source: int, output: int) -> int:
        """Return by how many bytes a tensor begins after an output in the arena."""
        return self.memory.offset(source, run) - self.memory.offset(output, run)

    def _widths(self, number: int) -> Widths:
        return self.widths.of_layer(self.graph.layers[number])
