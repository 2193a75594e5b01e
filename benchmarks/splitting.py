"""Solvers for splits beside HiGHS, and rankings of sets of boards beside the simulation of all splits.

All values are estimates; nothing runs on boards. Takes some 20 minutes in all.
"""

import math
import random
import resource
import statistics
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement, product
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

from common.benchmark import JSON, ONLY, benchmark
from common.networks import NETWORKS, small_network
from common.tables import Cell, MarkdownTable, print_json
from milp.highs import solve_with_highs
from tinysplit.boards.catalog import load_board, load_boards
from tinysplit.common.choices import Slices
from tinysplit.common.errors import CheckFailedError
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.explore.candidates import SetCandidate, Space
from tinysplit.explore.exploration import explore
from tinysplit.explore.goal import Ranked, RankingGoal, three_digits
from tinysplit.explore.problem_table import ProblemTable
from tinysplit.explore.ranking import Ranking
from tinysplit.explore.request import ExploreRequest
from tinysplit.explore.simulated import simulated_figures
from tinysplit.explore.workers import LocalProcesses
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.network.graph import Graph
from tinysplit.papers.reproduce.networks import mobilenet_v1
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.problem import Assignment, DeviceLimits, LayerCosts, Objective, Problem, is_better
from tinysplit.split.solve import solve
from tinysplit.split.solvers.labels.search import label_search

ROOM = 1.2  # total flash of the boards, relative to that of the layers
SLOW, FAST = 115200, 3_000_000
REPEATS = 5
SEEDS = range(3)
HIGHS_PROVES = 1e-6  # its gap, equal to its feasibility tolerance
THROUGHPUT = Objective.THROUGHPUT


@dataclass(frozen=True)
class Instance:
    """A problem for the solvers, generated from a seed."""

    n_layers: int
    n_devices: int
    baud: int
    seed: int
    objective: Objective = Objective.LATENCY
    time_limit_s: float = 10.0

    def problem(self) -> Problem:
        """Return a network like MobileNet on boards with little free flash.

        Depthwise and pointwise layers take turns; from the first layer to the last tensors shrink from 32 KB to 1 KB
        and pointwise weights grow from 1.5 KB to 48 KB, all within a random half; boards differ by up to 25 times in
        speed and 3 times in flash, and have RAM for everything. A cut costs 10 bit times per byte.
        """
        rng = random.Random(self.seed)  # noqa: S311 (no secret)
        cycles_a_second = [10 ** rng.uniform(6.5, 7.9) for _ in range(self.n_devices)]
        layers = []
        for number in range(self.n_layers):
            depth, is_pointwise = number / (self.n_layers - 1), number % 2 == 1
            out_bytes = int(32768 * (1 / 32) ** depth * rng.uniform(0.5, 1.5))
            flash_bytes = 400 + int((1500 * 32**depth if is_pointwise else 1000) * rng.uniform(0.5, 1.5))
            cycles = (300e3 if is_pointwise else 30e3) * rng.uniform(0.3, 1.7)
            seconds = tuple(cycles / speed for speed in cycles_a_second)
            layers.append(LayerCosts.alike(f"layer{number + 1}", flash_bytes, out_bytes, out_bytes, seconds))
        sizes = [rng.uniform(0.5, 1.5) for _ in range(self.n_devices)]
        scale = ROOM * sum(layer.flash_bytes[0] for layer in layers) / sum(sizes)
        devices = tuple(DeviceLimits(f"board{i + 1}", int(size * scale), 10**9) for i, size in enumerate(sizes))
        transfers = tuple(
            tuple(
                tuple(0.0 if i == h else layer.out_bytes * 10 / self.baud for h in range(self.n_devices))
                for i in range(self.n_devices)
            )
            for layer in layers
        )
        return Problem(tuple(layers), devices, transfers, self.objective)


PEERS = [
    *(Instance(30, 4, SLOW, seed) for seed in SEEDS),
    *(Instance(60, 4, SLOW, seed) for seed in SEEDS),
    *(Instance(100, 6, SLOW, seed) for seed in SEEDS),
    *(Instance(100, 4, FAST, seed) for seed in SEEDS),
    *(Instance(60, 5, FAST, seed, THROUGHPUT) for seed in SEEDS),
    Instance(200, 8, SLOW, 2, time_limit_s=30.0),
    Instance(200, 8, FAST, 2, time_limit_s=30.0),
    Instance(200, 8, FAST, 2, THROUGHPUT, time_limit_s=30.0),
]
SOLVERS = {"labels": label_search, "highs": solve_with_highs}
WARM_UP = Instance(40, 2, SLOW, 0)
BY_LAYERS = [[Instance(n, 4, SLOW, seed) for seed in SEEDS] for n in (30, 60, 120, 240)]
BY_DEVICES = [[Instance(80, d, SLOW, seed) for seed in SEEDS] for d in (2, 3, 4, 6, 8)]


