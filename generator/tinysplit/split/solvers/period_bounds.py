"""Underestimates of the period.

No period, in any of its definitions, is below the busy time of the busiest device; but `old` may leave out what
devices send. Let load_i be the seconds that device i is busy with the layers assigned so far, and W the period.

Averages. For weights w_i >= 0 that sum to one, W >= max load_i >= sum w_i * load_i of the complete assignment. That sum
is the latency of a problem whose seconds, and what i sends, are multiplied by w_i: every bound on latency holds for it.
The best weights are those of the linear relaxation; exponentiated subgradient ascent looks for them.

Fluid. Let s_i be the seconds of device i for a unit of work, and take for the work of layer j the least L_ij / s_i over
all devices, so that each device i spends at least s_i times the work on any layer. A device within the period W then
does at most (W - load_i) / s_i of the work that is left: no W is feasible unless
sum_i max(0, W - load_i) / s_i >= work left. With L_ij = MACC_j * s_i this is the bound in MACC.
"""

from collections.abc import Sequence
from math import exp, isfinite
from operator import mul, truediv

from tinysplit.split.problem import Objective, Period, Problem
from tinysplit.split.solvers.bounds import LatencyBound, cheapest_way, unlimited_flash
from tinysplit.split.solvers.floors import floor_value
from tinysplit.split.solvers.rates import rated

WEIGHT_STEPS = 100
FIRST_STRIDE = 1.0
MIN_WEIGHT = 1e-6  # of the largest: zero times infinity is undefined


class PeriodBounds:
    """What the busy times of some first layers and the place of the last of them say about the period."""

    def __init__(self, problem: Problem) -> None:
        counted = _computing_only(problem) if problem.period_definition is Period.OLD else problem
        self.weights = device_weights(counted)
        self.average = LatencyBound(rated(counted, self.weights, self.weights))
        self.unit_s = unit_seconds(counted)
        self.work_left = [0.0]
        for seconds in reversed(counted.usable_seconds):
            self.work_left.insert(0, self.work_left[0] + min(map(truediv, seconds, self.unit_s)))

    def of(self, n_done: int, device: int, loads: Sequence[float], free_flash: Sequence[int]) -> float:
        """Return an underestimate of the period after `n_done` layers, the last of them on `device`."""
        average = self.average.of(n_done, device, sum(map(mul, loads, self.weights)), free_flash)
        return max(*loads, average, fluid(loads, self.unit_s, self.work_left[n_done]))


def least_value(problem: Problem) -> float:
    """Return an underestimate of what any split of `problem` costs in its objective."""
    if problem.objective is Objective.ENERGY or not problem.is_chain:
        return floor_value(problem)
    if problem.objective is Objective.LATENCY:
        return unlimited_flash(problem)[0][0]
    devices = problem.devices
    return PeriodBounds(problem).of(0, 0, [0.0] * len(devices), [device.flash_bytes for device in devices])


def fluid(loads: Sequence[float], unit_s: Sequence[float], work: float) -> float:
    """Return the least W with sum_i max(0, W - load_i) / s_i >= `work`: devices are filled from the least busy up."""
    level, rate, offset = 0.0, 0.0, 0.0
    for load, seconds in sorted(zip(loads, unit_s, strict=True)):
        if rate and level <= load:
            break
        rate += 1 / seconds
        offset += load / seconds
        level = (work + offset) / rate
    return level


def unit_seconds(problem: Problem) -> list[float]:
    """Return how long each device takes for the mean of the layers that it can run; one where that is nothing."""
    means = []
    for device in range(len(problem.devices)):
        finite = [seconds[device] for seconds in problem.usable_seconds if isfinite(seconds[device])]
        means.append(sum(finite) / len(finite) if finite else 0.0)
    return [mean or 1.0 for mean in means]


def device_weights(problem: Problem) -> list[float]:
    """Return the weights that make the least average of busy times, with unlimited flash, nearly greatest."""
    weights = _normalized([1 / seconds for seconds in unit_seconds(problem)])
    best, best_weights = 0.0, weights
    for step in range(WEIGHT_STEPS):
        weighted = rated(problem, weights, weights)
        rest = unlimited_flash(weighted)
        bound = rest[0][0]
        if bound > best:
            best, best_weights = bound, weights
        if not best or not isfinite(bound):
            break
        way = cheapest_way(weighted, [0.0] * len(weights), rest)
        busy = [0.0] * len(weights)
        for layer, (device, after) in enumerate(zip(way, (*way[1:], way[-1]), strict=True)):
            busy[device] += problem.usable_seconds[layer][device] + problem.transfer_seconds[layer][device][after]
        stride = FIRST_STRIDE / (1 + step) / max(busy)
        weights = _normalized([weight * exp(stride * seconds) for weight, seconds in zip(weights, busy, strict=True)])
    return best_weights


def _computing_only(problem: Problem) -> Problem:
    devices = range(len(problem.devices))
    return rated(problem, [1.0 for _ in devices], [0.0 for _ in devices])


def _normalized(weights: Sequence[float]) -> list[float]:
    floored = [max(weight, MIN_WEIGHT * max(weights)) for weight in weights]
    total = sum(floored)
    return [weight / total for weight in floored]
