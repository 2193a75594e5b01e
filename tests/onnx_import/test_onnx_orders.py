"""Operators over any axis of values that are stored in another order: what they read is moved there."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from rich.console import Console

from models.import_check import check, kinds
from models.onnx_builder import OnnxBuilder, conv
from tinysplit.network.float_reference import run_float
from tinysplit.network.integer_reference import run_integer
from tinysplit.network.layers import Concat, Conv, Permute, Shape, Softmax
from tinysplit.network.samples import Samples
from tinysplit.quantize.accuracy import Accuracy
from tinysplit.quantize.quantize_model import Quantization, quantize_model
from tinysplit.quantize.validation import layer_errors

AXES = [1, 2, 3, -1, -2, -3]


def a_map(opset: int = 13) -> OnnxBuilder:
    """Return the beginning of a network: a convolution that computes 1x4x3x5."""
    builder = OnnxBuilder(["n", 3, 5, 6], opset)
    conv(builder, 4, 3, (3, 2))
    return builder


def quantized(path: Path) -> tuple[Quantization, NDArray[np.float32]]:
    """Return the network in 16 bits, and the samples that it is calibrated on."""
    graph = check(path)
    x = np.random.default_rng(3).normal(size=(16, *graph.sample_shape)).astype(np.float32)
    return quantize_model(graph, path, Samples(x), 16, Console(quiet=True)), x


@pytest.mark.parametrize("opset", [11, 13])
@pytest.mark.parametrize("axis", AXES)
def test_softmax_directly_behind_a_convolution(tmp_path: Path, opset: int, axis: int) -> None:
    builder = a_map(opset)
    builder.node("Softmax", axis=axis)
    needs_none = axis in {1, -3}  # the channels, or all of the map
    assert kinds(check(builder.save(tmp_path))) == [Conv, *([] if needs_none else [Permute]), Softmax]


@pytest.mark.parametrize("axis", AXES)
def test_softmax_of_rows_and_vectors(tmp_path: Path, axis: int) -> None:
    for shape in ([1, 12, 5], [1, 60]):
        if -len(shape) < axis < len(shape):
            builder = a_map()
            builder.node("Reshape", builder.shape(*shape))
            builder.node("Softmax", axis=axis)
            check(builder.save(tmp_path))


@pytest.mark.parametrize("operator", ["ReduceMean", "ReduceMax"])
@pytest.mark.parametrize("axes", [[1], [2], [3], [-3], [1, 2], [1, -1], [2, 3], [1, 2, 3]])
@pytest.mark.parametrize("keepdims", [0, 1])
def test_reductions_directly_behind_a_convolution(
    tmp_path: Path, operator: str, axes: list[int], keepdims: int
) -> None:
    builder = a_map()
    builder.node(operator, axes=axes, keepdims=keepdims)
    check(builder.save(tmp_path))


@pytest.mark.parametrize("axis", AXES)
def test_concatenations_over_any_axis_take_no_move(tmp_path: Path, axis: int) -> None:
    builder = OnnxBuilder(["n", 3, 5, 6])
    left = conv(builder, 4, 3, (2, 2))
    builder.value = "x"
    sizes = [4, 4, 5]
    sizes[axis % 4 - 1] -= 1
    conv(builder, sizes[0], 3, (6 - sizes[1], 7 - sizes[2]))
    builder.node("Concat", left, axis=axis)
    conv(builder, 2, 4 + (sizes[0] if axis % 4 == 1 else 0))
    assert kinds(check(builder.save(tmp_path))) == [Conv, Conv, Concat, Conv]


def test_concatenation_of_two_layouts(tmp_path: Path) -> None:
    builder = OnnxBuilder(["n", 3, 5, 5])
    straight = conv(builder, 4, 3, (2, 2))
    builder.value = "x"
    conv(builder, 4, 3, (2, 2))
    builder.node("Transpose", perm=[0, 1, 3, 2])
    builder.node("Concat", straight, axis=2)
    conv(builder, 2, 4)
    check(builder.save(tmp_path))


def test_the_input_in_two_orders(tmp_path: Path) -> None:
    builder = OnnxBuilder([1, 3, 6, 6])
    builder.node("Transpose", perm=[0, 1, 3, 2])
    turned = conv(builder, 4, 3, pads=[1, 1, 1, 1])
    builder.value = "x"
    conv(builder, 4, 3, pads=[1, 1, 1, 1])
    builder.node("Add", turned)
    graph = check(builder.save(tmp_path))
    assert sorted(kind.kind for kind in kinds(graph)) == ["add", "conv", "conv", "permute"]
    (moved,) = (layer for layer in graph.layers if isinstance(layer, Permute))
    assert moved.onnx_value == "x"
    assert moved.output != "x"


def test_a_value_in_three_orders_has_three_names(tmp_path: Path) -> None:
    builder = a_map()
    value = builder.value
    outputs = []
    for axis in (2, 3):
        builder.value = value
        outputs.append(builder.node("Softmax", axis=axis))
    builder.node("Add", outputs[0])
    graph = check(builder.save(tmp_path))
    assert len(set(graph.value_names)) == len(graph.value_names)
    assert [layer.onnx_value for layer in graph.layers if isinstance(layer, Permute)].count(value) == 2


def test_names_that_the_file_has_taken(tmp_path: Path) -> None:
    builder = a_map()
    value = builder.value
    builder.node("Softmax", axis=2, name=f"{value} moved")
    graph = check(builder.save(tmp_path))
    assert [layer.name for layer in graph.layers][1:] == [f"{value} moved 2", f"{value} moved"]


def test_an_order_of_no_nested_loops_takes_two_moves(tmp_path: Path) -> None:
    builder = a_map()
    builder.node("Reshape", builder.shape(1, 6, 10))
    builder.node("Softmax", axis=1)
    assert kinds(check(builder.save(tmp_path))) == [Conv, Permute, Permute, Softmax]


def test_a_padded_map_in_another_order(tmp_path: Path) -> None:
    builder = a_map()
    builder.node("Transpose", perm=[0, 1, 3, 2])
    builder.node("Pad", builder.shape(0, 0, 1, 1, 0, 0, 0, 1))
    conv(builder, 2, 4, (2, 2))
    graph = check(builder.save(tmp_path))
    assert kinds(graph) == [Conv, Permute, Conv]
    assert graph.layers[1].out_shape == Shape(5, 3, 4)


@pytest.mark.parametrize("axis", [2, 3])
def test_integers_follow(tmp_path: Path, axis: int) -> None:
    builder = a_map()
    builder.node("Softmax", axis=axis)
    path = builder.save(tmp_path)
    found, x = quantized(path)
    outputs = found.quantized.output_formats[0].dequantize(run_integer(found.quantized, x))
    np.testing.assert_allclose(outputs, run_float(path, x), atol=1e-3)
    convolution, moved, _ = layer_errors(found.quantized, path, x)
    assert moved.sqnr_db == pytest.approx(convolution.sqnr_db)
    assert moved.own_sqnr_db is not None
    assert moved.own_sqnr_db > 80
    assert found.calibration.statistics[found.quantized.graph.layers[1].output].extremes is None
    assert found.calibration.float_scores.scores[found.quantized.graph.outputs[0].name].shape == (16, 60)


def test_the_order_of_scores_before_a_moved_softmax(tmp_path: Path) -> None:
    """Accuracy compares what the last softmax reads, in ONNX's order."""
    builder = a_map()
    builder.node("Softmax", axis=2)
    found, _ = quantized(builder.save(tmp_path))
    assert Accuracy.of(found.quantized, found.calibration.float_scores).sqnr_db > 60


def test_the_order_of_an_output_that_is_moved(tmp_path: Path) -> None:
    """Accuracy compares the output in its own order, which is not that of the layer that computes it."""
    builder = a_map()
    builder.node("Transpose", perm=[0, 3, 1, 2])
    path = builder.save(tmp_path)
    found, _ = quantized(path)
    assert Accuracy.of(found.quantized, found.calibration.float_scores).sqnr_db > 60
