"""Every command and every Python block of docs/start/tutorial.md: run in its order, or parsed where it needs hardware.

PyTorch and Keras run where they are installed; stand-ins of them always run, and write the example network.
"""

import importlib.util
import re
import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest

from commands.command_line import run
from example_folders.example import MODEL, SAMPLES, shared_example
from tinysplit.cli.app import imported_command
from tinysplit.cli.config.command import CONFIG_NAME
from tinysplit.network.samples import load_samples
from tinysplit.onnx_import import import_model

PAGE = Path(__file__).parents[2] / "docs" / "start" / "tutorial.md"


def texts(kind: str) -> list[str]:
    """Return the blocks of one kind."""
    return re.findall(rf"^```{kind}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


def commands(kind: str) -> list[list[str]]:
    """Return the arguments of the commands in blocks of one kind."""
    lines = [shlex.split(line) for block in texts(kind) for line in block.splitlines()]
    assert all(line[0] == "tinysplit" for line in lines)
    return [line[1:] for line in lines]


def test_the_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    example, *others = commands("sh")
    run(*example)
    monkeypatch.chdir(tmp_path / "digits")
    (config,) = texts("toml")
    Path(CONFIG_NAME).write_text(config)
    _, built = shared_example("nucleo_g071rb", "nucleo_g071rb")
    shutil.copytree(built, "out")  # the same programs, which then need not be built again
    shown = " ".join("".join(run(*each) for each in others).split())  # long lines are broken
    assert Path("report.html").is_file()
    page = PAGE.read_text(encoding="utf-8")
    for line in re.findall(r"^    (Outputs of.*|Integer reference.*)$", page, re.MULTILINE):
        assert line in shown


@pytest.mark.parametrize("command", commands("sh hardware"), ids=" ".join)
def test_commands_for_hardware_are_understood(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("tinysplit.toml").write_text('samples = "samples.npz"')
    name, *arguments = command
    group = imported_command(name)
    parsed = group.commands[arguments.pop(0)] if name == "bench" else group
    parsed.make_context(name, arguments)


def blocks() -> dict[str, str]:
    """Return the Python blocks by what they are about. An unknown one is an error: a test has to run it."""
    found = texts("python")
    marks = {"torch.onnx": "PyTorch", "model.export": "Keras", "np.savez": "samples"}
    named = {marks[next(mark for mark in marks if mark in block)]: block for block in found}
    assert len(named) == len(found) == len(marks)
    return named


def execute(name: str, **names: object) -> None:
    exec(compile(blocks()[name], f"{PAGE.name}, {name}", "exec"), dict(names))  # noqa: S102 - what the page tells to run


def write_example(path: str, input_name: str, output_name: str, opset: int) -> None:
    """Write the example network as an exporter would, with names and opset of its arguments."""
    model = onnx.load(MODEL)
    old = {model.graph.input[0].name: input_name, model.graph.output[0].name: output_name}
    for value in (*model.graph.input, *model.graph.output):
        value.name = old[value.name]
    for node in model.graph.node:
        for names in (node.input, node.output):
            names[:] = [old.get(name, name) for name in names]
    model.opset_import[0].version = opset
    onnx.checker.check_model(model)
    onnx.save(model, path)


def stand_in_torch() -> ModuleType:
    """Return a module with what the page uses of PyTorch, as its documentation describes it."""

    def export(
        model: SimpleNamespace,
        args: np.ndarray[Any, Any],
        f: str,
        *,
        input_names: Sequence[str],
        output_names: Sequence[str],
        opset_version: int,
    ) -> None:
        assert model.is_evaluating
        assert args.shape == (1, *import_model(MODEL).sample_shape)
        (input_name,), (output_name,) = input_names, output_names
        write_example(f, input_name, output_name, opset_version)

    torch = ModuleType("torch")
    torch.zeros = lambda *shape: np.zeros(shape, np.float32)  # type: ignore[attr-defined]
    torch.onnx = SimpleNamespace(export=export)  # type: ignore[attr-defined]
    return torch


def check_network(path: str) -> None:
    """The network is one that the next commands of the page take: analyze, and quantize with the page's samples."""
    graph = import_model(Path(path))
    assert sorted(graph.sample_shape) == [1, 28, 28]
    assert graph.output_shape == (10,)
    assert "dense" in run("analyze", path)
    images = np.load(SAMPLES)["x"].reshape(-1, *graph.sample_shape)
    labels = np.load(SAMPLES)["y"]
    execute("samples", train_images=images, test_images=images[:50], test_labels=labels[:50])
    for name, count in (("calibration.npz", 100), ("samples.npz", 50)):
        samples = load_samples(Path(name), graph)
        assert len(samples.x) == count
        assert (not samples.labels) == (name == "calibration.npz")
    run("quantize", path, "--samples", "calibration.npz")


def installed(*names: str) -> list[ModuleType]:
    """Return the modules; skip the test, and say what is missing, where one is not installed."""
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}; the block of the page ran with a stand-in only")
    return [importlib.import_module(name) for name in names]


@pytest.mark.parametrize("name", ["PyTorch", "Keras", "samples"])
def test_python_compiles(name: str) -> None:
    compile(blocks()[name], name, "exec")


def test_pytorch_with_a_stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "torch", stand_in_torch())
    network = SimpleNamespace(is_evaluating=False)
    network.eval = lambda: setattr(network, "is_evaluating", True)
    execute("PyTorch", network=network)
    check_network("net.onnx")
    assert import_model(Path("net.onnx")).input_name == "image"


class KerasModel:
    """A stand-in of a model that has no shapes before it was called, and cannot be exported."""

    shape: tuple[int, ...] | None = None

    def __call__(self, x: np.ndarray[Any, Any]) -> None:
        self.shape = x.shape

    def export(self, filepath: str, format: str = "tf_saved_model") -> None:  # noqa: A002 - Keras calls it so
        assert format == "onnx"
        assert self.shape == (1, 28, 28, 1)
        write_example(filepath, "input", "output", 18)


def test_keras_with_a_stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    execute("Keras", model=KerasModel())
    check_network("net.onnx")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of that package
def test_pytorch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch, _ = installed("torch", "onnxscript")
    monkeypatch.chdir(tmp_path)
    nn = torch.nn
    network = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(4 * 13 * 13, 10))
    execute("PyTorch", network=network)
    check_network("net.onnx")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of that package
def test_keras(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keras, _ = installed("keras", "tf2onnx")
    monkeypatch.chdir(tmp_path)
    layers = keras.layers
    convolution = (layers.Conv2D(4, 3, activation="relu"), layers.MaxPooling2D())
    model = keras.Sequential([keras.Input((28, 28, 1)), *convolution, layers.Flatten(), layers.Dense(10)])
    execute("Keras", model=model)
    check_network("net.onnx")
