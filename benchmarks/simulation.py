"""Times of splits by the event engine and on virtual boards: I and period, also of divided layers.

Networks are generated with 8 bits, and their boards have real memory. Takes some 20 minutes in all.
"""

import tempfile
import time
from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from pathlib import Path
from typing import Self

import numpy as np
import onnx

from common.benchmark import JSON, ONLY, benchmark, option
from common.networks import NETWORKS, QUIET, Case, chosen
from common.runs import run_stream
from common.tables import Cell, MarkdownTable, milliseconds
from tinysplit.boards.catalog import load_all
from tinysplit.build.folder import build_folder
from tinysplit.codegen.projects import generate
from tinysplit.common.choices import Slices
from tinysplit.common.errors import CheckFailedError, TinysplitError, ToolError
from tinysplit.context import Context
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.distribute import distribute
from tinysplit.network.distribution import Distribution, Distributions, SliceAxis
from tinysplit.network.graph import Graph
from tinysplit.network.parts import has_rows, needed_rows
from tinysplit.network.quantized_distribution import distribute_quantized
from tinysplit.network.samples import Samples
from tinysplit.pipeline import split_network
from tinysplit.plan.plan import make_plan
from tinysplit.quantize.quantize_model import quantize_model
from tinysplit.slices.links import with_links
from tinysplit.slices.settings import Search
from tinysplit.split.problem import Objective
from tinysplit.split.solution import Split
from tinysplit.timing.figures import Timing
from tinysplit.timing.simulation import simulate
from tinysplit_hil.measure.measure_folder import MeasureSettings, measure_folder
from tinysplit_hil.results.run_report import RunReport

BOARD, MODEL = "nucleo_f446re", NETWORKS["Tiny-CNN"].model
DIVIDED_CASES = tuple((n_boards, baud) for n_boards in (2, 3) for baud in (115_200, 460_800, 1_000_000))
SEED, SAMPLES = 21, 2
COUNT = 100


@dataclass(frozen=True)
class StreamCase(Case):
    """A network on boards, split for throughput."""

    use_all: bool = True

    @property
    def settings(self) -> CostSettings:
        """The settings of the split."""
        return CostSettings(baud=self.baud, objective=Objective.THROUGHPUT, use_all=self.use_all)


G0, F4, L4, H7 = "nucleo_g071rb", "nucleo_f401re", "nucleo_l452re", "nucleo_h743zi"
CASES = (
    StreamCase("Tiny-CNN", (G0, F4), 115200),
    StreamCase("Tiny-CNN", (G0, G0), 115200),
    StreamCase("Tiny-CNN", (L4, G0, F4), 1_000_000),
    StreamCase("KWS", (G0, G0), 921600),
    StreamCase("KWS", (G0, G0), 4_000_000),
    StreamCase("KWS", (G0, F4), 2_000_000, use_all=False),
    StreamCase("KWS", (G0, G0, G0), 4_000_000),
    StreamCase("KWS", (F4, G0, L4, G0), 2_000_000),
    StreamCase("KWS", (L4, H7), 3_000_000),
    StreamCase("ResNet-8", (F4, L4), 2_000_000),
    StreamCase("ResNet-8", (G0, G0), 4_000_000),
    StreamCase("ResNet-8", (L4, L4, F4), 3_000_000),
    StreamCase("ResNet-8", (L4, L4, L4, L4), 2_000_000),
    StreamCase("MobileNet v1 0.25", (F4, F4), 2_000_000),
    StreamCase("MobileNet v1 0.25", (F4, H7), 3_000_000),
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
    def of(cls, case: StreamCase, report: RunReport) -> Self:
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
            blocking=len(split.blocking),
            estimated_period_s=project.estimated_period_s,
            measured_period_s=stream.period_s,
            one_board_period_s=project.one_board_period_s,
            estimated_t_s=found.estimated.t_s,
            measured_t_s=found.measured.t_s,
            estimated_i_s=found.estimated.i_s,
            measured_i_s=found.measurement.i_s.mean,
        )

    def cells(self) -> Sequence[Cell]:
        """Return the row of the table, times in ms."""
        return (
            self.title,
            self.baud,
            ", ".join(f"{len(list(run))}" for _, run in groupby(self.split)),
            self.blocking,
            *_compared(self.estimated_period_s, self.measured_period_s),
            milliseconds(self.one_board_period_s),
            *_compared(self.estimated_t_s, self.measured_t_s),
            *_compared(self.estimated_i_s, self.measured_i_s),
        )


def _compared(estimated_s: float, measured_s: float) -> Sequence[Cell]:
    difference = f"{100 * (measured_s / estimated_s - 1):+.1f}" if estimated_s else None
    return milliseconds(estimated_s), milliseconds(measured_s), difference


@benchmark("periods", "10 minutes", ONLY, JSON)
def periods(options: Namespace) -> None:
    """Compare estimated period, T and I of splits for throughput with those of virtual boards.

    Each case is built and measured with a stream of inputs that fills the pipeline. The inputs are random: cycles
    hardly depend on them. `layers` are those of the sub-models in their order, `blocking` the transfers without a
    buffer. Times in ms.
    """
    failures = []

    def rows() -> Iterator[Row]:
        for case in chosen(CASES, options.only):
            try:
                yield Row.of(case, run_stream(case, case.settings))
            except TinysplitError as error:
                failures.append(f"{case.title}, {case.baud} baud: {error}")

    period = ("baud", "layers", "blocking", "W", "measured", "%", "one board")
    latency = ("T", "measured", "%", "I", "measured", "%")
    table = MarkdownTable("network and boards", numbers=(*period, *latency))
    table.print_rows(rows(), Row.cells, as_json=options.json)
    if failures:
        raise CheckFailedError("; ".join(failures))


