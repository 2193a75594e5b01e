"""Operators that become several others compute what ONNX Runtime does with the file as it is."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from numpy.typing import ArrayLike
from onnx import TensorProto

from models.import_check import check, kinds
from models.onnx_builder import OnnxBuilder, conv, weights
from tinysplit.common.errors import InputError
from tinysplit.network.float_reference import run_float
from tinysplit.network.layers import Conv, Lookup
from tinysplit.network.onnx_file.composed_operators import NORMS
from tinysplit.onnx_import import import_model

X = np.random.default_rng(4).normal(size=(6, 3, 5, 7)).astype(np.float32) * 4


def assert_floats_agree(path: Path) -> None:
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    expected = np.concatenate([session.run(None, {"x": x[np.newaxis]})[0] for x in X])
    assert np.allclose(run_float(path, X).reshape(expected.shape), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("opset", "attributes"), [(9, {}), (11, {"axis": 1}), (11, {"axis": 2}), (13, {"axis": 1})])
def test_log_softmax_of_a_map(opset: int, attributes: dict[str, Any], tmp_path: Path) -> None:
    builder = OnnxBuilder(["n", 3, 5, 7], opset)
    conv(builder, 4, 3, (1, 1))
    builder.node("LogSoftmax", **attributes)
    path = builder.save(tmp_path)
    assert_floats_agree(path)
    check(path)


@pytest.mark.parametrize("opset", [9, 13, 18])
def test_log_softmax_of_a_vector(opset: int, tmp_path: Path) -> None:
    builder = OnnxBuilder([1, 3, 5, 7], opset)
    builder.node("Flatten")
    builder.node("Gemm", builder.constant(weights(105, 5)), builder.constant(weights(5)))
    builder.node("LogSoftmax", name="")
    path = builder.save(tmp_path)
    assert_floats_agree(path)
    assert kinds(check(path))[0].kind == "dense"


@pytest.mark.parametrize("opset", [11, 13])
def test_an_axis_that_a_value_lacks_is_refused(opset: int, tmp_path: Path) -> None:
    builder = OnnxBuilder([1, 3, 5, 7], opset)
    builder.node("LogSoftmax", axis=1)
    model = builder.model()
    model.graph.node[0].attribute[0].i = 4
    onnx.save(model, tmp_path / "network.onnx")
    with pytest.raises(InputError, match=r"the network's shapes contradict each other: .* axis must be in"):
        import_model(tmp_path / "network.onnx")


@pytest.mark.parametrize("operator", NORMS)
@pytest.mark.parametrize(("opset", "axes"), [(11, [1]), (13, [2, 3]), (18, [1]), (18, None)])
def test_norms(operator: str, opset: int, axes: list[int] | None, tmp_path: Path) -> None:
    builder = OnnxBuilder([1, 3, 5, 7], opset)
    conv(builder, 4, 3, (1, 1))
    builder.node("Sigmoid")
    named: dict[str, Any] = {"axes": axes} if axes and opset < 18 else {}
    builder.node(operator, *([builder.shape(*axes)] if axes and not named else []), keepdims=1, **named)
    path = builder.save(tmp_path)
    assert_floats_agree(path)
    check(path)


def test_normalization_by_the_length_of_a_vector(tmp_path: Path) -> None:
    """As PyTorch's exporter writes it."""
    builder = OnnxBuilder([1, 3, 5, 7])
    builder.node("Flatten")
    vector = builder.node("Gemm", builder.constant(weights(105, 6)), builder.constant(weights(6)))
    builder.node("ReduceL2", axes=[1], keepdims=1)
    builder.node("Clip", builder.constant(1e-12))
    builder.node("Expand", builder.shape(1, 6))
    builder.node("Div", vector, "@")
    path = builder.save(tmp_path)
    assert_floats_agree(path)
    check(path)


def test_a_quotient_of_shapes_stays_one_of_integers(tmp_path: Path) -> None:
    builder = OnnxBuilder([1, 3, 4, 4])
    x = conv(builder, 4, 3, (1, 1))
    builder.node("Shape")
    builder.node("Div", builder.shape(1, 2, 1, 1))
    builder.node("Mul", builder.shape(1, 1, 2, 1))
    builder.node("Reshape", x, "@")
    conv(builder, 2, 2, (1, 1))
    session_x = X[:, :, :4, :4]
    path = builder.save(tmp_path)
    assert run_float(path, session_x).shape == (6, 2, 8, 4)
    assert kinds(check(path))[0] is Conv


