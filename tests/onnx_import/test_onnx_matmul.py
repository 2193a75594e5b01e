"""Products of two activations: attention as exporters write it, and the layouts in which no value has to be moved."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper

from models.import_check import check
from models.onnx_builder import OnnxBuilder, conv, weights
from models.value_ranges import ranges_of
from session.shared_models import shared_model
from tinysplit.network.float_reference import run_float
from tinysplit.network.integer_reference import run_integer
from tinysplit.network.layers import Conv, DepthwiseConv, Layer, MatMul, Permute, Shape, Softmax
from tinysplit.onnx_import import import_model
from tinysplit.quantize.choose_formats import choose_formats, quantize

TOKENS, HEADS, FEATURES = 6, 2, 4  # of each head
CHANNELS = HEADS * FEATURES
SCALE = FEATURES**-0.5
ROOT = FEATURES**-0.25  # for queries and keys


def of(b: OnnxBuilder, operator: str, first: str, *others: str, **attributes: Any) -> str:  # noqa: ANN401
    """Add a node that reads these values."""
    b.value = first
    return b.node(operator, *others, **attributes)


def linear(b: OnnxBuilder, x: str, outputs: int, inputs: int = CHANNELS) -> str:
    """Add a fully connected layer of every token, as exporters write it."""
    product = of(b, "MatMul", x, b.constant(weights(inputs, outputs) / 2))
    return of(b, "Add", product, b.constant(weights(outputs)))


def separate(b: OnnxBuilder, x: str) -> list[str]:
    """Add queries, keys and values by a layer each."""
    return [by_heads(b, linear(b, x, CHANNELS)) for _ in range(3)]


def by_heads(b: OnnxBuilder, x: str) -> str:
    return of(b, "Transpose", of(b, "Reshape", x, b.shape(1, -1, HEADS, FEATURES)), perm=[0, 2, 1, 3])


def gathered(b: OnnxBuilder, x: str) -> list[str]:
    """Add queries, keys and values by one layer, as Gather takes them after a transposition."""
    every = of(b, "Reshape", linear(b, x, 3 * CHANNELS), b.shape(1, TOKENS, 3, HEADS, FEATURES))
    turned = of(b, "Transpose", every, perm=[2, 0, 3, 1, 4])
    return [of(b, "Gather", turned, b.constant(k, np.int64), axis=0) for k in range(3)]


def sliced(b: OnnxBuilder, x: str) -> list[str]:
    """Add queries, keys and values by one layer of which Slice takes parts."""
    every, axis = linear(b, x, 3 * CHANNELS), b.shape(-1)
    bounds = [(b.shape(k * CHANNELS), b.shape((k + 1) * CHANNELS)) for k in range(3)]
    return [by_heads(b, of(b, "Slice", every, start, end, axis)) for start, end in bounds]


def attention(
    b: OnnxBuilder, q: str, k: str, v: str, scaled: str = "after", mask: NDArray[np.float32] | None = None
) -> str:
    """Add scaled dot product attention with its scale at the scores, the queries, the keys, or both as roots."""
    keys = of(b, "Transpose", k, perm=[0, 1, 3, 2])
    if scaled in {"queries", "both"}:
        q = of(b, "Mul", q, b.constant(ROOT if scaled == "both" else SCALE))
    if scaled in {"keys", "both"}:
        keys = of(b, "Mul", keys, b.constant(ROOT if scaled == "both" else SCALE))
    scores = of(b, "MatMul", q, keys)
    if scaled == "after":
        scores = of(b, "Div", scores, b.constant(1 / SCALE))
    if mask is not None:
        scores = of(b, "Add", scores, b.constant(mask))
    return of(b, "MatMul", of(b, "Softmax", scores, axis=-1), v)


def joined(b: OnnxBuilder, heads: str) -> str:
    """Add the layer behind the heads."""
    turned = of(b, "Transpose", heads, perm=[0, 2, 1, 3])
    return linear(b, of(b, "Reshape", turned, b.shape(1, -1, CHANNELS)), CHANNELS)


Parts = Callable[[OnnxBuilder, str], list[str]]


def tokens(b: OnnxBuilder) -> str:
    """Add a convolution whose pixels are tokens."""
    conv(b, CHANNELS, 3, (1, 1))
    return of(b, "Transpose", of(b, "Reshape", b.value, b.shape(1, CHANNELS, -1)), perm=[0, 2, 1])


def network() -> OnnxBuilder:
    return OnnxBuilder(["n", 3, 2, TOKENS // 2], 17)


@pytest.mark.parametrize("scaled", ["after", "queries", "keys", "both"])
@pytest.mark.parametrize("parts", [separate, gathered, sliced])
def test_attention_moves_no_values_and_multiplies_none_by_its_scale(parts: Parts, scaled: str, tmp_path: Path) -> None:
    b = network()
    q, k, v = parts(b, tokens(b))
    joined(b, attention(b, q, k, v, scaled))
    graph = check(b.save(tmp_path))
    kinds = [type(layer) for layer in graph.layers]
    assert sorted(kind.__name__ for kind in kinds) == ["Conv"] * 5 + ["MatMul"] * 2 + ["Softmax"]
    scores, sums = (layer for layer in graph.layers if isinstance(layer, MatMul))
    assert scores.in_shapes == (Shape(TOKENS, HEADS, FEATURES),) * 2
    assert (scores.transposed, sums.transposed) == (True, False)
    assert sums.in_shapes == (Shape(TOKENS, HEADS, TOKENS), Shape(TOKENS, HEADS, FEATURES))
    assert scores.scale == pytest.approx(SCALE if scaled == "after" else 1.0)


def test_queries_of_other_tokens_than_keys_and_values(tmp_path: Path) -> None:
    b = network()
    x = tokens(b)
    few = of(b, "Slice", x, b.shape(0), b.shape(2), b.shape(1))
    q, k, v = (by_heads(b, linear(b, source, CHANNELS)) for source in (few, x, x))
    joined(b, attention(b, q, k, v))
    graph = check(b.save(tmp_path))
    assert graph.out_shape.size == 2 * CHANNELS
    assert not any(isinstance(layer, Permute | DepthwiseConv) for layer in graph.layers[2:])


def test_a_compact_transformer_pools_its_tokens_by_a_product(tmp_path: Path) -> None:
    b = OnnxBuilder(["n", 1, 8, 8], 17)
    conv(b, CHANNELS, 1, pads=[1, 1, 1, 1])
    b.node("Relu")
    b.node("MaxPool", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    x = of(b, "Transpose", of(b, "Reshape", b.value, b.shape(1, CHANNELS, -1)), perm=[0, 2, 1])
    x = of(b, "Add", x, b.constant(weights(1, 16, CHANNELS)))
    q, k, v = separate(b, x)
    x = of(b, "Add", x, joined(b, attention(b, q, k, v)))
    scores = of(b, "Softmax", linear(b, x, 1), axis=1)
    pooled = of(b, "MatMul", of(b, "Transpose", scores, perm=[0, 2, 1]), x)
    linear(b, of(b, "Squeeze", pooled, b.shape(1)), 5)
    graph = check(b.save(tmp_path))
    *_, last = (layer for layer in graph.layers if isinstance(layer, MatMul))
    assert last.in_shapes == (Shape(1, 1, 16), Shape(16, 1, CHANNELS))
    assert not any(isinstance(layer, Permute) for layer in graph.layers)


def test_a_bias_of_positions_is_added_to_scores(tmp_path: Path) -> None:
    b = network()
    q, k, v = gathered(b, tokens(b))
    joined(b, attention(b, q, k, v, mask=weights(HEADS, TOKENS, TOKENS)))
    check(b.save(tmp_path))


@pytest.mark.parametrize(
    ("first", "second", "heads"),
    [
        ((1, 3, 2, 4), (1, 3, 4, 2), 3),
        ((1, 3, 2, 4), (1, 1, 4, 2), 1),  # one matrix for all heads, whose rows are those of one
        ((1, 1, 2, 4), (1, 3, 4, 2), 3),
        ((3, 1, 2, 4), (1, 3, 4, 2), 9),
        ((2, 4), (3, 4, 2), 3),
        ((4,), (3, 4, 2), 3),
        ((3, 2, 4), (4,), 1),
        ((4,), (4,), 1),
    ],
)
def test_matrices_of_any_shape_are_multiplied_as_onnx_does(
    first: tuple[int, ...], second: tuple[int, ...], heads: int, tmp_path: Path
) -> None:
    b = OnnxBuilder(["n", 24], 17)
    operands = []
    for shape in (first, second):
        of(b, "MatMul", "x", b.constant(weights(24, int(np.prod(shape)))))
        operands.append(b.node("Reshape", b.shape(*shape)))
    product = of(b, "MatMul", *operands)
    rank = max(len(first), len(second), 2) - (len(first) < 2) - (len(second) < 2)
    if rank == 0:
        of(b, "Reshape", product, b.shape(1, 1))
    graph = check(b.save(tmp_path), samples=1)
    [layer] = (layer for layer in graph.layers if isinstance(layer, MatMul))
    assert layer.in_shape.width == heads


def test_a_product_of_a_value_with_itself_reads_it_twice(tmp_path: Path) -> None:
    b = network()
    x = tokens(b)
    of(b, "MatMul", of(b, "Transpose", x, perm=[0, 2, 1]), x)
    graph = check(b.save(tmp_path))
    assert [type(layer) for layer in graph.layers] == [Conv, Permute, MatMul]


def test_functions_behind_scores_stay_layers_and_a_relu_does_not(tmp_path: Path) -> None:
    b = network()
    x = tokens(b)
    scores = of(b, "MatMul", x, of(b, "Transpose", x, perm=[0, 2, 1]))
    scores = of(b, "Relu", scores)
    of(b, "MatMul", of(b, "Mul", scores, b.constant(-2.0)), x)
    graph = check(b.save(tmp_path))
    assert [type(layer) for layer in graph.layers] == [Conv, MatMul, DepthwiseConv, MatMul]
    assert graph.layers[1].activation.low == 0


def test_integers_of_16_bits_are_those_of_the_float_network(tmp_path: Path) -> None:
    b = network()
    q, k, v = gathered(b, tokens(b))
    joined(b, attention(b, q, k, v))
    path = b.save(tmp_path)
    graph = import_model(path)
    x = np.random.default_rng(2).normal(size=(4, *graph.sample_shape)).astype(np.float32)
    expected = run_float(path, x)
    quantized = quantize(graph, choose_formats(graph, ranges_of(graph, path, x), 16), 16)
    found = quantized.output_formats[0].dequantize(run_integer(quantized, x)).reshape(expected.shape)
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-3 * np.abs(expected).max())


def test_a_vision_transformer_of_the_new_exporter_is_imported_without_copies() -> None:
    graph = import_model(shared_model("gallery/tiny_vit_dynamo18.onnx"))
    layers: list[Layer] = [layer for layer in graph.layers if isinstance(layer, MatMul | Softmax | Permute)]
    assert [type(layer) for layer in layers] == [MatMul, Softmax, MatMul] * 2


@pytest.mark.parametrize("shape", [(5, 7), (1, 5, 7)])
def test_a_weight_matrix_on_the_left(shape: tuple[int, ...], tmp_path: Path) -> None:
    """Rows are mixed: those of the transposed activation."""
    b = OnnxBuilder([1, 7, 4])
    first = linear(b, "x", 4, 4)
    b.value = first
    b.node("MatMul", b.constant(weights(*shape)), "@")
    linear(b, b.value, 3, 4)
    assert [layer.kind for layer in check(b.save(tmp_path)).layers].count("conv") == 3


def test_a_weight_matrix_times_a_column(tmp_path: Path) -> None:
    b = OnnxBuilder([1, 7, 1])
    b.node("MatMul", b.constant(weights(3, 7)), "@")
    assert check(b.save(tmp_path)).layers[-1].kind == "dense"


Add = Callable[[OnnxBuilder], object]


def of_input(b: OnnxBuilder, *shape: int) -> str:
    """Add an input of the network."""
    b.inputs.append(helper.make_tensor_value_info("second", TensorProto.FLOAT, shape))
    return "second"


def neighbours(b: OnnxBuilder) -> None:
    """Add a layer of a graph network: a matrix of neighbours times features."""
    features = b.node("MatMul", b.constant(weights(8, 4)))
    b.value = of_input(b, 6, 6)
    b.node("MatMul", features)
    b.node("MatMul", b.constant(weights(4, 3)))


def gemm(b: OnnxBuilder, *c: str, **attributes: Any) -> None:  # noqa: ANN401 - as onnx.helper takes them
    """Add a Gemm of two activations."""
    rows = b.node("Reshape", b.shape(6, 8))
    other = b.node("Relu")
    b.value = rows
    b.node("Gemm", other, *c, **attributes)


PRODUCTS: dict[str, Add] = {
    "matrix of weights that is an input": lambda b: (
        b.node("MatMul", b.constant(weights(8, 8))),
        b.node("MatMul", of_input(b, 8, 5)),
    ),
    "vector": lambda b: (
        b.node("MatMul", b.constant(weights(8, 1))),
        b.node("MatMul", of_input(b, 1, 5)),
    ),
    "neighbours": neighbours,
    "Gemm": lambda b: gemm(b, transB=1),
    "Gemm, turned": lambda b: gemm(b, transA=1),
    "Gemm with a sum": lambda b: gemm(b, b.constant(weights(6)), transB=1),
    "Gemm with scales": lambda b: gemm(b, b.constant(weights(6)), transB=1, alpha=0.5, beta=2.0),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_matrices_that_are_activations(name: str, tmp_path: Path) -> None:
    b = OnnxBuilder([1, 6, 8], 17)
    PRODUCTS[name](b)
    assert any(isinstance(layer, MatMul) for layer in check(b.save(tmp_path)).layers)


@pytest.mark.parametrize("shape", [(1, 6, 8), (1, 3, 6, 8), (1, 6, 1)])
def test_a_matrix_of_weights_on_the_left(shape: tuple[int, ...], tmp_path: Path) -> None:
    """Neighbours that are known, as those of a skeleton: a product with rows in place of columns."""
    b = OnnxBuilder(shape, 17)
    b.node("MatMul", b.constant(weights(5, 6)), "@")
    b.node("Relu")
    graph = check(b.save(tmp_path))
    assert not any(isinstance(layer, MatMul) for layer in graph.layers)
