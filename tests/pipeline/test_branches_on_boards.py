"""Networks with branches on virtual boards, on one and on several: bit-exact, T close to the estimate."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from rich.console import Console

from models.onnx_builder import OnnxBuilder, conv
from session.shared_models import RESNET, shared_model
from tinysplit.boards.catalog import load_all
from tinysplit.build.folder import build_folder
from tinysplit.codegen.projects import generate
from tinysplit.costs.link_options import HandOffMode, LinkSetting
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
LAST_BLOCK = 9
SAME = [1, 1, 1, 1]


def run(
    model: Path,
    boards: tuple[str, ...],
    assignment: tuple[int, ...],
    x: NDArray[np.float32],
    folder: Path,
    settings: CostSettings,
) -> MeasureReport:
    """Generate, build and measure `model` with a given assignment, calibrated on the samples themselves."""
    graph, out = import_model(model), folder / "out"
    quantized = quantize_model(graph, model, Samples(x), settings.bits, QUIET).quantized
    loaded = load_all(boards)
    plan = make_plan(
        shipped_table(),
        graph,
        settings.bits,
        loaded,
        make_problem(shipped_table(), graph, loaded, settings),
        assignment,
        settings.link_settings_on(loaded),
    )
    bauds = (settings.link_settings_on(loaded).baud, settings.host_baud_on(loaded))
    project = generate(quantized, (plan,), bauds, len(x), onnx.load(model), out)
    build_folder(project, out, QUIET).check()
    np.savez(folder / "samples.npz", x=x)
    return measure_folder(project, out, folder / "samples.npz", MeasureSettings(sample_count=len(x)), QUIET)


def branches(folder: Path) -> tuple[Path, NDArray[np.float32]]:
    """Return a network whose branches differ in length, with all ways to join, and a sample for it."""
    builder = OnnxBuilder(["n", 3, 12, 12])
    conv(builder, 8, 3, pads=SAME)
    trunk = builder.node("Relu")
    conv(builder, 8, 8, pads=SAME)
    builder.node("Relu")
    conv(builder, 8, 8, pads=SAME)
    added = builder.node("Add", trunk)
    builder.node("GlobalAveragePool")
    gated = builder.node("Mul", added)
    builder.value = "x"
    side = conv(builder, 4, 3, pads=SAME)
    builder.node("Concat", gated, side, trunk, axis=1)
    builder.nodes[-1].input[:] = [gated, side, trunk]
    builder.node("MaxPool", kernel_shape=[2, 2], strides=[2, 2])
    builder.node("Flatten")
    builder.node("Gemm", builder.constant(np.random.default_rng(1).normal(size=(20 * 36, 5)) / 20))
    return builder.save(folder), np.random.default_rng(0).normal(size=(1, 3, 12, 12)).astype(np.float32)


APART = (0, 0, 0, 0, 0, 0, 1, 1, 1, 1)  # the side branch, which reads the network's input, and the end
SPLITS = {
    "one board": (0,) * 10,
    "branches apart": APART,
    "to and fro": (0, 1) * 5,
    "three boards": (0, 1, 2, 1, 0, 1, 2, 0, 2, 1),
}
ALWAYS = {("three boards", HandOffMode.WHOLE), ("to and fro", HandOffMode.STREAMED)}


@pytest.mark.parametrize(
    ("split", "mode"),
    [
        pytest.param(split, mode, marks=() if (split, mode) in ALWAYS else pytest.mark.nightly)
        for split in SPLITS
        for mode in HandOffMode
    ],
)
def test_every_split_gives_the_same_bits(split: str, mode: HandOffMode, tmp_path: Path) -> None:
    model, x = branches(tmp_path)
    assignment = SPLITS[split]
    graph = import_model(model)
    assert len(graph.layers) == len(assignment)
    report = run(model, ("nucleo_f401re",) * 3, assignment, x, tmp_path, CostSettings(baud=460800, hand_off=mode))
    assert report.outputs.bit_exact
    assert report.outputs.samples == 1
    if not report.project.has_streamed_cuts:
        assert report.measured.t_s == pytest.approx(report.estimated.t_s, rel=0.015)


def test_a_board_between_passes_tensors_on_over_links_of_their_own_rates(tmp_path: Path) -> None:
    model, x = branches(tmp_path)
    links = (LinkSetting((0, 2), None), LinkSetting((1, 2), 921600))
    settings = CostSettings(baud=115200, links=links, hand_off=HandOffMode.WHOLE)
    boards = ("nucleo_g071rb", "nucleo_f401re", "nucleo_l452re")
    report = run(model, boards, (0, 0, 2, 2, 2, 2, 0, 2, 2, 2), x, tmp_path, settings)
    project = report.project
    assert [(cut.from_board, cut.to_board) for cut in project.cuts[:2]] == [(1, 2), (2, 3)]
    assert {link.boards: link.baud for link in project.links} == {(1, 2): 115200, (2, 3): 921600}
    assert all(layer.board != 2 for layer in project.layers)
    assert report.outputs.bit_exact
    for time in report.measurement.cuts:
        assert time.seconds.mean == pytest.approx(time.cut.estimated_s, rel=0.02, abs=1e-4)


def test_a_receiver_that_computes_keeps_its_sender_waiting(tmp_path: Path) -> None:
    """The slow board computes a branch of its own while the fast one is long done with the other."""
    model, x = branches(tmp_path)
    boards = ("nucleo_h743zi", "nucleo_g071rb")
    report = run(model, boards, APART, x, tmp_path, CostSettings(baud=921600, hand_off=HandOffMode.WHOLE))
    assert report.outputs.bit_exact
    assert report.measured.t_s == pytest.approx(report.estimated.t_s, rel=0.015)
    assert report.project.pipelines[0].input_boards == (1, 2)


@pytest.mark.parametrize(
    ("boards", "samples"),
    [
        pytest.param(("nucleo_f446re",), 20, marks=pytest.mark.nightly, id="whole"),
        pytest.param(("nucleo_f446re", "nucleo_l4r5zi"), 1, id="split"),
    ],
)
def test_resnet8(boards: tuple[str, ...], samples: int, tmp_path: Path) -> None:
    """The last block's shortcut is computed on one board, its two convolutions on the other."""
    model = shared_model(RESNET)
    x = np.random.default_rng(0).uniform(0, 255, size=(samples, 32, 32, 3)).astype(np.float32)
    assignment = tuple(min(index // LAST_BLOCK, len(boards) - 1) for index in range(len(import_model(model).layers)))
    report = run(model, boards, assignment, x, tmp_path, CostSettings(baud=921600, hand_off=HandOffMode.WHOLE))
    assert report.outputs.bit_exact
    assert report.outputs.samples == samples
    assert len(report.project.cuts) == 2 * (len(boards) - 1)
    assert report.measured.t_s == pytest.approx(report.estimated.t_s, rel=0.015)
