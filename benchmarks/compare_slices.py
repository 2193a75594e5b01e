"""The solvers for layers divided over boards, side by side, as a Markdown table: value, time and gap.

    .venv/bin/python benchmarks/compare_slices.py [--limit SECONDS] [--only TEXT]

Each case is a network on boards of one type, 8 bits, minimal latency by the event timeline of the firmware. The gap is
that to the least lower bound of the solvers that have one: by a model that leaves out some of what the firmware does
(docs/slices.md), so it is never 0. Networks other than Tiny-CNN are looked for in ../shared/models; ten are random.
Takes some minutes.
"""

import argparse
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from calibration_networks import random_network
from exact_slices import BITS, CASES, Case
from periods import NETWORKS
from tinysplit.boards.catalog import load_board
from tinysplit.costs.problem_builder import CostSettings
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.distribution import Axis
from tinysplit.network.graph import Graph
from tinysplit.onnx_import import import_model
from tinysplit.slices.search import SliceSearch
from tinysplit.slices.sliced_network import Sliced, SlicedNetwork
from tinysplit.slices.two_phase.search import two_phase_search
from tinysplit.split import clock

PERCENT, MS = 100, 1000
RANDOM_NETWORKS = range(200, 210)  # seeds
HEADINGS = ("network", "boards", "baud", "solver", "value, ms", "time, s", "gap", "above the best one")


class Answer(NamedTuple):
    """What a solver has found, and its lower bound, 0 if it has none."""

    best: Sliced | None
    lower_bound: float


Solver = Callable[[SlicedNetwork, Sequence[Axis], float], Answer]


def exact(network: SlicedNetwork, axes: Sequence[Axis], deadline_s: float) -> Answer:
    """Return the answer of the exact search, with the candidates and the local search around it."""
    search = SliceSearch(network, deadline_s)
    return Answer(search.run(axes), search.lower_bound)


def two_phase(network: SlicedNetwork, axes: Sequence[Axis], deadline_s: float) -> Answer:
    """Return the answer of the search in two phases."""
    found = two_phase_search(network, axes, deadline_s)
    return Answer(found.best, found.lower_bound)


SOLVERS: Mapping[str, Solver] = {"exact": exact, "two phases": two_phase}


def cases() -> Iterator[tuple[Graph, Case]]:
    """Yield published networks, then random ones on two and on four boards in turn."""
    for case in CASES:
        yield import_model(NETWORKS[case.network]), case
    for seed in RANDOM_NETWORKS:
        graph = random_network(seed)
        yield graph, Case(graph.name, 2 + 2 * (seed % 2), "nucleo_g071rb", 3_000_000)


def rows(graph: Graph, case: Case, limit_s: float) -> Iterator[str]:
    """Yield the rows of a case, one for each solver."""
    settings = CostSettings(baud=case.baud, bits=BITS)
    boards = [load_board(case.board)] * case.n_boards
    network = SlicedNetwork(graph, boards, settings, BitWidths.of(graph, BITS), 0, 0)
    answers, spent_s = {}, {}
    for name, solver in SOLVERS.items():
        start = time.perf_counter()
        answers[name] = solver(network, tuple(Axis), clock.now() + limit_s)
        spent_s[name] = time.perf_counter() - start
    bound = min((each.lower_bound for each in answers.values() if each.lower_bound), default=0.0)
    least = min((each.best.figures.value for each in answers.values() if each.best), default=0.0)
    title = (case.network, f"{case.n_boards} x {case.board}", f"{case.baud:,}".replace(",", " "))
    for name, answer in answers.items():
        figures = ("none", f"{spent_s[name]:.1f}", "", "")
        if answer.best:
            value = answer.best.figures.value
            gap, above = PERCENT * (1 - bound / value), PERCENT * (value / least - 1)
            figures = (f"{MS * value:.2f}", f"{spent_s[name]:.1f}", f"{gap:.1f} %", f"{above:.2f} %")
        yield f"| {' | '.join((*title, name, *figures))} |"


def main() -> None:
    """Print the rows of all cases."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=float, default=20.0, help="seconds of each search")
    parser.add_argument("--only", default="", help="text in the network's name")
    arguments = parser.parse_args()
    print(f"| {' | '.join(HEADINGS)} |")
    print("|---" * len(HEADINGS) + "|")
    for graph, case in cases():
        if arguments.only in case.network:
            for each in rows(graph, case, arguments.limit):
                print(each, flush=True)


if __name__ == "__main__":
    main()
