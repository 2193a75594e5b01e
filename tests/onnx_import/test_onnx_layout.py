"""Changes of layout, fully connected layers and softmax, which read through them."""

from pathlib import Path

import numpy as np
import pytest

from models.import_check import check, kinds
from models.onnx_builder import OnnxBuilder, conv, weights
from models.value_ranges import value_ranges
from tinysplit.network.float_reference import run_float
from tinysplit.network.integer_reference import run_integer
from tinysplit.network.layers import Conv, Dense, Layer, MaxPool, Pad, Permute, Shape, Softmax
from tinysplit.onnx_import import import_model
from tinysplit.quantize.choose_formats import choose_formats, quantize


def test_network_with_channels_last_throughout(tmp_path: Path) -> None:
    builder = OnnxBuilder(["n", 6, 6, 3])
    builder.node("Transpose", perm=[0, 3, 1, 2])
    conv(builder, 4, 3)
    builder.node("Transpose", perm=[0, 2, 3, 1])
    builder.node("Add", builder.constant(weights(4)))
    builder.node("Relu")
    builder.node("Transpose", perm=[0, 3, 1, 2])
    builder.node("MaxPool", kernel_shape=[2, 2], strides=[2, 2])
    builder.node("Transpose", perm=[0, 2, 3, 1])
    builder.node("Reshape", builder.shape(-1, 16))
    builder.node("MatMul", builder.constant(weights(16, 5)))
    builder.node("Add", builder.constant(weights(5)), "@")
    builder.node("Softmax")
    assert kinds(check(builder.save(tmp_path))) == [Conv, MaxPool, Dense, Softmax]


def test_output_in_another_layout(tmp_path: Path) -> None:
    builder = OnnxBuilder(["n", 3, 6, 5])
    conv(builder, 4, 3)
    builder.node("Transpose", perm=[0, 3, 1, 2])
    graph = check(builder.save(tmp_path))
    assert graph.output_shape == (3, 4, 4)


def test_flatten_of_a_map_permutes_the_columns_of_the_dense_layer(tmp_path: Path) -> None:
    builder = OnnxBuilder(["n", 3, 6, 5])
    conv(builder, 4, 3)
    builder.node("Flatten")
    builder.node("Gemm", builder.constant(weights(7, 48)), builder.constant(weights(7)), transB=1)
    graph = check(builder.save(tmp_path))
    assert graph.layers[1].in_shape == Shape(4, 3, 4)


@pytest.mark.parametrize("trans_b", [0, 1])
@pytest.mark.parametrize("bias", [None, (), (5,), (1, 5), (1, 1)])
def test_gemm(tmp_path: Path, trans_b: int, bias: tuple[int, ...] | None) -> None:
    builder = OnnxBuilder(["n", 6])
    constants = [builder.constant(weights(5, 6) if trans_b else weights(6, 5))]
    if bias is not None:
        constants.append(builder.constant(weights(*bias)))
    builder.node("Gemm", *constants, transB=trans_b, alpha=0.5, beta=2.0)
    check(builder.save(tmp_path))


def test_gemm_with_its_activation_transposed(tmp_path: Path) -> None:
    builder = OnnxBuilder(["n", 6])
    builder.node("Reshape", builder.shape(6, 1))
    builder.node("Gemm", builder.constant(weights(6, 5)), transA=1)
    check(builder.save(tmp_path))


def test_matmul_of_higher_rank(tmp_path: Path) -> None:
    builder = OnnxBuilder(["n", 1, 6])
    builder.node("MatMul", builder.constant(weights(6, 5)))
    builder.node("Add", builder.constant(weights(1, 1, 5)))
    graph = check(builder.save(tmp_path))
    assert graph.output_shape == (1, 5)


def test_decoder_from_a_vector_to_a_map(tmp_path: Path) -> None:
    builder = OnnxBuilder(["n", 6])
    builder.node("Gemm", builder.constant(weights(6, 24)))
    builder.node("Reshape", builder.shape(-1, 3, 4, 2))
    builder.node("Transpose", perm=[0, 3, 1, 2])
    conv(builder, 2, 2)
    graph = check(builder.save(tmp_path))
    assert graph.layers[1].in_shape == Shape(3, 4, 2)


@pytest.mark.parametrize(("opset", "axis"), [(11, 1), (11, None), (13, 1), (13, -1), (13, None)])
def test_softmax_of_a_vector(tmp_path: Path, opset: int, axis: int | None) -> None:
    builder = OnnxBuilder(["n", 6], opset)
    builder.node("Gemm", builder.constant(weights(6, 5)))
    if axis is None:
        builder.node("Softmax")
    else:
        builder.node("Softmax", axis=axis)
    check(builder.save(tmp_path))


