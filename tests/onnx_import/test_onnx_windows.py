"""Convolutions, pools and the padding in front of them, held against ONNX Runtime."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from import_check import check, kinds
from onnx_builder import OnnxBuilder, conv, weights
from tinysplit.network.layers import AveragePool, Conv, DepthwiseConv, Layer, MaxPool, Pads, Shape


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
