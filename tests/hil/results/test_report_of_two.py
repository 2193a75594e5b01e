"""Two folders, or two measurements of one, on one page."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from commands.browser import layout_in_browser
from commands.command_line import BAD_INPUT, USAGE, run
from commands.report_page import written
from example_folders.example import shared_example
from example_folders.measured_example import BOARD, shared_measured_example
from tinysplit.project.manifest import Project

FACTOR = 1.05  # of the first layer
WIDTHS = (1400, 900, 700, 400)


def slower_measurement(folder: Path, out: Path) -> Path:
    """Write the measurement of a folder with a slower first layer."""
    data: dict[str, Any] = json.loads((folder / "measurement.json").read_text(encoding="utf-8"))
    (time,) = (each for each in data["times"] if (each["what"], each["number"]) == ("layer", 1))
    time.update({key: FACTOR * value for key, value in time.items() if key.endswith("_s")})
    data["layers"][0]["measured_s"] *= FACTOR
    data["latency"]["measured"]["I"] *= 2
    out.write_text(json.dumps(data), encoding="utf-8")
    return out


@pytest.mark.slow
def test_two_measurements_of_a_folder(tmp_path: Path) -> None:
    printed, shared = shared_measured_example()
    folder, path = shared / "out", tmp_path / "report.html"
    slower = slower_measurement(folder, tmp_path / "slower.json")
    measurements = ("--measurement", folder / "measurement.json", "--measurement", slower)
    page = written(path, folder, folder, *measurements)
    i_s = printed["latency"]["measured"]["I"]
    first_ms = 1000 * printed["layers"][0]["measured_s"]
    for text in (
        f"I, latency {2000 * i_s:.2f} ms before {1000 * i_s:.2f} ms; measured +100.0 %; estimated +0.0 %",
        f"layer 1 conv1 (board 1) {first_ms:.3f} {FACTOR * first_ms:.3f} +5.0 slower",
        "virtual boards",
    ):
        assert text in page.text
    layers = [row for row in page.rows if len(row) == 4]  # number, before, after, change
    assert len(layers) == len(Project.read(folder).network_formats)
    assert layers[0] == pytest.approx([1, first_ms, FACTOR * first_ms, 5.0])
    assert all(row[1] == row[2] and row[3] == 0 for row in layers[1:])
    first = [bar for bar in page.bars if bar.title.startswith("layer 1 conv1")]
    assert len(first) == 2  # one above the other
    assert first[0] == first[1]
    assert layout_in_browser(path, WIDTHS, tmp_path) == {width: [] for width in WIDTHS}


@pytest.mark.slow
def test_other_folders_and_their_json(tmp_path: Path) -> None:
    """A folder without a measurement is compared by its estimates."""
    folder, other = shared_measured_example()[1] / "out", tmp_path / "other"
    ignored = shutil.ignore_patterns(".pio", "measurement.json")
    shutil.copytree(shared_example(BOARD, BOARD)[1], other, ignore=ignored)
    path = tmp_path / "report.html"
    found = json.loads(run("report", str(folder), str(other), "-o", str(path), "--json"))
    assert found["comparison"] is None
    assert found["before"]["estimated"] == found["after"]["estimated"]
    page = written(path, folder, other)
    assert f"Not compared: {other} without a measurement." in page.text
    assert "before estimated, ms" in page.text
    assert "predicted" in page.text


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("--graphviz", "split.dot"), USAGE, "--graphviz and --onnx are of one folder"),
        (("--measurement", "a.json"), USAGE, "--measurement is of one folder: give it 2 times, not 1"),
        ((), BAD_INPUT, "are of different networks: name two folders of one ONNX file"),
    ],
)
def test_what_cannot_be_compared(tmp_path: Path, arguments: tuple[str, ...], code: int, says: str) -> None:
    project, folder = shared_example(BOARD, BOARD)
    other = tmp_path / "other"
    shutil.copytree(folder, other, ignore=shutil.ignore_patterns(".pio", "measurement.json"))
    manifest = other / "tinysplit.json"
    manifest.write_text(manifest.read_text().replace(project.model.sha256, 64 * "0"))
    out = tmp_path / "report.html"
    assert says in run("report", str(folder), str(other), "-o", str(out), *arguments, expect=code)
    assert not out.exists()