@pytest.mark.parametrize(("opset", "shape"), [(13, Shape(4, 3, 4)), (11, Shape(1, 1, 48))])
def test_softmax_of_a_map(tmp_path: Path, opset: int, shape: Shape) -> None:
    builder = OnnxBuilder(["n", 3, 6, 5], opset)
    conv(builder, 4, 3)
    builder.node("Softmax", axis=1)
    graph = check(builder.save(tmp_path))
    assert graph.layers[1].in_shape == shape


def test_integers_follow_a_vector_that_is_read_as_a_map(tmp_path: Path) -> None:
    builder = OnnxBuilder(["n", 6])
    builder.node("Gemm", builder.constant(weights(6, 24)))
    builder.node("Reshape", builder.shape(-1, 3, 4, 2))
    builder.node("Transpose", perm=[0, 3, 1, 2])
    conv(builder, 2, 2)
    path = builder.save(tmp_path)
    graph = import_model(path)
    x = weights(8, 6)
    ranges = value_ranges(path, [graph.input_name, *(layer.output for layer in graph.layers)], x)
    quantized = quantize(graph, choose_formats(graph, ranges, 16), 16)
    outputs = quantized.output_formats[0].dequantize(run_integer(quantized, x))
    np.testing.assert_allclose(outputs, run_float(path, x), atol=0.02)


def test_rows_are_multiplied_pixel_by_pixel(tmp_path: Path) -> None:
    builder = OnnxBuilder(["n", 3, 6, 5])
    conv(builder, 4, 3)
    builder.node("Transpose", perm=[0, 2, 3, 1])
    builder.node("MatMul", builder.constant(weights(4, 7)))
    builder.node("Add", builder.constant(weights(7)))
    builder.node("Relu")
    graph = check(builder.save(tmp_path))
    assert kinds(graph) == [Conv, Conv]
    assert graph.layers[-1].activation.low == 0
    assert graph.output_shape == (4, 3, 7)


def test_rows_of_a_matrix_with_their_bias(tmp_path: Path) -> None:
    builder = OnnxBuilder([1, 12])
    builder.node("Reshape", builder.shape(3, 4))
    builder.node("Gemm", builder.constant(weights(2, 4)), builder.constant(weights(1, 2)), transB=1, alpha=0.5)
    graph = check(builder.save(tmp_path))
    assert kinds(graph) == [Conv]
    assert graph.out_shape == Shape(3, 1, 2)


def test_rows_that_lie_elsewhere_are_moved(tmp_path: Path) -> None:
    builder = OnnxBuilder(["n", 3, 6, 5])
    conv(builder, 4, 3)
    builder.node("Transpose", perm=[0, 1, 3, 2])  # the last axis is the height
    builder.node("MatMul", builder.constant(weights(4, 7)))
    assert kinds(check(builder.save(tmp_path))) == [Conv, Permute, Conv]


def test_softmax_over_an_axis_that_is_moved_to_the_channels(tmp_path: Path) -> None:
    builder = OnnxBuilder(["n", 3, 6, 5])
    conv(builder, 4, 3)
    builder.node("Transpose", perm=[0, 1, 3, 2])
    builder.node("Softmax", axis=-1)
    graph = check(builder.save(tmp_path))
    assert kinds(graph) == [Conv, Permute, Softmax]
    assert graph.output_shape == (4, 3, 4)


def test_a_network_may_end_with_a_pad(tmp_path: Path) -> None:
    builder = OnnxBuilder(["n", 3, 6, 5])
    conv(builder, 4, 3)
    builder.node("Pad", builder.shape(0, 0, 1, 0, 0, 0, 2, 1), builder.constant(0.5))
    graph = check(builder.save(tmp_path))
    assert kinds(graph) == [Conv, Pad]
    assert graph.output_shape == (4, 7, 4)


@pytest.mark.parametrize("operator", ["ReduceMean", "ReduceMax"])
@pytest.mark.parametrize(("axes", "moved"), [([1, 2, 3], []), ([1], []), ([2], [Permute])])
def test_reductions_over_other_axes(tmp_path: Path, operator: str, axes: list[int], moved: list[type[Layer]]) -> None:
    builder = OnnxBuilder(["n", 3, 6, 5])
    conv(builder, 4, 3)
    builder.node("Transpose", perm=[0, 2, 3, 1])
    builder.node(operator, axes=axes, keepdims=0)
    assert kinds(check(builder.save(tmp_path)))[1:-1] == moved
