"""Estimated and measured period, T and I of splits on virtual boards, as a Markdown table or JSON.

    .venv/bin/python benchmarks/periods.py [--json] [--only TEXT]

Each case is a network, boards and a baud rate: it is split for throughput, generated with 8 bits, built, and measured
with a stream of inputs that fills the pipeline. The inputs are random: cycles hardly depend on them. The networks other
than Tiny-CNN are looked for in ../shared/models. Takes some minutes.
"""

import argparse
import json
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Self

import numpy as np
from rich.console import Console

from tinysplit.common.errors import TinysplitError, ToolError
from tinysplit.costs.settings import CostSettings
from tinysplit.onnx_import import import_model
from tinysplit.pipeline import RunRequest, run
from tinysplit.split.evaluate.firmware import Firmware
from tinysplit.split.problem import Objective
from tinysplit_hil.measure.measure_folder import MeasureSettings
from tinysplit_hil.results.run_report import RunReport

ROOT = Path(__file__).resolve().parent.parent
MODELS = ROOT.parent / "shared" / "models"
NETWORKS = {
    "Tiny-CNN": ROOT / "examples" / "tiny_cnn" / "tiny_cnn.onnx",
    "KWS": MODELS / "mlperf_tiny_kws_dscnn.onnx",
    "ResNet-8": MODELS / "mlperf_tiny_ic_resnet8.onnx",
    "MobileNet v1 0.25": MODELS / "mobilenet_v1_025_128.onnx",
}
SAMPLES_BEYOND = 4  # of a stream, beyond two for each board
SEED = 10


@dataclass(frozen=True)
class Case:
    """A network on boards, with links of one baud rate."""

    network: str
    boards: tuple[str, ...]
    baud: int
    use_all: bool = True

    @property
    def title(self) -> str:
        """The case in a table."""
        return f"{self.network} on {', '.join(self.boards)}"


G0, F4, L4, H7 = "nucleo_g071rb", "nucleo_f401re", "nucleo_l452re", "nucleo_h743zi"
CASES = (
    Case("Tiny-CNN", (G0, F4), 115200),
    Case("Tiny-CNN", (G0, G0), 115200),
    Case("Tiny-CNN", (L4, G0, F4), 1_000_000),
    Case("KWS", (G0, G0), 921600),
    Case("KWS", (G0, G0), 4_000_000),
    Case("KWS", (G0, F4), 2_000_000, use_all=False),
    Case("KWS", (G0, G0, G0), 4_000_000),
    Case("KWS", (F4, G0, L4, G0), 2_000_000),
    Case("KWS", (L4, H7), 3_000_000),
    Case("ResNet-8", (F4, L4), 2_000_000),
    Case("ResNet-8", (G0, G0), 4_000_000),
    Case("ResNet-8", (L4, L4, F4), 3_000_000),
    Case("ResNet-8", (L4, L4, L4, L4), 2_000_000),
    Case("MobileNet v1 0.25", (F4, F4), 2_000_000),
    Case("MobileNet v1 0.25", (F4, H7), 3_000_000),
)


