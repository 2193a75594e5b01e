"""Slice, Split, Gather and Expand: layers that compute a part alone, and copies where none can."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.import_check import check, kinds
from models.onnx_builder import OnnxBuilder, conv, weights
from tinysplit.network.layers import (
    Add,
    Concat,
    Conv,
    Dense,
    DepthwiseConv,
    Layer,
    Lookup,
    MaxPool,
    Mul,
    Pad,
    Pads,
    Permute,
    Softmax,
)

END = 2**63 - 1


def a_map() -> OnnxBuilder:
    return OnnxBuilder(["n", 3, 6, 7], 18)


def sliced(builder: OnnxBuilder, value: str, start: int, end: int, axis: int, step: int = 1) -> str:
    """Add a Slice of `value`."""
    builder.value = value
    return builder.node("Slice", *(builder.shape(number) for number in (start, end, axis, step)))


def halves(builder: OnnxBuilder, *sizes: int, axis: int = 1) -> tuple[str, str]:
    """Add a Split in two parts."""
    builder.node("Split", builder.shape(*sizes), axis=axis)
    second = f"{builder.value}_second"
    builder.nodes[-1].output.append(second)
    return builder.value, second


def windows(layers: tuple[Layer, ...]) -> list[Pads]:
    return [layer.window.pads for layer in layers if isinstance(layer, Conv | DepthwiseConv | MaxPool)]


def test_channels_of_a_convolution_that_nobody_reads_whole(tmp_path: Path) -> None:
    builder = a_map()
    conv(builder, 6, 3, pads=[1, 1, 1, 1])
    first, second = halves(builder, 4, 2)
    builder.value = first
    builder.node("Tanh")
    conv(builder, 2, 4, (1, 1))
    builder.node("Sigmoid")
    builder.node("Mul", second)
    graph = check(builder.save(tmp_path))
    assert sorted(each.kind for each in kinds(graph)) == ["conv", "conv", "conv", "lookup", "lookup", "mul"]
    assert sum(layer.macc for layer in graph.layers if isinstance(layer, Conv)) == 42 * (6 * 28 + 2 * 5)


def test_channels_of_a_convolution_that_another_node_reads_whole(tmp_path: Path) -> None:
    builder = a_map()
    whole = conv(builder, 6, 3, pads=[1, 1, 1, 1])
    sliced(builder, whole, 0, 2, 1)
    conv(builder, 6, 2, (1, 1))
    builder.node("Add", whole)
    assert kinds(check(builder.save(tmp_path))) == [Conv, Permute, Conv, Add]


def test_a_causal_convolution_cuts_what_it_pads_too_much(tmp_path: Path) -> None:
    builder = OnnxBuilder(["n", 3, 16])
    conv(builder, 4, 3, (3,), pads=[4, 4], dilations=[2])
    sliced(builder, builder.value, 0, -4, 2)
    builder.node("Relu")
    conv(builder, 4, 1, (3,), pads=[2, 2], strides=[2], group=4)
    sliced(builder, builder.value, 0, -1, 2)
    sliced(builder, builder.value, -1, END, 2)
    builder.node("Flatten")
    builder.node("Gemm", builder.constant(weights(4, 2)))
    graph = check(builder.save(tmp_path))
    assert kinds(graph) == [Conv, DepthwiseConv, Permute, Dense]
    assert windows(graph.layers) == [Pads(left=4), Pads(left=2, right=2)]


@pytest.mark.parametrize(
    ("start", "end", "axis", "step", "expected"),
    [
        (1, 3, 1, 1, [Conv, Permute, Conv]),
        (0, END, 1, 2, [Conv, Permute, Conv]),
        (END, -END, 1, -1, [Conv, Permute, Conv]),
        (1, -1, 2, 1, [Conv, Permute, Conv]),
        (1, END, 3, 3, [Conv, Permute, Conv]),
        (-1, -6, 3, -2, [Conv, Permute, Conv]),
        (0, END, 2, 1, [Conv, Conv]),
    ],
)
def test_ranges_of_every_axis(
    start: int, end: int, axis: int, step: int, expected: list[type[Layer]], tmp_path: Path
) -> None:
    builder = a_map()
    conv(builder, 4, 3, (1, 1))
    builder.node("Softmax", axis=1)  # of which no part can be computed apart
    sliced(builder, builder.value, start, end, axis, step)
    channels = {1: len(range(4)[start:end:step])}.get(axis, 4)
    conv(builder, 2, channels, (1, 1))
    graph = check(builder.save(tmp_path))
    assert kinds(graph) == [expected[0], Softmax, *expected[1:]]


@pytest.mark.parametrize(
    ("indices", "axis", "expected"),
    [([0, 1, 2, 3], 1, []), ([3, 0, 0, 2, 1], 1, [Permute]), ([[4, -1], [0, 2]], 2, [Permute]), (5, 2, [Permute])],
)
def test_gather(indices: Any, axis: int, expected: list[type[Layer]], tmp_path: Path) -> None:  # noqa: ANN401
    builder = a_map()
    conv(builder, 4, 3, (1, 1))
    builder.node("Softmax", axis=1)
    builder.node("Gather", builder.constant(indices, np.int64), axis=axis)
    builder.node("Flatten")
    size = 4 * 6 * 7 // {1: 4, 2: 6}[axis] * np.size(indices)
    builder.node("Gemm", builder.constant(weights(size, 3)))
    assert kinds(check(builder.save(tmp_path))) == [Conv, Softmax, *expected, Dense]


def test_parts_of_the_network_input_become_channels(tmp_path: Path) -> None:
    builder = OnnxBuilder(["n", 3, 6, 8])
    parts = []
    for row, column in np.ndindex(2, 2):
        sliced(builder, "x", row, END, 2, 2)
        parts.append(sliced(builder, builder.value, column, END, 3, 2))
    builder.value = parts[0]
    builder.node("Concat", *parts[1:], axis=1)
    conv(builder, 2, 12)
    assert kinds(check(builder.save(tmp_path))) == [*[Permute] * 4, Concat, Conv]


def test_steps_between_a_part_and_its_whole(tmp_path: Path) -> None:
    builder = a_map()
    conv(builder, 4, 3)
    silu = builder.node("HardSwish")
    first, second = (sliced(builder, silu, start, start + 2, 1) for start in (0, 2))
    builder.value = first
    builder.node("Mul", builder.constant(weights(2, 1, 1)))
    builder.node("Relu")
    builder.node("Mul", second)
    graph = check(builder.save(tmp_path))
    assert sorted(each.kind for each in kinds(graph)) == [
        "conv",
        "depthwise_conv",
        "lookup",
        "mul",
        "permute",
        "permute",
    ]


def test_equal_parts_are_changed_apart(tmp_path: Path) -> None:
    builder = a_map()
    whole = conv(builder, 4, 3)
    first, second = (sliced(builder, whole, 0, 2, 1) for _ in range(2))
    builder.value = first
    relu = builder.node("Relu")
    builder.value = second
    builder.node("Mul", builder.constant(-2.0))
    builder.node("Mul", relu)
    assert kinds(check(builder.save(tmp_path))) == [Conv, Conv, Mul]


def test_a_part_of_a_padded_map(tmp_path: Path) -> None:
    builder = a_map()
    builder.node("Pad", builder.shape(0, 0, 2, 2, 0, 0, 2, 2))
    sliced(builder, builder.value, 1, -2, 2)
    conv(builder, 2, 3)
    sliced(builder, builder.value, 0, 1, 2)
    builder.node("Tanh")
    graph = check(builder.save(tmp_path))
    assert kinds(graph) == [Conv, Permute, Lookup] or kinds(graph) == [Conv, Lookup]
    assert Pad not in kinds(graph)


def test_values_are_repeated(tmp_path: Path) -> None:
    builder = a_map()
    builder.node("GlobalMaxPool")
    builder.node("Expand", builder.shape(1, 3, 2, 3))
    conv(builder, 2, 3, (2, 3))
    assert kinds(check(builder.save(tmp_path))) == [MaxPool, Permute, Conv]


@pytest.mark.parametrize(
    "build",
    [
        lambda b: b.node("DepthToSpace", blocksize=2),
        lambda b: b.node("DepthToSpace", blocksize=2, mode="CRD"),
        lambda b: b.node("SpaceToDepth", blocksize=2),
    ],
)
def test_blocks(build: Callable[[OnnxBuilder], str], tmp_path: Path) -> None:
    builder = OnnxBuilder(["n", 3, 6, 8])
    conv(builder, 8, 3, (1, 1))
    build(builder)
    builder.node("MaxPool", kernel_shape=[2, 1])
    assert kinds(check(builder.save(tmp_path))) == [Conv, Permute, MaxPool]
