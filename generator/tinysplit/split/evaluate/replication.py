"""Replication: a copy of the whole network on every board that has the memory, the inputs shared among them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.problem import Problem, within


@dataclass(frozen=True)
class Replication:
    """Devices with one copy each, the period of all of them together, and joules per inference."""

    devices: tuple[int, ...]
    period_s: float
    energy_j: float


def replicate(problem: Problem) -> Replication | None:
    """Return the feasible copies, or None if there are none or they exceed a limit of latency or energy.

    The rates 1 / I_i add up: device i processes the share period / I_i of all inputs.
    """
    free = replace(problem, must_use_all=False, max_period_s=inf, frame_period_s=0.0, max_energy_j=inf)
    whole = [(device,) * len(problem.layers) for device in range(len(problem.devices))]
    fits = tuple(device for device, assignment in enumerate(whole) if evaluate(free, assignment).is_feasible)
    seconds = [evaluate(problem, whole[device]).i_s for device in fits]
    if not fits or not all(seconds):
        return None
    period_s = 1 / sum(1 / s for s in seconds)
    copies = Replication(fits, period_s, _energy_j(free, whole, fits, period_s, problem.frame_period_s))
    return copies if within(copies.energy_j, problem.max_energy_j) else None


def _energy_j(
    free: Problem, whole: Sequence[tuple[int, ...]], devices: Sequence[int], period_s: float, frame_period_s: float
) -> float:
    """Return joules per inference; copies idle only if inputs come less often than every `period_s`."""
    copies = [evaluate(free, whole[device]) for device in devices]
    busy_j = sum(copy.energy_j * period_s / copy.i_s for copy in copies)
    idle_w = sum(free.devices[device].idle_w for device in devices)
    return busy_j + idle_w * max(0.0, frame_period_s - period_s)
