"""Loops of a simple recurrent layer, as tf2onnx writes them for Keras, and loops that are something else."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, helper, numpy_helper

from models.import_check import check
from models.onnx_builder import weights
from session.shared_models import shared_model
from tinysplit.common.errors import InputError
from tinysplit.network.layers import Cell, Dense, Recurrent, Softmax
from tinysplit.onnx_import import import_model

STEPS, INPUTS, UNITS = 6, 3, 4


@dataclass(frozen=True)
class Form:
    """How a loop is written: its function, its steps, what t counts from and by, and which of its outputs is read."""

    function: str = "Tanh"
    steps: int = STEPS
    first: int = 0
    by: int = 1
    output: str = "all"
    swapped: bool = False
    opset: int = 15


def loop_model(form: Form) -> ModelProto:
    """Return a network of one loop."""
    first, second = ("h_product", "x_sum") if form.swapped else ("x_sum", "h_product")
    nodes = [
        helper.make_node("Gather", ["rows", "t"], ["row"], name="gather"),
        helper.make_node("MatMul", ["row", "w"], ["x_product"], name="x_product"),
        helper.make_node("Add", ["x_product", "b"], ["x_sum"], name="x_sum"),
        helper.make_node("MatMul", ["h", "r"], ["h_product"], name="h_product"),
        helper.make_node("Add", [first, second], ["sum"], name="sum"),
        helper.make_node(form.function, ["sum"], ["h_next"], name="function"),
        helper.make_node("Identity", ["h_next"], ["h_out"], name="out"),
        helper.make_node("Add", ["t", "by"], ["t_next"], name="next"),
        helper.make_node("Less", ["t_next", "limit"], ["goes_on"], name="less"),
    ]
    of = helper.make_tensor_value_info
    state, number, flag = [1, UNITS], TensorProto.INT64, TensorProto.BOOL
    carried = [of("t", number, []), of("h", TensorProto.FLOAT, state), of("w", TensorProto.FLOAT, [INPUTS, UNITS])]
    kept = of("w", TensorProto.FLOAT, [INPUTS, UNITS])
    body = helper.make_graph(
        nodes,
        "body",
        [of("i", number, []), of("before", flag, []), *carried],
        [
            *(of("goes_on", flag, []), of("t_next", number, []), of("h_next", TensorProto.FLOAT, state), kept),
            of("h_out", TensorProto.FLOAT, state),
        ],
        [numpy_helper.from_array(np.array(form.by), "by")],
    )
    outer = [
        helper.make_node("Transpose", ["x"], ["rows"], perm=[1, 0, 2], name="rows"),
        helper.make_node(
            "Loop",
            ["", "true", "zero", "h_first", "weights"],
            ["t_last", "last", "w_last", "all"],
            name="loop",
            body=body,
        ),
        helper.make_node("Identity", [form.output], ["y"], name="y"),
    ]
    constants = {
        "true": np.array(True),
        "zero": np.array(form.first),
        "h_first": weights(1, UNITS),
        "weights": weights(INPUTS, UNITS),
        "r": weights(UNITS, UNITS) / 2,
        "b": weights(UNITS),
        "limit": np.array(form.steps),
    }
    graph = helper.make_graph(
        outer,
        "loop",
        [of("x", TensorProto.FLOAT, [1, STEPS, INPUTS])],
        [of("y", TensorProto.FLOAT, [STEPS, 1, UNITS] if form.output == "all" else [1, UNITS])],
        [numpy_helper.from_array(values, name) for name, values in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", form.opset)], ir_version=8)


@pytest.mark.parametrize(
    "form",
    [Form(), Form(function="Relu"), Form(output="last"), Form(swapped=True), Form(opset=12)],
    ids=["all", "relu", "last", "swapped", "axes"],
)
def test_a_loop_of_a_recurrent_layer_is_one(form: Form, tmp_path: Path) -> None:
    path = tmp_path / "loop.onnx"
    onnx.save(loop_model(form), path)
    graph = check(path)
    [layer] = graph.layers
    assert isinstance(layer, Recurrent)
    assert (layer.is_relu, layer.only_last) == (form.function == "Relu", form.output == "last")
    np.testing.assert_array_equal(layer.first_h, loop_constant(path, "h_first")[0])


def loop_constant(path: Path, name: str) -> NDArray[np.float32]:
    tensors = {tensor.name: tensor for tensor in onnx.load(path).graph.initializer}
    return numpy_helper.to_array(tensors[name])


@pytest.mark.parametrize(
    "form",
    [Form(function="Sigmoid"), Form(steps=STEPS - 1), Form(first=1), Form(by=2), Form(output="w_last")],
    ids=["function", "steps", "first", "step", "output"],
)
def test_other_loops_are_refused_by_name(form: Form, tmp_path: Path) -> None:
    path = tmp_path / "loop.onnx"
    model = loop_model(form)
    if form.output == "w_last":
        model.graph.output[0].type.tensor_type.shape.dim[0].dim_value = INPUTS
    onnx.save(model, path)
    with pytest.raises(InputError, match="Loop 'loop'"):
        import_model(path)


def test_a_simple_recurrent_layer_of_keras_is_one() -> None:
    graph = import_model(shared_model("gallery/keras_simple_rnn.onnx"))
    first = graph.layers[0]
    assert isinstance(first, Recurrent)
    assert (first.cell, first.only_last) == (Cell.RNN, True)
    assert [type(layer) for layer in graph.layers[1:]] == [Dense, Softmax]
