"""Not splitting: a copy of the whole network on every board that holds it, each taking the next input."""

from dataclasses import dataclass, replace
from math import inf

from tinysplit.split.problem import Problem


@dataclass(frozen=True)
class Replication:
    """Devices with a copy each, and the seconds between two answers of all of them together."""

    devices: tuple[int, ...]
    period_s: float


def replicate(problem: Problem) -> Replication | None:
    """Return the copies that fit and keep the limit on latency, or None; rates 1 / L_i add up."""
    free_of_rules = replace(problem, must_use_all=False, max_period_s=inf)
    whole = {device: (device,) * len(problem.layers) for device in range(len(problem.devices))}
    fits = tuple(device for device, assignment in whole.items() if free_of_rules.is_feasible(assignment))
    seconds = [problem.figures(whole[device]).l_s for device in fits]
    if not fits or not all(seconds):
        return None
    return Replication(fits, 1 / sum(1 / s for s in seconds))
