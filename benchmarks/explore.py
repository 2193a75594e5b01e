"""Rankings of sets of boards in two phases beside the simulation of all splits, as a Markdown table.

    .venv/bin/python benchmarks/explore.py [--only TEXT]

As Dariol 2023 compares its exploration with exhaustive ones: is the best split of all among those that phase 2
simulates, and which share of all splits is the answer better than? All splits of all sets are those that fit; the
networks are small enough for that. Takes some minutes.
"""

import tempfile
import time
from collections.abc import Collection, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import NamedTuple

from markdown_rows import print_cases
from periods import NETWORKS
from tinysplit.boards.catalog import load_board
from tinysplit.costs.settings import CostSettings
from tinysplit.explore.candidates import SetCandidate, Space
from tinysplit.explore.exploration import explore
from tinysplit.explore.figures import simulated_figures
from tinysplit.explore.goal import Ranked, RankingGoal, three_digits
from tinysplit.explore.problem_table import ProblemTable
from tinysplit.explore.ranking import Ranking
from tinysplit.explore.request import ExploreRequest
from tinysplit.explore.workers import LocalProcesses
from tinysplit.network.graph import Graph
from tinysplit.onnx_import import import_model
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.problem import Assignment, is_better
from two_phase_slices import small_network

PERCENT, MILLI = 100, 1000
BOARDS = ("nucleo_g071rb", "nucleo_f401re", "nucleo_l452re")
BAUDS = (115_200, 3_000_000)
RANDOM_NETWORKS = range(4)  # seeds
HEADINGS = (
    *("network", "objective", "all sets", "all splits", "all, s", "two phases, s", "rounds", "simulated"),
    *("best", "answer", "best kept", "better than", "better than sets", "moved", "rank correlation"),
)


class Case(NamedTuple):
    """A network on sets of up to two boards, by an objective."""

    graph: Graph
    ranked_by: Ranked


def cases() -> Iterator[Case]:
    """Yield Tiny-CNN and small random networks."""
    for graph in (import_model(NETWORKS["Tiny-CNN"]), *map(small_network, RANDOM_NETWORKS)):
        for ranked_by in (Ranked.LATENCY, Ranked.THROUGHPUT, Ranked.ENERGY):
            yield Case(graph, ranked_by)


def request_of(case: Case) -> ExploreRequest:
    """Return the exploration of a case."""
    space = Space((case.graph.sha256,), tuple(map(load_board, BOARDS)), 2, BAUDS, (8,))
    return ExploreRequest((case.graph,), space, RankingGoal(CostSettings(), case.ranked_by))


def all_values(request: ExploreRequest) -> dict[tuple[SetCandidate, Assignment], float]:
    """Return the simulated value of every split that fits."""
    (graph,), found = request.graphs, dict[tuple[SetCandidate, Assignment], float]()
    tables = {
        baud: ProblemTable.of(graph, request.space.boards, replace(request.settings, baud=baud or BAUDS[0]))
        for baud in (0, *BAUDS)
    }
    for candidate in request.candidates():
        problem = tables[candidate.baud].problem_of(candidate.boards)
        for assignment in product(range(len(candidate.boards)), repeat=len(problem.layers)):
            if evaluate(problem, assignment).is_feasible:
                found[candidate, assignment] = request.goal.value(simulated_figures(problem, assignment))
    return found


def ranking_of(request: ExploreRequest) -> Ranking:
    """Return the ranking in two phases, without what was known before."""
    with tempfile.TemporaryDirectory() as folder:
        found = explore(request, Path(folder, "journal.jsonl"), LocalProcesses(), lambda _solved, _all: None)
    (ranking,) = found.rankings.values()
    return ranking


def row(case: Case) -> str:
    """Return the row of a case."""
    request = request_of(case)
    start = time.perf_counter()
    every = all_values(request)
    all_s = time.perf_counter() - start
    ranking = ranking_of(request)
    sets: dict[SetCandidate, float] = {}
    for (candidate, _), value in every.items():
        sets[candidate] = min(value, sets.get(candidate, value))
    least, answer = min(every.values()), request.goal.value(ranking.best[0].simulated)
    unit = "mJ" if case.ranked_by is Ranked.ENERGY else "ms"
    cells = (
        case.graph.name,
        case.ranked_by.value,
        str(len(sets)),
        str(len(every)),
        f"{all_s:.1f}",
        f"{ranking.phase_1_s:.1f} + {ranking.phase_2_s:.1f}",
        str(ranking.rounds),
        str(ranking.n_splits),
        f"{MILLI * least:.3f} {unit}",
        f"{MILLI * answer:.3f} {unit}",
        "yes" if three_digits(answer) <= three_digits(least) else "no",
        _share_of_worse(answer, every.values()),
        _share_of_worse(answer, sets.values()),
        f"{ranking.n_moved} of {len(ranking.best)}",
        f"{ranking.rank_correlation:.2f}",
    )
    return f"| {' | '.join(cells)} |"


def _share_of_worse(answer: float, values: Collection[float]) -> str:
    return f"{PERCENT * sum(is_better(answer, value) for value in values) / len(values):.2f} %"


def main() -> None:
    """Print a row a case."""
    print_cases(__doc__, HEADINGS, cases(), row)


if __name__ == "__main__":
    main()
