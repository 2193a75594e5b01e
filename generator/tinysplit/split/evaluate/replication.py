"""Replication: a copy of the whole network on every board that has the memory; the host deals the inputs to them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from math import inf

from tinysplit.split.evaluate.evaluation import Evaluation, evaluate
from tinysplit.split.evaluate.fused import as_run
from tinysplit.split.problem import Objective, Problem, within
from tinysplit.timing.figures import period_of_copies_s
from tinysplit.timing.program import BoardStep


@dataclass(frozen=True)
class Replication:
    """Devices with one copy each, and their figures together: those of one device alone by device."""

    problem: Problem
    devices: tuple[int, ...]
    alone: tuple[Evaluation, ...]

    @property
    def period_s(self) -> float:
        """Period in seconds. The rates add up: device i processes the share period / period_i of all inputs."""
        return period_of_copies_s([copy.period_s for copy in self.alone])

    @property
    def latency_s(self) -> float:
        """I of the slowest copy in seconds."""
        return max(copy.i_s for copy in self.alone)

    @property
    def energy_j(self) -> float:
        """Joules per inference; copies idle only if inputs come less often than every period."""
        busy_j = sum(copy.energy_j * self.period_s / copy.period_s for copy in self.alone)
        idle_w = sum(self.problem.devices[device].idle_w for device in self.devices)
        return busy_j + idle_w * max(0.0, self.problem.frame_period_s - self.period_s)

    @property
    def value(self) -> float:
        """What the objective minimises."""
        figures = {
            Objective.LATENCY: lambda: self.latency_s,
            Objective.THROUGHPUT: lambda: self.period_s,
            Objective.ENERGY: lambda: self.energy_j,
        }
        return figures[self.problem.objective]()


@dataclass(frozen=True)
class CopiesEvaluation(Evaluation):
    """The figures of a replication; `assignment` is that of its slowest copy, as are L, T and I."""

    replication: Replication

    @classmethod
    def of(cls, replication: Replication) -> "CopiesEvaluation":
        """Return the figures of `replication`."""
        slowest = max(replication.alone, key=lambda copy: copy.i_s)
        return cls(as_run(replication.problem, slowest.assignment), slowest.assignment, replication)

    @cached_property
    def flash_bytes(self) -> tuple[int, ...]:
        """Flash of every device."""
        return tuple(map(max, zip(*(copy.flash_bytes for copy in self.replication.alone), strict=True)))

    @cached_property
    def ram_bytes(self) -> tuple[int, ...]:
        """Peak RAM of every device."""
        return tuple(map(max, zip(*(copy.ram_bytes for copy in self.replication.alone), strict=True)))

    @cached_property
    def period_s(self) -> float:
        """Period in seconds of all copies together."""
        return self.replication.period_s

    @cached_property
    def blocking(self) -> tuple[BoardStep, ...]:
        """The transfers with the host for which a copy waits, as its board lacks the RAM for a buffer."""
        return tuple(chain.from_iterable(copy.blocking for copy in self.replication.alone))

    @cached_property
    def energy_j(self) -> float:
        """Energy of one inference in joules."""
        return self.replication.energy_j


def replicate(problem: Problem) -> Replication | None:
    """Return the feasible copies, or None if there are none or they exceed a limit of latency or energy."""
    free = replace(problem, must_use_all=False, max_period_s=inf, frame_period_s=0.0, max_energy_j=inf)
    copies = replicate_on(problem, [k for k, own in enumerate(alone_on_each(free)) if own.is_feasible])
    return copies if copies and within(copies.energy_j, problem.max_energy_j) else None


def replicate_on(problem: Problem, devices: Sequence[int]) -> Replication | None:
    """Return one copy on each of `devices`, None without any or if they take no time."""
    free = replace(problem, must_use_all=False, max_period_s=inf, frame_period_s=0.0, max_energy_j=inf)
    everywhere = alone_on_each(free)
    alone = tuple(everywhere[device] for device in devices)
    if not alone or not all(copy.period_s for copy in alone):
        return None
    return Replication(problem, tuple(devices), alone)


def alone_on_each(problem: Problem) -> list[Evaluation]:
    """Return the figures of the whole network on each device."""
    return [evaluate(problem, (device,) * len(problem.layers)) for device in range(len(problem.devices))]
