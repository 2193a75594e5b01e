"""Underestimates of what any split costs, for networks of every shape: layers on their best devices, nothing sent.

They are all that is known of a problem that is too large for a search to look through.
"""

from math import inf

from tinysplit.split.problem import Objective, Problem


def floor_value(problem: Problem) -> float:
    """Return an underestimate of the objective of any split of `problem`."""
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
    """Return the joules while devices compute, and where inputs come at a given pace, while one device waits.

    A period is never shorter than a device computes in it, so each computes instead of being idle and not besides.
    """
    idle = [device.idle_w if problem.frame_period_s else 0.0 for device in problem.devices]
    running_j = sum(
        min(
            (device.run_w - idle_w) * seconds if seconds < inf else inf
            for device, idle_w, seconds in zip(problem.devices, idle, row, strict=True)
        )
        for row in _computing_seconds(problem)
    )
    return running_j + problem.frame_period_s * min(idle)
