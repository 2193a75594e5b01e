import subprocess
import sys

import numpy as np
import onnx
import pytest

from example_folders.example import FOLDER, MODEL
from splits.exhaustive import exhaustive_search
from tinysplit.boards.catalog import load_board
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.onnx_import import import_model
from tinysplit.split.solvers.no_split import NoSplitError


def test_costs_are_those_of_santamaria_2021() -> None:
    graph = import_model(MODEL)
    weights = sum(values.size for layer in graph.layers for values in layer.parameters.values())
    assert (graph.macc, weights) == (809_146, 19_162)
    assert round(4 * weights / 1024, 2) == 74.85  # KB of flash, Table 2
    assert round(graph.macc / 1e6, 2) == 0.81  # Table 2
    assert round(graph.macc * 307 / 64e6, 2) == 3.88  # L, Table 5
    behind_second_block = graph.layers[3].out_shape.size
    assert round(4 * behind_second_block * 8 / 115200, 2) == 0.22  # T, Table 5


def test_readme_lists_the_layers() -> None:
    readme = (FOLDER / "README.md").read_text()
    for layer in import_model(MODEL).layers:
        macc = f"{layer.macc:,}".replace(",", " ")
        assert f"| {macc} |" in readme


def test_model_has_a_symbolic_batch() -> None:
    model = onnx.load(MODEL)
    assert model.opset_import[0].version >= 13
    assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"
    assert MODEL.stat().st_size < 100_000


@pytest.mark.parametrize(("name", "count"), [("calibration", 100), ("samples", 360)])
def test_samples(name: str, count: int) -> None:
    with np.load(FOLDER / f"{name}.npz") as arrays:
        x = arrays["x"]
    assert x.shape == (count, 1, 28, 28)
    assert x.dtype == np.float32
    assert (x.min(), x.max()) == (0, 1)


def test_held_out_samples_were_not_calibrated_on() -> None:
    with np.load(FOLDER / "calibration.npz") as calibration, np.load(FOLDER / "samples.npz") as samples:
        seen = {x.tobytes() for x in calibration["x"]}
        assert not any(x.tobytes() in seen for x in samples["x"])
        assert sorted(set(samples["y"])) == list(range(10))


def test_accuracy_is_what_the_readme_says() -> None:
    command = [sys.executable, str(FOLDER / "evaluate.py")]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    readme = (FOLDER / "README.md").read_text()
    lines = printed.splitlines()
    assert lines[0] == "tiny_cnn: top-1 accuracy, float32: 352 of 360 = 0.9778"
    assert [line.split(":")[0] for line in lines] == ["tiny_cnn", "wide_cnn"]
    assert all(f"    {line}\n" in readme for line in lines)


def test_the_network_of_the_demo_needs_two_boards() -> None:
    graph, board = import_model(FOLDER / "wide_cnn.onnx"), load_board("nucleo_g071rb")
    with pytest.raises(NoSplitError):
        exhaustive_search(make_problem(shipped_table(), graph, [board], CostSettings()))
    assert set(exhaustive_search(make_problem(shipped_table(), graph, [board, board], CostSettings())).assignment) == {
        0,
        1,
    }
