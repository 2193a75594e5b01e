"""The best division of one layer in whole channels, by dynamic programming over devices; a device may have none."""

from math import inf

import numpy as np
from numpy.typing import NDArray

from tinysplit.common.errors import CheckFailedError, UsageError
from tinysplit.papers.solvers.geometric.posynomial import ZERO, Floats
from tinysplit.papers.solvers.geometric.problem import CHANNELS, DivisionProblem

Integers = NDArray[np.int64]


def best_division(problem: DivisionProblem) -> tuple[int, ...]:
    """Return the whole channels of each device with the least cost within the limits, proved.

    best(d, n), the least cost of n channels on the first d devices, is the minimum over m of best(d - 1, n - m) plus
    the cost of m channels on d, or the larger of the two if the slowest device counts. O(devices * channels^2), for any
    models.

    Raises:
        UsageError: the problem has several layers.
        CheckFailedError: the devices together have no room for all channels.
    """
    if len(problem.layers) != 1:
        raise UsageError(f"the exact division is of one layer, got {len(problem.layers)}")
    channels = problem.layers[0].channels
    size = len(problem.devices)
    costs = [_part_costs(problem, device) for device in range(size)]
    best, taken = costs[0], list[Integers]()
    for cost in costs[1:]:
        best, chosen = _with_device(best, cost, takes_slowest=problem.takes_slowest)
        taken.append(chosen)
    if best[channels] == inf:
        names = ", ".join(device.name for device in problem.devices)
        raise CheckFailedError(f"{names} have no room for the {channels} channels of {problem.layers[0].name}")
    return _traced(channels, taken)


def _with_device(best: Floats, cost: Floats, *, takes_slowest: bool) -> tuple[Floats, Integers]:
    """Return best(d, n) from best(d - 1, n) and the cost of device d, and its channels m: arrays (channels + 1,)."""
    size = len(best)
    windows = np.lib.stride_tricks.sliding_window_view(np.concatenate([np.full(size - 1, inf), best]), size)
    reversed_cost = cost[::-1]  # windows[n, i] is best[n - m] for m = size - 1 - i
    both = np.maximum(windows, reversed_cost) if takes_slowest else windows + reversed_cost
    chosen = both.argmin(axis=1)
    return both[np.arange(size), chosen], size - 1 - chosen


def _traced(channels: int, taken: list[Integers]) -> tuple[int, ...]:
    """Return the channels of each device; `taken[d][n]` are those of device d + 1 of n on the devices up to it."""
    parts: list[int] = []
    for choice in reversed(taken):
        parts.append(int(choice[channels]))
        channels -= parts[-1]
    return (channels, *reversed(parts))


def _part_costs(problem: DivisionProblem, device: int) -> Floats:
    """Return the cost of 0, 1, ... channels on a device, infinite beyond its limits: float64 (channels + 1,)."""
    layer = problem.layers[0]
    counts = np.arange(1, layer.channels + 1)
    costs = problem.part_cost(0, device, counts)
    for resource, limit in problem.devices[device].limits.items():
        used = layer.parts[device].resources.get(resource, ZERO).of({CHANNELS: counts})
        costs = np.where(used <= limit, costs, inf)
    return np.concatenate([[0.0], costs])
