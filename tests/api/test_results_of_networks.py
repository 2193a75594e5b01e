"""Layers, accuracy and comparisons in a script: what the commands print."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from commands.command_line import run
from example_folders.example import CALIBRATION, MODEL, SAMPLES, shared_example
from tinysplit import api
from tinysplit.api.result import Result
from tinysplit.common.errors import CheckFailedError, InputError, UsageError

G0 = "nucleo_g071rb"


def check_plain(result: Result, *command: str) -> None:
    """Compare with the JSON of a command; rows are those of a table."""
    assert result.to_json() == json.loads(run(*command, "--json"))
    rows = result.to_rows()
    assert rows
    assert len({tuple(row) for row in rows}) == 1
    assert {type(value) for row in rows for value in row.values()} <= {str, int, float, bool, type(None)}


def test_layers() -> None:
    found = api.analyze(MODEL, bits=16)
    check_plain(found, "analyze", str(MODEL), "--bits", "16")
    assert (found.n_layers, found.macc) == (7, 809_146)
    assert 2 * found.n_parameters < found.weights_bytes < 4 * found.n_parameters  # biases have 32 bits
    with pytest.raises(InputError, match=r"absent\.onnx"):
        api.analyze("absent.onnx")


def test_known_boards() -> None:
    assert G0 in api.board_names()


@pytest.mark.slow
def test_accuracy_in_fixed_point() -> None:
    lines: list[str] = []
    found = api.quantize(MODEL, SAMPLES, progress=lines.append)
    check_plain(found, "quantize", str(MODEL), "-s", str(SAMPLES))
    assert found.float_top1 == pytest.approx(352 / 360)
    assert found.agreement is not None
    assert found.agreement > 0.99
    assert lines[-1].startswith("measuring the accuracy on 360 samples")
    with np.load(CALIBRATION) as file:
        long = api.quantize(MODEL, file["x"], bits=16)
    assert (long.top1, long.sqnr_db > found.sqnr_db) == (None, True)
    with pytest.raises(UsageError, match="bits has to be 8 or 16"):
        api.quantize(MODEL, SAMPLES, bits=4)


@pytest.mark.slow
def test_validation_of_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    shutil.copytree(shared_example(G0, G0)[1], folder)
    found = api.validate(folder, SAMPLES, sample_count=5)
    kept = (folder / "validation.json").read_text()
    check_plain(found, "validate", str(folder), "-s", str(SAMPLES), "--sample-count", "5")
    assert (folder / "validation.json").read_text() == kept
    assert found.accuracy.samples == 360
    with pytest.raises(InputError, match="not a generated folder"):
        api.validate(tmp_path, SAMPLES)


@pytest.mark.slow
def test_comparison_of_measurements(tmp_path: Path) -> None:
    out = tmp_path / "out"
    shutil.copytree(shared_example(G0, G0)[1], out)
    api.measure(out, SAMPLES, api.MeasureSettings(sample_count=2))
    old, new = out / "measurement.json", tmp_path / "new.json"
    measured = json.loads(old.read_text())
    for time in measured["times"]:
        if time["what"] == "I":
            for key in ("median_s", "median_low_s", "median_high_s"):
                time[key] *= 2
    new.write_text(json.dumps(measured))
    same = api.compare(old, old)
    check_plain(same, "compare", str(old), str(old))
    same.check()
    slower = api.compare(old, new)
    assert len(slower.slower) == 1
    assert (slower.faster, api.compare(new, old).faster) == ((), slower.slower)
    with pytest.raises(CheckFailedError, match=r"slower: .* \+100.0 %"):
        slower.check()
    with pytest.raises(UsageError, match="threshold has to be at least 0"):
        api.compare(old, new, threshold=-1)
    written = api.report(out, tmp_path / "report.html").read_bytes()
    run("report", str(out), "-o", str(tmp_path / "by_command.html"))
    assert written == (tmp_path / "by_command.html").read_bytes()
    (tmp_path / "mine").write_text("mine")
    with pytest.raises(InputError, match=r"was not written by tinysplit: .* force=True"):
        api.report(out, tmp_path / "mine")
