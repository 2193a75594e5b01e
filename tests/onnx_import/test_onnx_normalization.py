"""Normalizations by mean and deviation: as operators, and in the pieces that exporters write."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.import_check import check
from models.onnx_builder import OnnxBuilder, conv, weights
from models.value_ranges import value_ranges
from session.shared_models import shared_model
from tinysplit.common.errors import InputError
from tinysplit.network.float_reference import run_float
from tinysplit.network.integer_reference import run_integer
from tinysplit.network.layers import Layer, Normalization, Permute, Shape
from tinysplit.onnx_import import import_model
from tinysplit.quantize.choose_formats import choose_formats, quantize

Build = Callable[[OnnxBuilder], object]
CHANNELS, ROWS, COLUMNS = 6, 6, 5  # of the map that is normalized


def of(b: OnnxBuilder, operator: str, first: str, *others: str, **attributes: Any) -> str:  # noqa: ANN401
    """Add a node that reads these values."""
    b.value = first
    return b.node(operator, *others, **attributes)


def centered(b: OnnxBuilder, *axes: int, squared: str = "Pow", subtractions: int = 1) -> str:
    """Add a normalization by mean and deviation."""
    x = b.value
    mean = of(b, "ReduceMean", x, axes=axes)
    differences = [of(b, "Sub", x, mean) for _ in range(subtractions)]
    square = of(b, squared, differences[-1], b.constant(2.0) if squared == "Pow" else differences[-1])
    variance = of(b, "ReduceMean", square, axes=axes)
    root = of(b, "Sqrt", of(b, "Add", variance, b.constant(1e-3)))
    return of(b, "Div", differences[0], root)


def inverse_root(b: OnnxBuilder, *axes: int) -> str:
    """Add a normalization by the root of the mean square, as a product with its reciprocal."""
    x = b.value
    mean = of(b, "ReduceMean", of(b, "Mul", x, x), axes=axes)
    root = of(b, "Sqrt", of(b, "Add", b.constant(1e-3), mean))
    return of(b, "Mul", x, of(b, "Reciprocal", root))


def negative_power(b: OnnxBuilder, *axes: int) -> None:
    """Add the same with a power of -1/2."""
    x = b.value
    mean = of(b, "ReduceMean", of(b, "Pow", x, b.constant(2.0)), axes=axes)
    of(b, "Mul", of(b, "Pow", of(b, "Add", mean, b.constant(1e-3)), b.constant(-0.5)), x)


def by_norm(b: OnnxBuilder, *axes: int) -> None:
    """Add a division by the norm, as PyTorch writes it."""
    x = b.value
    norm = of(b, "Clip", of(b, "ReduceL2", x, axes=axes), b.constant(1e-12))
    expanded = of(b, "Expand", norm, of(b, "Shape", x))
    of(b, "Div", x, expanded)


def by_root_of_sum(b: OnnxBuilder, *axes: int) -> None:
    """Add the same from a sum of squares."""
    x = b.value
    total = of(b, "ReduceSum", of(b, "Mul", x, x), b.shape(*axes))
    of(b, "Div", x, of(b, "Sqrt", of(b, "Max", total, b.constant(1e-12))))


def group_normalization(b: OnnxBuilder, groups: int) -> None:
    """Add a GroupNormalization as PyTorch writes it."""
    shape = b.shape(1, CHANNELS, ROWS, COLUMNS)
    b.node("Reshape", b.shape(1, groups, -1))
    b.node("InstanceNormalization", b.constant(np.ones(groups)), b.constant(np.zeros(groups)), epsilon=1e-3)
    b.node("Reshape", shape)
    affine(b, CHANNELS, 1, 1)


def affine(b: OnnxBuilder, *shape: int) -> str:
    b.node("Mul", b.constant(weights(*shape)))
    return b.node("Add", b.constant(weights(*shape)))


def layer_normalization(b: OnnxBuilder, axis: int, *shape: int) -> None:
    b.node("LayerNormalization", b.constant(weights(*shape)), b.constant(weights(*shape)), axis=axis)


def channels_last(b: OnnxBuilder, build: Build) -> None:
    """Add nodes between two transpositions."""
    b.node("Transpose", perm=[0, 2, 3, 1])
    build(b)
    b.node("Transpose", perm=[0, 3, 1, 2])


PER_PIXEL, PER_CHANNEL, WHOLE = (1, False), (CHANNELS, True), (1, True)
CASES: list[tuple[str, Build, tuple[int, bool]]] = [
    ("channels", lambda b: channels_last(b, lambda b: layer_normalization(b, -1, CHANNELS)), PER_PIXEL),
    ("one scale", lambda b: channels_last(b, lambda b: layer_normalization(b, 3, 1)), PER_PIXEL),
    ("whole", lambda b: layer_normalization(b, 1, CHANNELS, 1, 1), WHOLE),
    ("elements", lambda b: layer_normalization(b, 1, CHANNELS, ROWS, COLUMNS), PER_PIXEL),  # of a vector
    ("instances", lambda b: b.node("InstanceNormalization", *two(b, CHANNELS)), PER_CHANNEL),
    ("groups", lambda b: group_normalization(b, 2), (2, True)),
    ("pieces", lambda b: (centered(b, 1), affine(b, CHANNELS, 1, 1)), PER_PIXEL),
    ("products", lambda b: centered(b, 2, 3, squared="Mul"), PER_CHANNEL),
    ("twice", lambda b: centered(b, -1, -2, -3, subtractions=2), WHOLE),
    ("reciprocal", lambda b: (inverse_root(b, 1), affine(b, CHANNELS, 1, 1)), PER_PIXEL),
    ("power", lambda b: negative_power(b, 1), PER_PIXEL),
    ("norm", lambda b: by_norm(b, 1), PER_PIXEL),
    ("sum", lambda b: by_root_of_sum(b, 1), PER_PIXEL),
]


def two(b: OnnxBuilder, count: int) -> tuple[str, str]:
    return b.constant(weights(count)), b.constant(weights(count))


def network(build: Build, opset: int) -> OnnxBuilder:
    builder = OnnxBuilder(["n", 3, ROWS, COLUMNS], opset)
    conv(builder, CHANNELS, 3, (1, 1))
    build(builder)
    return builder


@pytest.mark.parametrize(("build", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_normalizations_are_one_layer_with_scale_and_shift(
    build: Build, expected: tuple[int, bool], tmp_path: Path
) -> None:
    path = network(build, 17).save(tmp_path)
    _, layer = check(path).layers
    assert isinstance(layer, Normalization)
    assert (layer.groups, layer.over_map) == expected


@pytest.mark.parametrize("bits", [8, 16])
@pytest.mark.parametrize("build", [case[1] for case in CASES], ids=[case[0] for case in CASES])
def test_integers_are_near_the_float_network(build: Build, bits: int, tmp_path: Path) -> None:
    path = network(build, 17).save(tmp_path)
    graph = import_model(path)
    x = np.random.default_rng(0).normal(size=(20, *graph.sample_shape)).astype(np.float32)
    quantized = quantize(graph, choose_formats(graph, value_ranges(path, graph.value_names, x), bits), bits)
    expected = run_float(path, x)
    error = quantized.output_formats[0].dequantize(run_integer(quantized, x)).reshape(expected.shape) - expected
    assert np.square(error).sum() < np.square(expected).sum() * (1e-2 if bits == 8 else 1e-6)


@pytest.mark.parametrize("groups", [1, 3, CHANNELS])
def test_groups_of_channels(groups: int, tmp_path: Path) -> None:
    builder = network(lambda b: b.node("GroupNormalization", *two(b, CHANNELS), num_groups=groups), 21)
    _, layer = check(builder.save(tmp_path)).layers
    assert isinstance(layer, Normalization)
    assert (layer.groups, layer.over_map) == (groups, True)


def test_groups_along_rows_are_moved_next_to_each_other(tmp_path: Path) -> None:
    _, moved, layer = layers(lambda b: layer_normalization(b, -1, COLUMNS), tmp_path)
    assert isinstance(moved, Permute)
    assert isinstance(layer, Normalization)
    assert layer.in_shape == Shape(1, CHANNELS * ROWS, COLUMNS)


def test_channels_that_are_no_channels_in_memory_are_moved_there(tmp_path: Path) -> None:
    def turned(b: OnnxBuilder) -> None:
        b.node("Transpose", perm=[0, 2, 1, 3])
        b.node("InstanceNormalization", *two(b, ROWS))

    _, moved, layer = layers(turned, tmp_path)
    assert isinstance(moved, Permute)
    assert isinstance(layer, Normalization)
    assert (layer.groups, layer.over_map) == (ROWS, True)


def layers(build: Build, folder: Path) -> tuple[Layer, ...]:
    return tuple(check(network(build, 17).save(folder)).layers)


def test_a_relu_behind_it_is_fused(tmp_path: Path) -> None:
    _, layer = layers(lambda b: (centered(b, 1), affine(b, CHANNELS, 1, 1), b.node("Relu")), tmp_path)
    assert isinstance(layer, Normalization)
    assert layer.activation.low == 0


def by_large_norm(b: OnnxBuilder) -> None:
    """Divide by a norm of at least 1, which is no normalization."""
    x = b.value
    of(b, "Div", x, of(b, "Max", of(b, "ReduceL2", x, axes=[1]), b.constant(1.0)))


def of_other_axes(b: OnnxBuilder) -> None:
    """Divide by the deviation over other axes."""
    x = b.value
    difference = of(b, "Sub", x, of(b, "ReduceMean", x, axes=[1]))
    variance = of(b, "ReduceMean", of(b, "Mul", difference, difference), axes=[2])
    of(b, "Div", x, of(b, "Sqrt", variance))


@pytest.mark.parametrize("build", [by_large_norm, of_other_axes])
def test_what_is_no_normalization_stays_a_division(build: Build, tmp_path: Path) -> None:
    assert not any(isinstance(layer, Normalization) for layer in layers(build, tmp_path))


def test_larger_groups_than_sums_can_have_are_refused(tmp_path: Path) -> None:
    builder = OnnxBuilder([1, 2, 260, 260], 17)
    builder.node("InstanceNormalization", *two(builder, 2))
    with pytest.raises(InputError, match="normalizes 67600 values together; the limit is 65536"):
        import_model(builder.save(tmp_path))


@pytest.mark.parametrize("name", ["groupnorm_ts13", "face_embedding_l2norm_ts13", "convnext_tiny_ts17"])
def test_real_networks_lose_little(name: str) -> None:
    path = shared_model(f"gallery/{name}.onnx")
    graph = import_model(path)
    x = np.random.default_rng(0).normal(size=(20, *graph.sample_shape)).astype(np.float32)
    quantized = quantize(graph, choose_formats(graph, value_ranges(path, graph.value_names, x), 16), 16)
    expected = run_float(path, x)
    error = quantized.output_formats[0].dequantize(run_integer(quantized, x)).reshape(expected.shape) - expected
    assert np.sqrt(np.square(error).sum() / np.square(expected).sum()) < 0.01
