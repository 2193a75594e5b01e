"""The lines that scripts get are those that the commands print on stderr, word for word."""

import shutil
from collections.abc import Callable, Sequence
from functools import partial
from math import inf
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper
from typer.testing import CliRunner

from example_folders.example import CALIBRATION, FOLDER, MODEL, SAMPLES, shared_example
from tinysplit import api
from tinysplit.cli.app import app
from tinysplit.common import progress

BOARDS = ("nucleo_g071rb", "nucleo_l452re")
OPTIONS = ("-b", BOARDS[0], "-b", BOARDS[1])
ALL_BOARDS = api.CostSettings(use_all=True)


class NoWait:
    """A timer whose time is over at once: what is said of slow steps only is said of all."""

    def __init__(self, _s: float, function: Callable[..., None], args: Sequence[str], kwargs: dict[str, bool]) -> None:
        self.call = partial(function, *args, **kwargs)

    def start(self) -> None:
        self.call()

    def cancel(self) -> None:
        pass


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(progress, "Timer", NoWait)
    monkeypatch.setattr(progress, "LINE_S", inf)
    for path in (MODEL, CALIBRATION, SAMPLES):
        shutil.copy(path, path.name)


def printed(*arguments: str) -> list[str]:
    """Return the lines of a command on stderr in the words of scripts, without those about files of its own."""
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    lines = result.stderr.replace("--no-use-all", "use_all=False").replace("--use-all", "use_all=True").splitlines()
    return [line for line in lines if not line.startswith(("journal: ", "wrote "))]


def test_split_and_pareto() -> None:
    lines: list[str] = []
    api.split(MODEL.name, BOARDS, ALL_BOARDS, progress=lines.append)
    assert lines == printed("split", MODEL.name, *OPTIONS, "--use-all")
    assumed = "links at 4000000 baud, assumed for short wires: `tinysplit wiring` tests it"
    removed = "removed rows and columns that no layer reads: 0.81 M MACs become 0.43 M"
    splitting = f"splitting tiny_cnn over {', '.join(BOARDS)} ..."
    assert lines[:4] == ["reading tiny_cnn.onnx ...", assumed, removed, splitting]
    lines.clear()
    api.pareto(MODEL.name, BOARDS, api.SecondObjective.ENERGY, progress=lines.append)
    assert lines == printed("pareto", MODEL.name, *OPTIONS, "--second-objective", "energy")


def test_a_network_without_weights() -> None:
    model = onnx.load(MODEL)
    for tensor in [each for each in model.graph.initializer if each.data_type == TensorProto.FLOAT]:
        model.graph.input.append(helper.make_tensor_value_info(tensor.name, TensorProto.FLOAT, tensor.dims))
        model.graph.initializer.remove(tensor)
    onnx.save(model, "bare.onnx")
    lines: list[str] = []
    api.split("bare.onnx", BOARDS, ALL_BOARDS, progress=lines.append)
    assert lines == printed("split", "bare.onnx", *OPTIONS, "--use-all")
    assert lines[1] == "note: bare.onnx lacks weights: estimates do not need them"


@pytest.mark.parametrize("names", [(MODEL.name,), (MODEL.name, "wide_cnn.onnx")])
def test_explore(names: tuple[str, ...]) -> None:
    shutil.copy(FOLDER / "wide_cnn.onnx", "wide_cnn.onnx")
    lines: list[str] = []
    api.explore(names, BOARDS, api.ExploreSettings(slices=api.Slices.NONE), progress=lines.append)
    assert lines == printed("explore", *names, *OPTIONS, "--slices", "none", "--workers", "1")
    assert lines[0] == f"reading {names[0] if len(names) == 1 else '2 networks'} ..."


def test_generate_build_and_measure() -> None:
    lines: list[str] = []
    api.split(MODEL.name, BOARDS, ALL_BOARDS).write(Path("split.json"))
    api.generate(MODEL.name, "split.json", CALIBRATION.name, "out", progress=lines.append)
    options = ("--split", "split.json", "--samples", CALIBRATION.name, "-o", "out", "--force")
    assert lines == printed("generate", MODEL.name, *options)
    lines.clear()
    shutil.rmtree("out")
    shutil.copytree(shared_example("nucleo_g071rb", "nucleo_g071rb")[1], "out")
    api.build("out", progress=lines.append)
    assert lines == printed("build", "out") == ["building 2 projects ..."]
    lines.clear()
    api.measure("out", SAMPLES.name, api.MeasureSettings(sample_count=1), progress=lines.append)
    assert lines == printed("measure", "out", "--samples", SAMPLES.name, "--sample-count", "1")
    assert lines[0] == "running on virtual boards ..."
