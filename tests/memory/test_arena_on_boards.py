"""Small arenas on virtual boards: fused layers, moved tensors, in-place outputs; all bit-exact."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnxruntime.quantization import QuantFormat, quantize_static
from rich.console import Console

from example_folders.example import MODEL, SAMPLES
from models.onnx_builder import OnnxBuilder, conv
from models.qdq import Reader
from tinysplit.boards.catalog import load_all
from tinysplit.build.folder import build_folder
from tinysplit.codegen.projects import generate
from tinysplit.common.choices import Optimize
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.memory.layout import BoardMemory
from tinysplit.network.samples import Samples
from tinysplit.onnx_import import import_model
from tinysplit.plan.plan import make_plan
from tinysplit.quantize.quantize_model import quantize_model
from tinysplit_hil.measure.measure_folder import MeasureSettings, measure_folder
from tinysplit_hil.measure.report import MeasureReport

pytestmark = pytest.mark.slow

BOARDS_AND_BITS = [
    ("nucleo_f401re", 8),
    ("nucleo_g071rb", 16),
    pytest.param("nucleo_f401re", 16, marks=pytest.mark.nightly),
    pytest.param("nucleo_g071rb", 8, marks=pytest.mark.nightly),
]

QUIET = Console(quiet=True)
SAME = [1, 1, 1, 1]
SHORT = 10_000  # cycles


def run(
    model: Path, board: str, x: NDArray[np.float32], folder: Path, settings: CostSettings
) -> tuple[BoardMemory, MeasureReport]:
    """Generate, build and measure a network on one board; return its memory layout, too."""
    graph, out = import_model(model), folder / "out"
    quantized = quantize_model(graph, model, Samples(x), settings.bits, QUIET).quantized
    boards = load_all([board])
    problem, assignment = make_problem(shipped_table(), graph, boards, settings), (0,) * len(graph.layers)
    plan = make_plan(
        shipped_table(),
        graph,
        settings.bits,
        boards,
        problem,
        assignment,
        settings.link_settings_on(boards),
        optimize=settings.optimize,
    )
    bauds = (settings.link_settings_on(boards).baud, settings.host_baud_on(boards))
    project = generate(quantized, (plan,), bauds, len(x), onnx.load(model), out)
    build_folder(project, out, QUIET).check()
    np.savez(folder / "samples.npz", x=x)
    report = measure_folder(project, out, folder / "samples.npz", MeasureSettings(sample_count=len(x)), QUIET)
    return plan.boards[0].memory, report


@pytest.mark.parametrize(("board", "bits"), BOARDS_AND_BITS)
def test_the_example_runs_fused(board: str, bits: int, tmp_path: Path) -> None:
    x = np.load(SAMPLES)["x"][:3].astype(np.float32)
    memory, report = run(MODEL, board, x, tmp_path, CostSettings(bits=bits))
    assert 0 in memory.fused
    assert memory.arena.size_bytes <= bits // 8 * 5120  # 26 x 26 x 16 values between the first two layers, if not fused
    assert report.outputs.bit_exact
    conv_cycles, pool_cycles = (layer.cycles.mean for layer in report.measurement.layers[:2])
    assert 0 < pool_cycles < conv_cycles
    check_estimates(report)


def check_estimates(report: MeasureReport) -> None:
    """Check the estimated cycles: the whole network within 5 %, every layer of more than SHORT cycles within 12 %.

    Estimates do not know how often code waits for flash.
    """
    estimated = [layer.estimated_cycles for layer in report.project.layers]
    measured = [layer.cycles.mean for layer in report.measurement.layers]
    assert sum(estimated) == pytest.approx(sum(measured), rel=0.05)
    for estimate, cycles in zip(estimated, measured, strict=True):
        assert cycles < SHORT or estimate == pytest.approx(cycles, rel=0.12)


def shrinking(pads: list[int]) -> OnnxBuilder:
    """Return a network whose largest tensor is read by a depthwise layer of stride 2."""
    builder = OnnxBuilder(["n", 4, 24, 20])
    conv(builder, 16, 4, (1, 1))
    builder.node("Relu")
    conv(builder, 16, 1, pads=pads, strides=[2, 2], group=16)
    conv(builder, 8, 16, (1, 1))
    builder.node("GlobalAveragePool")
    builder.node("Flatten")
    return builder


@pytest.mark.parametrize(("board", "bits"), BOARDS_AND_BITS)
@pytest.mark.parametrize("pads", [SAME, [0, 0, 1, 1]])
def test_a_depthwise_layer_is_fused_with_its_producer(board: str, bits: int, pads: list[int], tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(2, 4, 24, 20)).astype(np.float32)
    memory, report = run(shrinking(pads).save(tmp_path), board, x, tmp_path, CostSettings(bits=bits))
    assert memory.fused[0].has_padding
    assert memory.arena.size_bytes < bits // 8 * 24 * 20 * 16
    assert report.outputs.bit_exact


@pytest.mark.parametrize("board", ["nucleo_f401re", "nucleo_g071rb"])
def test_padding_of_a_tile_is_the_zero_point(board: str, tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(2, 4, 24, 20)).astype(np.float32)
    path = tmp_path / "quantized.onnx"
    reader = Reader(x)
    quantize_static(str(shrinking(SAME).save(tmp_path)), str(path), reader, quant_format=QuantFormat.QDQ)
    graph = import_model(path)
    assert graph.qdq_formats[graph.layers[0].output].zero_point == -128  # 8-bit values without negative ones
    memory, report = run(path, board, x, tmp_path, CostSettings())
    assert memory.fused[0].has_padding
    assert report.outputs.bit_exact


@pytest.mark.parametrize("board", [pytest.param("nucleo_f401re", marks=pytest.mark.nightly), "nucleo_g071rb"])
@pytest.mark.parametrize("optimize", Optimize)
def test_tensors_move_for_the_least_ram(board: str, optimize: Optimize, tmp_path: Path) -> None:
    builder = OnnxBuilder(["n", 3, 11, 9])
    channels = 3
    for outputs in (12, 16, 16, 12):
        conv(builder, outputs, channels, pads=SAME)
        builder.node("Relu")
        channels = outputs
    builder.node("GlobalAveragePool")
    builder.node("Flatten")
    x = np.random.default_rng(0).normal(size=(3, 3, 11, 9)).astype(np.float32)
    memory, report = run(builder.save(tmp_path), board, x, tmp_path, CostSettings(optimize=optimize))
    assert bool(memory.moves) is (optimize is Optimize.RAM)
    assert report.outputs.bit_exact
