"""How fast the exact solvers are beside HiGHS, on the same instances in the same run; writes the result tables.

python benchmarks/splitters.py [--json]

Every (instance, solver) runs in a process of its own, so that its peak memory is its own; a run that takes up its
time limit is not repeated, of others the median of 5 counts.
"""

import json
import math
import random
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from itertools import combinations_with_replacement
from multiprocessing import get_context
from pathlib import Path

from tinysplit.boards import load_boards
from tinysplit.cost_model import CostSettings, make_problem
from tinysplit.errors import CheckFailedError, ToolError
from tinysplit.published.networks import mobilenet_v1
from tinysplit.split.branch_and_bound import branch_and_bound
from tinysplit.split.label_search import label_search
from tinysplit.split.milp import milp
from tinysplit.split.problem import DeviceLimits, LayerCosts, Problem
from tinysplit.split.solve import Solver

RESULTS = Path(__file__).parents[1] / "docs" / "benchmarks_splitting.md"
BEGIN, END = "<!-- benchmarks/splitters.py writes from here -->", "<!-- to here -->"
REPEATS = 5
SEEDS = range(3)
ROOM = 1.2  # flash of all boards together, of what the layers need
SOLVERS: dict[str, Solver] = {"labels": label_search, "branch-and-bound": branch_and_bound, "HiGHS": milp}
SLOW, FAST = 115200, 3_000_000


@dataclass(frozen=True)
class Case:
    """An instance by what it is generated from."""

    n_layers: int
    n_devices: int
    baud: int
    seed: int
    time_limit_s: float = 10.0

    def problem(self) -> Problem:
        """Return a network that looks like MobileNet on boards that just hold it.

        Depthwise and pointwise layers take turns; from the first layer to the last tensors shrink from 32 KB to 1 KB
        and pointwise weights grow from 1.5 KB to 48 KB, all within a random half; boards differ by up to 25 times in
        speed and 3 times in flash, and have RAM for everything. A cut costs 10 bit times a byte.
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
            layers.append(LayerCosts(f"layer{number + 1}", flash_bytes, out_bytes, out_bytes, seconds))
        sizes = [rng.uniform(0.5, 1.5) for _ in range(self.n_devices)]
        scale = ROOM * sum(layer.flash_bytes for layer in layers) / sum(sizes)
        devices = tuple(DeviceLimits(f"board{i + 1}", int(size * scale), 10**9) for i, size in enumerate(sizes))
        transfers = tuple(
            tuple(
                tuple(0.0 if i == h else layer.out_bytes * 10 / self.baud for h in range(self.n_devices))
                for i in range(self.n_devices)
            )
            for layer in layers
        )
        return Problem(tuple(layers), devices, transfers)


@dataclass(frozen=True)
class Row:
    """What one solver did on one instance."""

    case: Case
    solver: str
    seconds: float  # median
    objective_s: float  # infinite where nothing was found
    gap: float
    proved: bool
    memory_mb: float  # most that the process held, above what it had before


PEERS = [
    *(Case(30, 4, SLOW, seed) for seed in SEEDS),
    *(Case(100, 6, SLOW, seed) for seed in SEEDS),
    *(Case(100, 4, FAST, seed) for seed in SEEDS),
    *(Case(200, 8, baud, 2, 30.0) for baud in (SLOW, FAST)),
]
WARM_UP = Case(40, 2, SLOW, 0)
BY_LAYERS = [[Case(n, 4, SLOW, seed) for seed in SEEDS] for n in (30, 60, 120, 240)]
BY_DEVICES = [[Case(80, d, SLOW, seed) for seed in SEEDS] for d in (2, 3, 4, 6, 8)]


def measure(case: Case, name: str) -> Row:
    """Solve `case` in this process."""
    problem = case.problem()
    times: list[float] = []
    SOLVERS[name](WARM_UP.problem(), time_limit_s=1)  # imports and first calls are no part of it
    before_mb = _peak_mb()
    objective_s, gap, proved = math.inf, 1.0, False
    while len(times) < REPEATS and (not times or times[-1] < case.time_limit_s):
        start = time.perf_counter()
        try:
            split = SOLVERS[name](problem, time_limit_s=case.time_limit_s)
            # HiGHS closes its gap up to 1e-6 of its own scale, ours up to rounding.
            objective_s, gap, proved = split.objective, split.gap, split.gap < 1e-6  # noqa: PLR2004
        except CheckFailedError:
            pass
        times.append(time.perf_counter() - start)
    return Row(case, name, statistics.median(times), objective_s, gap, proved, _peak_mb() - before_mb)


def in_own_process(case: Case, name: str) -> Row:
    """Return `measure` from a process that has done nothing else."""
    print(f"{case} {name}", file=sys.stderr)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(measure, case, name).result()


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@dataclass(frozen=True)
class Growth:
    """Median seconds of label search against one size, and the exponent of the power law that fits best."""

    sizes: list[int]
    seconds: list[float]
    exponent: float


def growth(groups: Iterable[list[Case]], size_of: Callable[[Case], int]) -> Growth:
    """Fit seconds = a * size^exponent through the medians of each group's instances."""
    sizes, seconds = [], []
    for group in groups:
        sizes.append(size_of(group[0]))
        seconds.append(statistics.median(in_own_process(case, "labels").seconds for case in group))
    slope = statistics.linear_regression([math.log(size) for size in sizes], [math.log(s) for s in seconds]).slope
    return Growth(sizes, seconds, slope)


