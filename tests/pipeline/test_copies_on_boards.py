"""Copies of the whole network on virtual boards: outputs in order and bit-exact, the estimated period."""

from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from example_folders.example import CALIBRATION, MODEL, SAMPLES
from tinysplit import pipeline
from tinysplit.common.choices import Copies
from tinysplit.common.errors import UsageError
from tinysplit.context import Context
from tinysplit.costs.settings import CostSettings
from tinysplit.project.manifest import Project
from tinysplit.run import RunRequest, run
from tinysplit.slices.settings import Search
from tinysplit.split.problem import Objective
from tinysplit_hil.measure.measure_folder import MeasureSettings, measure_folder

pytestmark = pytest.mark.slow

QUIET = Console(quiet=True)
SETTINGS = CostSettings(objective=Objective.THROUGHPUT)
STREAM = MeasureSettings(is_pipelined=True, sample_count=16)


def request(out: Path, *boards: str, settings: CostSettings = SETTINGS) -> RunRequest:
    return RunRequest(
        model=MODEL,
        boards=boards,
        samples=SAMPLES,
        calibration=CALIBRATION,
        out=out,
        settings=settings,
        search=Search(copies=Copies.IF_BETTER),
        measuring=STREAM,
    )


@pytest.mark.nightly
def test_copies_on_boards_of_two_kinds(tmp_path: Path) -> None:
    out = tmp_path / "out"
    report = run(request(out, "nucleo_l452re", "nucleo_f401re", "nucleo_l452re"), QUIET)
    assert report.split.copies == (0, 1, 2)
    measured = report.measurement
    streamed = measured.stream
    assert streamed is not None
    assert measured.outputs.bit_exact
    assert (streamed.samples, streamed.failures) == (tuple(range(16)), ())
    assert streamed.period_s == pytest.approx(measured.project.estimated_period_s, rel=0.04)
    assert measured.project.estimated_period_s == pytest.approx(report.split.period_s, rel=0.1)
    assert {time.layer.board for time in measured.measurement.layers} == {1, 2, 3}
    assert len(measured.measurement.layers) == 3 * 7
    assert measured.measured.l_s == pytest.approx(measured.estimated.l_s, rel=0.03)
    assert measured.measurement.i_s.mean == pytest.approx(measured.measured.i_s, rel=0.03)
    assert {board["number"] for board in report.build.to_json()["boards"]} == {1, 2, 3}

    alone = MeasureSettings(sample_count=4)
    again = measure_folder(Project.read(out), out, SAMPLES, alone, QUIET)
    assert (again.outputs.bit_exact, again.measurement.samples) == (True, (0, 1, 2, 3))
    assert np.array_equal(again.measurement.outputs, streamed.outputs[:4])
    with pytest.raises(UsageError, match="2 samples for 3 copies of the network: at least 3"):
        measure_folder(Project.read(out), out, SAMPLES, MeasureSettings(sample_count=2), QUIET)


def test_too_few_samples_are_said_before_the_build(tmp_path: Path) -> None:
    out = tmp_path / "out"
    with pytest.raises(UsageError, match=r"16 samples are too few for a period of these boards: at least \d+ are"):
        run(request(out, "nucleo_h743zi", "nucleo_g071rb"), QUIET)
    assert not list(out.rglob("*.elf"))


def test_one_pipeline_where_all_boards_are_to_be_used() -> None:
    context = Context.load(MODEL, ("nucleo_l452re",) * 2, CostSettings(use_all=True), QUIET)
    split = pipeline.split_network(context, Search(copies=Copies.IF_BETTER))
    assert (split.copies, len(set(split.assignment))) == ((), 2)