@pytest.mark.parametrize("opset", [10, 13])
@pytest.mark.parametrize("axis", [1, 2, -1])
@pytest.mark.parametrize("order", ["cx", "xc", "cxc", "xcy", "cxyc"])
def test_activations_concatenated_with_constants(order: str, axis: int, opset: int, tmp_path: Path) -> None:
    builder = OnnxBuilder([1, 3, 5, 7], opset)
    first = conv(builder, 4, 3, (1, 1))
    second = builder.node("Sigmoid")
    shape = [1, 4, 5, 7]
    shape[axis] = 2
    names = {"x": first, "y": second}
    operands = [names[kind] if kind in names else builder.constant(weights(*shape)) for kind in order]
    builder.value = operands[0]
    builder.node("Concat", *operands[1:], axis=axis)
    path = builder.save(tmp_path)
    assert_floats_agree(path)
    check(path)


def test_a_token_in_front_of_others(tmp_path: Path) -> None:
    """As PyTorch's exporter writes it: the size of the batch comes from a shape."""
    builder = OnnxBuilder([1, 3, 5, 7])
    x = conv(builder, 4, 3, (1, 1))
    builder.node("Reshape", builder.shape(1, 4, 35))
    tokens = builder.node("Transpose", perm=[0, 2, 1])
    builder.value = x
    builder.node("Shape")
    builder.node("Gather", builder.shape(0), axis=0)
    builder.node("Concat", builder.shape(-1, -1), axis=0)
    wanted = builder.node("Where", builder.constant([False, True, True], np.bool_), builder.shape(1, 1, 4), "@")
    builder.value = builder.constant(weights(1, 1, 4))
    builder.node("Expand", wanted)
    builder.node("Concat", tokens, axis=1)
    path = builder.save(tmp_path)
    assert_floats_agree(path)
    check(path)


@pytest.mark.parametrize("operator", ["Max", "Min"])
@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("bound", [None, 0.25, [[[0.5]], [[-0.5]], [[0.25]], [[1.0]]]])
def test_extremes_of_activations(operator: str, count: int, bound: ArrayLike | None, tmp_path: Path) -> None:
    builder = OnnxBuilder([1, 3, 5, 7])
    x = builder.value
    operands = []
    for _ in range(count):
        builder.value = x
        operands.append(conv(builder, 4, 3, (1, 1)))
    others = operands[:-1] if bound is None else [*operands[:-1], builder.constant(bound)]
    builder.node(operator, *others)
    path = builder.save(tmp_path)
    assert_floats_agree(path)
    check(path)


def test_the_larger_one_of_functions_of_one_value_is_a_function(tmp_path: Path) -> None:
    builder = OnnxBuilder([1, 3, 5, 7])
    x = conv(builder, 4, 3, (1, 1))
    builder.node("Mul", builder.constant(0.5))
    scaled = builder.node("Tanh")
    builder.value = x
    builder.node("Max", scaled)
    path = builder.save(tmp_path)
    assert_floats_agree(path)
    assert kinds(check(path)) == [Conv, Lookup]


def sizes_of(b: OnnxBuilder, value: str, *steps: tuple[str, Any]) -> str:
    """Add the sizes of height and width of a value as floats, and steps on them."""
    kept, b.value = b.value, value
    b.node("Shape")
    b.node("Slice", b.shape(2), b.shape(4), b.shape(0))
    b.node("Cast", to=TensorProto.FLOAT)
    for operator, operand in steps:
        b.node(operator, *([] if operand is None else [operand if isinstance(operand, str) else b.constant(operand)]))
    found, b.value = b.value, kept
    return found


def with_batch(b: OnnxBuilder, value: str, sizes: str) -> str:
    """Add sizes of all axes, of which batch and channels are those of a value."""
    kept = b.value
    b.value = sizes
    whole = b.node("Cast", to=TensorProto.INT64)
    b.value = value
    b.node("Shape")
    b.node("Slice", b.shape(0), b.shape(2), b.shape(0))
    found, b.value = b.node("Concat", whole, axis=0), kept
    return found


@pytest.mark.parametrize("mode", ["linear", "cubic", "nearest"])
def test_a_resize_to_sizes_that_follow_from_shapes(mode: str, tmp_path: Path) -> None:
    """A decoder: 5x7 to floor(1.7 * size), by sizes; then, by scales, back to the size of a skip connection."""
    b = OnnxBuilder(["n", 2, 10, 14], 13)
    b.node("Mul", b.constant(0.05))
    skip = conv(b, 4, 2, pads=[1, 1, 1, 1])
    low = conv(b, 6, 4, strides=[2, 2], pads=[1, 1, 1, 1])
    sizes = with_batch(b, low, sizes_of(b, low, ("Mul", 1.7), ("Floor", None)))
    up = b.node("Resize", "", "", sizes, mode=mode)
    factors = sizes_of(b, skip, ("Div", sizes_of(b, up)), ("Add", 1e-3))
    b.value = b.constant([1.0, 1.0])
    scales = b.node("Concat", factors, axis=0)
    b.value = up
    conv(b, 4, 6, (1, 1))
    b.node("Resize", "", scales, mode=mode)
    b.node("Add", skip)
    graph = check(b.save(tmp_path))
    assert graph.output_shape == (4, 10, 14)


