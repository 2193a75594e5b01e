"""The float reference of quantized (QDQ) networks: each pair rounds, and nothing between two pairs is an integer.

All numbers are multiples of powers of two that float32 holds without rounding, so that every processor and every
evaluator that follows the file give the same bits.
"""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from numpy.typing import DTypeLike, NDArray
from onnx import ModelProto
from onnx.reference import ReferenceEvaluator

from models.onnx_builder import OnnxBuilder
from tinysplit.network.fixed_point.formats import ValueFormat
from tinysplit.network.float_reference import run_float, run_float_values

OPSET = 21  # ONNX's evaluator knows quantized networks from opset 19 on, ONNX Runtime 16 bits from 21 on
SHAPE = (16, 6, 6)


def pair(builder: OnnxBuilder, scale: float, zero: int, element: DTypeLike) -> str:
    """Quantize and dequantize the value."""
    operands = builder.constant(scale), builder.constant(zero, element)
    builder.node("QuantizeLinear", *operands)
    return builder.node("DequantizeLinear", *operands)


def dequantized(builder: OnnxBuilder, values: NDArray[np.integer], scales: NDArray[np.float64] | float) -> str:
    """Add integers with a scale for each index of their first axis, or one for all, and return their name."""
    data, value = builder.constant(values, values.dtype), builder.value
    zeros = builder.constant(np.zeros(np.shape(scales)), values.dtype)
    name = builder.node("DequantizeLinear", "@", data, builder.constant(scales), zeros, axis=0)
    builder.nodes[-1].input.remove(value)
    builder.value = value
    return name


def large_weights(*shape: int) -> NDArray[np.int8]:
    """Return weights whose products with uint8 inputs near 255 need more than 16 bits, two of them together."""
    signs = np.random.default_rng(1).choice([-1, 1, 1, 1], shape)
    return (signs * np.random.default_rng(2).integers(100, 128, shape)).astype(np.int8)


def scales_of(channels: int) -> NDArray[np.float64]:
    return np.exp2(np.arange(channels) % 3 - 6)


def convolution(builder: OnnxBuilder) -> None:
    bias = dequantized(builder, np.arange(-4, 4, dtype=np.int32), scales_of(8))
    builder.node("Conv", dequantized(builder, large_weights(8, 16, 3, 3), scales_of(8)), bias, pads=[1, 1, 1, 1])


def pointwise_convolution(builder: OnnxBuilder) -> None:
    builder.node("Conv", dequantized(builder, large_weights(8, 16, 1, 1), 0.25))


def depthwise_convolution(builder: OnnxBuilder) -> None:
    builder.node("Conv", dequantized(builder, large_weights(16, 1, 3, 3), scales_of(16)), group=16)


def transposed_convolution(builder: OnnxBuilder) -> None:
    builder.node("ConvTranspose", dequantized(builder, large_weights(16, 4, 2, 2), 0.25), strides=[2, 2])


def weights_in_float(builder: OnnxBuilder) -> None:
    """Quantization-aware training: the file has the float weights, and a pair that rounds them."""
    value, builder.value = builder.value, builder.constant(large_weights(8, 16, 3, 3) / 64 + 1 / 256)
    weights = pair(builder, 1 / 32, 0, np.int8)
    builder.value = value
    builder.node("Conv", weights)


def dense(builder: OnnxBuilder) -> None:
    builder.node("GlobalMaxPool")
    pair(builder, 1.0, 0, np.uint8)
    builder.node("Flatten")
    pair(builder, 1.0, 0, np.uint8)
    builder.node("Gemm", dequantized(builder, large_weights(8, 16), 0.25), transB=1)
    pair(builder, 256.0, 128, np.uint8)
    builder.node("MatMul", dequantized(builder, large_weights(8, 4), 0.25))


def added(builder: OnnxBuilder) -> None:
    left = pair(builder, 4.0, 3, np.uint8)
    builder.node("Mul", builder.constant(0.5))
    pair(builder, 2.0, 7, np.uint8)
    builder.node("Add", left)


