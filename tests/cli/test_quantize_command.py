"""`tinysplit quantize` on the example network."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commands.command_line import BAD_INPUT, CHECK_FAILED, USAGE, run
from example_folders import example
from models.onnx_builder import OnnxBuilder

MODEL, SAMPLES, CALIBRATION = str(example.MODEL), str(example.SAMPLES), str(example.CALIBRATION)
MAX_DROP_POINTS = 0.3


def quantized(*options: str) -> dict[str, Any]:
    report: dict[str, Any] = json.loads(run("quantize", MODEL, "--samples", SAMPLES, "--json", *options))
    return report


@pytest.mark.parametrize("bits", ["8", "16"])
def test_the_example_keeps_its_accuracy(bits: str) -> None:
    report = quantized("--bits", bits)
    accuracy = report["accuracy"]
    assert 100 * (accuracy["float_top1"] - accuracy["top1"]) <= MAX_DROP_POINTS
    assert accuracy["sqnr_db"] > {"8": 20, "16": 50}[bits]
    assert report["warnings"] == []


@pytest.mark.slow
def test_the_analysis_holds_all_weights_and_values() -> None:
    report = quantized()
    weighted = [layer for layer in report["layers"] if "weights" in layer]
    assert weighted
    for layer in weighted:
        counts = layer["weights"]["histogram"]["counts"]
        channels = layer["weights"]["channels"]
        assert sum(counts) > 0
        assert min(channel["minimum"] for channel in channels) == layer["weights"]["minimum"]
        assert len(layer["weights"]["scales"]) in {1, len(channels)}
        assert all(sum(channel["histogram"]["counts"]) > 0 for channel in channels)
        assert max(channel["maximum"] for channel in layer["values"]["channels"]) == layer["values"]["maximum"]
    assert report["warnings"] == []  # of each layer the ReLU makes less than half of the channels nothing
    text = run("quantize", MODEL, "--samples", SAMPLES, "--statistics")
    assert "variance" in text
    lines = [line for line in text.splitlines() if line.startswith(("input  ", "output of ", "weights of "))]
    assert len(lines) == 2 * (1 + len(report["layers"]) + len(weighted))  # each is one line of 80 columns
    assert sum(line.split("(")[-1].startswith(("min)", "max)")) for line in text.splitlines()) == 2 * len(weighted)
    assert "…" not in text
    assert "variance" not in run("quantize", MODEL, "--samples", SAMPLES)


def test_what_loses_nothing_is_valid_json(tmp_path: Path) -> None:
    builder = OnnxBuilder([1, 2])
    builder.node("Gemm", builder.constant([[0, 0], [0, 0]]), builder.constant([0, 0]), name="zero")
    np.savez(tmp_path / "zero.npz", x=np.array([[0.5, 0.25], [-0.5, 0.75]], np.float32))
    path = str(builder.save(tmp_path))
    report = json.loads(
        run("quantize", path, "--samples", str(tmp_path / "zero.npz"), "--json"), parse_constant=pytest.fail
    )
    assert report["accuracy"]["sqnr_db"] is None
    assert report["layers"][0]["weights"]["channels"][0]["sqnr_db"] is None


def test_auto_is_all_short_where_that_does() -> None:
    report = quantized("--bits", "auto", "--max-accuracy-drop", "1")
    assert report["bits"] == 8
    assert report["mixed_precision"]["choices"] == []


@pytest.mark.nightly
def test_auto_lengthens_what_it_must_and_no_more(tmp_path: Path) -> None:
    with np.load(example.SAMPLES) as file:
        np.savez(tmp_path / "unlabelled.npz", x=file["x"][:10])
    samples = str(tmp_path / "unlabelled.npz")
    options = ("quantize", MODEL, "--samples", samples, "--json", "--bits")
    short = json.loads(run(*options, "8"))["accuracy"]["sqnr_db"]
    long = json.loads(run(*options, "16"))["accuracy"]["sqnr_db"]
    wanted = (short + long) / 2
    first, again = (json.loads(run(*options, "auto", "--min-sqnr", str(wanted))) for _ in range(2))
    assert first == again
    assert first["accuracy"]["sqnr_db"] >= wanted
    bits = {choice["bits"] for choice in first["mixed_precision"]["choices"]}
    assert bits == {8, 16}
    error = run(*options, "auto", "--min-sqnr", "200", expect=CHECK_FAILED)
    assert "no bit widths that fit flash and RAM reach the accuracy goal" in error


@pytest.mark.slow
def test_a_folder_of_mixed_widths_is_bit_exact() -> None:
    report, folder = example.shared_mixed_run()
    assert report["output"]["bit_exact"]
    layers = json.loads((folder / "tinysplit.json").read_text())["layers"]
    assert {layer["formats"]["output"]["bits"] for layer in layers} == {8, 16}


def test_networks_that_are_mostly_noise_are_warned_of(tmp_path: Path) -> None:
    builder = OnnxBuilder([1, 2])
    builder.node("Gemm", builder.constant([[1, 1], [-1, -1]]), builder.constant([0, 0]), name="difference")
    noise = np.random.default_rng(0).normal(size=(50, 1)).astype(np.float32)
    np.savez(tmp_path / "close.npz", x=np.concatenate([100 + noise / 50, 100 - noise / 50], axis=1))
    options = ("quantize", str(builder.save(tmp_path)), "--samples", str(tmp_path / "close.npz"), "--json")
    report = json.loads(run(*options))
    assert report["accuracy"]["sqnr_db"] < 10
    assert report["accuracy"]["before"] == ""
    assert re.match("only .* dB SQNR: the outputs are mostly noise; use more bits", report["warnings"][-1])


def test_samples_that_do_not_cover_a_range_are_named(tmp_path: Path) -> None:
    with np.load(example.SAMPLES) as file:
        np.savez(tmp_path / "black.npz", x=np.zeros_like(file["x"][:3]))
    report = json.loads(run("quantize", MODEL, "--samples", str(tmp_path / "black.npz"), "--json"))
    assert any("constant 0 in all samples" in text for text in report["warnings"])


def test_what_a_user_can_get_wrong(tmp_path: Path) -> None:
    assert "--bits 12" in run("quantize", MODEL, "--samples", SAMPLES, "--bits", "12", expect=USAGE)
    assert "--min-sqnr nan" in run("quantize", MODEL, "--samples", SAMPLES, "--min-sqnr", "nan", expect=USAGE)
    assert "--max-time-increase inf: expected a number of percent" in run(
        "quantize", MODEL, "--samples", SAMPLES, "--max-time-increase", "inf", expect=USAGE
    )
    assert "missing" in run("quantize", MODEL, "--samples", str(tmp_path / "no.npz"), expect=BAD_INPUT)
    labelled, unlabelled = ("--samples", SAMPLES, "--bits", "auto"), ("--samples", CALIBRATION, "--bits", "auto")
    assert "is for calibration samples without labels" in run(
        "quantize", MODEL, *labelled, "--min-sqnr", "30", expect=USAGE
    )
    assert "needs calibration samples with labels" in run(
        "quantize", MODEL, *unlabelled, "--max-accuracy-drop", "1", expect=USAGE
    )
