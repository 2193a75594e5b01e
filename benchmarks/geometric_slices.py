"""Layers divided by the published geometric program, beside the exact solver: estimated latency, time and steps.

    .venv/bin/python benchmarks/geometric_slices.py [--slices rows] [--limit SECONDS] [--only TEXT]

Each case is a network on boards of one type, by rows or channels, by default whichever is better. Latencies are those
of the generated firmware, estimated (docs/geometric_program.md). Networks other than Tiny-CNN are looked for in
../shared/models.
"""

import argparse
import time
from itertools import product
from math import inf
from typing import NamedTuple

from markdown_rows import print_head
from periods import NETWORKS
from tinysplit.boards.catalog import load_board
from tinysplit.common.choices import Slices, SliceSolver
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.network.bit_widths import BitWidths
from tinysplit.onnx_import import import_model
from tinysplit.slices.result import SliceResult
from tinysplit.slices.sliced_network import SlicedNetwork
from tinysplit.slices.solvers import AXES, slice_solver
from tinysplit.split import clock
from tinysplit.split.solve import solve

MS, PERCENT = 1000, 100
BITS = 8
HEADINGS = (
    *("network", "boards", "whole layers, ms", "divided by", "steps", "largest error"),
    *("geometric, s", "geometric, ms", "exact, s", "exact, ms", "above exact"),
)


class Case(NamedTuple):
    """A network on `n_boards` of one type."""

    network: str
    n_boards: int
    board: str = "nucleo_g071rb"
    baud: int = 3_000_000


CASES = tuple(Case(*each) for each in product(("Tiny-CNN", "KWS", "ResNet-8"), (2, 4)))


class Timed(NamedTuple):
    """What a solver found, and how long it took."""

    result: SliceResult
    seconds: float

    @property
    def value(self) -> float:
        """Estimated latency in seconds, infinite if nothing is feasible."""
        return self.result.best.figures.value if self.result.best else inf

    @property
    def latency(self) -> str:
        """The latency in ms."""
        return f"{MS * self.value:.2f}" if self.result.best else "infeasible"


def solved(case: Case, solver: SliceSolver, slices: Slices, limit_s: float) -> Timed:
    """Return the best division that a solver finds in `limit_s` seconds; input and output are at board 1."""
    graph, boards = import_model(NETWORKS[case.network]), [load_board(case.board)] * case.n_boards
    settings = CostSettings(baud=case.baud, bits=BITS)
    network = SlicedNetwork(graph, boards, settings, BitWidths.of(graph, BITS), 0, 0)
    start = time.perf_counter()
    result = slice_solver(solver)(network, AXES[slices], clock.now() + limit_s)
    return Timed(result, time.perf_counter() - start)


def row(case: Case, slices: Slices, limit_s: float) -> str:
    """Return the row of a case."""
    own, exact = (solved(case, solver, slices, limit_s) for solver in (SliceSolver.GEOMETRIC, SliceSolver.EXACT))
    tightening = own.result.report.data.get("tightening", {})
    errors = [fit["largest_error"] for fit in tightening.get("fits", ()) if fit["what"] == "compute"]
    is_known = own.result.best and exact.result.best
    cells = (
        *(case.network, f"{case.n_boards} x {case.board}", f"{MS * whole_layers_s(case):.2f}"),
        *(
            tightening.get("axis", ""),
            str(len(tightening.get("steps", ()))),
            f"{PERCENT * max(errors, default=0):.1f} %",
        ),
        *(f"{own.seconds:.1f}", own.latency, f"{exact.seconds:.1f}", exact.latency),
        f"{PERCENT * (own.value / exact.value - 1):+.1f} %" if is_known else "",
    )
    return f"| {' | '.join(cells)} |"


def whole_layers_s(case: Case) -> float:
    """Return the estimated latency of the best split of whole layers."""
    boards = [load_board(case.board)] * case.n_boards
    return solve(make_problem(import_model(NETWORKS[case.network]), boards, CostSettings(baud=case.baud))).objective


def main() -> None:
    """Print a row a case."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=float, default=10.0, help="seconds of each search")
    parser.add_argument("--slices", type=Slices, default=Slices.AUTO, help="rows, channels or auto")
    parser.add_argument("--only", default="", help="networks whose name contains this text")
    options = parser.parse_args()
    solved(CASES[0], SliceSolver.GEOMETRIC, Slices.ROWS, options.limit)  # imports cvxpy, loads tables
    print_head(HEADINGS)
    for case in CASES:
        if options.only in case.network:
            print(row(case, options.slices, options.limit), flush=True)


if __name__ == "__main__":
    main()