@dataclass(frozen=True)
class Row:
    """Figures of a case in seconds.

    `split` has the board of each layer, `l_s` estimated and measured seconds of the layers of each board, `blocking`
    the number of transfers that wait for lack of RAM.
    """

    title: str
    baud: int
    split: tuple[int, ...]
    l_s: dict[int, tuple[float, float]]
    blocking: int
    estimated_period_s: float
    measured_period_s: float
    one_board_period_s: float | None
    estimated_t_s: float
    measured_t_s: float
    estimated_i_s: float
    measured_i_s: float

    @classmethod
    def of(cls, case: Case, report: RunReport) -> Self:
        """Return the figures of a measurement."""
        found, split = report.measurement, report.split
        project, stream = found.project, found.stream
        if stream is None or stream.period_s is None:
            raise ToolError(f"{case.title}: no period was measured")
        estimated = {
            board.number: sum(layer.estimated_s for layer in project.layers if layer.board == board.number)
            for board in project.boards
        }
        return cls(
            title=case.title,
            baud=case.baud,
            split=tuple(layer.board for layer in project.layers),
            l_s={number: (seconds, found.board_l_s(number)) for number, seconds in estimated.items()},
            blocking=len(Firmware.of(split.problem, split.assignment).program.blocking),
            estimated_period_s=project.estimated_period_s,
            measured_period_s=stream.period_s,
            one_board_period_s=project.one_board_period_s,
            estimated_t_s=found.estimated.t_s,
            measured_t_s=found.measured.t_s,
            estimated_i_s=found.estimated.i_s,
            measured_i_s=found.measurement.i_s.mean,
        )

    def markdown(self) -> str:
        """Return the row of the table."""
        alone_s = self.one_board_period_s
        layers = ", ".join(f"{len(list(run))}" for _, run in groupby(self.split))
        cells = (
            self.title,
            f"{self.baud:,}".replace(",", " "),
            layers,
            str(self.blocking),
            *_compared(self.estimated_period_s, self.measured_period_s),
            _ms(alone_s) if alone_s else "-",
            *_compared(self.estimated_t_s, self.measured_t_s),
            *_compared(self.estimated_i_s, self.measured_i_s),
        )
        return "| " + " | ".join(cells) + " |"


HEADINGS = ("network and boards", "baud", "layers", "blocking", "W", "measured", "%", "one board")
HEADINGS_OF_LATENCY = ("T", "measured", "%", "I", "measured", "%")


def table(rows: Iterable[Row]) -> Iterator[str]:
    """Yield the lines of the Markdown table, times in ms."""
    headings = (*HEADINGS, *HEADINGS_OF_LATENCY)
    yield "| " + " | ".join(headings) + " |"
    yield "|---|" + "---:|" * (len(headings) - 1)
    for row in rows:
        yield row.markdown()


def _compared(estimated_s: float, measured_s: float) -> tuple[str, str, str]:
    difference = f"{100 * (measured_s / estimated_s - 1):+.1f}" if estimated_s else "-"
    return _ms(estimated_s), _ms(measured_s), difference


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.2f}"


def run_case(case: Case, messages: Console) -> RunReport:
    """Split, generate, build and measure a case. The errors are those of `pipeline.run`."""
    settings = CostSettings(baud=case.baud, objective=Objective.THROUGHPUT, use_all=case.use_all)
    return run_stream(case.network, case.boards, settings, messages)


def run_stream(network: str, boards: tuple[str, ...], settings: CostSettings, messages: Console) -> RunReport:
    """Split, generate and build a network of `NETWORKS`, and measure a stream of random inputs that fills the boards.

    The errors are those of `pipeline.run`.
    """
    model, count = NETWORKS[network], 2 * len(boards) + SAMPLES_BEYOND
    with tempfile.TemporaryDirectory() as name:
        samples = Path(name) / "samples.npz"
        shape = (count, *import_model(model).sample_shape)
        np.savez(samples, x=np.random.default_rng(SEED).random(shape, dtype=np.float32))
        request = RunRequest(
            model=model,
            boards=boards,
            samples=samples,
            out=Path(name) / "out",
            settings=settings,
            measuring=MeasureSettings(sample_count=count, is_pipelined=True, fail_fast=True),
        )
        report = run(request, messages)
    report.check()
    return report


def main() -> None:
    """Print the table or JSON; what happens meanwhile goes to stderr."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON in place of the table")
    parser.add_argument("--only", default="", metavar="TEXT", help="only cases whose network and boards contain it")
    options = parser.parse_args()
    cases = [case for case in CASES if options.only in case.title and NETWORKS[case.network].exists()]
    messages = Console(stderr=True, width=140)
    rows, failures = [], []
    for case in cases:
        try:
            rows.append(Row.of(case, run_case(case, messages)))
        except TinysplitError as error:
            failures.append(f"{case.title}, {case.baud} baud: {error}")
        else:
            messages.print(rows[-1].markdown(), highlight=False, soft_wrap=True)
    print(json.dumps([asdict(row) for row in rows], indent=2) if options.json else "\n".join(table(rows)))
    if failures:
        raise SystemExit("\n".join(failures))


if __name__ == "__main__":
    main()
