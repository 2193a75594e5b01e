"""Periods of many assignments, vectorised; `period.py` computes them for one."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tinysplit.split.evaluate.period import TIE
from tinysplit.split.problem import Period, Problem

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Timelines:
    """Timelines of partial assignments of consecutive layers, one per column.

    Infinite times count as 0 here: the latency of such an assignment is infinite anyway.
    """

    clock: Floats  # [column]: seconds until the last layer is done
    computing: Floats  # [device, column]: seconds of computation
    busy: Floats  # [device, column]: seconds of computation and sending
    start: Floats  # [device, column]: start of the first layer, infinite for a device without layers
    end: Floats  # [device, column]: time when the last layer is done and its output is sent

    @classmethod
    def of(cls, problem: Problem, first_layer: int, devices: NDArray[np.intp]) -> "Timelines":
        """Return the timelines of `devices`, an array [layer, column] whose first row is layer `first_layer`."""
        n_columns = devices.shape[1]
        columns = np.arange(n_columns)
        clock = np.zeros(n_columns)
        computing, busy, end = (np.zeros((len(problem.devices), n_columns)) for _ in range(3))
        start = np.full(busy.shape, np.inf)
        for row, owner in enumerate(devices):
            if row:
                before = devices[row - 1]
                sending = _finite(problem.transfer_seconds[first_layer + row - 1])[before, owner]
                clock += sending
                busy[before, columns] += sending
                end[before, columns] = clock
            start[owner, columns] = np.minimum(start[owner, columns], clock)
            seconds = _finite(problem.layers[first_layer + row].seconds)[owner]
            clock += seconds
            computing[owner, columns] += seconds
            busy[owner, columns] += seconds
            end[owner, columns] = clock
        return cls(clock, computing, busy, start, end)

    def after(self, head: "Timelines", last_device: int, sending: Floats) -> "Timelines":
        """Return these timelines after `head`, one column, whose `last_device` sends for `sending` [column] seconds."""
        sending = np.where(np.isfinite(sending), sending, 0.0)
        shift = head.clock + sending
        busy = head.busy + self.busy
        busy[last_device] += sending
        head_end = np.repeat(head.end, len(shift), axis=1)
        head_end[last_device] = shift
        return Timelines(
            clock=shift + self.clock,
            computing=head.computing + self.computing,
            busy=busy,
            start=np.minimum(head.start, shift + self.start),
            end=np.where(np.isfinite(self.start), shift + self.end, head_end),
        )

    def periods(self, definition: Period) -> Floats:
        """Return the period in seconds by [column]."""
        if definition is Period.LOAD:
            return np.asarray(self.busy.max(axis=0))
        if definition is Period.OLD:
            return np.asarray(np.where(_most(self.computing), self.busy, 0.0).max(axis=0))
        spans = self.end - np.where(np.isfinite(self.start), self.start, self.end)
        if definition is Period.PAPER:
            spans = np.where(_most(self.busy), spans, 0.0)
        return np.asarray(spans.max(axis=0))


def _most(seconds: Floats) -> NDArray[np.bool_]:
    return np.asarray(seconds >= seconds.max(axis=0) * (1 - TIE))


def _finite(costs: object) -> Floats:
    table = np.asarray(costs, dtype=np.float64)
    return np.where(np.isfinite(table), table, 0.0)
