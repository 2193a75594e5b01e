"""Measurements say which rules of time virtual boards had, and refuse timing files of none of their parts."""

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from commands.command_line import BAD_INPUT, run
from example_folders import example
from tinysplit.common.errors import InputError
from tinysplit.costs.settings import CostSettings
from tinysplit.run import RunRequest
from tinysplit.run import run as run_all
from tinysplit_hil.measure.measure_folder import MeasureSettings, measure_folder
from tinysplit_hil.measure.summary import print_summary
from tinysplit_hil.rig.rig import VirtualSettings

G0, PART = "nucleo_g071rb", "stm32g071rbt6"
RULES = f"{PART}: cortex-m0plus.load = 3"
QUIET = Console(quiet=True)


def timing_file(folder: Path, part: str, table: str) -> Path:
    path = folder / "timing.toml"
    path.write_text(f'version = 1\npart = "{part}"\n{table}')
    return path


def test_a_measurement_names_its_rules(tmp_path: Path) -> None:
    project, folder = example.shared_example(G0, G0)
    timing = timing_file(tmp_path, PART, "[cortex-m0plus]\nload = 3\n")
    usual, slow = (
        measure_folder(project, folder, example.SAMPLES, MeasureSettings(sample_count=1, timing=each), QUIET)
        for each in (None, timing)
    )
    assert slow.measured.l_s > 1.05 * usual.measured.l_s
    assert [each.to_json()["timing"] for each in (usual, slow)] == ["", RULES]
    assert slow.measurement.rig.note.endswith(f"; timing file {timing} of {RULES}")
    text = StringIO()
    print_summary(slow, None, Console(file=text))
    assert f"note: rules of time of {RULES}" in text.getvalue().splitlines()


def test_a_timing_file_of_no_board_is_refused(tmp_path: Path) -> None:
    project, folder = example.shared_example(G0, G0)
    timing = timing_file(tmp_path, "stm32l452ret6", "[cortex-m4]\nload = 3\n")
    error = f"{timing} is of stm32l452ret6, not of {PART}: give the timing file of this part"
    settings = MeasureSettings(timing=timing)
    with pytest.raises(InputError, match=f"^{error}$"):
        measure_folder(project, folder, example.SAMPLES, settings, QUIET)
    request = RunRequest(
        model=example.MODEL,
        boards=(G0,),
        samples=example.SAMPLES,
        out=tmp_path / "out",
        settings=CostSettings(),
        measuring=settings,
    )
    with pytest.raises(InputError, match=f"^{error}$"):
        run_all(request, QUIET)
    assert not (tmp_path / "out").exists()
    for command in (("virtual", str(folder)), ("calibrate", "-b", G0, "-o", str(tmp_path / "calibration.json"))):
        assert run(*command, "--timing", str(timing), expect=BAD_INPUT) == f"error: {error}"
    VirtualSettings(timing=timing).check_boards([G0, "nucleo_l452re"])
