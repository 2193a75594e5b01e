"""The search in two phases beside all choices, each by the event timeline of the firmware, as a Markdown table.

    .venv/bin/python benchmarks/two_phase_slices.py [--only TEXT]

As Dariol 2023 compares its searches with exhaustive ones: is the best choice among the 50 that the analytical model
keeps, and which share of all choices is the answer better than? The networks are small ones on two boards. Takes some
minutes.
"""

import sys
import time
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import NamedTuple

import numpy as np

from markdown_rows import print_cases
from periods import NETWORKS
from tinysplit.boards.catalog import load_board
from tinysplit.costs.settings import CostSettings
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.distribution import SliceAxis
from tinysplit.network.graph import Graph
from tinysplit.network.layers import Shape
from tinysplit.network.network_builder import NetworkBuilder
from tinysplit.onnx_import import import_model
from tinysplit.papers.solvers.two_phase.search import two_phase_search
from tinysplit.slices.sliced_network import SlicedNetwork
from tinysplit.split import clock

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from all_choices import all_choices

PERCENT, MS = 100, 1000
BITS = 8
LIMIT_S = 60.0
RANDOM_NETWORKS = range(6)  # seeds
BAUDS = (3_000_000, 1_000_000)
HEADINGS = (
    "network",
    "baud",
    "all choices",
    "clusterings",
    "all, s",
    "two phases, s",
    "best, ms",
    "answer, ms",
    "best kept",
    "better than choices",
    "better than clusterings",
    "rank in phase 1",
    "rank correlation",
)


class Case(NamedTuple):
    """A network on two boards of one type."""

    graph: Graph
    board: str
    baud: int


def cases() -> Iterator[Case]:
    """Yield Tiny-CNN and small random networks, with links of two baud rates in turn."""
    graphs = [import_model(NETWORKS["Tiny-CNN"]), *map(small_network, RANDOM_NETWORKS)]
    for graph, baud in zip(graphs, cycle(BAUDS), strict=False):
        yield Case(graph, "nucleo_g071rb", baud)


def small_network(seed: int) -> Graph:
    """Return a network of a few random layers with windows, and a dense layer or none."""
    rng = np.random.default_rng(seed)
    height, width = (4 * int(rng.integers(2, 6)) for _ in range(2))
    net = NetworkBuilder(f"random {seed}", Shape(height, width, int(rng.integers(1, 5))), rng=rng)
    net.conv(4 * int(rng.integers(1, 5)), (3, 3))
    for _ in range(int(rng.integers(3, 5))):
        match rng.integers(4):
            case 0:
                net.conv(4 * int(rng.integers(1, 7)))
            case 1:
                net.conv(4 * int(rng.integers(1, 5)), (3, 3), int(rng.integers(1, 3)))
            case 2:
                net.depthwise((3, 3))
            case _:
                net.max_pool(2, 2)
    return (net.dense(10) if rng.integers(2) else net).graph()


def row(case: Case) -> str:
    """Return the row of a case."""
    settings = CostSettings(baud=case.baud, bits=BITS)
    boards = [load_board(case.board)] * 2
    network = SlicedNetwork(case.graph, boards, settings, BitWidths.of(case.graph, BITS), 0, 0)
    start = time.perf_counter()
    every = all_choices(network, tuple(SliceAxis))
    all_s = time.perf_counter() - start
    found = two_phase_search(network, tuple(SliceAxis), clock.now() + LIMIT_S)
    if found.best is None:
        return f"| {case.graph.name} | {case.baud} | {len(every.values)} | none |"
    value = found.best.figures.value
    cells = (
        case.graph.name,
        f"{case.baud:,}".replace(",", " "),
        str(len(every.values)),
        str(len(every.clusterings)),
        f"{all_s:.1f}",
        f"{found.phase_1_s:.2f} + {found.phase_2_s:.1f}",
        f"{MS * every.values[every.best]:.2f}",
        f"{MS * value:.2f}",
        "yes" if every.keeps_best(found) else "no",
        f"{PERCENT * every.share_of_worse(value):.2f} %",
        f"{PERCENT * every.share_of_worse_clusterings(value):.2f} %",
        str(found.rank_of_best),
        f"{found.rank_correlation:.2f}",
    )
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print a row a case."""
    print_cases(__doc__, HEADINGS, cases(), row)


if __name__ == "__main__":
    main()
