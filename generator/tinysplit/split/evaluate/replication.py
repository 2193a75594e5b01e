"""Replication: a copy of the whole network on every board that has the memory; the host deals the inputs to them."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, product
from math import inf, prod
from operator import itemgetter

from tinysplit.split.evaluate.evaluation import Evaluation, evaluate
from tinysplit.split.problem import Objective, Problem, is_better, within
from tinysplit.timing.figures import period_of_copies_s

MOST_SETS = 2**14  # of boards that are compared


@dataclass(frozen=True)
class Replication:
    """Devices with one copy each, and their figures together: those of one device alone by device."""

    problem: Problem
    devices: tuple[int, ...]
    alone: tuple[Evaluation, ...]

    def on(self, devices: Sequence[int]) -> "Replication":
        """Return the copies on some of the devices."""
        own = dict(zip(self.devices, self.alone, strict=True))
        return replace(self, devices=tuple(devices), alone=tuple(own[device] for device in devices))

    @property
    def is_within_limits(self) -> bool:
        """Whether the limits of the period and of energy hold, and all boards have a copy where they have to."""
        problem = self.problem
        return (
            within(self.period_s, problem.longest_period_s)
            and within(self.energy_j, problem.max_energy_j)
            and not (problem.must_use_all and len(self.devices) < len(problem.devices))
        )

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
        idle_w = sum(self.problem.devices[device].between_w for device in self.devices)
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
        return cls(slowest.problem, slowest.assignment, replication)

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
    def energy_j(self) -> float:
        """Energy of one inference in joules."""
        return self.replication.energy_j


def replicate(problem: Problem) -> Replication | None:
    """Return copies on all boards with the memory and the latency; None without any, or where they break a limit."""
    copies = replicate_on(problem, _able(problem))
    return copies if copies and copies.is_within_limits else None


def best_replication(problem: Problem, fewest: int = 1) -> Replication | None:
    """Return the copies on the best set of at least `fewest` boards, None if all break a limit.

    Of equally good ones, it is the one with the shortest period. Boards with the same figures are the same; of too many
    sets, only those count that have the first boards by period or by energy.
    """
    every = replicate_on(problem, _able(problem))
    if every is None:
        return None
    best: Replication | None = None
    for found in (every.on(devices) for devices in _sets(every) if len(devices) >= max(fewest, 1)):
        if not found.is_within_limits:
            continue
        is_as_good = best is None or not is_better(best.value, found.value)
        if best is None or is_better(found.value, best.value) or (is_as_good and found.period_s < best.period_s):
            best = found
    return best


def _able(problem: Problem) -> list[int]:
    """Return the devices that have the memory for the whole network and are within the limit of the latency."""
    free = replace(problem, must_use_all=False, max_period_s=inf, frame_period_s=0.0, max_energy_j=inf)
    return [device for device, own in enumerate(alone_on_each(free)) if own.is_feasible]


def _sets(every: Replication) -> Iterator[tuple[int, ...]]:
    """Yield the sets of devices that differ in figures, of too many those of the first ones."""
    kinds: dict[tuple[float, ...], list[int]] = defaultdict(list)
    for device, own in zip(every.devices, every.alone, strict=True):
        idle_w = every.problem.devices[device].between_w
        kinds[own.period_s, own.energy_j, own.i_s, idle_w].append(device)
    if prod(len(own) + 1 for own in kinds.values()) <= MOST_SETS:
        for counts in product(*(range(len(own) + 1) for own in kinds.values())):
            yield tuple(sorted(chain.from_iterable(own[:n] for own, n in zip(kinds.values(), counts, strict=True))))
        return
    for place in (0, 1):
        ordered = list(chain.from_iterable(kinds[kind] for kind in sorted(kinds, key=itemgetter(place))))
        yield from (tuple(sorted(ordered[:count])) for count in range(1, len(ordered) + 1))


def replicate_on(problem: Problem, devices: Sequence[int]) -> Replication | None:
    """Return one copy on each of `devices`, None without any, if they take no time, or of a network with a state."""
    if problem.keeps_state:
        return None
    free = replace(problem, must_use_all=False, max_period_s=inf, frame_period_s=0.0, max_energy_j=inf)
    everywhere = alone_on_each(free)
    alone = tuple(everywhere[device] for device in devices)
    if not alone or not all(copy.period_s for copy in alone):
        return None
    return Replication(problem, tuple(devices), alone)


def alone_on_each(problem: Problem) -> list[Evaluation]:
    """Return the figures of the whole network on each device."""
    return [evaluate(problem, (device,) * len(problem.layers)) for device in range(len(problem.devices))]
