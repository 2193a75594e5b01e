"""Convolutions, pools and the padding in front of them, held against ONNX Runtime."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from models.float_layers import float_outputs
from models.import_check import check, kinds
from models.onnx_builder import OnnxBuilder, conv, weights
from tinysplit.common.errors import InputError
from tinysplit.network.float_reference import run_float
from tinysplit.network.integer_reference import run_integer
from tinysplit.network.layers import AveragePool, Conv, ConvTranspose, DepthwiseConv, Layer, MaxPool, Pad, Pads, Shape
from tinysplit.network.samples import Samples
from tinysplit.quantize.quantize_model import quantize_model


@pytest.mark.parametrize(
    "attributes",
    [
        {},
        {"strides": [2, 3]},
        {"dilations": [2, 1]},
        {"pads": [1, 0, 2, 1]},
        {"auto_pad": "SAME_UPPER", "strides": [2, 2]},
        {"auto_pad": "SAME_LOWER", "strides": [2, 3]},
        {"auto_pad": "VALID"},
    ],
    ids=str,
)
def test_conv(tmp_path: Path, attributes: dict[str, Any]) -> None:
    builder = OnnxBuilder(["batch", 3, 9, 10])
    conv(builder, 5, 3, **attributes)
    graph = check(builder.save(tmp_path))
    assert kinds(graph) == [Conv]
    assert graph.sample_shape == (3, 9, 10)


def test_conv_without_bias_and_with_groups(tmp_path: Path) -> None:
    builder = OnnxBuilder([1, 4, 6, 6], opset=11)
    builder.node("Conv", builder.constant(weights(6, 2, 3, 2)), group=2)
    graph = check(builder.save(tmp_path))
    assert isinstance(graph.layers[0], Conv)
    assert graph.layers[0].groups == 2


@pytest.mark.parametrize(("out", "kind"), [(4, DepthwiseConv), (8, Conv)])
def test_depthwise_and_channel_multiplier(tmp_path: Path, out: int, kind: type[Layer]) -> None:
    builder = OnnxBuilder([1, 4, 7, 6])
    conv(builder, out, 1, group=4, pads=[1, 1, 1, 1], strides=[2, 2])
    assert kinds(check(builder.save(tmp_path))) == [kind]


def test_one_dimensional_network(tmp_path: Path) -> None:
    builder = OnnxBuilder(["n", 3, 20])
    conv(builder, 4, 3, (5,), strides=[2], pads=[2, 1], dilations=[2])
    builder.node("Relu")
    builder.node("MaxPool", kernel_shape=[2], strides=[2])
    conv(builder, 4, 1, (3,), group=4, auto_pad="SAME_UPPER")
    builder.node("GlobalAveragePool")
    builder.node("Flatten")
    graph = check(builder.save(tmp_path))
    assert kinds(graph) == [Conv, MaxPool, DepthwiseConv, AveragePool]
    assert graph.in_shape == Shape(1, 20, 3)


@pytest.mark.parametrize("operator", ["MaxPool", "AveragePool"])
@pytest.mark.parametrize(
    "attributes",
    [
        {"strides": [2, 2]},
        {"strides": [2, 3], "pads": [1, 2, 0, 1]},
        {"strides": [2, 2], "ceil_mode": 1},
        {"strides": [2, 3], "ceil_mode": 1, "pads": [1, 1, 1, 1]},
        {"auto_pad": "SAME_UPPER", "strides": [2, 2]},
        {"auto_pad": "SAME_LOWER"},
    ],
    ids=str,
)
def test_pools(tmp_path: Path, operator: str, attributes: dict[str, Any]) -> None:
    for size in ((8, 9), (7, 10), (5, 6)):
        builder = OnnxBuilder(["n", 3, *size])
        builder.node(operator, kernel_shape=[3, 3], **attributes)
        assert len(check(builder.save(tmp_path)).layers) == 1


def test_pools_with_their_own_attributes(tmp_path: Path) -> None:
    builder = OnnxBuilder(["n", 3, 8, 9])
    builder.node("MaxPool", kernel_shape=[2, 3], dilations=[2, 2])
    check(builder.save(tmp_path))
    builder = OnnxBuilder(["n", 3, 8, 9])
    builder.node("AveragePool", kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1)
    layer = check(builder.save(tmp_path)).layers[0]
    assert isinstance(layer, AveragePool)
    assert layer.count_include_pad


def test_divisors_of_averages_with_ceil_mode_by_hand(tmp_path: Path) -> None:
    """Of ones, 4 of them between padding: windows begin at -1, 1 and 3, and the last one passes the padding."""
    builder = OnnxBuilder(["n", 1, 4])
    builder.node("AveragePool", kernel_shape=[3], strides=[2], pads=[1, 1], ceil_mode=1, count_include_pad=1)
    graph = check(builder.save(tmp_path))
    (*_, average) = float_outputs(graph, np.ones((1, 4)))
    np.testing.assert_allclose(average.ravel(), [2 / 3, 1, 1 / 2])
    assert kinds(graph) == [Pad, AveragePool]


@pytest.mark.parametrize("opset", [10, 11, 19, 22])
@pytest.mark.parametrize("counts", [0, 1])
@pytest.mark.parametrize("pads", [[0, 0, 0, 0], [1, 1, 1, 1], [1, 0, 0, 2], [0, 2, 1, 0]])
@pytest.mark.parametrize("stride", [2, 3])
def test_averages_with_ceil_mode(tmp_path: Path, opset: int, counts: int, pads: list[int], stride: int) -> None:
    for size in ((8, 9), (7, 10), (2, 5)):
        builder = OnnxBuilder(["n", 2, *size], opset)
        attributes: dict[str, Any] = {
            "strides": [stride, stride],
            "pads": pads,
            "ceil_mode": 1,
            "count_include_pad": counts,
        }
        builder.node("AveragePool", kernel_shape=[3, 3], **attributes)
        graph = check(builder.save(tmp_path))
        assert len(graph.layers) == 1 or (counts and any(pads))


def test_averages_of_dilated_windows_with_ceil_mode(tmp_path: Path) -> None:
    builder = OnnxBuilder(["n", 2, 9, 8], opset=19)
    attributes: dict[str, Any] = {"strides": [3, 2], "dilations": [2, 1], "pads": [2, 0, 1, 1]}
    builder.node("AveragePool", kernel_shape=[3, 2], ceil_mode=1, count_include_pad=1, **attributes)
    assert kinds(check(builder.save(tmp_path))) == [Pad, AveragePool]


@pytest.mark.parametrize("operator", ["MaxPool", "AveragePool"])
def test_a_pad_is_a_part_of_the_map_for_ceil_mode(tmp_path: Path, operator: str) -> None:
    """A last window may begin behind the map, but not behind the Pad."""
    builder = OnnxBuilder(["n", 2, 7])
    builder.node("Relu")
    builder.node("Pad", builder.shape(0, 0, 0, 0, 0, 1))
    builder.node(operator, kernel_shape=[2], strides=[4], pads=[1, 0], ceil_mode=1)
    assert check(builder.save(tmp_path)).out_shape == Shape(1, 3, 2)


@pytest.mark.parametrize("operator", ["MaxPool", "AveragePool"])
def test_pads_that_only_a_part_of_counts_become_layers(tmp_path: Path, operator: str) -> None:
    for kernel, attributes in ((3, {"pads": [1, 1, 1, 1]}), (3, {"strides": [2, 2], "ceil_mode": 1}), (1, {})):
        builder = OnnxBuilder(["n", 2, 6, 7])
        builder.node("Sigmoid")
        builder.node("Pad", builder.shape(0, 0, 1, 1, 0, 0, 1, 1))
        builder.node(operator, kernel_shape=[kernel, kernel], **attributes)
        check(builder.save(tmp_path))


def test_integers_of_an_average_behind_a_padding_layer(tmp_path: Path) -> None:
    builder = OnnxBuilder(["n", 2, 6, 7])
    attributes: dict[str, Any] = {"strides": [2, 2], "pads": [1, 1, 1, 1], "ceil_mode": 1, "count_include_pad": 1}
    builder.node("AveragePool", kernel_shape=[3, 3], **attributes)
    path = builder.save(tmp_path)
    graph = check(path)
    x = np.random.default_rng(2).normal(size=(8, 2, 6, 7)).astype(np.float32)
    quantized = quantize_model(graph, path, Samples(x), 16, Console(quiet=True)).quantized
    outputs = quantized.output_formats[0].dequantize(run_integer(quantized, x))
    np.testing.assert_allclose(outputs, run_float(path, x), atol=2e-4)


def test_values_of_other_sizes_than_onnx_runtime_has_are_refused(tmp_path: Path) -> None:
    builder = OnnxBuilder(["n", 2, 4, 4])
    builder.node("ConvTranspose", builder.constant(weights(2, 3, 2, 2)), name="up")
    path = builder.save(tmp_path)
    graph = check(path)
    (layer,) = graph.layers
    assert isinstance(layer, ConvTranspose)
    larger = replace(graph, layers=(replace(layer, growth=(1, 0)),))
    samples = Samples(np.zeros((2, 2, 4, 4), np.float32))
    with pytest.raises(InputError, match="layer 'up' computes 6x5x3 elements, but ONNX Runtime 75"):
        quantize_model(larger, path, samples, 8, Console(quiet=True))


@pytest.mark.parametrize(
    "attributes",
    [
        {"auto_pad": "SAME_UPPER", "strides": [2, 3]},
        {"auto_pad": "SAME_LOWER", "strides": [3, 1], "output_padding": [1, 0]},
        {"auto_pad": "SAME_LOWER", "strides": [4, 4], "dilations": [2, 2]},
        {"auto_pad": "VALID", "strides": [4, 4], "group": 2},
        {"output_shape": [15, 18], "strides": [4, 4], "auto_pad": "SAME_UPPER"},
        {"output_shape": [9, 12], "strides": [2, 3]},
    ],
    ids=str,
)
def test_transposed_convolutions_of_given_sizes(tmp_path: Path, attributes: dict[str, Any]) -> None:
    builder = OnnxBuilder(["n", 4, 4, 4])
    builder.node("ConvTranspose", builder.constant(weights(4, 3, 3, 3)), **attributes)
    assert kinds(check(builder.save(tmp_path))) == [ConvTranspose]


@pytest.mark.parametrize("operator", ["GlobalAveragePool", "GlobalMaxPool"])
def test_global_pools(tmp_path: Path, operator: str) -> None:
    builder = OnnxBuilder(["n", 3, 4, 5])
    builder.node(operator)
    assert check(builder.save(tmp_path)).out_shape == Shape(1, 1, 3)


@pytest.mark.parametrize("operator", ["ReduceMean", "ReduceMax"])
@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("axes", [[2, 3], [-1, -2]])
def test_reductions(tmp_path: Path, operator: str, keepdims: int, axes: list[int]) -> None:
    builder = OnnxBuilder(["n", 2, 4, 5])
    conv(builder, 3, 2)
    builder.node(operator, axes=axes, keepdims=keepdims)
    assert check(builder.save(tmp_path)).out_shape == Shape(1, 1, 3)


@pytest.mark.parametrize("keepdims", [0, 1])
def test_reduction_of_a_map_with_channels_last(tmp_path: Path, keepdims: int) -> None:
    builder = OnnxBuilder(["n", 2, 4, 5], opset=18)
    conv(builder, 3, 2)
    builder.node("Transpose", perm=[0, 2, 3, 1])
    builder.node("ReduceMean", builder.shape(1, 2), keepdims=keepdims)
    assert kinds(check(builder.save(tmp_path))) == [Conv, AveragePool]


@pytest.mark.parametrize("opset", [11, 18])
def test_pads_fold_into_windows(tmp_path: Path, opset: int) -> None:
    builder = OnnxBuilder(["n", 3, 6, 6], opset)
    builder.node("Pad", builder.shape(0, 0, 1, 0, 0, 0, 2, 1), builder.constant(0.0))
    conv(builder, 4, 3, pads=[0, 1, 0, 0])
    builder.node("Relu")
    builder.node("Pad", builder.shape(0, 0, 0, 1, 0, 0, 1, 0))
    builder.node("AveragePool", kernel_shape=[3, 2], strides=[2, 2])
    builder.node("Pad", builder.shape(0, 0, 1, 1, 0, 0, 1, 1), builder.constant(-np.inf))
    builder.node("MaxPool", kernel_shape=[2, 2])
    graph = check(builder.save(tmp_path))
    assert kinds(graph) == [Conv, AveragePool, MaxPool]
    assert isinstance(graph.layers[0], Conv)
    assert graph.layers[0].window.pads == Pads(1, 1, 2, 1)


def test_zero_pad_in_front_of_max_pool_behind_relu(tmp_path: Path) -> None:
    builder = OnnxBuilder(["n", 3, 6, 6], opset=18)
    conv(builder, 4, 3)
    builder.node("Relu")
    builder.node("Pad", builder.shape(1, 1, 1, 1), "", builder.shape(2, 3))
    builder.node("MaxPool", kernel_shape=[3, 3], strides=[2, 2])
    assert kinds(check(builder.save(tmp_path))) == [Conv, MaxPool]


def test_pad_in_another_layout(tmp_path: Path) -> None:
    builder = OnnxBuilder(["n", 6, 6, 3])
    builder.node("Pad", builder.shape(0, 1, 1, 0, 0, 2, 2, 0))
    builder.node("Transpose", perm=[0, 3, 1, 2])
    conv(builder, 4, 3)
    assert kinds(check(builder.save(tmp_path))) == [Conv]
