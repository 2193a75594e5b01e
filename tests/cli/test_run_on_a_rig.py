"""`tinysplit run --rig`: a rig that cannot be flashed is named before anything is computed."""

import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from commands.command_line import BAD_INPUT, TOOL, run
from example_folders.example import MODEL, SAMPLES
from rigs.fake_rig import make_project
from tinysplit.common.choices import ProgrammerName
from tinysplit_hil.bench.flash import flash_rig

BOARDS = ("-b", "nucleo_g071rb", "-b", "nucleo_f401re")
FIRST, SECOND = '[[board]]\nserial_number = "FF01"\n', '[[board]]\nserial_number = "FF02"\n'
SERVED = '[virtual]\ntime_file = "t"\nports = ["a", "b"]\nnote = "n"\n[[board]]\nport = "a"\n[[board]]\nport = "b"\n'


@pytest.mark.parametrize(
    ("rig", "text"),
    [
        (FIRST, "rig.toml has 1 [[board]] table, but the project has 2 boards"),
        (FIRST + SECOND + '[[board]]\nport = "c"\n', "rig.toml has 3 [[board]] tables, but the project has 2 boards"),
        (FIRST + SECOND + 'name = "nucleo_g071rb"\n', "has a nucleo_g071rb where the project has board 2 (nucleo_f401"),
        (FIRST + '[[board]]\nport = "/dev/ttyACM1"\n', "rig.toml has no serial_number for board 2 (nucleo_f401re), by"),
    ],
)
def test_rigs_that_cannot_be_flashed(rig: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "rig.toml"
    path.write_text(rig)
    options = ("--samples", str(SAMPLES), "--out", str(tmp_path / "out"), "--rig", str(path))
    assert text in run("run", str(MODEL), *BOARDS, *options, expect=BAD_INPUT)
    assert not (tmp_path / "out").exists()


def test_a_programmer_that_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "rig.toml"
    path.write_text(FIRST + SECOND)
    monkeypatch.setenv("PATH", str(tmp_path))
    options = ("--samples", str(SAMPLES), "--out", str(tmp_path / "out"), "--rig", str(path))
    line = run("run", str(MODEL), *BOARDS, *options, "--programmer", "st-flash", expect=TOOL)
    assert line == "error: st-flash is not on the PATH: install it (Debian: apt-get install stlink-tools)"


def test_served_virtual_boards_have_nothing_to_flash(tmp_path: Path) -> None:
    path = tmp_path / "rig.toml"
    path.write_text(SERVED)
    project, printed = make_project(), StringIO()
    assert flash_rig(project, tmp_path, str(path), ProgrammerName.OPENOCD, Console(file=printed)) is None
    assert printed.getvalue() == f"{path}: virtual boards run their images without flashing\n"
    assert flash_rig(project, tmp_path, "virtual", ProgrammerName.OPENOCD, Console(file=printed)) is None
    project.write(tmp_path)
    line = run("flash", str(tmp_path), "--rig", str(path), "--dry-run", expect=BAD_INPUT)
    assert line == f"error: {path}: virtual boards run their images without flashing: give a rig file of real boards"


@pytest.mark.slow
def test_virtual_boards_are_not_flashed(tmp_path: Path) -> None:
    options = ("--samples", str(SAMPLES), "--out", str(tmp_path / "out"), "--sample-count", "1", "--json")
    report = json.loads(run("run", str(MODEL), *BOARDS, *options))
    assert report["rig"] == "virtual"
    assert "flash" not in report
