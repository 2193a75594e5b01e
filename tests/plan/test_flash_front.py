"""The choice between time and flash: each point is what its settings give, and none is worse than another one."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer.testing import CliRunner

from commands.command_line import run
from example_folders import example
from tinysplit import pipeline
from tinysplit.api import CostSettings
from tinysplit.cli.app import app
from tinysplit.context import Context
from tinysplit.plan.flash_front import FlashChoice
from tinysplit.project.split_file import read_split

L4 = ("-b", "nucleo_l4r5zi")
TWO = (*L4, *L4, "--baud", "4000000", "--assign", "1-3:1,4-7:2")


def split(folder: Path, *arguments: str) -> dict[str, Any]:
    out = ("-o", str(folder / "split.json"), "--force")
    printed: dict[str, Any] = json.loads(run("split", str(example.MODEL), *arguments, *out, "--json"))
    return printed


@pytest.mark.parametrize("boards", [L4, TWO])
def test_each_point_is_what_its_limit_gives(tmp_path: Path, boards: tuple[str, ...]) -> None:
    found = split(tmp_path, *boards, "--optimize", "cycles")
    points = found["flash_front"]
    (own,) = (point for point in points if point["is_taken"])
    assert (own["value"], own["max_flash_bytes"]) == (found["figures"]["I"], None)
    for faster, smaller in pairwise(point for point in points if not point["is_taken"]):
        assert faster["value"] < smaller["value"]
        assert sum(faster["flash_bytes"].values()) > sum(smaller["flash_bytes"].values())
    limited = [point for point in points if point["max_flash_bytes"]]
    assert limited
    for point in limited:
        taken = split(tmp_path, *boards, "--max-flash", str(point["max_flash_bytes"]))
        programs = {str(board["number"]): board["predicted_flash_bytes"] for board in taken["boards"]}
        assert (taken["figures"]["I"], programs) == (point["value"], point["flash_bytes"])
        assert [each for each in taken["flash_front"] if each["is_taken"]] == [point | {"is_taken": True}]
        assert all(n_bytes <= point["max_flash_bytes"] for n_bytes in programs.values())


def test_smaller_kernels_are_a_point_of_their_own(tmp_path: Path) -> None:
    found = split(tmp_path, *L4, "--optimize", "flash")
    assert [point["optimize"] for point in found["flash_front"] if point["is_taken"]] == ["flash"]
    assert found["flash_front"][0]["optimize"] == "cycles"


def test_programs_keep_the_limit(tmp_path: Path) -> None:
    split(tmp_path, *L4, "--max-flash", "45056")
    file = read_split(tmp_path / "split.json")
    assert file.settings.max_flash_bytes == 45056
    context = Context.load(example.MODEL, file.board_names, file.settings, Console(quiet=True))
    project = pipeline.generate_folder(context, file, example.CALIBRATION, tmp_path / "out")
    usual = Context.load(example.MODEL, file.board_names, CostSettings(), Console(quiet=True))
    free = file.model_copy(update={"max_flash_bytes": None})
    larger = pipeline.generate_folder(usual, free, example.CALIBRATION, tmp_path / "larger")
    (own,), (other,) = project.boards, larger.boards
    assert own.predicted_flash_bytes is not None
    assert other.predicted_flash_bytes is not None
    assert own.predicted_flash_bytes <= 45056 < other.predicted_flash_bytes


def test_the_table_fits_a_screen_and_says_how_to_take_a_point(tmp_path: Path) -> None:
    words = ["split", str(example.MODEL), *L4, "-o", str(tmp_path / "s.json")]
    shown = CliRunner().invoke(app, [*words, "--optimize", "cycles"]).stdout.splitlines()
    rows = shown[shown.index(next(line for line in shown if "latency ms" in line and "with" in line)) :]
    assert all(len(row) <= 80 for row in rows)
    assert rows[1].split()[0] == "*"
    assert "default: all of the flash" in rows[1]
    assert any("--max-flash " in row for row in rows[2:])
    assert "--max-flash " not in CliRunner().invoke(app, [*words, "--force"]).stdout


def test_a_limit_below_the_firmware_is_refused(tmp_path: Path) -> None:
    message = run("split", str(example.MODEL), *L4, "--max-flash", "100", "-o", str(tmp_path / "s.json"), expect=1)
    assert "nucleo_l4r5zi is too small within --max-flash 100 for the firmware" in message


def test_options_of_a_choice() -> None:
    assert FlashChoice(max_flash_bytes=65536).text == "--max-flash 65536"
    assert FlashChoice().text.startswith("default")
