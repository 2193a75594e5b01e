"""Inputs from the board on virtual boards: bit-exact, with period and energy as estimated."""

from pathlib import Path

import pytest
from rich.console import Console

from example_folders.example import CALIBRATION, MODEL, SAMPLES
from tinysplit.common.choices import Copies, InputSource, Slices
from tinysplit.costs.settings import CostSettings
from tinysplit.run import RunRequest, run
from tinysplit.slices.settings import Search
from tinysplit.split.problem import Objective
from tinysplit_hil.measure.measure_folder import MeasureSettings

pytestmark = pytest.mark.slow

QUIET = Console(quiet=True)
G0, H7 = "nucleo_g071rb", "nucleo_h743zi"
BY_KERNELS = 0.05  # the estimate of these layers on this core is 4 % too high
RIGS = {
    "one board": ((G0,), Search()),
    "pipeline": ((G0, G0), Search(assignment="1-2:1,3-7:2")),
    "rows": ((G0, G0), Search(slices=Slices.ROWS)),
    "copies": ((G0, G0), Search(copies=Copies.ALWAYS)),
}


@pytest.mark.parametrize("rig", RIGS)
def test_period_and_energy_are_as_estimated(rig: str, tmp_path: Path) -> None:
    boards, search = RIGS[rig]
    settings = CostSettings(objective=Objective.THROUGHPUT, input_source=InputSource.BOARD)
    request = RunRequest(
        model=MODEL,
        boards=boards,
        samples=SAMPLES,
        calibration=CALIBRATION,
        out=tmp_path / "out",
        settings=settings,
        search=search,
        measuring=MeasureSettings(is_pipelined=True, sample_count=16),
    )
    measured = run(request, QUIET).measurement
    streamed = measured.stream
    assert streamed is not None
    assert streamed.period_s is not None
    assert measured.outputs.bit_exact
    assert (streamed.samples, streamed.failures) == ((0,) * 16, ())
    estimated_s = measured.project.estimated_period_s
    assert streamed.period_s == pytest.approx(estimated_s, rel=BY_KERNELS)
    if rig == "one board":  # beside its layers
        own_s = streamed.period_s - measured.measured.l_s
        assert own_s == pytest.approx(estimated_s - measured.estimated.l_s, rel=0.3)
    for title, energy in measured.energies:
        joules = energy.energy_j(energy.measured)
        assert joules == pytest.approx(energy.energy_j(energy.estimated), rel=BY_KERNELS), title