@benchmark("whole", "10 minutes", ONLY, option("--estimate", action="store_true", help="measure nothing"))
def whole(options: Namespace) -> None:
    """Compare I and period of whole layers by the searches' model and by the engine with virtual boards, in ms.

    The cases are those of `periods`; with --estimate nothing is built and measured. The last column is the time in
    which 100 inferences are simulated.
    """
    latency = ("baud", "L + T", "I", "measured I")
    period = ("event graph W", "W", "measured W", "100 inferences, s")
    table = MarkdownTable("network and boards", numbers=(*latency, *period))
    table.print(_whole_cells(case, is_measured=not options.estimate) for case in chosen(CASES, options.only))


def _whole_cells(case: StreamCase, *, is_measured: bool) -> Sequence[Cell]:
    measured: tuple[float | None, float | None] = (None, None)
    if is_measured:
        report = run_stream(case, case.settings)
        found, split = report.measurement, report.split
        measured = found.measurement.i_s.mean, found.stream.period_s if found.stream else None
    else:
        context = Context.load(NETWORKS[case.network].model, case.boards, case.settings, QUIET)
        split = split_network(context, Search(slices=Slices.NONE))
    latencies, periods, spent_s = figures_of(split)
    times = (*latencies, measured[0], *periods, measured[1])
    return case.title, case.baud, *map(milliseconds, times), f"{spent_s:.2f}"


def figures_of(split: Split) -> tuple[tuple[float, float], tuple[float, float], float]:
    """Return L + T and I, the period by the event graph and by the engine, and the seconds of 100 inferences."""
    begin_s = time.process_time()
    simulate(split.programs, (0.0,) * COUNT)
    spent_s = time.process_time() - begin_s
    return (split.l_s + split.t_s, split.i_s), (split.figures.period_s, split.period_s), spent_s


@benchmark("divided", "a minute")
def divided(_options: Namespace) -> None:
    """Compare I of layers divided by rows on slow links by the engine with that of virtual boards, in ms.

    Tiny-CNN with all layers that have rows divided equally, also where whole layers would be faster: links are as busy
    as boards, so that grants and acknowledgements wait for tensors.
    """
    MarkdownTable(numbers=("boards", "baud", "I", "measured I")).print(
        (n_boards, baud, *map(milliseconds, divided_latencies(n_boards, baud))) for n_boards, baud in DIVIDED_CASES
    )


def rows_on(graph: Graph, n_boards: int) -> Distributions:
    """Return the layers that have rows divided equally, all edges apart, and the others on the first board."""
    layers, needed = [], needed_rows(graph)
    for number, layer in enumerate(graph.layers):
        shape, rows = layer.out_shape, needed[number]
        if all(each.out_shape.height >= n_boards for each in graph.layers[: number + 1]) and has_rows(graph, number):
            inner = (rows.start + round(len(rows) * board / n_boards) for board in range(1, n_boards))
            ends = [0, *inner, shape.height]
            layers.append(Distribution(SliceAxis.ROWS, tuple(range(*pair) for pair in pairwise(ends))))
        else:
            layers.append(Distribution.whole(shape, 0, n_boards))
    return Distributions(tuple(layers), 0, 0, frozenset(range(len(layers))))


def divided_latencies(n_boards: int, baud: int) -> tuple[float, float]:
    """Return I in seconds by the engine, and measured."""
    graph, boards = NETWORKS["Tiny-CNN"].graph(), load_all((BOARD,) * n_boards)
    order = tuple(range(n_boards))
    how = rows_on(graph, n_boards)
    x = np.random.default_rng(SEED).normal(size=(SAMPLES, *graph.sample_shape)).astype(np.float32)
    quantized = quantize_model(graph, MODEL, Samples(x), 8, QUIET).quantized
    divided = distribute(graph, how, n_boards, BitWidths.of_quantized(quantized))
    parts = distribute_quantized(quantized, divided)
    settings, widths = with_links(CostSettings(baud=baud), boards, order, 0), BitWidths.of_quantized(parts)
    problem = make_problem(shipped_table(), divided, boards, settings, widths)
    plan = make_plan(
        shipped_table(), parts.dequantized, widths, boards, problem, divided.boards, settings.link_settings_on(boards)
    )
    with tempfile.TemporaryDirectory() as name:
        out, samples = Path(name) / "out", Path(name) / "x.npz"
        np.savez(samples, x=x)
        project = generate(parts, (plan,), (baud, settings.host_baud_on(boards)), len(x), onnx.load(MODEL), out)
        build_folder(project, out, QUIET).check()
        report = measure_folder(project, out, samples, MeasureSettings(sample_count=SAMPLES), QUIET)
    report.check()
    return Timing((plan.program(),)).i_s, report.measurement.i_s.mean
