"""Latency of layers divided over boards, estimated and measured on virtual boards, beside that of one board.

    .venv/bin/python benchmarks/slices.py [--json] [--only TEXT]

Each case is a network, a number of boards of one type and a baud rate: its layers are divided by rows, generated with
8 bits, built and measured, and so is the network on one of the boards. The inputs are random: cycles hardly depend on
them. The networks other than Tiny-CNN are looked for in ../shared/models. Takes some minutes.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import numpy as np
from rich.console import Console

from periods import NETWORKS
from tinysplit.common.choices import Slices
from tinysplit.costs.settings import CostSettings
from tinysplit.onnx_import import import_model
from tinysplit.pipeline import RunRequest, run
from tinysplit.slices.settings import Search
from tinysplit_hil.measure.measure_folder import MeasureSettings
from tinysplit_hil.results.run_report import RunReport

G0 = "nucleo_g071rb"
SEED, CALIBRATION = 13, 8
PERCENT = 100


@dataclass(frozen=True)
class Case:
    """A network on `n_boards` boards of one type; `target` is the wanted share of the latency of one of them."""

    network: str
    n_boards: int
    baud: int
    target: float
    board: str = G0


CASES = (
    Case("KWS", 2, 3_000_000, 0.57),
    Case("ResNet-8", 2, 3_000_000, 0.55),
    Case("ResNet-8", 4, 3_000_000, 0.31),
    Case("ResNet-8", 4, 1_000_000, 0.38),
    Case("Tiny-CNN", 2, 3_000_000, 0.68),
)


@dataclass(frozen=True)
class Row:
    """What was estimated and measured, in seconds."""

    network: str
    boards: str
    baud: int
    one_board_i_s: float
    estimated_i_s: float
    measured_i_s: float
    target: float

    @property
    def share(self) -> float:
        """Measured latency over that of one board."""
        return self.measured_i_s / self.one_board_i_s

    @property
    def error_percent(self) -> float:
        """Estimate over measurement."""
        return PERCENT * (self.estimated_i_s / self.measured_i_s - 1)


def measure_case(case: Case) -> Row:
    """Return the figures of a case."""
    report = _run(case.network, (case.board,) * case.n_boards, case.baud, Slices.ROWS)
    return Row(
        network=case.network,
        boards=f"{case.n_boards} x {case.board}",
        baud=case.baud,
        one_board_i_s=_one_board_s(case.network, case.board),
        estimated_i_s=report.measurement.project.estimated_i_s,
        measured_i_s=report.measurement.measurement.i_s.mean,
        target=case.target,
    )


@cache
def _one_board_s(network: str, board: str) -> float:
    return _run(network, (board,), CostSettings.baud, Slices.NONE).measurement.measurement.i_s.mean


def _run(network: str, boards: tuple[str, ...], baud: int, slices: Slices) -> RunReport:
    graph = import_model(NETWORKS[network])
    x = np.random.default_rng(SEED).normal(size=(CALIBRATION, *graph.sample_shape)).astype(np.float32)
    with tempfile.TemporaryDirectory() as name:
        samples = Path(name) / "x.npz"
        np.savez(samples, x=x)
        request = RunRequest(
            model=NETWORKS[network],
            boards=boards,
            samples=samples,
            out=Path(name) / "out",
            settings=CostSettings(baud=baud),
            search=Search(slices=slices),
            measuring=MeasureSettings(sample_count=1),
        )
        report = run(request, Console(quiet=True))
    report.check()
    return report


def _lines(rows: Iterator[Row]) -> Iterator[str]:
    yield "| network | boards | baud | one board, ms | estimated, ms | measured, ms | error | share | wanted |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for row in rows:
        times = (row.one_board_i_s, row.estimated_i_s, row.measured_i_s)
        cells = (row.network, row.boards, f"{row.baud:,}".replace(",", " "), *(f"{1000 * each:.2f}" for each in times))
        shares = (f"{row.error_percent:+.1f} %", f"{row.share:.3f}", f"{row.target:.2f}")
        yield f"| {' | '.join((*cells, *shares))} |"


def main() -> None:
    """Print a row a case as it is measured, or all as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--only", default="", help="networks whose name contains this text")
    options = parser.parse_args()
    rows = (measure_case(case) for case in CASES if options.only in case.network)
    if options.json:
        found = [asdict(row) | {"share": row.share, "error_percent": row.error_percent} for row in rows]
        print(json.dumps({"rows": found}, indent=2))
        return
    for line in _lines(rows):
        print(line, flush=True)


if __name__ == "__main__":
    main()
