"""Layers divided over virtual boards: bit-exact outputs, and what the command line says."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commands.command_line import BAD_INPUT, USAGE, run
from example_folders.example import CALIBRATION, MODEL, SAMPLES
from models.onnx_builder import OnnxBuilder

G0 = ("--board", "nucleo_g071rb")
FAST = ("--baud", "3000000")


def run_on_boards(out: Path, *options: str, sample_count: int = 3) -> dict[str, Any]:
    files = ("--samples", str(SAMPLES), "--calibration-samples", str(CALIBRATION), "--out", str(out))
    found: dict[str, Any] = json.loads(
        run("run", str(MODEL), *files, "--sample-count", str(sample_count), "--json", *options)
    )
    return found


@pytest.mark.slow
def test_two_boards_halve_the_latency_by_rows(tmp_path: Path) -> None:
    report = run_on_boards(tmp_path / "out", *G0, *G0, *FAST, "--slices", "rows")
    assert report["output"]["bit_exact"]
    assert report["measured_i_s"] < 0.6 * 0.041  # of one board, `benchmarks slices measured`
    assert report["latency"]["measured"]["L"] + report["latency"]["measured"]["T"] > 1.5 * report["measured_i_s"]
    slices = report["split"]["slices"]
    assert [len(layer["parts"]) for layer in slices["layers"]] == [2, 2, 2, 2, 2, 1, 1]
    assert {layer["part"]["axis"] for layer in report["layers"]} == {"rows"}
    parts = {(part["layer"], part["board"]): part for part in report["parts"]}
    assert sorted(parts) == [(0, 1), *((layer, board) for layer in range(1, 6) for board in (1, 2)), (6, 1), (7, 1)]
    assert parts[3, 2]["computing_s"] == pytest.approx(parts[3, 2]["estimated_s"], rel=0.03)


@pytest.mark.slow
@pytest.mark.parametrize(("baud", "slices"), [("921600", "rows"), ("3000000", "channels")])
def test_times_are_those_of_drivers_that_work_in_waits(tmp_path: Path, baud: str, slices: str) -> None:
    options = ("--baud", baud, "--slices", slices, "--pipelined")
    report = run_on_boards(tmp_path / "out", *G0, *G0, *options, sample_count=8)
    assert report["cuts"]
    assert report["estimated_i_s"] == pytest.approx(report["measured_i_s"], rel=0.02)
    assert report["estimated_period_s"] == pytest.approx(report["measured_period_s"], rel=0.04)


@pytest.mark.nightly
def test_three_boards_by_channels_and_several_inferences_in_flight(tmp_path: Path) -> None:
    options = ("--slices", "channels", "--output-at", "2", "--pipelined")
    report = run_on_boards(tmp_path / "out", *G0, *G0, *G0, *FAST, *options, sample_count=6)
    assert report["output"]["bit_exact"]
    assert "channels" in {layer["axis"] for layer in report["split"]["slices"]["layers"]}


@pytest.mark.nightly
def test_a_layer_that_no_board_can_hold_runs_on_two(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    builder = OnnxBuilder(["n", 2048])
    builder.node("Gemm", builder.constant(rng.normal(size=(2048, 350)) / 45), builder.constant(np.zeros(350)))
    model = builder.save(tmp_path)
    np.savez(tmp_path / "x.npz", x=rng.normal(size=(4, 2048)).astype(np.float32))
    boards = ("--board", "nucleo_f401re") * 2
    options = (*boards, "--baud", "2000000")
    out = str(tmp_path / "split.json")
    says = run("split", str(model), *options, "--slices", "none", "--out", out, expect=1)
    assert "bytes of flash" in says
    files = ("--samples", str(tmp_path / "x.npz"), "--out", str(tmp_path / "out"), "--sample-count", "1")
    report = json.loads(run("run", str(model), *options, *files, "--json"))
    assert report["output"]["bit_exact"]
    assert 2048 < sum(cut["payload_bytes"] for cut in report["cuts"]) <= 2048 + 350 // 2  # at most half of the outputs


def test_split_and_generate_through_a_file(tmp_path: Path) -> None:
    split = tmp_path / "split.json"
    said = run("split", str(MODEL), *G0, *G0, *FAST, "--slices", "auto", "--out", str(split), "--explain")
    assert "which work side by side" in said
    assert "divided by" in said
    files = ("--split", str(split), "--samples", str(CALIBRATION), "--out", str(tmp_path / "out"))
    run("generate", str(MODEL), *files)
    manifest = json.loads((tmp_path / "out" / "tinysplit.json").read_text())
    assert len(manifest["network_formats"]) == 7
    assert [board["takes_input"] for board in manifest["boards"]] == [True, False]


def test_slices_are_left_where_they_do_not_pay(tmp_path: Path) -> None:
    split = tmp_path / "split.json"
    run("split", str(MODEL), *G0, *G0, "--baud", "9600", "--slices", "rows", "--out", str(split))
    found = json.loads(split.read_text())
    assert (
        found["slices"] is None
        or len({part["board"] for each in found["slices"]["layers"] for part in each["parts"]}) == 1
    )


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--slices", "auto", "--input-at", "3"), "--input-at 3: the number of boards is 2"),
        (("--slices", "auto", "--output-at", "9"), "--output-at 9: the number of boards is 2"),
        (("--slices", "auto", "--paper"), "--paper knows whole layers only"),
    ],
)
def test_wrong_options(tmp_path: Path, options: tuple[str, ...], says: str) -> None:
    out = str(tmp_path / "split.json")
    assert says in run("split", str(MODEL), *G0, *G0, *options, "--out", out, expect=USAGE)


def test_an_older_split_file_is_refused(tmp_path: Path) -> None:
    split = tmp_path / "split.json"
    run("split", str(MODEL), *G0, "--out", str(split))
    split.write_text(split.read_text().replace('"schema_version": 4', '"schema_version": 2'))
    files = ("--split", str(split), "--samples", str(CALIBRATION), "--out", str(tmp_path / "out"))
    says = run("generate", str(MODEL), *files, expect=BAD_INPUT)
    assert "schema version 4 (its version is 2)" in says
