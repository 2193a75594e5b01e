"""Streamed hand-offs on virtual boards: bit-exact, also with several inputs in flight, and as fast as estimated."""

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
from tinysplit.costs.link_options import HandOffMode
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.network.samples import Samples
from tinysplit.onnx_import import import_model
from tinysplit.plan.plan import make_plan
from tinysplit.quantize.quantize_model import quantize_model
from tinysplit_hil.measure.measure_folder import MeasureSettings, measure_folder
from tinysplit_hil.measure.report import MeasureReport

pytestmark = pytest.mark.slow

QUIET = Console(quiet=True)
SAME = [1, 1, 1, 1]
BOARDS = {
    "M0+": ("nucleo_g071rb", "nucleo_g071rb"),
    "M4 to M0+": ("nucleo_f401re", "nucleo_g071rb"),
}


def network(folder: Path) -> tuple[Path, NDArray[np.float32]]:
    """Return convolutions with and without padding, a pool and a fully connected layer, and samples."""
    builder = OnnxBuilder(["n", 3, 20, 20])
    conv(builder, 8, 3, pads=SAME)
    builder.node("Relu")
    conv(builder, 16, 8)
    builder.node("Relu")
    builder.node("MaxPool", kernel_shape=[2, 2], strides=[2, 2])
    conv(builder, 8, 16, pads=SAME)
    builder.node("Flatten")
    builder.node("Gemm", builder.constant(np.random.default_rng(1).normal(size=(8 * 81, 5)) / 20))
    return builder.save(folder), np.random.default_rng(0).normal(size=(6, 3, 20, 20)).astype(np.float32)


def run(folder: Path, boards: tuple[str, ...], assignment: tuple[int, ...], mode: HandOffMode) -> MeasureReport:
    """Generate, build and measure the network, calibrated on the samples themselves."""
    folder.mkdir()
    model, x = network(folder)
    settings = CostSettings(baud=921600, hand_off=mode)
    graph, out, loaded = import_model(model), folder / "out", load_all(boards)
    quantized = quantize_model(graph, model, Samples(x), settings.bits, QUIET).quantized
    problem = make_problem(shipped_table(), graph, loaded, settings)
    plan = make_plan(
        shipped_table(), graph, settings.bits, loaded, problem, assignment, settings.link_settings_on(loaded)
    )
    bauds = (settings.link_settings_on(loaded).baud, settings.host_baud_on(loaded))
    project = generate(quantized, (plan,), bauds, len(x), onnx.load(model), out)
    build_folder(project, out, QUIET).check()
    np.savez(folder / "samples.npz", x=x)
    asked = MeasureSettings(sample_count=len(x), is_pipelined=True)
    return measure_folder(project, out, folder / "samples.npz", asked, QUIET)


@pytest.mark.parametrize(
    ("cut", "boards"),  # to fused layers; from fused layers
    [
        (1, "M4 to M0+"),
        pytest.param(3, "M0+", marks=pytest.mark.nightly),
        pytest.param(1, "M0+", marks=pytest.mark.nightly),
        pytest.param(3, "M4 to M0+", marks=pytest.mark.nightly),
    ],
)
def test_streamed_hand_offs_are_right_and_as_fast_as_estimated(boards: str, cut: int, tmp_path: Path) -> None:
    assignment = (0,) * cut + (1,) * (5 - cut)
    whole, streamed = (run(tmp_path / mode, BOARDS[boards], assignment, mode) for mode in HandOffMode)
    whole.check()
    streamed.check()
    (hand_off,) = streamed.project.cuts
    assert hand_off.is_taken_by_rows
    saved_s = whole.measurement.i_s.mean - streamed.measurement.i_s.mean
    line_s = hand_off.payload_bytes * 10 / streamed.project.baud
    assert streamed.measured.t_s > line_s  # the sender's counter does not stop while rows leave
    consumer_s = streamed.project.layers[cut].estimated_s
    assert saved_s > 0.6 * min(hand_off.estimated_s, consumer_s)
    errors = [each.estimated.i_s / each.measurement.i_s.mean for each in (whole, streamed)]
    assert errors[1] == pytest.approx(errors[0], rel=0.04)  # the error of the kernels' cycles is in both
