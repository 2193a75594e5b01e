"""Masks of attention: constants that an Add or a Where puts before a softmax, whose elements then have 0."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from models.import_check import check
from models.onnx_builder import OnnxBuilder, weights
from tinysplit.common.errors import InputError
from tinysplit.network.float_reference import run_float
from tinysplit.network.integer_reference import quantize_input, real_outputs, run_integer, run_layers
from tinysplit.network.layers import DepthwiseConv, Permute, Softmax
from tinysplit.network.samples import Samples
from tinysplit.onnx_import import import_model
from tinysplit.quantize.accuracy import scores_layers
from tinysplit.quantize.quantize_model import quantize_model

HEADS, TOKENS, SIZE = 2, 6, 4
CAUSAL = np.triu(np.ones((TOKENS, TOKENS), bool), 1)
PADDING = np.arange(TOKENS) >= TOKENS - 2
BIAS = -np.abs(np.arange(TOKENS)[:, None] - np.arange(TOKENS)) * np.array([0.5, 0.25])[:, None, None]
MOST = float(np.finfo(np.float32).min)

Mask = Callable[[OnnxBuilder], object]


def added(mask: np.ndarray, number: float) -> Mask:
    """Add the numbers of a mask."""
    return lambda b: b.node("Add", b.constant(np.where(mask, number, 0.0)))


def taken(mask: np.ndarray, number: float) -> Mask:
    """Take scores where there is no mask, as masked_fill does."""
    return lambda b: b.node("Where", b.constant(mask, bool), b.constant(number), "@")


def attention(b: OnnxBuilder, mask: Mask) -> None:
    """Add self-attention of two heads over 6 tokens."""
    x = b.value
    parts = []
    for _ in range(3):
        b.value = x
        b.node("MatMul", b.constant(weights(HEADS * SIZE, HEADS * SIZE)))
        b.node("Reshape", b.shape(1, TOKENS, HEADS, SIZE))
        parts.append(b.node("Transpose", perm=[0, 2, 1, 3]))
    queries, keys, values = parts
    b.value = keys
    keys = b.node("Transpose", perm=[0, 1, 3, 2])
    b.value = queries
    b.node("MatMul", keys)
    b.node("Mul", b.constant(SIZE**-0.5))
    mask(b)
    b.node("Softmax", axis=-1)
    b.node("MatMul", values)
    b.node("Transpose", perm=[0, 2, 1, 3])
    b.node("Reshape", b.shape(1, TOKENS, HEADS * SIZE))
    b.node("MatMul", b.constant(weights(HEADS * SIZE, 5)))


def network(mask: Mask) -> OnnxBuilder:
    """Return a network of attention on 6 tokens of 8 values."""
    b = OnnxBuilder([1, TOKENS, HEADS * SIZE], 17)
    attention(b, mask)
    return b


def made_finite(b: OnnxBuilder) -> None:
    """Add a mask, then keep its sums from being infinite."""
    b.node("Add", b.constant(np.where(CAUSAL, -np.inf, 0.0)))
    b.node("Max", b.constant(MOST))


def scaled_behind(b: OnnxBuilder) -> None:
    """Add a mask, then scale its sums."""
    made_finite(b)
    b.node("Div", b.constant(2.0))


def two_masks(b: OnnxBuilder) -> None:
    """Add a mask of later tokens and one of the last tokens."""
    added(CAUSAL, -1e9)(b)
    added(PADDING, -10000.0)(b)


MASKS: dict[str, Mask] = {
    "later tokens": added(CAUSAL, -1e9),
    "by infinity": added(CAUSAL, -np.inf),
    "for each head": added(np.broadcast_to(CAUSAL, (1, HEADS, TOKENS, TOKENS)), -65504.0),
    "last tokens": added(PADDING, -10000.0),
    "windows": added(CAUSAL.T, -100.0),
    "taken": taken(CAUSAL, -np.inf),
    "taken by another number": taken(CAUSAL, MOST),
    "taken where true": lambda b: b.node("Where", b.constant(~CAUSAL, bool), "@", b.constant(-1e9)),
    "made finite": made_finite,
    "two": two_masks,
    "with a bias": lambda b: b.node("Add", b.constant(np.where(CAUSAL, -np.inf, BIAS))),
}


@pytest.mark.parametrize("name", MASKS)
def test_masked_elements_have_a_probability_of_0(name: str, tmp_path: Path) -> None:
    path = network(MASKS[name]).save(tmp_path)
    graph = check(path)
    softmax = next(layer for layer in graph.layers if isinstance(layer, Softmax))
    assert softmax.masked is not None
    assert any(isinstance(layer, DepthwiseConv) for layer in graph.layers) == (name == "with a bias")
    x = np.random.default_rng(1).normal(size=(40, TOKENS, HEADS * SIZE)).astype(np.float32)
    expected = run_float(path, x)
    for bits, least_db in ((8, 25), (16, 50)):
        quantized = quantize_model(graph, path, Samples(x), bits, Console(quiet=True)).quantized
        error = real_outputs(quantized, run_integer(quantized, x)) - expected.reshape(len(x), -1)
        assert 10 * np.log10((expected**2).sum() / (error**2).sum()) > least_db
        index = graph.layers.index(softmax)
        integers = list(run_layers(quantized, quantize_input(quantized, x)))[index]
        masked = np.broadcast_to(softmax.masked, integers.shape)
        assert (integers[masked] == quantized.layers[index].formats.y.zero_point).all()


@pytest.mark.parametrize("mask", [added(CAUSAL & False, -1e9), taken(CAUSAL & False, -np.inf)])
def test_a_mask_of_nothing_is_nothing(mask: Mask, tmp_path: Path) -> None:
    graph = check(network(mask).save(tmp_path))
    assert [layer.masked for layer in graph.layers if isinstance(layer, Softmax)] == [None]
    assert not any(isinstance(layer, DepthwiseConv) for layer in graph.layers)


def test_what_a_softmax_gives_is_no_nan(tmp_path: Path) -> None:
    b = OnnxBuilder([1, 2, 6], 17)
    added(np.eye(2, 6, dtype=bool), -np.inf)(b)
    probabilities = b.node("Softmax", axis=-1)
    b.node("IsNaN")
    b.node("Where", b.constant(0.0), probabilities)
    check(b.save(tmp_path))


def computed_bias(b: OnnxBuilder) -> None:
    """Add a mask with a bias that the network computes of constants."""
    b.node("Add", b.constant(BIAS, np.float32))
    value = b.value
    b.value = b.constant(np.where(CAUSAL, -np.inf, BIAS))
    mask = b.node("Identity")
    b.value = value
    b.node("Add", mask)


@pytest.mark.parametrize("value", [-np.inf, -1e9])
@pytest.mark.parametrize("axis", [-1, 2])
def test_a_map_whose_softmaxes_are_not_contiguous(value: float, axis: int, tmp_path: Path) -> None:
    b = OnnxBuilder([1, 2, 5, 5], 17)
    added(np.triu(np.ones((5, 5), bool), 1) if axis == -1 else np.tril(np.ones((5, 5), bool), -1).T, value)(b)
    b.node("Softmax", axis=axis)
    graph = check(b.save(tmp_path))
    assert [type(layer) for layer in graph.layers] == [Permute, Softmax]


def test_masked_scores_that_another_node_reads(tmp_path: Path) -> None:
    b = OnnxBuilder([1, 2, 5, 5], 17)
    added(np.triu(np.ones((5, 5), bool), 1), -120.0)(b)
    masked = b.value
    probabilities = b.node("Softmax", axis=-1)
    b.value = masked
    b.node("Relu")
    b.node("Add", probabilities)
    check(b.save(tmp_path))


def test_scores_of_a_masked_softmax_are_its_probabilities(tmp_path: Path) -> None:
    """Scores of masked elements are far below others in float, and nothing in fixed point."""
    b = OnnxBuilder([1, 4], 17)
    b.node("Gemm", b.constant(weights(4, 3)))
    added(np.array([True, False, False]), -1e9)(b)
    b.node("Softmax", axis=-1)
    graph = import_model(b.save(tmp_path))
    assert [graph.layers[index].kind for index in scores_layers(graph).values()] == ["softmax"]


REFUSED: dict[str, tuple[Mask, str]] = {
    "all": (added(CAUSAL | True, -np.inf), "Softmax '.*' has a mask of all elements of some softmax"),
    "all of one": (added(CAUSAL | (np.arange(TOKENS) == 1)[:, None], -1e9), "has a mask of all elements"),
    "changed": (scaled_behind, "has a mask that is changed behind it"),
    "a computed bias": (computed_bias, "has a mask with other numbers beside it"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_masks_that_are_refused(name: str, tmp_path: Path) -> None:
    mask, text = REFUSED[name]
    with pytest.raises(InputError, match=text):
        import_model(network(mask).save(tmp_path))


def test_infinity_elsewhere_is_refused(tmp_path: Path) -> None:
    b = OnnxBuilder([1, 4], 17)
    b.node("Gemm", b.constant(weights(4, 3)))
    added(np.array([True, False, False]), -np.inf)(b)
    with pytest.raises(InputError, match="not finite"):
        import_model(b.save(tmp_path))
