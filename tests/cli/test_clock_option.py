"""--clock: the source of the boards' PLL, from the split to the generated projects."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from example_folders import example
from tinysplit.cli.app import app

MODEL, SAMPLES = str(example.MODEL), str(example.SAMPLES)
F4, L4 = ("-b", "nucleo_f401re"), ("-b", "nucleo_l452re")
USAGE = 2
REFUSAL = (
    "error: nucleo_l452re has no clock for HSE at OSC_IN as delivered: use --clock hsi, or connect one and describe it"
    " in [hse] of a board file of your own\n"
)


def split(folder: Path, *arguments: str) -> Path:
    path = folder / "split.json"
    result = CliRunner().invoke(app, ["split", MODEL, *arguments, "-o", str(path)])
    assert result.exit_code == 0, result.output
    return path


def generated(folder: Path, split_file: Path, *arguments: str) -> tuple[str, Any]:
    """Return the platformio.ini of the first board and the split file of the generated folder."""
    out = folder / "out"
    command = ["generate", MODEL, "--split", str(split_file), "-s", SAMPLES, "-o", str(out), "--calibration-count", "2"]
    result = CliRunner().invoke(app, [*command, *arguments])
    assert result.exit_code == 0, result.output
    return next(out.glob("board1_*/platformio.ini")).read_text(), json.loads((out / "split.json").read_text())


@pytest.mark.parametrize(
    ("of_split", "of_generate", "expected"),
    [((), (), "hsi"), (("--clock", "hse"), (), "hse"), ((), ("--clock", "hse"), "hse")],
)
def test_generate_takes_the_clock_of_the_split(
    tmp_path: Path, of_split: tuple[str, ...], of_generate: tuple[str, ...], expected: str
) -> None:
    split_file = split(tmp_path, *F4, *of_split)
    settings, written = generated(tmp_path, split_file, *of_generate)
    assert written["clock"] == expected
    assert ("-D CLOCK_HSE_HZ=8000000u" in settings) == (expected == "hse")


def test_a_split_file_from_before_the_option_is_for_hsi(tmp_path: Path) -> None:
    path = split(tmp_path, *F4)
    data = json.loads(path.read_text())
    del data["clock"]
    path.write_text(json.dumps(data))
    assert generated(tmp_path, path)[1]["clock"] == "hsi"


@pytest.mark.parametrize("command", ["split", "generate", "run"])
def test_a_board_without_a_clock_at_osc_in_is_refused(tmp_path: Path, command: str) -> None:
    boards = (*F4, *L4)
    arguments = {
        "split": [*boards, "-o", str(tmp_path / "s.json")],
        "generate": ["--split", str(split(tmp_path, *boards)), "-s", SAMPLES, "-o", str(tmp_path / "out")],
        "run": [*boards, "-s", SAMPLES, "-o", str(tmp_path / "out")],
    }
    result = CliRunner().invoke(app, [command, MODEL, *arguments[command], "--clock", "hse"])
    assert (result.exit_code, result.stderr) == (USAGE, REFUSAL)
    assert not (tmp_path / "out").exists()


def test_boards_run_from_hse(tmp_path: Path) -> None:
    out = tmp_path / "out"
    boards = (*F4, "-b", "nucleo_h743zi", "--use-all", "--clock", "hse")
    command = ["run", MODEL, *boards, "-s", SAMPLES, "-o", str(out), "--sample-count", "1", "--json"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["split"]["clock"] == "hse"
    assert all("CLOCK_HSE_HZ" in path.read_text() for path in out.glob("board*/src/board.c"))
