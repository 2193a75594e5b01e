"""Pipelines with one stage per device and the least period (Mukherjee 2022, section 4).

`stage_search` is the dynamic programming that the paper intends: the optimal pipeline over all orders of devices, each
used at most once, within memory. State: layers assigned, set of devices used, next device; O(2^d d^2 n^2).
"""

from math import inf, isfinite

import numpy as np
from numpy.typing import NDArray

from tinysplit.common.choices import DEFAULT_TIME_LIMIT_S
from tinysplit.common.errors import UsageError
from tinysplit.split import clock
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.evaluate.memory import within_ram
from tinysplit.split.problem import Assignment, Objective, Period, Problem
from tinysplit.split.solution import Split
from tinysplit.split.solvers.lower_bound import lower_bound_without_transfers
from tinysplit.split.solvers.no_split import NoSplitError, check_capacity
from tinysplit.timing.topology import Links

Floats = NDArray[np.float64]


def stage_search(problem: Problem, *, time_limit_s: float = DEFAULT_TIME_LIMIT_S) -> Split:
    """Return the pipeline with the least period; proved only if no split with several runs per device can be better.

    With one stage per device, the period definitions `load`, `span` and `paper` are equal.

    Raises:
        UsageError: another objective or period, a network with branches, relays, or half-duplex links.
        NoSplitError: no pipeline is feasible, or the time is over.
    """
    _check_scope(problem)
    check_capacity(problem)
    start = clock.now()
    search = _StageSearch(within_ram(problem), start + time_limit_s)
    is_complete = search.run()
    assignment = search.assignment()
    if not is_complete or not assignment or not evaluate(problem, assignment).is_feasible:
        raise NoSplitError(proved=False)
    return Split(
        problem=problem,
        assignment=assignment,
        lower_bound=min(evaluate(problem, assignment).value, lower_bound_without_transfers(problem)),
        explored=search.explored,
        solver="stages",
        spent_s=clock.now() - start,
    )


def _check_scope(problem: Problem) -> None:
    if problem.objective is not Objective.THROUGHPUT or problem.period_definition is Period.OLD:
        raise UsageError("the pipeline search minimises the period, and does not support the period old")
    if not problem.is_chain:
        raise UsageError("the pipeline search solves chains only, and this network has branches")
    if problem.links and (problem.links.half_duplex or _has_relays(problem.links)):
        raise UsageError("the pipeline search supports neither half-duplex links nor relays")


def _has_relays(links: Links) -> bool:
    return any(len(route) > 1 for routes in links.routes for row in routes for route in row)


class _StageSearch:
    """`best[taken, device]`: least bottleneck of stages on the set `taken`, by layers assigned; `device` is next."""

    def __init__(self, problem: Problem, deadline: float) -> None:
        self.problem = problem
        self.deadline = deadline
        self.n_layers = len(problem.layers)
        self.n_devices = len(problem.devices)
        self.computing = [_computing(problem, device) for device in range(self.n_devices)]
        self.best: dict[tuple[int, int], Floats] = {}
        self.came_from: dict[tuple[int, int, int], tuple[int, int]] = {}  # first layer and device of the previous stage
        self.least = inf
        self.last: tuple[int, int, int] | None = None  # first layer of the last stage, devices taken before, its device
        self.explored = 0

    def run(self) -> bool:
        """Extend pipelines over all sets of devices, the smallest first; return False if the time is over."""
        for device in range(self.n_devices):
            nothing_done = np.full(self.n_layers, inf)
            nothing_done[0] = 0.0
            self.best[0, device] = nothing_done
        for taken in sorted(range(2**self.n_devices), key=int.bit_count):
            for device in range(self.n_devices):
                if (taken, device) in self.best:
                    self._end_with(taken, device)
                    self._extend(taken, device)
            if clock.now() > self.deadline:
                return False
        return True

    def _end_with(self, taken: int, device: int) -> None:
        """End a pipeline with all remaining layers on `device`."""
        if self.problem.must_use_all and (taken | 1 << device).bit_count() < self.n_devices:
            return
        values = np.maximum(self.best[taken, device], self.computing[device][:, self.n_layers])
        first = int(np.argmin(values))
        if values[first] < self.least:
            self.least = float(values[first])
            self.last = (first, taken, device)

    def _extend(self, taken: int, device: int) -> None:
        """Extend a pipeline by a stage on `device`, which sends to each unused device."""
        now_taken = taken | 1 << device
        ends = np.arange(1, self.n_layers)
        for after in range(self.n_devices):
            if now_taken >> after & 1:
                continue
            sending = np.array([self.problem.transfer_seconds[end - 1][device][after] for end in ends])
            sending[list(self.problem.joined)] = inf
            busy = self.computing[device][:, 1 : self.n_layers] + sending
            values = np.maximum(self.best[taken, device][:, None], busy)
            self.explored += int(np.isfinite(values).sum())
            firsts = values.argmin(axis=0)
            known = self.best.setdefault((now_taken, after), np.full(self.n_layers, inf))
            for end, first in zip(ends, firsts, strict=True):
                if values[first, end - 1] < known[end]:
                    known[end] = values[first, end - 1]
                    self.came_from[int(end), now_taken, after] = (int(first), device)

    def assignment(self) -> Assignment:
        """Return the optimal pipeline, empty if there is none."""
        if self.last is None:
            return ()
        first, taken, device = self.last
        devices = [device] * (self.n_layers - first)
        while first:
            before, sender = self.came_from[first, taken, device]
            devices = [sender] * (first - before) + devices
            first = before
            taken = taken & ~(1 << sender)
            device = sender
        return tuple(devices)


def _computing(problem: Problem, device: int) -> Floats:
    """Return the seconds of a stage, [first layer][layer after the last], infinite where it does not fit."""
    n_layers = len(problem.layers)
    table = np.full((n_layers, n_layers + 1), inf)
    for first in range(n_layers):
        seconds, flash_bytes = 0.0, 0
        for layer in range(first, n_layers):
            seconds += problem.usable_seconds[layer][device]
            flash_bytes += problem.layers[layer].flash_bytes[device]
            if not isfinite(seconds) or flash_bytes > problem.devices[device].flash_bytes:
                break
            table[first, layer + 1] = seconds
    return table