@dataclass(frozen=True)
class Pairs:
    """MobileNet v1 0.25 (8 bits, 115200 baud, both boards used) on all pairs of boards, doubles included."""

    n_pairs: int
    n_feasible: int
    n_proved: int
    seconds: float


def measure_pairs() -> Pairs:
    """Solve all pairs, the explanation of those that cannot hold the network included."""
    graph = mobilenet_v1(0.25)
    problems = [
        make_problem(graph, pair, CostSettings(use_all=True))
        for pair in combinations_with_replacement(load_boards(), 2)
    ]
    times, n_feasible, n_proved = [], 0, 0
    for _ in range(REPEATS):
        start, n_feasible, n_proved = time.perf_counter(), 0, 0
        for problem in problems:
            try:
                n_proved += label_search(replace(problem)).proved  # a copy has nothing cached
                n_feasible += 1
            except CheckFailedError:
                continue
        times.append(time.perf_counter() - start)
    return Pairs(len(problems), n_feasible, n_proved, statistics.median(times))


def tables(rows: list[Row], layers: Growth, devices: Growth, pairs: Pairs) -> str:
    """Return the results as Markdown."""
    lines = ["| layers x boards | baud | seed | solver | s | best I, s | | MB |", "|---|---|---|---|---|---|---|---|"]
    for row in rows:
        case, end = row.case, "proved" if row.proved else f"gap {row.gap:.1%}"
        found = f"{row.objective_s:.4f}" if math.isfinite(row.objective_s) else "none"
        lines.append(
            f"| {case.n_layers} x {case.n_devices} | {case.baud} | {case.seed} | {row.solver} | {row.seconds:.3g} "
            f"| {found} | {end} | {row.memory_mb:.0f} |"
        )
    for what, grown in (("layers, 4 boards", layers), ("boards, 80 layers", devices)):
        points = ", ".join(f"{size}: {seconds:.3g} s" for size, seconds in zip(grown.sizes, grown.seconds, strict=True))
        lines += ["", f"Labels at 115200 baud against {what}: {points}. Exponent {grown.exponent:.1f}."]
    held = f"{pairs.n_feasible} can hold it, {pairs.n_proved} proved"
    lines += ["", f"MobileNet v1 0.25 on {pairs.n_pairs} pairs of boards: {held}; {pairs.seconds:.2g} s for all."]
    return "\n".join(lines)


def main() -> None:
    """Measure everything, print it, and write the tables into the page."""
    rows = [in_own_process(case, name) for case in PEERS for name in SOLVERS]
    layers = growth(BY_LAYERS, lambda case: case.n_layers)
    devices = growth(BY_DEVICES, lambda case: case.n_devices)
    pairs = measure_pairs()
    text = tables(rows, layers, devices, pairs)
    if "--json" in sys.argv[1:]:
        print(
            json.dumps(
                {"rows": [asdict(row) for row in rows], "layers": asdict(layers), "devices": asdict(devices)}
                | {"pairs": asdict(pairs)},
                indent=2,
            )
        )
    else:
        print(text)
    page = RESULTS.read_text(encoding="utf-8")
    head, tail = page.split(BEGIN)[0], page.split(END)[1]
    RESULTS.write_text(f"{head}{BEGIN}\n{text}\n{END}{tail}", encoding="utf-8")


if __name__ == "__main__":
    try:
        main()
    except ToolError as error:
        sys.exit(f"error: {error}")
