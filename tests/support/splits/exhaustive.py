"""Exhaustive enumeration: every one of the d^n assignments ("full search" in Santamaria 2021, section 3.1).

For latency and period of chains without relays, the assignments of the last layers (tails) are enumerated once, as
arrays. Each assignment of the first layers (head) is combined with all tails in a few array operations. In all other
cases the assignments are evaluated one by one.
"""

from dataclasses import dataclass
from itertools import product
from math import inf

import numpy as np
from numpy.typing import NDArray

from splits.period_arrays import Timelines
from tinysplit.common.choices import DEFAULT_TIME_LIMIT_S
from tinysplit.common.errors import UsageError
from tinysplit.split import clock
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.problem import ROUNDING, Assignment, Objective, Period, Problem
from tinysplit.split.solution import Split
from tinysplit.split.solvers.lower_bound import lower_bound_without_transfers
from tinysplit.split.solvers.no_split import NoSplitError, check_capacity

MAX_CANDIDATES = 2**30
MAX_TAILS = 2**16


def exhaustive_search(problem: Problem, *, time_limit_s: float = DEFAULT_TIME_LIMIT_S) -> Split:
    """Return an optimal split, or after `time_limit_s` seconds the best one found, with `proved` False.

    Raises:
        UsageError: there are more than 2^30 assignments.
        NoSplitError: no assignment is feasible, or none of those evaluated in time.
    """
    n_layers, n_devices = len(problem.layers), len(problem.devices)
    if problem.n_candidates > MAX_CANDIDATES:
        raise UsageError(
            f"exhaustive search would evaluate {n_devices}^{n_layers} = {float(problem.n_candidates):.2g} assignments, "
            f"more than {MAX_CANDIDATES}"
        )
    check_capacity(problem)
    start = clock.now()
    search = _by_arrays if _fits_arrays(problem) else _one_by_one
    found = search(problem, start + time_limit_s)
    ended = found.explored == problem.n_candidates
    if not found.best:
        raise NoSplitError(proved=ended)
    value = evaluate(problem, found.best).value
    return Split(
        problem=problem,
        assignment=found.best,
        lower_bound=value if ended else min(value, lower_bound_without_transfers(problem)),
        explored=found.explored,
        solver="exhaustive",
        spent_s=clock.now() - start,
    )


@dataclass(frozen=True)
class _Found:
    best: Assignment  # empty for none
    explored: int


def _fits_arrays(problem: Problem) -> bool:
    plain = problem.is_chain and problem.links is None and not problem.asks_for_energy
    has_own_period = problem.host_seconds or problem.period_definition is Period.FIRMWARE
    return plain and not (has_own_period and problem.asks_for_period)


def _one_by_one(problem: Problem, deadline: float) -> _Found:
    best_value, explored = inf, 0
    best: Assignment = ()
    for candidate in product(range(len(problem.devices)), repeat=len(problem.layers)):
        explored += 1
        if problem.objective is not Objective.THROUGHPUT or _least_period_s(problem, candidate) < best_value:
            figures = evaluate(problem, candidate)
            if figures.is_feasible and figures.value < best_value:
                best_value, best = figures.value, candidate
        if clock.now() > deadline:
            break
    return _Found(best, explored)


def _least_period_s(problem: Problem, candidate: Assignment) -> float:
    """Return the computation of the busiest device, which no period is below and which is known at once.

    In a chain the firmware occupies a device from its first layer to its last.
    """
    computing = [0.0] * len(problem.devices)
    began: dict[int, float] = {}
    is_span = problem.is_chain and problem.period_definition is Period.FIRMWARE
    clock_s = 0.0
    for layer, device in zip(problem.layers, candidate, strict=True):
        start_s = began.setdefault(device, clock_s)
        seconds = layer.seconds[device]
        clock_s += seconds
        computing[device] = clock_s - start_s if is_span else computing[device] + seconds
    return max(computing) * (1 - ROUNDING)


