"""Solution and proof times of the solvers and of HiGHS; writes the tables of docs/benchmarks_splitting.md.

    python benchmarks/splitters.py [--json]

Every (instance, solver) runs in a process of its own, so that its peak memory is its own; a run that takes up its
time limit is not repeated, of others the median of 5 counts.
"""

import argparse
import json
import math
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import combinations_with_replacement
from multiprocessing import get_context
from pathlib import Path

from plot_growth import Growth, plot
from split_cases import FAST, SLOW, Case
from tinysplit.boards.catalog import load_boards
from tinysplit.common.choices import AUTO, CHAIN_LABELS, HIGHS
from tinysplit.common.errors import CheckFailedError
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.papers.reproduce.networks import mobilenet_v1
from tinysplit.split.problem import Objective
from tinysplit.split.solve import solve

DOCS = Path(__file__).parents[1] / "docs"
RESULTS, PLOT = DOCS / "benchmarks_splitting.md", DOCS / "growth.svg"
BEGIN, END = "<!-- benchmarks/splitters.py writes from here -->", "<!-- to here -->"
REPEATS = 5
SEEDS = range(3)
HIGHS_PROVES = 1e-6  # its gap, equal to its feasibility tolerance
THROUGHPUT = Objective.THROUGHPUT
PEERS = [
    *(Case(30, 4, SLOW, seed) for seed in SEEDS),
    *(Case(100, 6, SLOW, seed) for seed in SEEDS),
    *(Case(100, 4, FAST, seed) for seed in SEEDS),
    *(Case(60, 5, FAST, seed, THROUGHPUT) for seed in SEEDS),
    Case(200, 8, SLOW, 2, time_limit_s=30.0),
    Case(200, 8, FAST, 2, time_limit_s=30.0),
    Case(200, 8, FAST, 2, THROUGHPUT, time_limit_s=30.0),
]
WARM_UP = Case(40, 2, SLOW, 0)
BY_LAYERS = [[Case(n, 4, SLOW, seed) for seed in SEEDS] for n in (30, 60, 120, 240)]
BY_DEVICES = [[Case(80, d, SLOW, seed) for seed in SEEDS] for d in (2, 3, 4, 6, 8)]


@dataclass(frozen=True)
class Row:
    """The result of one solver on one instance."""

    case: Case
    solver: str
    seconds: float  # median
    objective_s: float  # infinite without a split
    gap: float
    proved: bool
    memory_mb: float  # peak of the process, above its start


def measure(case: Case, name: str) -> Row:
    """Solve `case` in this process."""
    problem = case.problem()
    times: list[float] = []
    solver = partial(solve, solver=name)
    solver(WARM_UP.problem(), time_limit_s=1)  # imports and first calls are not measured
    before_mb = _peak_mb()
    objective_s, gap, proved = math.inf, 1.0, False
    while len(times) < REPEATS and (not times or times[-1] < case.time_limit_s):
        start = time.perf_counter()
        try:
            split = solver(replace(problem), time_limit_s=case.time_limit_s)  # a copy has no cached results
            objective_s, gap, proved = split.objective, split.gap, split.gap < HIGHS_PROVES
        except CheckFailedError:
            pass
        times.append(time.perf_counter() - start)
    memory_mb = _peak_mb() - before_mb
    return Row(case, name, statistics.median(times), objective_s, gap, proved, memory_mb)


def in_own_process(case: Case, name: str) -> Row:
    """Return the result of `measure` in a new process."""
    print(f"{case} {name}", file=sys.stderr)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(measure, case, name).result()


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def growth(groups: Iterable[list[Case]], size_of: Callable[[Case], int]) -> Growth:
    """Fit seconds = a * size^exponent through the medians of each group's instances."""
    sizes, seconds = [], []
    for group in groups:
        sizes.append(size_of(group[0]))
        seconds.append(statistics.median(in_own_process(case, CHAIN_LABELS).seconds for case in group))
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
    """Solve all pairs for both objectives, with `auto`."""
    graph = mobilenet_v1(0.25)
    pairs = list(combinations_with_replacement(load_boards(), 2))
    problems = [
        make_problem(graph, pair, CostSettings(use_all=True, objective=objective))
        for pair in pairs
        for objective in (Objective.LATENCY, THROUGHPUT)
    ]
    times, n_feasible, n_proved = [], 0, 0
    for _ in range(REPEATS):
        start, n_feasible, n_proved = time.perf_counter(), 0, 0
        for problem in problems:
            try:
                n_proved += solve(replace(problem)).proved  # a copy has no cached results
                n_feasible += 1
            except CheckFailedError:
                continue
        times.append(time.perf_counter() - start)
    return Pairs(len(pairs), len(problems), n_feasible, n_proved, statistics.median(times))


def tables(rows: list[Row], layers: Growth, devices: Growth, pairs: Pairs) -> str:
    """Return the results as Markdown."""
    lines = ["| layers x boards | baud | objective | seed | solver | s | best, s | | MB |", "|---" * 9 + "|"]
    for row in rows:
        case, end = row.case, "proved" if row.proved else f"gap {row.gap:.1%}"
        found = f"{row.objective_s:.4f}" if math.isfinite(row.objective_s) else "none"
        lines.append(
            f"| {case.n_layers} x {case.n_devices} | {case.baud} | {case.objective} | {case.seed} | {row.solver} "
            f"| {row.seconds:.3g} | {found} | {end} | {row.memory_mb:.0f} |"
        )
    for what, grown in (("layers, 4 boards", layers), ("boards, 80 layers", devices)):
        points = ", ".join(f"{size}: {seconds:.3g} s" for size, seconds in zip(grown.sizes, grown.seconds, strict=True))
        lines += ["", f"Labels at 115200 baud against {what}: {points}. Exponent {grown.exponent:.1f}."]
    lines += ["", f"![Seconds against layers and against boards]({PLOT.name})"] if PLOT.exists() else []
    held = f"{pairs.n_feasible} of the {pairs.n_problems} problems have a split, {pairs.n_proved} proved"
    lines += ["", f"MobileNet v1 0.25 on {pairs.n_pairs} pairs of boards, latency and throughput, `auto`: {held}; "]
    lines[-1] += f"{pairs.seconds:.2g} s for all."
    return "\n".join(lines)


def main() -> None:
    """Measure everything, print it, and write the tables into the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON in place of tables")
    options = parser.parse_args()
    rows = [in_own_process(case, name) for case in PEERS for name in (AUTO, CHAIN_LABELS, HIGHS)]
    layers = growth(BY_LAYERS, lambda case: case.n_layers)
    devices = growth(BY_DEVICES, lambda case: case.n_devices)
    pairs = measure_pairs()
    plot({"layers, 4 boards": layers, "boards, 80 layers": devices}, PLOT)
    text = tables(rows, layers, devices, pairs)
    if options.json:
        found = {"rows": rows, "layers": layers, "devices": devices, "pairs": pairs}
        print(json.dumps(found, default=asdict, indent=2))
    else:
        print(text)
    page = RESULTS.read_text(encoding="utf-8")
    head, tail = page.split(BEGIN)[0], page.split(END)[1]
    RESULTS.write_text(f"{head}{BEGIN}\n{text}\n{END}{tail}", encoding="utf-8")


if __name__ == "__main__":
    main()
