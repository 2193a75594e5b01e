"""Networks with several inputs and outputs, held against ONNX Runtime layer by layer, and what is refused of them."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper
from rich.console import Console

from models.import_check import check
from models.onnx_builder import OnnxBuilder, conv, weights
from models.two_inputs import two_inputs, two_outputs
from tinysplit.common.errors import InputError
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.ends import by_name
from tinysplit.network.fixed_point.formats import ValueFormat
from tinysplit.network.float_reference import run_float
from tinysplit.network.graph import Graph
from tinysplit.network.integer_reference import real_outputs, run_integer
from tinysplit.network.samples import Samples
from tinysplit.onnx_import import import_model
from tinysplit.quantize.accuracy import Accuracy, FloatScores
from tinysplit.quantize.choose_formats import quantize
from tinysplit.quantize.quantize_model import Quantization, quantize_model

QUIET = Console(quiet=True)


def samples(graph: Graph, count: int = 8) -> NDArray[np.float32]:
    return np.random.default_rng(2).normal(size=(count, *graph.sample_shape)).astype(np.float32)


def quantized(path: Path, bits: int, x: NDArray[np.float32]) -> Quantization:
    return quantize_model(import_model(path), path, Samples(x), bits, QUIET)


def names(graph: Graph) -> tuple[list[str], list[str]]:
    return [end.name for end in graph.inputs], [end.name for end in graph.outputs]


def test_a_map_and_a_vector(tmp_path: Path) -> None:
    graph = check(two_inputs(tmp_path))
    assert names(graph) == (["x", "settings"], ["value_6"])
    assert [end.shape for end in graph.inputs] == [(2, 6, 6), (3,)]
    assert graph.sample_shape == (75,)
    copies = [layer for layer in graph.layers if layer.kind == "permute"]
    assert [(layer.name, str(layer.out_shape)) for layer in copies] == [("settings", "1x1x3"), ("x", "6x6x2")]


def test_an_output_that_is_read_on_and_one_that_is_a_map(tmp_path: Path) -> None:
    graph = check(two_outputs(tmp_path))
    assert names(graph) == (["x"], ["value_1", "value_4", "value_2"])
    assert [end.shape for end in graph.outputs] == [(4, 6, 6), (5,), (4,)]
    assert graph.layers[-1].inputs == ("value_1", "value_4", "value_2")


def test_outputs_of_one_value(tmp_path: Path) -> None:
    """Two outputs are one value in other shapes; a third one is a part of it."""
    builder = OnnxBuilder([1, 2, 4, 4])
    value = conv(builder, 4, 2)
    flat = builder.node("Flatten")
    builder.value = value
    part = builder.node("Slice", builder.shape(1), builder.shape(3), builder.shape(1))
    builder.outputs = [value, flat, part]
    graph = check(builder.save(tmp_path))
    assert graph.layers[-1].inputs[0] == graph.layers[-1].inputs[1]


def test_inputs_with_channels_last_are_not_moved(tmp_path: Path) -> None:
    builder = OnnxBuilder([1, 6, 6, 2])
    builder.inputs.append(helper.make_tensor_value_info("z", TensorProto.FLOAT, [1, 6, 6, 4]))
    builder.node("Transpose", perm=[0, 3, 1, 2])
    first = conv(builder, 4, 2, pads=[1, 1, 1, 1])
    builder.value = "z"
    builder.node("Transpose", perm=[0, 3, 1, 2])
    builder.node("Add", first)
    graph = check(builder.save(tmp_path))
    assert sorted(layer.kind for layer in graph.layers) == ["add", "conv", "permute", "permute"]  # copies of the inputs
    assert all(np.array_equal(end.order, np.arange(end.size)) for end in graph.inputs)


@pytest.mark.parametrize(("bits", "least_db"), [(8, 25), (16, 60)])
@pytest.mark.parametrize("make", [two_inputs, two_outputs])
def test_each_input_and_output_has_its_own_format(
    make: Callable[[Path], Path], bits: int, least_db: float, tmp_path: Path
) -> None:
    path = make(tmp_path)
    graph = import_model(path)
    x = samples(graph)
    if len(graph.inputs) > 1:
        x[:, 72:] *= 500
    found = quantized(path, bits, x).quantized
    if len(graph.inputs) > 1:
        first, second = found.input_formats
        assert second.scale > 50 * first.scale
    results = real_outputs(found, run_integer(found, x))
    expected = run_float(path, x).reshape(len(x), -1)
    for name, values in by_name(graph.outputs, results).items():
        wanted = by_name(graph.outputs, expected)[name]
        noise = ((values - wanted) ** 2).sum() / (wanted.astype(np.float64) ** 2).sum()
        assert -10 * np.log10(noise) > least_db
    accuracy = Accuracy.of(found, FloatScores.of(graph, path, Samples(x)))
    assert list(accuracy.outputs) == [end.name for end in graph.outputs]
    assert accuracy.sqnr_db == min(each.sqnr_db for each in accuracy.outputs.values()) > least_db
    assert [each.agreement is None for each in accuracy.outputs.values()] == [
        len(end.shape) > 1 for end in graph.outputs
    ]


def test_values_side_by_side_have_one_width(tmp_path: Path) -> None:
    graph = import_model(two_outputs(tmp_path))
    widths = BitWidths.all(graph, 8).with_value(graph, "value_2", 16)
    together = {"value_1", "value_2", "value_4", graph.layers[-1].output}
    assert {name for name, bits in widths.values.items() if bits == 16} == together
    graph = import_model(two_inputs(tmp_path))
    widths = BitWidths.all(graph, 8).with_value(graph, graph.input_name, 16)
    assert {name for name, bits in widths.values.items() if bits == 16} == {"x", "settings", graph.input_name}


def test_formats_of_other_widths_are_refused(tmp_path: Path) -> None:
    path = two_inputs(tmp_path)
    found = quantized(path, 8, samples(import_model(path))).quantized
    formats = [layer.formats for layer in found.layers]
    formats[0] = replace(formats[0], y=ValueFormat.of(16, 1.0, 0))
    with pytest.raises(InputError, match="layer 'settings': its formats do not match its kind"):
        quantize(found.graph, formats, 16)


def qdq_network(folder: Path, kinds: tuple[type[np.integer], ...]) -> Path:
    """Return a network with a quantized input of each type, which it adds."""
    builder = OnnxBuilder([1, 4])
    builder.opset = 21
    builder.inputs.append(helper.make_tensor_value_info("z", TensorProto.FLOAT, [1, 4]))
    values = []
    for value, kind in zip(("x", "z"), kinds, strict=True):
        scale = builder.constant(0.25 if value == "x" else 0.125)
        builder.value = value
        builder.node("QuantizeLinear", scale, builder.constant(0, kind))
        values.append(builder.node("DequantizeLinear", scale, builder.constant(0, kind)))
    builder.node("Add", values[0])
    return builder.save(folder)


def test_formats_of_a_file(tmp_path: Path) -> None:
    path = qdq_network(tmp_path, (np.int8, np.int8))
    x = samples(import_model(path))
    assert [each.scale for each in quantized(path, 16, x).quantized.input_formats] == [0.25, 0.125]
    path = qdq_network(tmp_path, (np.int8, np.int16))
    with pytest.raises(InputError, match="'x' 8 bits and 'z' 16 bits have different widths: all inputs of a network"):
        quantized(path, 8, x)


def refusal(builder: OnnxBuilder, folder: Path) -> str:
    with pytest.raises(InputError) as caught:
        import_model(builder.save(folder))
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_what_is_refused(tmp_path: Path) -> None:
    builder = OnnxBuilder([1, 4])
    builder.inputs.append(helper.make_tensor_value_info("z", TensorProto.FLOAT, [1, 4]))
    builder.node("Gemm", builder.constant(weights(4, 2)))
    assert "no output of" in (text := refusal(builder, tmp_path))
    assert text.endswith("depends on its input 'z': export the network without it")
    builder.outputs = [builder.value, "z"]
    builder.nodes.append(helper.make_node("Identity", ["z"], ["same"]))
    builder.outputs = [builder.value, "same"]
    assert "has but the values of its input 'z'" in refusal(builder, tmp_path)
    builder.inputs.pop()
    builder.nodes[-1].input[0] = builder.constant([[1.0]])
    assert "the output 'same' of" in refusal(builder, tmp_path)
    builder.nodes.pop()
    builder.node("MaxPool", kernel_shape=[2])
    builder.nodes[0].CopyFrom(helper.make_node("Unsqueeze", ["x", builder.shape(1)], ["value_0"]))
    builder.nodes[1].output.append("indices")
    builder.outputs = [builder.value, "indices"]
    model = builder.model()
    model.graph.output[1].type.tensor_type.elem_type = TensorProto.INT64
    onnx.save(model, tmp_path / "indices.onnx")
    with pytest.raises(InputError, match="MaxPool 'maxpool_1' computes the output 'indices' of the network, which it"):
        import_model(tmp_path / "indices.onnx")


def test_two_inputs_with_one_name(tmp_path: Path) -> None:
    path = two_inputs(tmp_path)
    model = onnx.load(path)
    model.graph.input[1].name = "x"
    for node in model.graph.node:
        node.input[:] = ["x" if name == "settings" else name for name in node.input]
    onnx.save(model, path)
    with pytest.raises(InputError, match="'x' has been used as graph input names multiple times") as caught:
        import_model(path)
    assert "\n" not in str(caught.value)


def test_a_condition_without_a_batch(tmp_path: Path) -> None:
    """Features of a map that a vector beside it scales (FiLM)."""
    builder = OnnxBuilder(["n", 2, 6, 6])
    builder.inputs.append(helper.make_tensor_value_info("condition", TensorProto.FLOAT, [3]))
    mapped = conv(builder, 4, 2, pads=[1, 1, 1, 1])
    builder.value = "condition"
    builder.node("Reshape", builder.shape(1, 3))
    builder.node("Gemm", builder.constant(weights(3, 4)))
    scale = builder.node("Reshape", builder.shape(1, 4, 1, 1))
    builder.value = mapped
    builder.node("Mul", scale)
    graph = check(builder.save(tmp_path))
    assert [end.shape for end in graph.inputs] == [(2, 6, 6), (3,)]
