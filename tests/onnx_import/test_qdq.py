"""Networks that come quantized (QDQ), made by ONNX Runtime's quantizer, against what ONNX Runtime makes of them."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnxruntime.quantization import QuantFormat, QuantType, quantize_static

from models.onnx_builder import OnnxBuilder, conv, weights
from models.qdq import Reader
from models.value_ranges import clipped_ranges
from tinysplit.common.errors import InputError
from tinysplit.network.float_reference import run_float
from tinysplit.network.graph import Graph
from tinysplit.network.integer_reference import run_integer
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.onnx_import import import_model
from tinysplit.quantize.choose_formats import choose_formats, quantize
from tinysplit.quantize.statistics import value_statistics

X = np.random.default_rng(3).normal(size=(40, 3, 8, 8)).astype(np.float32)


@pytest.fixture(scope="module")
def float_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    builder = OnnxBuilder([1, 3, 8, 8])
    conv(builder, 8, 3, pads=[1, 1, 1, 1])
    left = builder.node("Relu")
    conv(builder, 8, 1, pads=[1, 1, 1, 1], group=8)
    builder.node("Relu")
    conv(builder, 8, 8, (1, 1))
    builder.node("Add", left)
    builder.node("MaxPool", kernel_shape=[2, 2], strides=[2, 2])
    builder.node("AveragePool", kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    builder.node("Flatten")
    builder.node("Gemm", builder.constant(weights(5, 128)), builder.constant(weights(5)), transB=1)
    return builder.save(tmp_path_factory.mktemp("float"))


def quantized_model(
    float_model: Path, folder: Path, activations: QuantType, *, per_channel: bool, dedicated: bool = False
) -> Path:
    path = folder / "quantized.onnx"
    quantize_static(
        str(float_model),
        str(path),
        Reader(X),
        quant_format=QuantFormat.QDQ,
        per_channel=per_channel,
        activation_type=activations,
        weight_type=QuantType.QInt8,
        extra_options={"DedicatedQDQPair": dedicated},
    )
    return path


@pytest.mark.parametrize("activations", [QuantType.QInt8, QuantType.QUInt8])
@pytest.mark.parametrize("per_channel", [True, False])
def test_scales_are_kept_and_outputs_agree(
    float_model: Path, tmp_path: Path, activations: QuantType, per_channel: bool
) -> None:
    path = quantized_model(float_model, tmp_path, activations, per_channel=per_channel)
    graph = import_model(path)
    ranges = clipped_ranges(value_statistics(path, graph.value_names, X), 8)
    formats = choose_formats(graph, ranges, 8)
    outputs = {layer.output: chosen.y for layer, chosen in zip(graph.layers, formats, strict=True)}
    assert graph.qdq_formats[graph.input_name] == formats[0].x
    assert all(outputs[name] == own for name, own in graph.qdq_formats.items() if name in outputs)
    quantized = quantize(graph, formats, 8)
    assert_weights_are_those_of_the_file(graph, path, [layer.constants for layer in quantized.layers])
    assert_outputs_agree(quantized, path)


def assert_outputs_agree(quantized: QuantizedGraph, path: Path) -> None:
    outputs_in_steps = (
        quantized.output_formats[0].dequantize(run_integer(quantized, X)) / quantized.output_formats[0].scale
    )
    difference = outputs_in_steps - run_float(path, X) / quantized.output_formats[0].scale
    assert np.abs(difference).max() <= 4  # steps: ONNX Runtime rounds in float between the layers
    assert np.abs(difference).mean() < 1


@pytest.mark.parametrize(
    ("operator", "attributes"),
    [
        ("MaxPool", {"kernel_shape": [2, 2], "strides": [2, 2]}),
        ("Resize", {}),
        ("Resize", {"mode": "linear"}),
        ("Pad", {}),
        ("Reshape", {}),
    ],
)
@pytest.mark.parametrize("dedicated", [False, True])
def test_relu_that_only_a_zero_point_stands_for(
    tmp_path: Path, operator: str, attributes: dict[str, Any], dedicated: bool
) -> None:
    builder = OnnxBuilder([1, 3, 8, 8])
    conv(builder, 8, 3, pads=[1, 1, 1, 1])
    operands: dict[str, list[str]] = {
        "Resize": ["", builder.constant([1.0, 1.0, 2.0, 2.0])],
        "Pad": [builder.shape(0, 0, 1, 1, 0, 0, 1, 1)],
        "Reshape": [builder.shape(1, 8, 4, 16)],
    }
    builder.node(operator, *operands.get(operator, []), **attributes)
    relu = builder.node("Relu")
    left = conv(builder, 4, 8, (1, 1))
    builder.value = relu
    conv(builder, 4, 8, (1, 1))
    builder.node("Add", left)
    path = quantized_model(builder.save(tmp_path), tmp_path, QuantType.QInt8, per_channel=False, dedicated=dedicated)
    assert "Relu" not in {node.op_type for node in onnx.load(path).graph.node}
    graph = import_model(path)
    found = clipped_ranges(value_statistics(path, graph.onnx_values.values(), X), 8)
    ranges = {name: found[own] for name, own in graph.onnx_values.items()}
    assert_outputs_agree(quantize(graph, choose_formats(graph, ranges, 8), 8), path)


def assert_weights_are_those_of_the_file(graph: Graph, path: Path, constants: list[Any]) -> None:
    stored = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in onnx.load(path).graph.initializer}
    wanted = [np.sort(values.ravel()) for values in stored.values() if values.dtype == np.int8 and values.ndim > 1]
    found = [np.sort(own["weights"].ravel()) for own in constants if "weights" in own]
    assert len(wanted) == len(found) == sum(layer.qdq_scales is not None for layer in graph.layers)
    assert sorted(map(bytes, wanted)) == sorted(map(bytes, found))


@pytest.mark.parametrize(("groups", "axis", "is_kept"), [(1, 1, True), (2, 1, True), (1, 0, False)])
def test_weights_of_transposed_convolutions_are_kept(tmp_path: Path, groups: int, axis: int, is_kept: bool) -> None:
    builder = OnnxBuilder([1, 4, 5, 5])
    stored = np.random.default_rng(5).integers(-127, 128, (4, 3, 3, 3)).astype(np.int8)
    steps = builder.constant(np.linspace(0.01, 0.02, stored.shape[axis]))
    zeros = builder.constant(np.zeros(stored.shape[axis]), np.int8)
    builder.node("DequantizeLinear", builder.constant(stored, np.int8), steps, zeros, axis=axis, name="w")
    builder.nodes[-1].input.remove("x")
    builder.node("ConvTranspose", "x", "@", group=groups, strides=[2, 2])
    path = builder.save(tmp_path)
    graph = import_model(path)
    x = np.random.default_rng(6).normal(size=(8, 4, 5, 5)).astype(np.float32)
    ranges = clipped_ranges(value_statistics(path, graph.value_names, x), 8)
    (layer,) = quantize(graph, choose_formats(graph, ranges, 8), 8).layers
    own = layer.constants["weights"]
    assert np.array_equal(np.sort(own[own != 0]), np.sort(stored[stored != 0])) == is_kept


def test_pairs_that_contradict_each_other_are_named(tmp_path: Path) -> None:
    builder = OnnxBuilder([1, 4])
    builder.node("QuantizeLinear", builder.constant(0.1), builder.constant(0, np.int8), name="q")
    builder.node("DequantizeLinear", builder.constant(0.2), builder.constant(0, np.int8), name="d")
    builder.node("Relu")
    with pytest.raises(InputError, match="QuantizeLinear 'q' and DequantizeLinear 'd' have other scales"):
        import_model(builder.save(tmp_path))
