"""LSTM, GRU and RNN: cells, directions and states, and layers that keep the state of the last step alone."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from models.import_check import check
from models.onnx_builder import OnnxBuilder, conv, weights
from models.value_ranges import ranges_of
from session.shared_models import shared_model
from tinysplit.network.float_reference import run_float
from tinysplit.network.integer_reference import run_integer
from tinysplit.network.layers import Cell, Concat, Conv, Dense, Permute, Recurrent, Shape
from tinysplit.onnx_import import import_model
from tinysplit.quantize.choose_formats import choose_formats, quantize

STEPS, INPUTS, UNITS = 7, 5, 6
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
FORMS: list[tuple[str, dict[str, Any]]] = [
    ("LSTM", {}),
    ("GRU", {}),
    ("GRU", {"linear_before_reset": 1}),
    ("RNN", {}),
    ("RNN", {"activations": ["Relu"]}),
]


def recurrent(
    b: OnnxBuilder,
    operator: str,
    outputs: tuple[str, ...] = ("all", "last"),
    *,
    direction: str = "forward",
    inputs: int = INPUTS,
    states: bool = False,
    lengths: tuple[int, ...] = (),
    **attributes: Any,  # noqa: ANN401 - as onnx.helper takes them
) -> None:
    """Add a recurrent operator on steps x batch x inputs; `outputs` are the names of those that it has."""
    count, rows = 1 + (direction == "bidirectional"), GATES[operator] * UNITS
    operands = [b.constant(0.5 * weights(count, rows, size)) for size in (inputs, UNITS)]
    operands += [b.constant(weights(count, 2 * rows)), b.constant(lengths, np.int32) if lengths else ""]
    if states:
        operands += [b.constant(weights(count, 1, UNITS).clip(-1, 1)) for _ in range(1 + (operator == "LSTM"))]
    b.node(operator, *operands, hidden_size=UNITS, direction=direction, **attributes)
    del b.nodes[-1].output[:]
    b.nodes[-1].output.extend(outputs)
    b.value = next(filter(None, outputs))


def sequence(shape: tuple[int | str, ...] = ("n", INPUTS, STEPS)) -> OnnxBuilder:
    """Return a network that begins with a map and goes on with its steps x batch x channels."""
    b = OnnxBuilder(shape, 17)
    b.node("Transpose", perm=[2, 0, 1])
    return b


def rows(b: OnnxBuilder, *, directions: int = 1) -> None:
    """Add the transposition of all states to batch x steps x units."""
    b.node("Transpose", perm=[2, 0, 1, 3])
    b.node("Reshape", b.shape(1, STEPS, directions * UNITS))


@pytest.mark.parametrize("states", [False, True])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize(("operator", "attributes"), FORMS)
def test_all_states_are_those_of_onnx_runtime(
    operator: str, attributes: dict[str, Any], direction: str, states: bool, tmp_path: Path
) -> None:
    b = sequence()
    if direction == "bidirectional" and "activations" in attributes:
        attributes = {"activations": ["Relu", "Relu"]}
    recurrent(b, operator, ("all",), direction=direction, states=states, **attributes)
    rows(b, directions=1 + (direction == "bidirectional"))
    graph = check(b.save(tmp_path))
    kinds = [type(layer) for layer in graph.layers]
    assert kinds == ([Recurrent, Recurrent, Concat] if direction == "bidirectional" else [Recurrent])
    assert graph.out_shape == Shape(1, STEPS, (1 + (direction == "bidirectional")) * UNITS)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("operator", GATES)
def test_last_states_alone_are_kept_where_only_they_are_read(operator: str, direction: str, tmp_path: Path) -> None:
    b = sequence()
    recurrent(b, operator, ("", "last"), direction=direction)
    b.node("Transpose", perm=[1, 0, 2])
    b.node("Reshape", b.shape(1, -1))
    b.node("Gemm", b.constant(weights(UNITS * (1 + (direction == "bidirectional")), 3)))
    graph = check(b.save(tmp_path))
    layers = [layer for layer in graph.layers if isinstance(layer, Recurrent)]
    assert all(layer.only_last and layer.out_shape == Shape(1, 1, UNITS) for layer in layers)
    assert isinstance(graph.layers[-1], Dense)


Take = Callable[[OnnxBuilder], str]
TAKES: dict[str, Take] = {
    "gather": lambda b: b.node("Gather", b.constant(-1, np.int64), axis=1),
    "slice": lambda b: (b.node("Slice", b.shape(-1), b.shape(STEPS), b.shape(1)), b.node("Squeeze", b.shape(1)))[1],
}


@pytest.mark.parametrize("take", TAKES)
def test_the_last_of_all_states_is_a_layer_that_keeps_it_alone(take: str, tmp_path: Path) -> None:
    b = sequence()
    recurrent(b, "GRU", ("all",))
    rows(b)
    TAKES[take](b)
    b.node("Gemm", b.constant(weights(UNITS, 3)))
    graph = check(b.save(tmp_path))
    assert [type(layer) for layer in graph.layers] == [Recurrent, Dense]


def test_a_step_that_is_not_the_last_is_copied(tmp_path: Path) -> None:
    b = sequence()
    recurrent(b, "GRU", ("all",), direction="reverse")
    rows(b)
    TAKES["gather"](b)
    b.node("Gemm", b.constant(weights(UNITS, 3)))
    graph = check(b.save(tmp_path))
    assert [type(layer) for layer in graph.layers] == [Recurrent, Permute, Dense]


def test_all_states_and_the_last_ones_are_read_from_one_layer(tmp_path: Path) -> None:
    b = sequence()
    recurrent(b, "LSTM", ("all", "last"))
    b.value = "all"
    b.node("Add", "last")
    rows(b)
    graph = check(b.save(tmp_path))
    assert sum(isinstance(layer, Recurrent) for layer in graph.layers) == 1


def test_layers_follow_each_other_without_copies(tmp_path: Path) -> None:
    b = sequence()
    recurrent(b, "LSTM", ("first",), direction="bidirectional")
    b.node("Transpose", perm=[0, 2, 1, 3])
    b.node("Reshape", b.shape(STEPS, 1, 2 * UNITS))
    recurrent(b, "GRU", ("all",), inputs=2 * UNITS)
    rows(b)
    graph = check(b.save(tmp_path))
    assert [type(layer) for layer in graph.layers] == [Recurrent, Recurrent, Concat, Recurrent]


def test_columns_of_a_map_become_steps_by_one_copy(tmp_path: Path) -> None:
    b = OnnxBuilder(["n", 2, 3, STEPS], 17)
    conv(b, 4, 2, pads=[1, 1, 1, 1])
    b.node("Transpose", perm=[3, 0, 1, 2])
    b.node("Reshape", b.shape(STEPS, 1, 12))
    recurrent(b, "GRU", ("all",), inputs=12)
    rows(b)
    graph = check(b.save(tmp_path))
    assert [type(layer) for layer in graph.layers] == [Conv, Permute, Recurrent]


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize(("operator", "attributes"), FORMS)
def test_integers_are_those_of_the_float_network(
    operator: str, attributes: dict[str, Any], bits: int, tmp_path: Path
) -> None:
    b = sequence()
    recurrent(b, operator, ("all",), states=True, **attributes)
    rows(b)
    path = b.save(tmp_path)
    graph = import_model(path)
    x = np.random.default_rng(2).normal(size=(8, *graph.sample_shape)).astype(np.float32)
    expected = run_float(path, x)
    quantized = quantize(graph, choose_formats(graph, ranges_of(graph, path, x), bits), bits)
    error = quantized.output_formats[0].dequantize(run_integer(quantized, x)).reshape(expected.shape) - expected
    noise = 10 * np.log10((expected**2).sum() / (error**2).sum())
    assert noise > {8: 33, 16: 60}[bits]


def with_states(b: OnnxBuilder, operator: str, outputs: tuple[str, ...], count: int = 1, **attributes: Any) -> None:  # noqa: ANN401
    """Add a recurrent operator whose first states are inputs of the network."""
    recurrent(b, operator, outputs, **attributes)
    names = ("h", "c")[: 1 + (operator == "LSTM")]
    b.inputs += [helper.make_tensor_value_info(name, TensorProto.FLOAT, [count, 1, UNITS]) for name in names]
    b.nodes[-1].input.extend(["", *names][len(b.nodes[-1].input) - 4 :])


@pytest.mark.parametrize("outputs", [("all", "last"), ("", "last"), ("all", "last", "cell"), ("", "", "cell")])
@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
@pytest.mark.parametrize("operator", GATES)
def test_states_that_are_inputs_and_outputs(
    operator: str, direction: str, outputs: tuple[str, ...], tmp_path: Path
) -> None:
    if operator != "LSTM" and "cell" in outputs:
        return
    b = sequence()
    with_states(b, operator, outputs, 1 + (direction == "bidirectional"), direction=direction)
    b.outputs = [name for name in outputs if name]
    graph = check(b.save(tmp_path))
    layers = [layer for layer in graph.layers if isinstance(layer, Recurrent)]
    assert all(layer.given_h and layer.given_c == (operator == "LSTM") for layer in layers)


def test_states_of_two_layers_in_one_input_with_a_free_batch(tmp_path: Path) -> None:
    b = sequence()
    b.inputs.append(helper.make_tensor_value_info("h", TensorProto.FLOAT, [2, "n", UNITS]))
    value = b.value
    b.value = "h"
    states = [b.node("Slice", b.shape(i), b.shape(i + 1), b.shape(0)) or b.value for i in range(1)]
    b.value = "h"
    states.append(b.node("Gather", b.constant([1], np.int64), axis=0))
    b.value = value
    for number, inputs in enumerate((INPUTS, UNITS)):
        recurrent(b, "GRU", (f"all {number}", f"last {number}"), inputs=inputs)
        b.nodes[-1].input.extend(["", states[number]][len(b.nodes[-1].input) - 4 :])
        b.node("Squeeze", b.shape(1))
    b.value = "last 0"
    b.node("Concat", "last 1", axis=0)
    b.outputs = ["all 1", b.value]
    graph = check(b.save(tmp_path))
    assert [end.shape for end in graph.inputs] == [(INPUTS, STEPS), (2, 1, UNITS)]
    assert graph.outputs[1].shape == (2, 1, UNITS)


@pytest.mark.parametrize(("name", "cell"), [("gru_kws_dynamo18", Cell.GRU), ("keras_lstm_har", Cell.LSTM)])
def test_networks_of_exporters_are_a_recurrent_layer_and_a_dense_one(name: str, cell: Cell) -> None:
    graph = import_model(shared_model(f"gallery/{name}.onnx"))
    first, second, *_ = graph.layers
    assert isinstance(first, Recurrent)
    assert (first.cell, first.only_last) == (cell, True)
    assert isinstance(second, Dense)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("operator", GATES)
def test_the_last_state_beside_all_states(tmp_path: Path, operator: str, direction: str) -> None:
    b = sequence()
    recurrent(b, operator, direction=direction)
    b.node("Add", "last")
    check(b.save(tmp_path))


def test_a_sequence_whose_steps_come_first(tmp_path: Path) -> None:
    b = OnnxBuilder([STEPS, "batch", INPUTS], 17)
    recurrent(b, "GRU", ("all",))
    graph = check(b.save(tmp_path))
    assert [type(layer) for layer in graph.layers] == [Recurrent]
    assert graph.sample_shape == (STEPS, 1, INPUTS)
