"""Layers divided over virtual boards by rows and by channels: bit-exact."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from rich.console import Console

from models.onnx_builder import OnnxBuilder, conv
from tinysplit.boards.catalog import load_all
from tinysplit.build.folder import build_folder
from tinysplit.codegen.projects import generate
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.distribute import distribute
from tinysplit.network.distribution import Distribution, Distributions, SliceAxis
from tinysplit.network.graph import Graph
from tinysplit.network.quantized_distribution import distribute_quantized
from tinysplit.network.samples import Samples
from tinysplit.onnx_import import import_model
from tinysplit.plan.plan import make_plan
from tinysplit.quantize.quantize_model import quantize_model
from tinysplit.slices.links import with_links
from tinysplit_hil.measure.measure_folder import MeasureSettings, measure_folder
from tinysplit_hil.measure.report import MeasureReport

pytestmark = pytest.mark.slow

QUIET = Console(quiet=True)
SAME = [1, 1, 1, 1]
BAUD = 3_000_000


def cnn(folder: Path) -> tuple[Path, NDArray[np.float32]]:
    """Return a network with a residual block and a global average, and samples for it."""
    builder = OnnxBuilder(["n", 4, 12, 8])
    conv(builder, 8, 4, pads=SAME)
    trunk = builder.node("Relu")
    conv(builder, 8, 8, pads=SAME)
    builder.node("Relu")
    conv(builder, 8, 8, pads=SAME)
    builder.node("Add", trunk)
    builder.node("GlobalAveragePool")
    builder.node("Flatten")
    builder.node("Gemm", builder.constant(np.random.default_rng(1).normal(size=(8, 5))))
    return builder.save(folder), np.random.default_rng(0).normal(size=(2, 4, 12, 8)).astype(np.float32)


def run(
    model: Path, x: NDArray[np.float32], boards: tuple[str, ...], how: Distributions, order: Sequence[int], folder: Path
) -> MeasureReport:
    """Generate, build and measure `model`, divided over boards that are wired in an order."""
    graph, out, loaded = import_model(model), folder / "out", load_all(boards)
    quantized = quantize_model(graph, model, Samples(x), 8, QUIET).quantized
    divided = distribute(graph, how, len(boards), BitWidths.of_quantized(quantized))
    parts = distribute_quantized(quantized, divided)
    settings, widths = with_links(CostSettings(baud=BAUD), loaded, order, 0), BitWidths.of_quantized(parts)
    problem = make_problem(shipped_table(), divided, loaded, settings, widths)
    plan = make_plan(
        shipped_table(), parts.dequantized, widths, loaded, problem, divided.boards, settings.link_settings_on(loaded)
    )
    project = generate(parts, (plan,), (BAUD, settings.host_baud_on(loaded)), len(x), onnx.load(model), out)
    build_folder(project, out, QUIET).check()
    np.savez(folder / "samples.npz", x=x)
    return measure_folder(project, out, folder / "samples.npz", MeasureSettings(sample_count=len(x)), QUIET)


def check_times_of_parts(report: MeasureReport) -> None:
    """The parts of the board of the output add up to I, those of others to less; inferences differ by some percent."""
    rows, project = report.parts, report.project
    layers = {(layer.part.layer, layer.board) for layer in project.layers if layer.part}
    assert layers <= {(row.layer, row.board) for row in rows}
    assert all(min(row.computing_s, row.waiting_s, row.transfers_s) >= 0 for row in rows)
    i_s = report.measurement.i_s.mean
    for board in project.slowest.boards:
        own = [row for row in rows if row.board == board]
        least = 0.9 if board == project.slowest.output_board else 0.0
        assert least < sum(row.seconds for row in own) / i_s < 1.05
        of_layers = sum(row.computing_s for row in own) / report.board_l_s(board)
        assert 0.6 < of_layers < 1.05  # steps of parts of a millisecond begin and end outside the layers' clock
        assert sum(row.transfers_s for row in own) > 0


def by_rows(graph: Graph, sizes: Sequence[int], n_whole: int) -> Distributions:
    """Return tiles of all layers but the last ones, which board 1 has as a whole; all edges are computed apart."""
    divided = Distribution.of_sizes(SliceAxis.ROWS, sizes)
    whole = [Distribution.whole(layer.out_shape, 0, len(sizes)) for layer in graph.layers[-n_whole:]]
    n_divided = len(graph.layers) - n_whole
    return Distributions((*[divided] * n_divided, *whole), 0, 0, frozenset(range(n_divided)))


@pytest.mark.parametrize("sizes", [pytest.param((7, 5), marks=pytest.mark.nightly), (3, 5, 4)])
def test_tiles_give_the_same_bits(sizes: tuple[int, ...], tmp_path: Path) -> None:
    model, x = cnn(tmp_path)
    how = by_rows(import_model(model), sizes, 2)
    order = range(len(sizes)) if len(sizes) == 2 else (1, 0, 2)
    report = run(model, x, ("nucleo_g071rb",) * len(sizes), how, order, tmp_path)
    assert report.outputs.bit_exact
    assert report.outputs.samples == len(x)
    check_times_of_parts(report)


def test_slices_give_the_same_bits(tmp_path: Path) -> None:
    model, x = cnn(tmp_path)
    graph = import_model(model)
    channels = Distribution.of_sizes(SliceAxis.CHANNELS, (4, 4))
    *_, pool, dense = graph.layers
    ends = [Distribution.whole(layer.out_shape, 1, 2) for layer in (pool, dense)]
    how = Distributions((*[channels] * (len(graph.layers) - 2), *ends), 0, 1)
    report = run(model, x, ("nucleo_g071rb", "nucleo_f401re"), how, (0, 1), tmp_path)
    assert report.outputs.bit_exact
