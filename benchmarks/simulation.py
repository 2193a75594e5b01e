"""Latency I and period W: event graph, simulation and virtual boards beside each other, and what simulating takes.

    .venv/bin/python benchmarks/simulation.py [--only TEXT] [--estimate]

The cases are those of `benchmarks/periods.py`; with --estimate nothing is built and measured. The last column is the
time in which 100 inferences are simulated. Takes some minutes.
"""

import argparse
import time
from collections.abc import Iterator

from rich.console import Console

from periods import CASES, NETWORKS, Case, run_case
from tinysplit.costs.settings import CostSettings
from tinysplit.pipeline import Context, split_network
from tinysplit.slices.settings import Search
from tinysplit.split.evaluate.firmware import Firmware, FirmwareSimulation
from tinysplit.split.evaluate.fused import as_run
from tinysplit.split.problem import Objective
from tinysplit.split.simulation.run import simulate
from tinysplit.split.solution import Split

COUNT = 100
HEADINGS = ("network and boards", "baud", "L + T", "graph I", "simulated I", "measured I")
HEADINGS_OF_PERIOD = ("graph W", "simulated W", "measured W", "100 inferences, s")


def figures_of(split: Split) -> tuple[tuple[float, ...], tuple[float, ...], float]:
    """Return I as L + T, of the graph and simulated, W of the graph and simulated, and the time of simulating."""
    problem, assignment = as_run(split.problem, split.assignment), split.assignment
    graph = FirmwareSimulation(problem, Firmware.of(problem, assignment).program)
    alone = simulate(problem, assignment, (0.0,))
    begin_s = time.perf_counter()
    many = simulate(problem, assignment, (0.0,) * COUNT)
    spent_s = time.perf_counter() - begin_s
    latencies = (split.figures.l_s + split.figures.t_s, graph.latency_s(), alone.inference_s[0])
    return latencies, (split.period_s, many.period_s or 0.0), spent_s


def row(case: Case, *, is_measured: bool) -> Iterator[str]:
    """Yield the cells of a case, times in ms."""
    measured: tuple[float | None, float | None] = (None, None)
    if is_measured:
        report = run_case(case, Console(quiet=True))
        found, split = report.measurement, report.split
        measured = found.measurement.i_s.mean, found.stream.period_s if found.stream else None
    else:
        settings = CostSettings(baud=case.baud, objective=Objective.THROUGHPUT, use_all=case.use_all)
        context = Context.load(NETWORKS[case.network], case.boards, settings, Console(quiet=True))
        split = split_network(context, Search())
    latencies, periods, spent_s = figures_of(split)
    yield from (case.title, f"{case.baud:,}".replace(",", " "))
    for seconds in (*latencies, measured[0], *periods, measured[1]):
        yield "-" if seconds is None else f"{1000 * seconds:.2f}"
    yield f"{spent_s:.2f}"


def main() -> None:
    """Print a row a case as it is done."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", default="", metavar="TEXT", help="only cases whose network and boards contain it")
    parser.add_argument("--estimate", action="store_true", help="measure nothing")
    options = parser.parse_args()
    headings = (*HEADINGS, *HEADINGS_OF_PERIOD)
    print(f"| {' | '.join(headings)} |\n|---|{'---:|' * (len(headings) - 1)}")
    for case in CASES:
        if options.only in case.title and NETWORKS[case.network].exists():
            print(f"| {' | '.join(row(case, is_measured=not options.estimate))} |", flush=True)


if __name__ == "__main__":
    main()
