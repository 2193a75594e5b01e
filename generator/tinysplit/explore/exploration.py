"""An exploration: outcomes of all candidates, from the journal or from workers, and their Pareto fronts."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

from tinysplit.common.errors import CheckFailedError
from tinysplit.costs.problem_builder import CostSettings
from tinysplit.explore.candidates import Candidate, Space, boards_with_baud
from tinysplit.explore.evaluate import Outcome, Point
from tinysplit.explore.front import non_dominated
from tinysplit.explore.journal import Journal
from tinysplit.explore.problem_table import ProblemTable
from tinysplit.explore.workers import Batch, Workers
from tinysplit.kernels.cost_table import load_cycle_table
from tinysplit.network.graph import Graph

BATCH = 8  # candidates per task, which are repeated if the worker dies

Prices = Mapping[str, float]


@dataclass(frozen=True)
class FrontEntry:
    """A candidate on a front, one of its splits, and the price of its boards (without prices, their number)."""

    candidate: Candidate
    point: Point
    price: float

    @property
    def quantities(self) -> tuple[float, float, float]:
        """The quantities to minimise: latency (s), energy (J) and price."""
        return self.point.latency_s, self.point.energy_j, self.price


@dataclass(frozen=True)
class Exploration:
    """The outcomes of all candidates of a space."""

    graphs: tuple[Graph, ...]
    space: Space
    outcomes: tuple[Outcome, ...]  # in the order of the candidates
    prices: Prices | None

    def price(self, boards: Sequence[str]) -> float:
        """Return the sum of the prices of `boards`, or their number without prices."""
        return sum(self.prices[name] for name in boards) if self.prices else float(len(boards))

    def front(self, graph: Graph, bits: int) -> tuple[FrontEntry, ...]:
        """Return the front of latency, energy and price of a network in one bit width; widths differ in accuracy."""
        found = (
            FrontEntry(outcome.candidate, point, self.price(outcome.candidate.boards))
            for outcome in self.outcomes
            if (outcome.candidate.model, outcome.candidate.bits) == (graph.sha256, bits)
            for point in outcome.points
        )
        return non_dominated(found, lambda entry: entry.quantities)

    def check(self) -> None:
        """Raise CheckFailedError if no candidate is feasible."""
        if not any(outcome.points for outcome in self.outcomes):
            why = self.outcomes[-1].why_not if self.outcomes else "no board can generate the baud rates"
            raise CheckFailedError(f"none of {len(self.outcomes)} candidates is feasible; the last one: {why}")

    def to_json(self) -> dict[str, Any]:
        """Return the fronts by network and bit width, in seconds, joules and the unit of the prices."""
        return {
            "candidates": len(self.outcomes),
            "infeasible": sum(not outcome.points for outcome in self.outcomes),
            "incomplete": sum(not outcome.complete for outcome in self.outcomes),
            "price_unit": "as given" if self.prices else "boards",
            "fronts": [
                {
                    "model": {"name": graph.name, "sha256": graph.sha256},
                    "bits": bits,
                    "points": [_to_json(entry) for entry in self.front(graph, bits)],
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
    """Evaluate all candidates that are not in the journal; `show` gets the numbers of finished and of all candidates.

    An interruption loses at most the batches that workers are processing. Raises the errors of `Journal` and of the
    workers.
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
) -> Iterator[tuple[tuple[str, int, int], ProblemTable]]:
    """Yield the cost tables by network, bits and baud rate; 0 means single boards."""
    for graph in graphs:
        for bits in space.bits:
            for baud in (0, *space.bauds):
                names = boards_with_baud(space.boards, baud) if baud else [board.name for board in space.boards]
                boards = [board for board in space.boards if board.name in names]
                if boards:
                    adapted = replace(settings, bits=bits, baud=baud or settings.baud)
                    yield (graph.sha256, bits, baud), ProblemTable.of(graph, boards, adapted)


def _conditions(space: Space, settings: CostSettings, time_limit_s: float) -> dict[str, Any]:
    """Return the header of the journal: everything but the candidate that an outcome depends on."""
    return {
        "tinysplit_version": version("tinysplit"),
        "cost_model": hashlib.sha256(repr((load_cycle_table(), settings)).encode()).hexdigest(),
        "time_limit_s": time_limit_s,
        **{f"description of {board.name}": board.sha256 for board in space.boards},
    }


def journal_name(space: Space, settings: CostSettings, time_limit_s: float) -> Path:
    """Return the usual name of the journal: another one for all that would make a journal useless."""
    conditions = json.dumps(_conditions(space, settings, time_limit_s), sort_keys=True)
    return Path(f"explore-{hashlib.sha256(conditions.encode()).hexdigest()[:8]}.jsonl")


def _to_json(entry: FrontEntry) -> dict[str, Any]:
    candidate, point = entry.candidate, entry.point
    return {
        "boards": list(candidate.boards),
        "baud": candidate.baud or None,
        "latency_s": point.latency_s,
        "energy_j": point.energy_j,
        "period_s": point.period_s,
        "price": entry.price,
        "assignment": [device + 1 for device in point.assignment],
        "proved": point.proved,
    }
