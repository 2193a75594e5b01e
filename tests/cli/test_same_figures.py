"""Every command and script gives the same L, T, I, period and energy of one placement, to the last digit."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from commands.command_line import run
from example_folders.example import CALIBRATION, MODEL
from tinysplit import api
from tinysplit.project.manifest import Project
from tinysplit.project.split_file import read_split

G0, F4 = "nucleo_g071rb", "nucleo_f401re"
PLACEMENTS = {
    "streamed": (G0, G0, "--baud", "921600", "--assign", "1-3:1,4-7:2"),
    "whole": (G0, F4, "--baud", "115200", "--assign", "1-2:1,3-7:2", "--hand-off", "whole"),
    "throughput": (G0, F4, "--baud", "921600", "--objective", "throughput", "--no-replicate"),
    "copies": (G0, F4, "--baud", "921600", "--objective", "throughput", "--replicate"),
    "rows": (G0, G0, "--baud", "4000000", "--slices", "rows"),
    "from the board": (G0, G0, "--input-source", "board", "--objective", "throughput", "--no-replicate"),
    "at a rate": (G0, G0, "--assign", "1-3:1,4-7:2", "--frame-period", "0.3", "--host-transfers"),
}
PRINTED = (
    r"L ([\d.]+) ms",
    r"T ([\d.]+) ms",
    r"I ([\d.]+) ms \(",
    r"period ([\d.]+ ms \(firmware\), [\d.]+) outputs",
    r"energy ([\d.]+) mJ",
    r"(input from the [\w']+)",
)
FIGURES = ("L", "T", "I", "period_s", "energy_j")
BY_FORMATS = 0.03  # of a figure: what `measure` compares with knows formats and weights


@pytest.mark.parametrize("placement", PLACEMENTS)
def test_all_commands_give_the_same_figures(placement: str, tmp_path: Path) -> None:
    first, second, *options = PLACEMENTS[placement]
    path, out = str(tmp_path / "split.json"), tmp_path / "out"
    lines = figures_printed(run("split", str(MODEL), "-b", first, "-b", second, *options, "-o", path))
    split = json.loads(Path(path).read_text())["figures"]
    assert len(lines) == len(PRINTED)

    simulating = ("arrivals", str(MODEL), "--split", path, "--frame-rate", "1")
    assert figures_printed(run(*simulating)) == lines
    assert figures_of(json.loads(run(*simulating, "--json"))["figures"]) == figures_of(split)
    assert figures_of(api.arrivals(MODEL, path, 1).to_json()["figures"]) == figures_of(split)

    generating = ("generate", str(MODEL), "--split", path, "--samples", str(CALIBRATION), "-o", str(out))
    assert figures_printed(run(*generating)) == lines
    project = Project.read(out)
    assert project.figures
    assert figures_of(project.figures.model_dump()) == figures_of(split)
    made = api.generate(MODEL, path, CALIBRATION, tmp_path / "again")
    assert (made.latency_s, made.period_s, made.energy_j) == (split["I"], split["period_s"], split["energy_j"])

    read = read_split(Path(path))
    assert read.settings.input_source == project.figures.input_source
    if not read.host_transfers:
        assert project.estimated_i_s == pytest.approx(split["I"], rel=BY_FORMATS)
    assert project.estimated_period_s == pytest.approx(split["period_s"], rel=BY_FORMATS)


def figures_of(data: dict[str, Any]) -> list[Any]:
    return [data[name] for name in FIGURES]


def figures_printed(text: str) -> list[str]:
    """Return L, T, I, period and energy, and where inputs come from, as a command prints them first."""
    found = [re.search(pattern, " ".join(text.split())) for pattern in PRINTED]
    return [each[1] for each in found if each]


@pytest.mark.parametrize("objective", api.Objective)
@pytest.mark.parametrize("source", api.InputSource)
def test_a_prediction_has_the_figures_of_the_split(objective: api.Objective, source: api.InputSource) -> None:
    settings = api.CostSettings(objective=objective, input_source=source)
    found = api.split(MODEL, [G0, F4], settings, api.Search(slices=api.Slices.NONE))
    predicted = api.predict(MODEL, [G0, F4], objective=objective, input_source=source)
    figures = (predicted.latency_s, predicted.period_s, predicted.energy_j)
    assert figures == (found.latency_s, found.period_s, found.energy_j)


def test_scripts_get_the_figures_that_the_command_prints(tmp_path: Path) -> None:
    search = api.Search(assignment="1-3:1,4-7:2")
    found = api.split(MODEL, [G0, G0], api.CostSettings(baud=921600), search)
    path = str(tmp_path / "split.json")
    arguments = ("split", str(MODEL), "-b", G0, "-b", G0, *PLACEMENTS["streamed"][2:], "-o", path, "--json")
    printed = json.loads(run(*arguments))["figures"]
    assert (found.latency_s, found.period_s, found.energy_j) == (printed["I"], printed["period_s"], printed["energy_j"])
