"""Networks without the values of their weights: estimates are those of the trained network."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto, TensorProto, helper

from example_folders.example import MODEL as TINY_CNN
from tinysplit.boards.catalog import load_all
from tinysplit.common.errors import InputError
from tinysplit.costs.problem_builder import make_problem
from tinysplit.costs.settings import CostSettings
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.onnx_import import import_model
from tinysplit.split.problem import Problem

BOARDS = ("nucleo_g071rb", "nucleo_f401re")


def as_inputs(model: ModelProto) -> ModelProto:
    """Return the network as PyTorch exports it without parameters: its weights are inputs."""
    weights = [tensor for tensor in model.graph.initializer if tensor.data_type == TensorProto.FLOAT]
    for tensor in weights:
        model.graph.input.append(helper.make_tensor_value_info(tensor.name, TensorProto.FLOAT, tensor.dims))
        model.graph.initializer.remove(tensor)
    return model


@pytest.fixture
def trained() -> ModelProto:
    return onnx.load(TINY_CNN)


def problem_of(path: Path) -> Problem:
    graph = import_model(path, needs_weights=False)
    return make_problem(shipped_table(), replace(graph, sha256=""), load_all(BOARDS), CostSettings())


def times_and_memory(problem: Problem) -> list[tuple[object, ...]]:
    return [(layer.flash_bytes, layer.ram_bytes, layer.out_bytes) for layer in problem.layers]


def test_weights_as_inputs_are_not_needed(trained: ModelProto, tmp_path: Path) -> None:
    path = tmp_path / "shapes.onnx"
    onnx.save(as_inputs(trained), path)
    whole, shapes = problem_of(TINY_CNN), problem_of(path)
    assert not import_model(path, needs_weights=False).has_weights
    assert times_and_memory(whole) == times_and_memory(shapes)
    seconds = [[layer.seconds for layer in problem.layers] for problem in (whole, shapes)]
    np.testing.assert_allclose(seconds[1], seconds[0], rtol=0.05)  # groups of packed weights depend on their values


def test_a_file_of_weights_may_be_missing(trained: ModelProto, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(trained, path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    assert import_model(path, needs_weights=False).has_weights
    (tmp_path / "weights.bin").unlink()
    with pytest.raises(InputError, match=r"keeps weights in weights\.bin, which is missing"):
        import_model(path)
    assert not import_model(path, needs_weights=False).has_weights


def test_what_needs_weights_says_so(trained: ModelProto, tmp_path: Path) -> None:
    path = tmp_path / "shapes.onnx"
    onnx.save(as_inputs(trained), path)
    with pytest.raises(InputError, match=r"has \d+ inputs \(.*\), \d+ of them weights \(export it with"):
        import_model(path)
