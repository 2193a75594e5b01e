"""A lower bound of the objective for any network: each layer on its best device, without transfers.

It is fast to compute, and used where a search ends before its own bounds are available.
"""

from math import inf

from tinysplit.split.problem import Objective, Problem


def lower_bound_without_transfers(problem: Problem) -> float:
    """Return a lower bound of the objective of `problem`, in seconds or joules.

    Latency: each layer on its fastest device. Period: the slowest of these layers, or their sum spread evenly over all
    devices. Energy: joules of computation, and of waiting where the input period is given.
    """
    if problem.objective is Objective.ENERGY:
        return _least_energy_j(problem)
    fastest = [min(row) for row in _computing_seconds(problem)]
    if problem.objective is Objective.LATENCY:
        return sum(fastest)
    return max(*fastest, sum(fastest) / len(problem.devices))


def _computing_seconds(problem: Problem) -> list[list[float]]:
    """Return seconds by layer and device without any transfers, infinite where the layer does not fit."""
    return [
        [seconds if usable_s < inf else inf for seconds, usable_s in zip(layer.seconds, usable, strict=True)]
        for layer, usable in zip(problem.layers, problem.usable_seconds, strict=True)
    ]


def _least_energy_j(problem: Problem) -> float:
    """Return the joules of computation, and where the input period is given, of one device that is idle otherwise.

    A device computes for at most the period, so the power of computing replaces the idle power.
    """
    idle = [device.between_w if problem.frame_period_s else 0.0 for device in problem.devices]
    running_j = sum(
        min(
            (device.run_w - idle_w) * seconds if seconds < inf else inf
            for device, idle_w, seconds in zip(problem.devices, idle, row, strict=True)
        )
        for row in _computing_seconds(problem)
    )
    return running_j + problem.frame_period_s * min(idle)
