"""Batch normalization, arithmetic with constants and clamps: folded where a layer can take them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.import_check import check, kinds
from models.onnx_builder import OnnxBuilder, batch_normalization, conv, weights
from tinysplit.network.layers import Activation, Conv, Dense, DepthwiseConv, MaxPool, Softmax


def test_batch_normalization_folds_into_conv_and_dense(tmp_path: Path) -> None:
    builder = OnnxBuilder(["n", 3, 5, 5])
    conv(builder, 4, 3)
    batch_normalization(builder, 4)
    builder.node("Relu")
    conv(builder, 4, 1, group=4)
    batch_normalization(builder, 4)
    builder.node("Flatten")
    builder.node("Gemm", builder.constant(weights(4, 6)))
    batch_normalization(builder, 6)
    graph = check(builder.save(tmp_path))
    assert kinds(graph) == [Conv, DepthwiseConv, Dense]
    assert graph.layers[0].activation == Activation(0.0)


def test_batch_normalization_without_a_producer_is_a_depthwise_conv(tmp_path: Path) -> None:
    builder = OnnxBuilder(["n", 3, 5, 5])
    batch_normalization(builder, 3)
    conv(builder, 4, 3, pads=[1, 1, 1, 1])
    builder.node("Relu")
    batch_normalization(builder, 4)
    builder.node("MaxPool", kernel_shape=[2, 2])
    batch_normalization(builder, 4)
    graph = check(builder.save(tmp_path))
    assert kinds(graph) == [DepthwiseConv, Conv, DepthwiseConv, MaxPool, DepthwiseConv]


def test_batch_normalization_of_a_flattened_map(tmp_path: Path) -> None:
    builder = OnnxBuilder(["n", 2, 4, 4])
    conv(builder, 3, 2)
    builder.node("Flatten")
    batch_normalization(builder, 12)
    builder.node("Gemm", builder.constant(weights(12, 2)))
    assert kinds(check(builder.save(tmp_path))) == [Conv, DepthwiseConv, Dense]


@pytest.mark.parametrize("channels_last", [False, True])
def test_arithmetic_and_clamps_on_the_input_wait_for_its_layout(tmp_path: Path, channels_last: bool) -> None:
    builder = OnnxBuilder(["n", 4, 5, 3] if channels_last else ["n", 3, 4, 5])
    constant = (1, 1, 3) if channels_last else (3, 1, 1)
    builder.node("Relu")
    builder.node("Div", builder.constant(255.0))
    builder.node("Sub", builder.constant(weights(*constant)))
    builder.node("Clip", builder.constant(-1.0), "")
    if channels_last:
        builder.node("Transpose", perm=[0, 3, 1, 2])
    conv(builder, 2, 3)
    assert kinds(check(builder.save(tmp_path))) == [MaxPool, DepthwiseConv, Conv]


@pytest.mark.parametrize("operator", ["Add", "Sub", "Mul", "Div"])
@pytest.mark.parametrize("shape", [(), (4, 1, 1), (1, 4, 1, 1)])
def test_arithmetic_with_constants_folds(tmp_path: Path, operator: str, shape: tuple[int, ...]) -> None:
    builder = OnnxBuilder(["n", 3, 5, 5])
    conv(builder, 4, 3)
    builder.node(operator, builder.constant(np.abs(weights(*shape)) + 0.5))
    if operator != "Div":
        builder.node(operator, builder.constant(weights(*shape)), "@")
    assert kinds(check(builder.save(tmp_path))) == [Conv]


@pytest.mark.parametrize("bounds", [(0.0, 6.0), (-0.5, None), (None, 0.25), (None, None), (2.0, 1.0)])
def test_clip(tmp_path: Path, bounds: tuple[float | None, float | None]) -> None:
    builder = OnnxBuilder(["n", 3, 5, 5])
    conv(builder, 4, 3)
    builder.node("Clip", *("" if bound is None else builder.constant(bound) for bound in bounds))
    assert kinds(check(builder.save(tmp_path))) == [Conv]


def test_clamps_on_clamps_and_behind_softmax(tmp_path: Path) -> None:
    builder = OnnxBuilder(["n", 6])
    builder.node("Gemm", builder.constant(weights(6, 4)))
    builder.node("Relu")
    builder.node("Clip", builder.constant(-1.0), builder.constant(1.5))
    builder.node("Clip", builder.constant(0.5), builder.constant(9.0))
    builder.node("Softmax")
    builder.node("Clip", builder.constant(0.1), builder.constant(0.5))
    graph = check(builder.save(tmp_path))
    assert kinds(graph) == [Dense, Softmax, MaxPool]
    assert graph.layers[0].activation == Activation(0.5, 1.5)


@pytest.mark.parametrize(
    ("operator", "attributes", "takes_clamp"),
    [
        ("MaxPool", {"kernel_shape": [2, 2]}, True),
        ("AveragePool", {"kernel_shape": [2, 2]}, True),
        ("Concat", {"axis": 1}, True),
        ("Add", {}, True),
        ("Mul", {}, True),
        ("Softmax", {"axis": 1}, False),
        ("LeakyRelu", {}, False),
    ],
)
def test_a_clamp_folds_into_layers_that_take_it(
    operator: str, attributes: dict[str, Any], takes_clamp: bool, tmp_path: Path
) -> None:
    builder = OnnxBuilder(["n", 3, 6, 6])
    first = builder.node("Softmax", axis=1)
    builder.node("LeakyRelu")
    builder.node(operator, *([first] if operator in ("Add", "Mul", "Concat") else []), **attributes)
    builder.node("Clip", builder.constant(0.1), builder.constant(0.3))
    graph = check(builder.save(tmp_path))
    assert len(graph.layers) == (3 if takes_clamp else 4)
    assert graph.layers[-1].activation == Activation(float(np.float32(0.1)), float(np.float32(0.3)))


@pytest.mark.parametrize("operator", ["Add", "Sub", "Mul", "Div"])
@pytest.mark.parametrize(
    ("before", "constant"), [((1, 1, 5), (8, 5)), ((1, 5, 1), (1, 1, 4)), ((1, 4, 1, 1), (1, 6, 2))]
)
def test_a_constant_that_repeats_the_activation(
    operator: str, before: tuple[int, ...], constant: tuple[int, ...], tmp_path: Path
) -> None:
    """Distances to centres: each element is copied."""
    builder = OnnxBuilder(before, 17)
    builder.node("Relu")
    builder.node(operator, builder.constant(np.abs(weights(*constant)) + 0.5))
    check(builder.save(tmp_path))
