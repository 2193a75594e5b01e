"""Networks with several inputs and outputs on one and on two virtual boards: bit-exact, with figures of each output."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from commands.command_line import run
from models.two_inputs import two_inputs, two_outputs
from tinysplit import api
from tinysplit.common.errors import InputError
from tinysplit.onnx_import import import_model

G0, F4 = "nucleo_g071rb", "nucleo_f401re"


def samples(model: Path, folder: Path) -> Path:
    """Save 6 samples of a network, its inputs by their names, and labels of its classes."""
    graph, rng = import_model(model), np.random.default_rng(3)
    arrays = {end.name: rng.normal(size=(6, *end.shape)).astype(np.float32) for end in graph.inputs}
    classes = next(end.name for end in graph.outputs if end.shape == (5,))
    labels = {"y" if len(graph.outputs) == 1 else classes: rng.integers(0, 5, 6)}
    np.savez(folder / "samples.npz", **arrays, **labels)  # type: ignore[arg-type]
    return folder / "samples.npz"


@pytest.mark.parametrize(
    ("make", "boards"),
    [
        (two_inputs, (F4, G0)),
        (two_outputs, (F4, G0)),
        (two_inputs, (G0,)),
        pytest.param(two_outputs, (G0,), marks=pytest.mark.nightly),  # the last of two boards gives both
    ],
)
def test_outputs_are_bit_exact_and_named(make: Callable[[Path], Path], boards: tuple[str, ...], tmp_path: Path) -> None:
    model = make(tmp_path)
    path = samples(model, tmp_path)
    options = [option for board in boards for option in ("-b", board)]
    count = ("--sample-count", "2", "--use-all", "-o", str(tmp_path / "out"), "--json")
    output = json.loads(run("run", str(model), "-s", str(path), *options, *count))["output"]
    assert output["bit_exact"]
    assert list(output["outputs"]) == [end.name for end in import_model(model).outputs]
    assert {name: each["top1"] is None for name, each in output["outputs"].items()} == {
        end.name: end.shape != (5,) for end in import_model(model).outputs
    }
    assert output["l2r"] == max(each["l2r"] for each in output["outputs"].values())
    text = run("validate", str(tmp_path / "out"), "-s", str(path))
    if make is two_outputs:
        before = {"value_4": " before the softmax"}
        for name in output["outputs"]:
            assert f"6 samples, output {name}: SQNR{before.get(name, '')} " in text


def test_a_script_gives_inputs_by_name(tmp_path: Path) -> None:
    model = two_inputs(tmp_path)
    with np.load(samples(model, tmp_path)) as held:
        arrays = {name: held[name] for name in ("settings", "x")}
    found = api.split(model, [G0])
    made = api.generate(model, found, arrays, tmp_path / "out")
    api.build(made.folder).check()
    measured = api.measure(made.folder, arrays, api.MeasureSettings(sample_count=2), labels=np.zeros(6, int))
    measured.check()
    assert list(measured.outputs) == ["value_6"]
    with pytest.raises(InputError, match="the dict of arrays lacks the input 'settings' of model"):
        api.measure(made.folder, {"x": arrays["x"]})