def test_sizes_that_depend_on_values_are_refused(tmp_path: Path) -> None:
    b = OnnxBuilder([1, 2, 4, 4], 13)
    x = b.value
    b.node("GlobalAveragePool")
    b.node("Reshape", b.shape(2))
    b.value, numbers = b.constant([1.0, 1.0]), b.value
    scales = b.node("Concat", numbers, axis=0)
    b.value = x
    b.node("Resize", "", scales, mode="linear")
    with pytest.raises(InputError, match="padded elsewhere than around a map"):
        import_model(b.save(tmp_path))


def einsum(b: OnnxBuilder, equation: str, *operands: str) -> str:
    """Add an Einsum."""
    return b.node("Einsum", *operands, equation=equation)


def heads_by_einsum(b: OnnxBuilder) -> None:
    """Add attention of two heads over the 5 rows, all of whose products are Einsum."""
    x = b.node("Reshape", b.shape(1, 5, 21))
    parts = []
    for _ in range(3):
        b.value = x
        parts.append(einsum(b, "btc,chd->bthd", b.constant(weights(21, 2, 4) / 5)))
    queries, keys, values = parts
    b.value = queries
    einsum(b, "bqhd,bkhd->bhqk", keys)
    b.node("Softmax")
    einsum(b, "bhqk,bkhd->bqhd", values)
    einsum(b, "hdc,bthd->btc", b.constant(weights(2, 4, 3)), "@")


Build = Callable[[OnnxBuilder], object]
EINSUMS: dict[str, Build] = {
    "pixels": lambda b: einsum(b, "nchw,cd->ndhw", b.constant(weights(3, 4))),
    "spaces": lambda b: einsum(b, "n c h w, w k -> n c k h", b.constant(weights(7, 2))),
    "several terms": lambda b: einsum(b, "nchw,chk->nwk", b.constant(weights(3, 5, 4))),
    "heads": heads_by_einsum,
}


@pytest.mark.parametrize("name", EINSUMS)
def test_einsum_is_a_product_of_matrices(name: str, tmp_path: Path) -> None:
    b = OnnxBuilder(["n", 3, 5, 7], 17)
    EINSUMS[name](b)
    check(b.save(tmp_path))


@pytest.mark.parametrize("equation", ["nchw->nc", "nchw,cd->nd", "...c,ck->...k", "nchw,hh->ncw"])
def test_other_forms_of_einsum_are_refused(equation: str, tmp_path: Path) -> None:
    b = OnnxBuilder([1, 3, 5, 5], 17)
    sizes = {"cd": (3, 4), "ck": (5, 2), "hh": (5, 5)}
    _, _, second = equation.partition("->")[0].partition(",")
    einsum(b, equation, *([b.constant(weights(*sizes[second.strip(".")]))] if second else []))
    with pytest.raises(InputError, match="Einsum"):
        import_model(b.save(tmp_path))


def chosen(b: OnnxBuilder, compare: str, number: float, y: str | float, *, is_left: bool = False) -> None:
    """Add what Where takes of the activation and of another value, as the activation compares with a number."""
    x = b.node("Identity")
    operands = (b.constant(number), "@") if is_left else (b.constant(number),)
    b.node(compare, *operands)
    b.node("Where", x, y if isinstance(y, str) else b.constant(y))


CHOICES: dict[str, Build] = {
    "hard shrink": lambda b: chosen(b, "GreaterOrEqual", 1.0, 0.0),
    "number on the left": lambda b: chosen(b, "Less", 0.5, -1.0, is_left=True),
    "below": lambda b: chosen(b, "LessOrEqual", 0.5, 2.0),
    "another activation": lambda b: chosen(b, "Greater", 0.0, conv(b, 3, 3, pads=[1, 1, 1, 1])),
    "step": lambda b: (b.node("Greater", b.constant(0.0)), b.node("Cast", to=TensorProto.FLOAT), b.node("Mul", "x")),
}


@pytest.mark.parametrize("name", CHOICES)
def test_what_a_condition_takes(name: str, tmp_path: Path) -> None:
    b = OnnxBuilder(["n", 3, 5, 7], 17)
    CHOICES[name](b)
    graph = check(b.save(tmp_path))
    assert (kinds(graph) == [Lookup]) == (name != "another activation")
