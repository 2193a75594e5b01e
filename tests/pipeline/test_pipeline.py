"""All stages on virtual boards: outputs are bit-exact, L and T are close to the estimates."""

from pathlib import Path

import onnx
import pytest
from rich.console import Console

from example_folders.example import CALIBRATION, MODEL, SAMPLES, shared_example
from session.shared_models import KWS, KWS_SAMPLES, shared_model
from tinysplit import pipeline
from tinysplit.build.folder import build_folder
from tinysplit.context import Context
from tinysplit.costs.settings import CostSettings
from tinysplit.project.manifest import Project
from tinysplit.run import RunRequest, run
from tinysplit.slices.settings import Search
from tinysplit_hil.measure.measure_folder import MeasureSettings, measure_folder
from tinysplit_hil.measure.report import MeasureReport

pytestmark = pytest.mark.slow

QUIET = Console(quiet=True)

# A board of each family and kind of UART: USART v1, USART v2, LPUART; M0+, M4, M7. Those behind them run at night.
EACH_FAMILY = 5
PAIRS = [
    ("nucleo_g071rb", "nucleo_g071rb"),
    ("nucleo_f401re", "nucleo_l4r5zi"),
    ("nucleo_h743zi", "nucleo_g071rb"),
    ("nucleo_f746zg", "nucleo_f767zi"),
    ("nucleo_f303re", "nucleo_f302r8"),
    ("nucleo_f103rb", "nucleo_g071rb"),
    ("nucleo_wb55rg", "nucleo_f303re"),
    ("nucleo_wl55jc", "nucleo_g071rb"),
    ("nucleo_f072rb", "nucleo_f091rc"),
    ("nucleo_u575zi_q", "nucleo_g071rb"),
    ("nucleo_h563zi", "nucleo_l452re"),
    ("nucleo_l552ze_q", "nucleo_h563zi"),
    ("nucleo_f446re", "nucleo_h723zg"),
    ("nucleo_l433rc_p", "nucleo_l412kb"),
]


def measured(project: Project, folder: Path, samples: Path, sample_count: int) -> MeasureReport:
    settings = MeasureSettings(sample_count=sample_count)
    return measure_folder(project, folder, samples, settings, QUIET)


def assert_as_estimated(report: MeasureReport) -> None:
    assert report.outputs.bit_exact
    if not report.project.has_streamed_cuts:  # T is that of a whole tensor
        byte_s = 10 / report.project.baud  # the ends of a frame and of its acknowledgement may be seen a byte later
        assert report.measured.t_s == pytest.approx(report.estimated.t_s, rel=0.01, abs=byte_s)
    assert report.measured.l_s == pytest.approx(report.estimated.l_s, rel=0.15)


@pytest.mark.parametrize(
    ("boards", "bits"),
    [
        pytest.param(
            pair, bits, marks=() if number < EACH_FAMILY and bits == (8, 16)[number % 2] else pytest.mark.nightly
        )
        for number, pair in enumerate(PAIRS)
        for bits in (8, 16)
    ],
)
def test_the_example_on_every_family(boards: tuple[str, str], bits: int) -> None:
    project, out = shared_example(*boards, bits=bits)
    report = measured(project, out, SAMPLES, 2)
    assert_as_estimated(report)
    assert report.outputs.samples == 2
    assert report.outputs.reference_samples == 360


def test_two_measurements_agree_to_the_cycle() -> None:
    project, out = shared_example("nucleo_g071rb", "nucleo_f401re", baud=1_000_000)
    first, second = (measured(project, out, SAMPLES, 2).to_json() for _ in range(2))
    assert first == second


def test_santamarias_split_of_a_model_with_weights_in_a_file_of_their_own(tmp_path: Path) -> None:
    model, out = tmp_path / "model.onnx", tmp_path / "out"
    onnx.save(onnx.load(MODEL), model, save_as_external_data=True, location="weights.bin", size_threshold=0)
    assert (tmp_path / "weights.bin").is_file()
    request = RunRequest(
        model=model,
        boards=("nucleo_g071rb",) * 2,
        settings=CostSettings(baud=115_200, use_all=True),
        search=Search(assignment="1-4:1,5-7:2"),
        samples=SAMPLES,
        calibration=CALIBRATION,
        out=out,
        measuring=MeasureSettings(sample_count=1),
    )
    report = run(request, QUIET).measurement
    assert_as_estimated(report)
    (cut,) = report.project.cuts
    assert (cut.after_layer, cut.payload_bytes) == (4, 4 * 4 * 32)  # of Table 5's 5 x 5 x 32 behind the second block
    assert report.measured.i_s == pytest.approx(report.estimated.i_s, rel=0.02)


def test_a_device_may_hold_several_sub_models(tmp_path: Path) -> None:
    """The small board's flash forces nothing here, so the assignment is given."""
    out = tmp_path / "out"
    boards = ("nucleo_g071rb", "nucleo_f401re")
    context = Context.load(MODEL, boards, CostSettings(use_all=True), QUIET)
    split = pipeline.split_network(context, Search(assignment="1-2:1,3-4:2,5:1,6-7:2"))
    split_file = pipeline.describe_split(context, split)
    project = pipeline.generate_folder(context, split_file, CALIBRATION, out)
    build_folder(project, out, QUIET).check()
    report = measured(project, out, SAMPLES, 2)
    assert len(report.project.cuts) == 3
    assert len(report.project.links) == 1
    assert_as_estimated(report)


@pytest.mark.parametrize("board", [pytest.param("nucleo_f401re", marks=pytest.mark.nightly), "nucleo_g071rb"])
def test_keyword_spotting_on_two_boards(board: str, tmp_path: Path) -> None:
    model, samples = shared_model(KWS), shared_model(KWS_SAMPLES)
    settings = CostSettings(baud=115_200, use_all=True)
    request = RunRequest(
        model=model,
        boards=(board, board),
        settings=settings,
        samples=samples,
        out=tmp_path / "out",
        measuring=MeasureSettings(sample_count=4),
    )
    report = run(request, QUIET).measurement
    assert_as_estimated(report)
    assert report.outputs.samples == 4
    assert report.outputs.worst.float_top1 == pytest.approx(0.901)
    assert report.outputs.worst.top1 is not None
    assert report.outputs.worst.top1 >= 0.881
