"""The exact search for distributions: options, seconds of costs and of the search, and how far it is proved.

    .venv/bin/python benchmarks/exact_slices.py [--limit SECONDS]

Each case is a network on boards of one type. Value and bound are those of the search's model (docs/slices.md). Networks
other than Tiny-CNN are looked for in ../shared/models.
"""

import argparse
import time
from typing import NamedTuple

from periods import NETWORKS
from tinysplit.boards.catalog import load_board
from tinysplit.costs.settings import CostSettings
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.distribution import SliceAxis
from tinysplit.onnx_import import import_model
from tinysplit.slices.distribution_problem import DistributionModel
from tinysplit.slices.exact.search import best_choice
from tinysplit.slices.links import with_links
from tinysplit.slices.part_costs import PartCosts
from tinysplit.split import clock

MS, PERCENT = 1000, 100
BITS = 8


class Case(NamedTuple):
    """A network on `n_boards` of one type."""

    network: str
    n_boards: int
    board: str
    baud: int


CASES = (
    Case("Tiny-CNN", 2, "nucleo_g071rb", 3_000_000),
    Case("KWS", 2, "nucleo_g071rb", 3_000_000),
    Case("KWS", 4, "nucleo_g071rb", 3_000_000),
    Case("ResNet-8", 2, "nucleo_g071rb", 3_000_000),
    Case("ResNet-8", 4, "nucleo_g071rb", 3_000_000),
    Case("ResNet-8", 4, "nucleo_g071rb", 1_000_000),
    Case("MobileNet v1 0.25", 4, "nucleo_f401re", 2_000_000),
)


def row(case: Case, limit_s: float) -> str:
    """Return the row of a case."""
    graph, boards = import_model(NETWORKS[case.network]), [load_board(case.board)] * case.n_boards
    order = tuple(range(case.n_boards))
    settings = with_links(CostSettings(baud=case.baud, bits=BITS), boards, order, 0)
    start = time.perf_counter()
    costs = PartCosts(graph, boards, settings, BitWidths.of(graph, BITS))
    problem = DistributionModel.of(costs, order, tuple(SliceAxis), 0, 0).problem
    costs_s = time.perf_counter() - start
    found = best_choice(problem, clock.now() + limit_s)
    search_s = time.perf_counter() - start - costs_s
    gap = 1 - found.lower_bound / found.value
    cells = (
        case.network,
        f"{case.n_boards} x {case.board}",
        f"{case.baud:,}".replace(",", " "),
        str(max(stage.n_options for stage in problem.stages)),
        f"{costs_s:.2f}",
        f"{search_s:.2f}",
        f"{MS * found.value:.2f}",
        "proved" if gap <= 0 else f"{PERCENT * gap:.2f} %",
    )
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print a row a case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=float, default=2.0, help="seconds of each search")
    limit_s = parser.parse_args().limit
    import_model(NETWORKS["Tiny-CNN"])
    print("| network | boards | baud | options a tensor | costs, s | search, s | value, ms | gap |")
    print("|---|---|---|---|---|---|---|---|")
    for case in CASES:
        print(row(case, limit_s), flush=True)


if __name__ == "__main__":
    main()
