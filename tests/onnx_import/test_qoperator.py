"""Networks in QOperator format, made by ONNX Runtime's quantizer: they compute what ONNX Runtime does with the file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantFormat, QuantType, quantize_static
from rich.console import Console

from models.onnx_builder import OnnxBuilder, conv, weights
from models.qdq import Reader
from session.shared_models import shared_model
from tinysplit.common.errors import InputError
from tinysplit.network.float_reference import run_float
from tinysplit.network.integer_reference import run_integer
from tinysplit.network.onnx_file.integer_operators import name_in_file
from tinysplit.network.sample_files import SampleArrays
from tinysplit.network.samples import load_samples
from tinysplit.onnx_import import import_model
from tinysplit.quantize.quantize_model import quantize_model

RNG = np.random.default_rng(3)
X = RNG.normal(size=(20, 3, 8, 8)).astype(np.float32)
REPEATING = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
GALLERY = "gallery/mbv2_tiny_ts13__qop_pc_i8w_u8a"


def network(path: Path, *, opset: int) -> Path:
    """Write a float network with all operators that the quantizer turns into ones on integers."""
    builder = OnnxBuilder([1, 3, 8, 8], opset=opset)
    conv(builder, 8, 3, pads=[1, 1, 1, 1])
    left = builder.node("Relu")
    conv(builder, 8, 1, pads=[1, 1, 1, 1], group=8)
    builder.node("LeakyRelu", alpha=0.2)
    builder.node("Add", left)
    right = builder.node("MaxPool", kernel_shape=[2, 2], strides=[2, 2])
    conv(builder, 8, 8, (1, 1))
    builder.node("Sigmoid")
    builder.node("Mul", right)
    builder.node("Concat", right, axis=1)
    builder.node("Resize", builder.constant([]), builder.constant([1, 1, 2, 2]), mode="nearest", **REPEATING)
    builder.node("Pad", builder.shape(0, 0, 1, 1, 0, 0, 1, 1), builder.constant(0.5))
    builder.node("AveragePool", kernel_shape=[3, 3], strides=[2, 2])
    builder.node("GlobalAveragePool")
    builder.node("Flatten")
    builder.node("MatMul", builder.constant(weights(16, 12)))
    builder.node("Gemm", builder.constant(weights(5, 12)), builder.constant(weights(5)), transB=1)
    builder.node("Softmax", axis=1)
    return builder.save(path)


def quantized(model: Path, *, activations: QuantType, per_channel: bool) -> Path:
    path = model.parent / "quantized.onnx"
    options = {"quant_format": QuantFormat.QOperator, "activation_type": activations, "weight_type": QuantType.QInt8}
    quantize_static(str(model), str(path), Reader(X), per_channel=per_channel, **options)
    return path


def run_file(path: Path, x: NDArray[Any]) -> NDArray[Any]:
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    (name,) = (value.name for value in session.get_inputs())
    return np.stack([session.run(None, {name: sample[np.newaxis]})[0][0] for sample in x])


def integers_of(path: Path, x: NDArray[Any]) -> NDArray[np.float64]:
    """Return the outputs of the integer reference, as real values."""
    graph = import_model(path)
    samples = load_samples(SampleArrays(x, None), graph)
    network = quantize_model(graph, path, samples, 8, Console(quiet=True)).quantized
    return network.output_formats[0].dequantize(run_integer(network, samples.x)).reshape(len(x), -1)


@pytest.mark.parametrize("activations", [QuantType.QInt8, QuantType.QUInt8])
@pytest.mark.parametrize(("opset", "per_channel"), [(11, False), (11, True), (13, True), (18, True)])
def test_a_network_computes_what_onnx_runtime_computes(
    opset: int, per_channel: bool, activations: QuantType, tmp_path: Path
) -> None:
    path = quantized(network(tmp_path, opset=opset), activations=activations, per_channel=per_channel)
    kinds = {node.op_type for node in onnx.load(path).graph.node}
    assert len({kind for kind in kinds if kind.startswith("Q")}) > 10
    expected = run_file(path, X)
    step = 1 / 256
    assert np.abs(run_float(path, X) - expected).max() <= 2 * step
    assert np.abs(integers_of(path, X) - expected).max() <= 3 * step


def test_a_network_of_the_gallery_computes_what_onnx_runtime_computes() -> None:
    path, samples = shared_model(f"{GALLERY}.onnx"), shared_model(f"{GALLERY}.npz")
    x = np.load(samples)["x"][:4]
    expected = run_file(path, x)
    step = np.diff(np.unique(expected)).min()
    assert np.abs(run_float(path, x) - expected).max() <= 2 * step
    assert np.abs(integers_of(path, x) - expected).max() <= 3 * step


def test_layers_have_the_names_of_the_integers_that_stand_for_their_outputs(tmp_path: Path) -> None:
    model = network(tmp_path, opset=13)
    path = quantized(model, activations=QuantType.QUInt8, per_channel=True)
    written = {name for node in onnx.load(path).graph.node for name in node.output}
    assert {name_in_file(layer.onnx_value) for layer in import_model(path).layers} <= written


def one_node(path: Path, operator: str, operands: Mapping[str, Any], attribute: str, value: float) -> Path:
    """Write a network of one operator that reads uint8 `x`, scale, zero point and `operands`, and gives uint8 `y`."""
    constants = {"x scale": np.float32(0.03), "x zero": np.uint8(120), **operands}
    node = helper.make_node(operator, ["x", *constants], ["y"], name="n", domain="com.microsoft")
    node.attribute.append(helper.make_attribute(attribute, value))
    graph = helper.make_graph(
        [node],
        "one",
        [helper.make_tensor_value_info("x", TensorProto.UINT8, [1, 12])],
        [helper.make_tensor_value_info("y", TensorProto.UINT8, [1, 5])],
        [numpy_helper.from_array(np.asarray(constant), name) for name, constant in constants.items()],
    )
    domains = [helper.make_opsetid("", 13), helper.make_opsetid("com.microsoft", 1)]
    onnx.save(helper.make_model(graph, opset_imports=domains, ir_version=8), path)
    return path


DENSE = {
    "w": RNG.integers(-50, 50, (12, 5)).astype(np.int8),
    "w scale": np.linspace(0.01, 0.02, 5, dtype=np.float32),
    "w zero": np.zeros(5, np.int8),
}
RESULT = {"y scale": np.float32(0.05), "y zero": np.uint8(128)}
BIAS = {"bias": RNG.integers(-900, 900, 5).astype(np.int32)}


@pytest.mark.parametrize("alpha", [1.0, 0.5])
def test_integers_go_in_and_out_of_an_operator(alpha: float, tmp_path: Path) -> None:
    path = one_node(tmp_path / "gemm.onnx", "QGemm", DENSE | BIAS | RESULT, "alpha", alpha)
    x = RNG.integers(0, 256, (9, 12)).astype(np.uint8)
    expected = (run_file(path, x).astype(np.float32) - 128) * 0.05
    found = run_float(path, load_samples(SampleArrays(x, None), import_model(path)).x)
    assert np.allclose(found, expected, rtol=0, atol=0.051)
    assert np.mean(found == expected) > 0.9
    assert np.allclose(integers_of(path, x), expected, rtol=0, atol=0.051)


def test_a_layout_that_the_float_operator_lacks_is_refused(tmp_path: Path) -> None:
    path = one_node(tmp_path / "pool.onnx", "QLinearGlobalAveragePool", RESULT, "channels_last", 1)
    with pytest.raises(InputError, match="input 'x' is UINT8, which QLinearGlobalAveragePool 'n' read"):
        import_model(path)


@pytest.mark.parametrize("n_operands", [0, 1, 3])
def test_operators_without_their_operands_are_refused(n_operands: int, tmp_path: Path) -> None:
    path = one_node(tmp_path / "add.onnx", "QLinearAdd", {}, "channels_last", 0)
    model = onnx.load(path)
    del model.graph.node[0].input[n_operands:]
    onnx.save(model, path)
    with pytest.raises(InputError):
        import_model(path)
