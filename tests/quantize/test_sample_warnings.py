"""Samples that calibration used before, and samples that the float network cannot classify."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner

from commands.command_line import CHECK_FAILED
from example_folders import example
from tinysplit import pipeline
from tinysplit.cli import quantize
from tinysplit.cli.app import app
from tinysplit.common.errors import CheckFailedError
from tinysplit.network.samples import Samples
from tinysplit.quantize.accuracy import FloatScores
from tinysplit.quantize.sample_warnings import chance_warnings


def scored(count: int, classes: int, right: int, labels: NDArray[np.int64] | None = None) -> FloatScores:
    """Return scores with so many right answers, for inputs from -3 to 255."""
    y = np.arange(count) % classes if labels is None else labels
    answers = np.where(np.arange(count) < right, y, (y + 1) % classes)
    x = np.linspace(-3, 255, count, dtype=np.float32)[:, np.newaxis]
    return FloatScores(Samples(x, {"y": y}), {"y": np.eye(classes)[answers]})


@pytest.mark.parametrize(
    ("count", "classes", "most"),
    [
        (100, 10, 16),  # 10 expected, with a standard deviation of 3
        (400, 2, 220),  # 200 and 10
        (25, 5, 9),  # 5 and 2
        (576, 1000, 2),  # 0.6 and 0.8
    ],
)
def test_chance_ends_two_standard_deviations_above_the_expected_number(count: int, classes: int, most: int) -> None:
    (line,) = chance_warnings(scored(count, classes, most))
    assert f"at chance: top-1 {most / count:.3f} of {classes} classes, with x from -3 to 255:" in line
    assert "\n" not in line
    assert list(chance_warnings(scored(count, classes, 0)))
    assert not list(chance_warnings(scored(count, classes, most + 1)))


def test_nothing_is_said_where_little_is_known() -> None:
    assert not list(chance_warnings(scored(19, 10, 0)))
    assert not list(chance_warnings(scored(100, 1, 100)))
    unlabelled = scored(100, 10, 0)
    assert not list(chance_warnings(FloatScores(Samples(unlabelled.samples.x), unlabelled.scores)))


@pytest.fixture
def shifted(tmp_path: Path) -> Path:
    """Samples of the example from -1 to 0; it was trained on 0 to 1."""
    path = tmp_path / "shifted.npz"
    with np.load(example.SAMPLES) as samples:
        np.savez(path, x=samples["x"][:40] - 1, y=samples["y"][:40])
    return path


@pytest.mark.parametrize("command", ["quantize", "validate", "measure"])
def test_every_command_that_shows_an_accuracy_says_it(command: str, tmp_path: Path, shifted: Path) -> None:
    target = example.MODEL
    if command != "quantize":
        target = tmp_path / "project"
        shutil.copytree(example.shared_example("nucleo_g071rb", "nucleo_g071rb")[1], target)
    options = () if command == "quantize" else ("--sample-count", "1")
    for samples, times in ((shifted, 1), (example.SAMPLES, 0)):
        result = CliRunner().invoke(app, [command, str(target), "--samples", str(samples), *options])
        assert result.exit_code == 0, result.output
        assert result.output.count("float network itself is at chance") == times
        assert result.output.count("of 10 classes, with x from -1 to 0:") == times


def test_samples_that_calibration_used_are_counted(tmp_path: Path, shifted: Path) -> None:
    own = tmp_path / "own.npz"
    with np.load(example.SAMPLES) as samples, np.load(example.CALIBRATION) as calibration:
        np.savez(own, x=np.concatenate([samples["x"][:30], calibration["x"][:5]]))
    assert notes("quantize", "--samples", str(own), "--calibration-count", "20") == [
        "note: accuracy is measured on 35 samples, 20 of which calibration used: `tinysplit validate` takes others"
    ]
    run = ("run", "--board", "nucleo_g071rb", "-o", str(tmp_path / "out"), "--samples", str(own))
    what = "note: accuracy is measured on 35 samples, {} of which calibration used: --calibration-samples takes others"
    assert notes(*run) == [what.format(35)]
    assert notes(*run, "--calibration-samples", str(example.CALIBRATION)) == [what.format(5)]
    assert notes(*run, "--calibration-samples", str(shifted)) == []


def notes(command: str, *options: str) -> list[str]:
    """Return the notes about samples of a command that ends where it would quantize."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (pipeline, quantize):
            patch.setattr(module, "quantize_model", ended)
        result = CliRunner().invoke(app, [command, str(example.MODEL), *options])
    assert result.exit_code == CHECK_FAILED, result.output
    return [line for line in result.stderr.splitlines() if "calibration used" in line]


def ended(*_: object) -> None:
    raise CheckFailedError("the test ends here")
