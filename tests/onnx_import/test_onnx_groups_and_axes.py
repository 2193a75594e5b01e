"""Groups with one output of several inputs, and reductions that name no axes, held against ONNX Runtime."""

from pathlib import Path
from typing import Any

import pytest

from models.import_check import check, kinds
from models.onnx_builder import OnnxBuilder, conv
from tinysplit.network.layers import AveragePool, Conv, DepthwiseConv, MaxPool, Shape

POOLS = {"ReduceMean": AveragePool, "ReduceMax": MaxPool}


@pytest.mark.parametrize(
    ("outputs", "groups", "macc"), [(2, 2, 5 * 5 * 2 * (9 * 2 + 1)), (4, 2, 5 * 5 * 4 * (9 * 2 + 1))]
)
def test_groups_of_two_inputs(tmp_path: Path, outputs: int, groups: int, macc: int) -> None:
    builder = OnnxBuilder([1, 4, 7, 7])
    conv(builder, outputs, 4 // groups, group=groups)
    graph = check(builder.save(tmp_path))
    assert kinds(graph) == [Conv]
    assert graph.out_shape == Shape(5, 5, outputs)
    assert graph.macc == macc


def test_groups_of_one_input_and_one_output_are_depthwise(tmp_path: Path) -> None:
    builder = OnnxBuilder([1, 4, 7, 7])
    conv(builder, 4, 1, group=4)
    assert kinds(check(builder.save(tmp_path))) == [DepthwiseConv]


def test_one_channel_makes_no_depthwise_convolution(tmp_path: Path) -> None:
    builder = OnnxBuilder([1, 1, 7, 7])
    conv(builder, 1, 1)
    assert kinds(check(builder.save(tmp_path))) == [Conv]


@pytest.mark.parametrize("operator", POOLS)
@pytest.mark.parametrize("has_empty_axes", [False, True])
def test_a_reduction_over_no_axes_may_do_nothing(tmp_path: Path, operator: str, has_empty_axes: bool) -> None:
    builder = OnnxBuilder(["n", 2, 4, 5], opset=18)
    conv(builder, 3, 2)
    builder.node(operator, *([builder.shape()] if has_empty_axes else []), noop_with_empty_axes=1)
    builder.node("Flatten")
    graph = check(builder.save(tmp_path))
    assert kinds(graph) == [Conv]
    assert graph.output_shape == (2 * 3 * 3,)


@pytest.mark.parametrize("operator", POOLS)
@pytest.mark.parametrize("attributes", [{}, {"noop_with_empty_axes": 0}], ids=str)
def test_a_reduction_over_no_axes_means_all_of_them(tmp_path: Path, operator: str, attributes: dict[str, Any]) -> None:
    builder = OnnxBuilder([1, 2, 4, 5], opset=18)
    conv(builder, 1, 2)
    builder.node(operator, **attributes)
    graph = check(builder.save(tmp_path), samples=1)
    assert kinds(graph) == [Conv, POOLS[operator]]
    assert graph.out_shape == Shape(1, 1, 1)


@pytest.mark.parametrize("operator", POOLS)
def test_axes_that_are_named_are_reduced_whatever_the_flag_says(tmp_path: Path, operator: str) -> None:
    builder = OnnxBuilder(["n", 2, 4, 5], opset=18)
    conv(builder, 3, 2)
    builder.node(operator, builder.shape(2, 3), noop_with_empty_axes=1)
    assert kinds(check(builder.save(tmp_path))) == [Conv, POOLS[operator]]