@dataclass(frozen=True)
class Solved:
    """The result of one solver on one instance."""

    case: Instance
    solver: str
    seconds: float  # of the processor, median
    objective_s: float  # infinite without a split
    gap: float
    proved: bool
    memory_mb: float  # peak of the process, above its start


def measure(case: Instance, name: str) -> Solved:
    """Solve `case` in this process."""
    problem = case.problem()
    times: list[float] = []
    solver = SOLVERS[name]
    solver(WARM_UP.problem(), time_limit_s=1)  # imports and first calls are not measured
    before_mb = _peak_mb()
    objective_s, gap, proved = math.inf, 1.0, False
    while len(times) < REPEATS and (not times or times[-1] < case.time_limit_s / 2):
        start = time.process_time()
        try:
            split = solver(replace(problem), time_limit_s=case.time_limit_s)  # a copy has no cached results
            objective_s, gap, proved = split.objective, split.gap, split.gap < HIGHS_PROVES
        except CheckFailedError:
            pass
        times.append(time.process_time() - start)
    memory_mb = _peak_mb() - before_mb
    return Solved(case, name, statistics.median(times), objective_s, gap, proved, memory_mb)


def in_own_process(case: Instance, name: str) -> Solved:
    """Return the result of `measure` in a new process."""
    print(f"{case} {name}", file=sys.stderr)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(measure, case, name).result()


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@dataclass(frozen=True)
class Growth:
    """Median seconds against one size, and the exponent of the power law that fits best."""

    sizes: list[int]
    seconds: list[float]
    exponent: float


def growth(groups: Iterable[list[Instance]], size_of: Callable[[Instance], int]) -> Growth:
    """Fit seconds = a * size^exponent through the medians of each group's instances."""
    sizes, seconds = [], []
    for group in groups:
        sizes.append(size_of(group[0]))
        seconds.append(statistics.median(in_own_process(case, "labels").seconds for case in group))
    slope = statistics.linear_regression([math.log(size) for size in sizes], [math.log(s) for s in seconds]).slope
    return Growth(sizes, seconds, slope)


@dataclass(frozen=True)
class Pairs:
    """MobileNet v1 0.25 (8 bits, 115200 baud, both boards used) on all pairs of boards, also two of a type."""

    n_pairs: int
    n_problems: int  # both objectives
    n_feasible: int
    n_proved: int
    seconds: float


def measure_pairs() -> Pairs:
    """Solve all pairs for both objectives."""
    graph = mobilenet_v1(0.25)
    pairs = list(combinations_with_replacement(load_boards(), 2))
    problems = [
        make_problem(shipped_table(), graph, pair, CostSettings(baud=SLOW, use_all=True, objective=objective))
        for pair in pairs
        for objective in (Objective.LATENCY, THROUGHPUT)
    ]
    times, n_feasible, n_proved = [], 0, 0
    for _ in range(REPEATS):
        start, n_feasible, n_proved = time.process_time(), 0, 0
        for problem in problems:
            try:
                n_proved += solve(replace(problem)).proved  # a copy has no cached results
                n_feasible += 1
            except CheckFailedError:
                continue
        times.append(time.process_time() - start)
    return Pairs(len(pairs), len(problems), n_feasible, n_proved, statistics.median(times))


def tables(rows: list[Solved], layers: Growth, devices: Growth, pairs: Pairs) -> str:
    """Return the results as Markdown."""
    table = MarkdownTable(
        "layers x boards", "objective", "solver", numbers=("baud", "seed", "s", "best, s", "MB"), last=("proof",)
    )
    lines = list(table.lines(map(_solved_cells, rows)))
    for what, grown in (("layers, 4 boards", layers), ("boards, 80 layers", devices)):
        points = ", ".join(f"{size}: {seconds:.3g} s" for size, seconds in zip(grown.sizes, grown.seconds, strict=True))
        lines += ["", f"Labels at 115200 baud against {what}: {points}. Exponent {grown.exponent:.1f}."]
    held = f"{pairs.n_feasible} of the {pairs.n_problems} problems have a split, {pairs.n_proved} proved"
    lines += ["", f"MobileNet v1 0.25 on {pairs.n_pairs} pairs of boards, latency and throughput: {held}; "]
    lines[-1] += f"{pairs.seconds:.2g} s for all."
    return "\n".join(lines)


