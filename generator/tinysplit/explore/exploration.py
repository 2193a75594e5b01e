"""An exploration from networks and boards to fronts: what is known comes from the journal, the rest from workers."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

from tinysplit.common.errors import CheckFailedError
from tinysplit.costs.problem_builder import CostSettings
from tinysplit.explore.candidates import Candidate, Space, able_to_talk
from tinysplit.explore.cost_table import CostTable
from tinysplit.explore.evaluate import Outcome, Point
from tinysplit.explore.front import non_dominated
from tinysplit.explore.journal import Journal
from tinysplit.explore.workers import Batch, Workers
from tinysplit.kernels.cost_table import load_cycle_table
from tinysplit.network.graph import Graph

BATCH = 8  # candidates that a worker gets at a time: what a worker's death repeats

Prices = Mapping[str, float]


@dataclass(frozen=True)
class Compromise:
    """A point of a front: a candidate, one of its splits, and what its boards cost (their number without prices)."""

    candidate: Candidate
    point: Point
    price: float

    @property
    def quantities(self) -> tuple[float, float, float]:
        """What should be small: latency, energy, price."""
        return self.point.latency_s, self.point.energy_j, self.price


@dataclass(frozen=True)
class Exploration:
    """Everything that was asked for, evaluated."""

    graphs: tuple[Graph, ...]
    space: Space
    outcomes: tuple[Outcome, ...]  # in the order of the candidates
    prices: Prices | None

    def price(self, boards: Sequence[str]) -> float:
        """Return what `boards` cost: the sum of their prices, without prices their number."""
        return sum(self.prices[name] for name in boards) if self.prices else float(len(boards))

    def front(self, graph: Graph, bits: int) -> tuple[Compromise, ...]:
        """Return the front of latency, energy and price of a network in `bits` bits: widths differ in accuracy."""
        found = (
            Compromise(outcome.candidate, point, self.price(outcome.candidate.boards))
            for outcome in self.outcomes
            if (outcome.candidate.model, outcome.candidate.bits) == (graph.sha256, bits)
            for point in outcome.points
        )
        return non_dominated(found, lambda compromise: compromise.quantities)

    def check(self) -> None:
        """Raise CheckFailedError when nothing fits anywhere."""
        if not any(outcome.points for outcome in self.outcomes):
            why = self.outcomes[-1].why_not if self.outcomes else "no board makes the baud rates"
            raise CheckFailedError(f"none of {len(self.outcomes)} candidates fits; of the last one: {why}")

    def to_json(self) -> dict[str, Any]:
        """Return fronts by network and width: seconds, joules, and the prices as they were given."""
        return {
            "candidates": len(self.outcomes),
            "infeasible": sum(not outcome.points for outcome in self.outcomes),
            "incomplete": sum(not outcome.complete for outcome in self.outcomes),
            "price_unit": "as given" if self.prices else "boards",
            "fronts": [
                {
                    "model": {"name": graph.name, "sha256": graph.sha256},
                    "bits": bits,
                    "points": [_to_json(compromise) for compromise in self.front(graph, bits)],
                }
                for graph in self.graphs
                for bits in self.space.bits
            ],
        }


def explore(
    graphs: Sequence[Graph],
    space: Space,
    settings: CostSettings,
    prices: Prices | None,
    journal_path: Path,
    workers: Workers,
    time_limit_s: float,
    show: Callable[[int, int], None],
) -> Exploration:
    """Evaluate all candidates that the journal does not hold yet; `show` is told how many of all are done.

    A stop loses at most the batches that workers are at. Raises what `Journal` and the workers do.
    """
    candidates = tuple(space.candidates())
    with Journal(journal_path, _conditions(space, settings, time_limit_s)) as journal:
        new = [candidate for candidate in candidates if candidate not in journal.outcomes]
        done = len(candidates) - len(new)
        show(done, len(candidates))
        if new:
            tables = dict(_tables(graphs, space, settings))
            for outcomes in workers.run(tables, tuple(_batches(new)), time_limit_s):
                journal.add(outcomes)
                done += len(outcomes)
                show(done, len(candidates))
        return Exploration(tuple(graphs), space, tuple(journal.outcomes[each] for each in candidates), prices)


def _batches(candidates: Sequence[Candidate]) -> Iterator[Batch]:
    left = iter(candidates)
    while batch := tuple(islice(left, BATCH)):
        yield batch


def _tables(
    graphs: Sequence[Graph], space: Space, settings: CostSettings
) -> Iterator[tuple[tuple[str, int, int], CostTable]]:
    """Yield the cost tables by network, bits and baud; 0 baud is for single boards."""
    for graph in graphs:
        for bits in space.bits:
            for baud in (0, *space.bauds):
                talking = able_to_talk(space.boards, baud) if baud else [board.name for board in space.boards]
                boards = [board for board in space.boards if board.name in talking]
                if boards:
                    asked = replace(settings, bits=bits, baud=baud or settings.baud)
                    yield (graph.sha256, bits, baud), CostTable.of(graph, boards, asked)


def _conditions(space: Space, settings: CostSettings, time_limit_s: float) -> dict[str, Any]:
    """Return what all outcomes depend on beside their candidates, as it stands in the journal."""
    return {
        "tinysplit_version": version("tinysplit"),
        "cost_model": hashlib.sha256(repr((load_cycle_table(), settings)).encode()).hexdigest(),
        "time_limit_s": time_limit_s,
        **{f"facts of {board.name}": board.sha256 for board in space.boards},
    }


def _to_json(compromise: Compromise) -> dict[str, Any]:
    candidate, point = compromise.candidate, compromise.point
    return {
        "boards": list(candidate.boards),
        "baud": candidate.baud or None,
        "latency_s": point.latency_s,
        "energy_j": point.energy_j,
        "period_s": point.period_s,
        "price": compromise.price,
        "assignment": [device + 1 for device in point.assignment],
        "proved": point.proved,
    }
