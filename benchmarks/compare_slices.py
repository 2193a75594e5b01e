"""The solvers for layers divided over boards, side by side, as a Markdown table: value in ms, seconds, gap.

    .venv/bin/python benchmarks/compare_slices.py [--limit SECONDS] [--only TEXT]

Each case is a network on boards of one type, 8 bits, minimal latency by the event timeline of the firmware. The gap is
that to the solver's own lower bound, if it has one: by a model that leaves out some of what the firmware does, among
its options (docs/slices.md), so that it is not 0, and below 0 for a division that is no option. Networks other than
Tiny-CNN are looked for in ../shared/models; ten are random. Takes some minutes.
"""

import argparse
import time
from collections.abc import Iterator

from exact_slices import BITS, CASES, Case
from markdown_rows import print_head
from periods import NETWORKS
from tinysplit.boards.catalog import load_board
from tinysplit.calibration.networks import random_network
from tinysplit.common.choices import SliceSolver
from tinysplit.costs.settings import CostSettings
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.distribution import SliceAxis
from tinysplit.network.graph import Graph
from tinysplit.onnx_import import import_model
from tinysplit.slices.sliced_network import SlicedNetwork
from tinysplit.slices.solvers import slice_solver
from tinysplit.split import clock

PERCENT, MS = 100, 1000
RANDOM_NETWORKS = (*range(200, 208), 209, 210)  # seeds; 208 does not fit


def cases() -> Iterator[tuple[Graph, Case]]:
    """Yield published networks, then random ones on two and on four boards in turn."""
    for case in CASES:
        yield import_model(NETWORKS[case.network]), case
    for seed in RANDOM_NETWORKS:
        graph = random_network(seed)
        yield graph, Case(graph.name, 2 + 2 * (seed % 2), "nucleo_g071rb", 3_000_000)


def row(graph: Graph, case: Case, limit_s: float) -> str:
    """Return the row of a case."""
    settings = CostSettings(baud=case.baud, bits=BITS)
    boards = [load_board(case.board)] * case.n_boards
    network = SlicedNetwork(graph, boards, settings, BitWidths.of(graph, BITS), 0, 0)
    title = (case.network, f"{case.n_boards} x {case.board}", f"{case.baud:,}".replace(",", " "))
    return f"| {' | '.join((*title, *(cell(solver, network, limit_s) for solver in SliceSolver)))} |"


def cell(solver: SliceSolver, network: SlicedNetwork, limit_s: float) -> str:
    """Return what a solver answers: its value, the time that it took, and its gap."""
    start = time.perf_counter()
    answer = slice_solver(solver)(network, tuple(SliceAxis), clock.now() + limit_s)
    spent = f"{time.perf_counter() - start:.1f} s"
    if answer.best is None:
        return f"none; {spent}"
    value = answer.best.figures.value
    gap = (f"{PERCENT * (1 - answer.lower_bound / value):.1f} %",) if answer.lower_bound else ()
    return "; ".join((f"{MS * value:.2f}", spent, *gap))


def main() -> None:
    """Print a row a case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=float, default=20.0, help="seconds of each search")
    parser.add_argument("--only", default="", help="text in the network's name")
    arguments = parser.parse_args()
    headings = ("network", "boards", "baud", *SliceSolver)
    print_head(headings)
    for graph, case in cases():
        if arguments.only in case.network:
            print(row(graph, case, arguments.limit), flush=True)


if __name__ == "__main__":
    main()