def _solved_cells(row: Solved) -> Sequence[Cell]:
    case, end = row.case, "proved" if row.proved else f"gap {row.gap:.1%}"
    best = f"{row.objective_s:.4f}" if math.isfinite(row.objective_s) else None
    size, spent_s = f"{case.n_layers} x {case.n_devices}", f"{row.seconds:.3g}"
    return size, case.objective, row.solver, case.baud, case.seed, spent_s, best, round(row.memory_mb), end


@benchmark("solvers", "10 minutes", JSON)
def solvers(options: Namespace) -> None:
    """Measure processor seconds of the label search beside HiGHS.

    Every (instance, solver) runs in a process of its own, so that its peak memory is its own; a run that takes half its
    time limit is not repeated, of others the median of 5 counts.
    """
    rows = [in_own_process(case, name) for case in PEERS for name in SOLVERS]
    layers = growth(BY_LAYERS, lambda case: case.n_layers)
    devices = growth(BY_DEVICES, lambda case: case.n_devices)
    pairs = measure_pairs()
    if options.json:
        print_json({"rows": rows, "layers": layers, "devices": devices, "pairs": pairs})
    else:
        print(tables(rows, layers, devices, pairs))


BOARDS = ("nucleo_g071rb", "nucleo_f401re", "nucleo_l452re")
BAUDS = (115_200, 3_000_000)
RANDOM_NETWORKS = range(4)  # seeds


class Case(NamedTuple):
    """A network on sets of up to two boards, by an objective."""

    graph: Graph
    ranked_by: Ranked


def cases(only: str) -> Iterator[Case]:
    """Yield Tiny-CNN and small random networks that `--only` chooses."""
    for graph in (NETWORKS["Tiny-CNN"].graph(), *map(small_network, RANDOM_NETWORKS)):
        for ranked_by in (Ranked.LATENCY, Ranked.THROUGHPUT, Ranked.ENERGY):
            if only in graph.name:
                yield Case(graph, ranked_by)


def request_of(case: Case) -> ExploreRequest:
    """Return the exploration of a case."""
    space = Space((case.graph.sha256,), tuple(map(load_board, BOARDS)), 2, BAUDS, (8,))
    goal = RankingGoal(CostSettings(), case.ranked_by)
    return ExploreRequest(shipped_table(), (case.graph,), space, goal, slices=Slices.NONE)


def all_values(request: ExploreRequest) -> dict[tuple[SetCandidate, Assignment], float]:
    """Return the simulated value of every split that fits."""
    (graph,), found = request.graphs, dict[tuple[SetCandidate, Assignment], float]()
    tables = {
        baud: ProblemTable.of(
            shipped_table(), graph, request.space.boards, replace(request.settings, baud=baud or BAUDS[0])
        )
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


@benchmark("sets", "5 minutes", ONLY)
def sets(options: Namespace) -> None:
    """Compare rankings of sets of boards in two phases with the simulation of all splits.

    As Dariol 2023 compares its exploration with exhaustive ones: is the best split of all among those that phase 2
    simulates, and which share of all splits is the answer better than? All splits of all sets are those that fit; the
    networks are small enough for that.
    """
    work = ("all sets", "all splits", "all, s", "two phases, s", "rounds", "simulated")
    answers = ("best", "answer", "best kept", "better than", "better than sets", "moved", "rank correlation")
    table = MarkdownTable("network", "objective", numbers=(*work, *answers))
    table.print(map(_ranking_cells, cases(options.only)))


def _ranking_cells(case: Case) -> Sequence[Cell]:
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
    return (
        case.graph.name,
        case.ranked_by.value,
        len(sets),
        len(every),
        f"{all_s:.1f}",
        f"{ranking.phase_1_s:.1f} + {ranking.phase_2_s:.1f}",
        ranking.rounds,
        ranking.n_splits,
        f"{1000 * least:.3f} {unit}",
        f"{1000 * answer:.3f} {unit}",
        "yes" if three_digits(answer) <= three_digits(least) else "no",
        _share_of_worse(answer, every.values()),
        _share_of_worse(answer, sets.values()),
        f"{ranking.n_moved} of {len(ranking.best)}",
        f"{ranking.rank_correlation:.2f}",
    )


def _share_of_worse(answer: float, values: Collection[float]) -> str:
    return f"{100 * sum(is_better(answer, value) for value in values) / len(values):.2f} %"