def _by_arrays(problem: Problem, deadline: float) -> _Found:
    tails = _Tails.enumerate(problem)
    best_value, explored = inf, 0
    best: Assignment = ()
    for head in product(range(len(problem.devices)), repeat=len(problem.layers) - len(tails.devices)):
        values = _values(problem, head, tails)
        explored += len(values)
        index = int(np.argmin(values))
        if values[index] < best_value:
            best_value, best = float(values[index]), (*head, *map(int, tails.devices[:, index]))
        if clock.now() > deadline:
            break
    return _Found(best, explored)


@dataclass(frozen=True, eq=False)
class _Tails:
    """All assignments of the last layers, one per column."""

    devices: NDArray[np.intp]  # layer x tail
    seconds: NDArray[np.float64]  # infinite where a rule is violated or a layer does not fit
    flash_bytes: NDArray[np.int64]  # device x tail
    used: NDArray[np.bool_]  # device x tail
    timelines: Timelines | None  # if the problem depends on the period

    @classmethod
    def enumerate(cls, problem: Problem) -> "_Tails":
        n_layers, n_devices = len(problem.layers), len(problem.devices)
        n_tail = 1
        while n_tail < n_layers and n_devices ** (n_tail + 1) <= MAX_TAILS:
            n_tail += 1
        devices = np.indices((n_devices,) * n_tail).reshape(n_tail, -1)
        seconds = np.zeros(devices.shape[1])
        flash_bytes = np.zeros((n_devices, devices.shape[1]), dtype=np.int64)
        used = np.zeros(flash_bytes.shape, dtype=bool)
        for row, layer in enumerate(range(n_layers - n_tail, n_layers)):
            owner = devices[row]
            seconds += np.array(problem.usable_seconds[layer])[owner]
            if row:
                seconds += np.array(problem.transfer_seconds[layer - 1])[devices[row - 1], owner]
            for device in range(n_devices):
                flash_bytes[device] += np.where(owner == device, problem.layers[layer].flash_bytes[device], 0)
                used[device] |= owner == device
        for row, layer in enumerate(range(n_layers - n_tail, n_layers)):
            if layer in problem.joined:
                seconds[devices[row] != devices[row + 1]] = inf
        timelines = Timelines.of(problem, n_layers - n_tail, devices) if problem.asks_for_period else None
        return cls(devices, seconds, flash_bytes, used, timelines)


def _values(problem: Problem, head: Assignment, tails: _Tails) -> NDArray[np.float64]:
    """Return the objective of `head` combined with each of `tails`, infinite where it is infeasible."""
    latencies = _join(problem, head, tails)
    latencies[latencies > problem.max_latency_s * (1 + ROUNDING)] = inf
    timelines = tails.timelines
    if not timelines:
        return latencies
    if head:
        sending = np.array(problem.transfer_seconds[len(head) - 1][head[-1]])[tails.devices[0]]
        timelines = timelines.after(Timelines.of(problem, 0, np.array(head)[:, None]), head[-1], sending)
    periods = timelines.periods(problem.period_definition)
    values = periods if problem.objective is Objective.THROUGHPUT else latencies
    return np.where(np.isfinite(latencies) & (periods <= problem.longest_period_s * (1 + ROUNDING)), values, inf)


def _join(problem: Problem, head: Assignment, tails: _Tails) -> NDArray[np.float64]:
    """Return I of `head` combined with each of `tails`, infinite where it is infeasible."""
    head_flash = [0] * len(problem.devices)
    head_s = 0.0
    for layer, device in enumerate(head):
        head_flash[device] += problem.layers[layer].flash_bytes[device]
        head_s += problem.usable_seconds[layer][device]
        if layer:
            head_s += problem.transfer_seconds[layer - 1][head[layer - 1]][device]
    seconds = tails.seconds + head_s
    if head:
        seconds += np.array(problem.transfer_seconds[len(head) - 1][head[-1]])[tails.devices[0]]
    for layer, device in enumerate(head):
        if layer in problem.joined:
            after = head[layer + 1] if layer + 1 < len(head) else tails.devices[0]
            seconds = np.where(after == device, seconds, inf)
    for device, limits in enumerate(problem.devices):
        seconds[tails.flash_bytes[device] > limits.flash_bytes - head_flash[device]] = inf
        if problem.must_use_all and device not in head:
            seconds[~tails.used[device]] = inf
    return seconds