def joined_and_pooled(builder: OnnxBuilder) -> None:
    left = pair(builder, 4.0, 3, np.uint8)
    builder.node("MaxPool", kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    pair(builder, 2.0, 7, np.uint8)
    builder.node("Concat", left, axis=1)
    pair(builder, 4.0, 5, np.uint8)
    builder.node("AveragePool", kernel_shape=[2, 2], strides=[2, 2])
    pair(builder, 2.0, 9, np.uint8)
    builder.node("Transpose", perm=[0, 2, 3, 1])


def pairs_in_series(builder: OnnxBuilder) -> None:
    builder.node("Mul", builder.constant(0.25))
    for scale, zero, element in ((0.25, -128, np.int8), (1.0, -100, np.int8), (0.5, 20, np.uint8)):
        pair(builder, scale, zero, element)


def activations(builder: OnnxBuilder) -> None:
    builder.node("Sub", builder.constant(128.0))
    pair(builder, 2.0, 3, np.int8)
    builder.node("LeakyRelu", alpha=0.25)
    pair(builder, 1.0, -20, np.int8)
    builder.node("Clip", builder.constant(-8.0), builder.constant(100.0))
    pair(builder, 1.0, -120, np.int8)
    builder.node("Relu")


def two_bytes(builder: OnnxBuilder) -> None:
    pair(builder, 1.0, 300, np.uint16)
    builder.node("Conv", dequantized(builder, large_weights(8, 16, 1, 1), scales_of(8)))
    pair(builder, 4.0, -5, np.int16)
    builder.node("Relu")


FORMS: dict[Callable[[OnnxBuilder], None], float] = {  # and the scale of the output
    convolution: 512.0,
    pointwise_convolution: 512.0,
    depthwise_convolution: 64.0,
    transposed_convolution: 512.0,
    weights_in_float: 256.0,
    dense: 32768.0,
    added: 2.0,
    joined_and_pooled: 1.0,
    pairs_in_series: 0.25,
    activations: 0.5,
    two_bytes: 128.0,
}


def network(folder: Path, form: Callable[[OnnxBuilder], None]) -> Path:
    """Write a network with pairs at both ends, the last of which stands for a Relu."""
    builder = OnnxBuilder([1, *SHAPE], OPSET)
    pair(builder, 1.0, 0, np.uint8)
    form(builder)
    pair(builder, FORMS[form], 0, np.uint8)
    return builder.save(folder)


def samples() -> NDArray[np.float32]:
    return np.random.default_rng(3).integers(180, 256, (3, *SHAPE)).astype(np.float32) + np.float32(0.25)


def by_onnx(model: ModelProto, names: list[str], x: NDArray[np.float32]) -> dict[str, NDArray[np.float32]]:
    """Run ONNX's own evaluator, which is NumPy, sample by sample."""
    evaluator = ReferenceEvaluator(model)
    runs = [evaluator.run(names, {"x": sample[np.newaxis]}) for sample in x]
    return {name: np.concatenate(values) for name, values in zip(names, zip(*runs, strict=True), strict=True)}


@pytest.mark.parametrize("form", FORMS)
def test_all_values_are_those_of_the_file(tmp_path: Path, form: Callable[[OnnxBuilder], None]) -> None:
    path = network(tmp_path, form)
    model, x = onnx.load(path), samples()
    (output,) = (value.name for value in model.graph.output)
    floats = [
        node.output[0]
        for node in model.graph.node
        if node.op_type != "QuantizeLinear" and node.output[0] != output and "x" in sources(model, node.output[0])
    ]
    model.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in floats)
    expected = by_onnx(model, [output, *floats], x)
    assert len(np.unique(expected[output])) > 2
    np.testing.assert_array_equal(run_float(path, x), expected[output])
    found = run_float_values(path, x, floats)
    for name in floats:
        np.testing.assert_array_equal(found[name], expected[name].reshape(found[name].shape), err_msg=name)


def sources(model: ModelProto, name: str) -> set[str]:
    """Return the values that a value depends on, itself among them."""
    writers = {node.output[0]: node for node in model.graph.node}
    if name not in writers:
        return {name}
    return {name}.union(*(sources(model, each) for each in writers[name].input))


@pytest.mark.parametrize("form", FORMS)
def test_values_behind_pairs(tmp_path: Path, form: Callable[[OnnxBuilder], None]) -> None:
    path = network(tmp_path, form)
    model, x = onnx.load(path), samples()
    writers = {node.output[0]: node for node in model.graph.node}
    constants = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    pairs, behind = {}, {}
    for node in model.graph.node:
        if node.op_type == "DequantizeLinear" and node.input[0] in writers and "x" in sources(model, node.output[0]):
            before, (scale, zero) = writers[node.input[0]].input[0], (constants[name] for name in node.input[1:])
            bits, offset = 8 * zero.itemsize, 0 if zero.dtype.kind == "i" else 1 << (8 * zero.itemsize - 1)
            pairs[before], behind[before] = ValueFormat.of(bits, float(scale), int(zero) - offset), node.output[0]
    assert len(pairs) > 1
    (output,) = (value.name for value in model.graph.output)
    inner = [name for name in behind.values() if name != output]
    model.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in inner)
    expected = by_onnx(model, [output, *inner], x)
    found = run_float_values(path, x, pairs, pairs)
    for before, name in behind.items():
        np.testing.assert_array_equal(
            found[before].astype(np.float32), expected[name].reshape(found[before].shape), err_msg=name
        )


def test_a_sum_that_16_bits_do_not_hold(tmp_path: Path) -> None:
    builder = OnnxBuilder([1, *SHAPE], OPSET)
    pair(builder, 1.0, 0, np.uint8)
    builder.node("Conv", dequantized(builder, np.full((2, 16, 3, 3), 127, np.int8), np.array([1.0, 0.5])))
    pair(builder, 32768.0, 0, np.uint8)
    found = run_float(builder.save(tmp_path), np.full((1, *SHAPE), 255, np.float32))
    steps = 16 * 9 * 127 * 255 / 32768
    np.testing.assert_array_equal(found[0, 0], round(steps) * 32768)
    np.testing.assert_array_equal(found[0, 1], round(steps / 2) * 32768)


@pytest.mark.parametrize("form", FORMS)
def test_no_operators_are_merged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: Callable[[OnnxBuilder], None]
) -> None:
    """Hold the operators that ONNX Runtime runs against those of the file, as merged ones may have the right values."""
    make = onnxruntime.SessionOptions

    def that_write_the_model() -> onnxruntime.SessionOptions:
        options = make()
        options.optimized_model_filepath = str(tmp_path / "run.onnx")
        return options

    path = network(tmp_path, form)
    monkeypatch.setattr(onnxruntime, "SessionOptions", that_write_the_model)
    run_float(path, samples())
    run, own = operators(tmp_path / "run.onnx"), operators(path)
    assert set(run) == set(own)
    assert run >= own  # some nodes of pairs may be copied


def operators(path: Path) -> Counter[str]:
    return Counter(f"{node.domain}:{node.op_type}" for node in onnx.load(path).graph.node)
