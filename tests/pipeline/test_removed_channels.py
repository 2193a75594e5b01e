"""Networks with channels that they can lack, from the split file to virtual boards."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commands.command_line import BAD_INPUT, run
from models.onnx_builder import OnnxBuilder
from models.qdq_networks import Floats, Form, QdqBuilder
from tinysplit import api

G0 = ("--board", "nucleo_g071rb")
X = np.random.default_rng(1).normal(size=(8, 3, 8, 8)).astype(np.float32)
RNG = np.random.default_rng(2)
WIDE = (RNG.normal(size=(16, 3, 3, 3)) / 4).astype(np.float32)
NARROW = (RNG.normal(size=(8, 16, 1, 1)) / 4).astype(np.float32)
WIDE[4:12] = 0
BIAS = np.where(np.arange(16) < 8, -0.5, 0.5).astype(np.float32)  # of ReLUs: channels 5 to 8 are 0, 9 to 12 are 0.5


def float_network(folder: Path) -> Path:
    builder = OnnxBuilder([1, 3, 8, 8])
    builder.node("Conv", builder.constant(WIDE), builder.constant(BIAS), pads=[1, 1, 1, 1])
    builder.node("Relu")
    builder.node("Conv", builder.constant(NARROW), builder.constant(np.ones(8)))
    return builder.save(folder)


def quantized_network(folder: Path) -> Path:
    builder = QdqBuilder(X, Form(per_channel=False))
    builder.pair()
    add_conv(builder, WIDE, BIAS, pads=[1, 1, 1, 1])
    builder.node("Relu")
    builder.pair()
    add_conv(builder, NARROW, np.ones(8, np.float32))
    builder.pair()
    return builder.save(folder)


def add_conv(builder: QdqBuilder, weights: Floats, bias: Floats, **attributes: Any) -> None:  # noqa: ANN401
    quantized = builder.quantized(weights)
    builder.node("Conv", quantized, builder.constant(bias), **attributes)


def samples(folder: Path) -> Path:
    path = folder / "x.npz"
    np.savez(path, x=X)
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("network", "slices"),
    [
        (float_network, "none"),
        (quantized_network, "channels"),
        pytest.param(float_network, "channels", marks=pytest.mark.nightly),
        pytest.param(quantized_network, "none", marks=pytest.mark.nightly),
    ],
)
def test_programs_lack_channels_and_compute_the_same_integers(
    network: Callable[[Path], Path], slices: str, tmp_path: Path
) -> None:
    files = ("--samples", str(samples(tmp_path)), "--sample-count", "2")
    boards = (*G0, *G0, "--use-all", "--baud", "2000000", "--slices", slices)
    out = tmp_path / "out"
    report = json.loads(run("run", str(network(tmp_path)), *boards, *files, "--out", str(out), "--json"))
    assert report["output"]["bit_exact"]
    assert [*report["split"]["removed_channels"].values()] == ["5-12"]
    assert json.loads((out / "tinysplit.json").read_text())["removed_channels"] == report["split"]["removed_channels"]
    assert json.loads(run("measure", str(out), *files, "--json"))["output"]["bit_exact"]
    again = ("--split", str(out / "split.json"), "--samples", files[1], "--out", str(tmp_path / "again"))
    run("generate", str(tmp_path / "network.onnx"), *again)
    parts = (json.loads((folder / "tinysplit.json").read_text())["cuts"] for folder in (out, tmp_path / "again"))
    assert next(parts) == next(parts)


def test_splits_of_quantized_files_lack_channels(tmp_path: Path) -> None:
    model, split = quantized_network(tmp_path), tmp_path / "split.json"
    run("split", str(model), *G0, "--out", str(split))
    written = json.loads(split.read_text())
    ((name, channels),) = written["removed_channels"].items()
    assert channels == "5-12"
    run("arrivals", str(model), "--split", str(split), "--frame-rate", "1")
    for wrong, said in (
        ({name: "1-17"}, "channels 1-17 of"),
        ({"y": "1"}, "channels of 'y' were removed, which the network has not"),
        ({name: "12-5"}, "were removed"),
    ):
        split.write_text(json.dumps(written | {"removed_channels": wrong}))
        assert said in run("arrivals", str(model), "--split", str(split), "--frame-rate", "1", expect=BAD_INPUT)


def test_all_estimates_of_quantized_files_lack_channels(tmp_path: Path) -> None:
    model = quantized_network(tmp_path)
    found = api.split(model, "nucleo_g071rb")
    assert api.predict(model, "nucleo_g071rb").latency_s == found.latency_s
    sets = api.explore(model, "nucleo_g071rb").sets
    assert min(each.latency_s for each in sets) == pytest.approx(found.latency_s)


def test_replaceable_weights_have_all_channels(tmp_path: Path) -> None:
    model, split = float_network(tmp_path), tmp_path / "split.json"
    run("split", str(model), *G0, "--out", str(split))
    assert json.loads(split.read_text())["removed_channels"] is None
    options = ("--samples", str(samples(tmp_path)))
    for name, expected in (("arrays", 1), ("binary", 0)):
        out = tmp_path / name
        run("generate", str(model), "--split", str(split), *options, "--weights", name, "--out", str(out))
        for file in ("tinysplit.json", "split.json"):
            assert len(json.loads((out / file).read_text())["removed_channels"]) == expected
