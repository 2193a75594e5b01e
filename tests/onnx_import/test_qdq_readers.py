"""Which pair is the format of which value: behind all kinds of layers, and where several nodes read a value."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.onnx_builder import batch_normalization
from models.qdq_networks import (
    ACTIVATIONS,
    LAYERS,
    Form,
    QdqBuilder,
    X,
    check,
    conv,
    formats,
    normal,
    outputs,
    quantization,
    run_plain,
)
from tinysplit.common.errors import InputError
from tinysplit.network.layers import Activation, DepthwiseConv
from tinysplit.onnx_import import import_model


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("has_pair", [False, True])
def test_a_pair_is_the_format_of_what_is_before_it(tmp_path: Path, layer: str, activation: str, has_pair: bool) -> None:
    builder = QdqBuilder(X, Form(), 13)
    builder.pair()
    builder.nodes[-1].output[0] = builder.value = "first"
    conv(builder)
    if has_pair:
        builder.pair()
    LAYERS[layer](builder)
    ACTIVATIONS[activation](builder)
    builder.pair()
    if has_pair:
        check(builder, tmp_path, steps=10)
    else:  # the middle value is float in the file
        assert formats(quantization(builder, tmp_path).quantized)[-1] == builder.pairs[-1]


@pytest.mark.parametrize("operator", ["Relu", "Clip"])
def test_a_pair_behind_a_clamp_that_is_no_part_of_a_layer(tmp_path: Path, operator: str) -> None:
    builder = QdqBuilder(X, Form("uint8"), 13)
    builder.pair()
    LAYERS["ConvTranspose"](builder)
    ACTIVATIONS[operator](builder)
    builder.pair()
    assert set(formats(check(builder, tmp_path))) == set(builder.pairs)


def with_readers(builder: QdqBuilder, *read: str) -> QdqBuilder:
    """Add the sum of a convolution of each of two values, all with pairs."""
    ends = []
    for number, value in enumerate(read):
        builder.value = value
        builder.node("Conv", builder.quantized(normal(4, 4, 1, 1)), name=f"reader_{number}")
        ends.append(builder.pair())
    builder.node("Add", ends[0])
    builder.pair()
    return builder


def between(builder: QdqBuilder, operator: str) -> None:
    attributes: dict[str, Any] = {"Transpose": {"perm": [0, 1, 3, 2]}, "MaxPool": {"kernel_shape": [1, 1]}}
    if operator:
        builder.node(operator, **attributes.get(operator, {}))


def with_two_pairs(form: Form, second: float, operator: str) -> QdqBuilder:
    """Return a network in which a value has a pair of scale 0.1 and another one behind `operator`."""
    builder = QdqBuilder(X, form, 13)
    builder.pair()
    value = conv(builder)
    first = builder.pair(0.1)
    builder.value = value
    between(builder, operator)
    return with_readers(builder, first, builder.pair(second))


@pytest.mark.parametrize("operator", ["", "Identity", "Transpose", "MaxPool", "Relu"])
@pytest.mark.parametrize("second", [0.01, 1.0])
def test_two_pairs_of_a_value_that_differ_are_named(tmp_path: Path, second: float, operator: str) -> None:
    builder = with_two_pairs(Form(), second, operator)
    pairs = [node.name for node in builder.nodes if node.op_type == "QuantizeLinear"]
    first, other = (
        rf"as int8 with scale {scale:g} and zero point 0 for Conv 'reader_{reader}' \(QuantizeLinear '{pair}'\)"
        for reader, (scale, pair) in enumerate(zip((0.1, second), pairs[1:3], strict=True))
    )
    with pytest.raises(InputError, match=f"'value_3' is quantized {first} and {other}"):
        import_model(builder.save(tmp_path))


@pytest.mark.parametrize("operator", ["", "Identity", "Transpose", "MaxPool"])
def test_two_pairs_of_a_value_that_agree(tmp_path: Path, operator: str) -> None:
    builder = with_two_pairs(Form(), 0.1, operator)
    assert set(formats(check(builder, tmp_path, steps=2))) == set(builder.pairs)


def test_pairs_of_other_types_that_hold_the_same_integers_agree(tmp_path: Path) -> None:
    builder = QdqBuilder(X, Form(), 13)
    builder.pair()
    value = conv(builder)
    first = builder.pair(0.1)
    builder.value, builder.form = value, Form("uint8")
    check(with_readers(builder, first, builder.pair(0.1, 128)), tmp_path, steps=2)


@pytest.mark.parametrize(("element", "zero"), [("int8", 3), ("int8", -128), ("uint8", 0)])
def test_two_pairs_of_other_zero_points_are_named(tmp_path: Path, element: str, zero: int) -> None:
    builder = QdqBuilder(X, Form(), 13)
    builder.pair()
    value = conv(builder)
    first = builder.pair(0.1)
    builder.value, builder.form = value, Form(element)
    path = with_readers(builder, first, builder.pair(0.1, zero)).save(tmp_path)
    with pytest.raises(InputError, match=f"and as {element} with scale 0.1 and zero point {zero} for Conv 'reader_1'"):
        import_model(path)


def test_two_pairs_of_the_input_are_named(tmp_path: Path) -> None:
    builder = QdqBuilder(X, Form(), 13)
    first = builder.pair(0.03)
    builder.value = "x"
    path = with_readers(builder, first, builder.pair(0.003)).save(tmp_path)
    with pytest.raises(InputError, match=r"'x' is quantized as int8 with scale 0.03 .* as int8 with scale 0.003 "):
        import_model(path)


def test_pairs_behind_a_pair_clamp_for_each_reader(tmp_path: Path) -> None:
    builder = QdqBuilder(X, Form(), 13)
    builder.pair()
    conv(builder)
    value = builder.pair(0.1)
    first = builder.pair(0.025)
    builder.value = value
    check(with_readers(builder, first, builder.pair(0.05)), tmp_path, steps=4)


@pytest.mark.parametrize("element", ["int8", "uint8"])
def test_a_relu_that_a_pair_implies_is_not_that_of_readers_without_it(tmp_path: Path, element: str) -> None:
    builder = QdqBuilder(X, Form(element), 13)
    builder.pair()
    value = conv(builder)
    check(with_readers(builder, builder.pair(0.08, np.iinfo(element).min), value), tmp_path, steps=3)


@pytest.mark.parametrize("element", ["int8", "uint8"])
@pytest.mark.parametrize("operator", ["Add", "Mul", "BatchNormalization", "Transpose, Add"])
def test_a_relu_that_a_pair_implies_stays_in_front_of_constants(tmp_path: Path, element: str, operator: str) -> None:
    builder = QdqBuilder(X, Form(element), 13)
    builder.pair()
    conv(builder)
    builder.pair(0.08, np.iinfo(element).min)
    if operator == "BatchNormalization":
        batch_normalization(builder, 4)
    else:
        between(builder, operator.partition(", ")[0] if "," in operator else "")
        builder.node(operator.rpartition(" ")[2], builder.constant([[[-2.0]], [[-1.0]], [[0.5]], [[-0.3]]]))
    builder.pair()
    quantized = quantization(builder, tmp_path).quantized
    expected = run_plain(builder.model(), X)
    difference = np.abs(outputs(quantized, X).reshape(expected.shape) - expected) / builder.pairs[-1][0]
    assert difference.max() <= 2 + 1e-3
    assert isinstance(quantized.layers[-1].layer, DepthwiseConv)


@pytest.mark.parametrize("element", ["int8", "uint8"])
@pytest.mark.parametrize("operator", ["Clip", "Clip without low", "Transpose", "Reshape", "MaxPool", "Identity"])
def test_operators_on_integers_inside_a_pair(tmp_path: Path, element: str, operator: str) -> None:
    builder = QdqBuilder(X, Form(element), 13)
    builder.pair()
    conv(builder)
    builder.pair()
    dequantize = builder.nodes.pop()
    builder.value = dequantize.input[0]
    low, high = (builder.constant(np.iinfo(element).min + above, np.dtype(element)) for above in (100, 180))
    operands = {"Clip": [low, high], "Clip without low": ["", high], "Reshape": [builder.shape(1, 4, 4, 9)]}
    attributes: dict[str, Any] = {"Transpose": {"perm": [0, 1, 3, 2]}, "MaxPool": {"kernel_shape": [2, 2]}}
    builder.node(operator.partition(" ")[0], *operands.get(operator, []), **attributes.get(operator, {}))
    dequantize.input[0] = builder.value
    builder.nodes.append(dequantize)
    builder.value = dequantize.output[0] = "dequantized"
    conv(builder)
    builder.pair()
    assert set(formats(check(builder, tmp_path, steps=2))) >= set(builder.pairs)


def test_a_relu_between_pairs_has_no_bound_that_its_format_has(tmp_path: Path) -> None:
    builder = QdqBuilder(X, Form(), 13)
    builder.pair()
    conv(builder)
    builder.pair(0.25)
    builder.node("Relu")
    builder.pair(0.125)
    (layer,) = check(builder, tmp_path, steps=2).layers
    assert layer.layer.activation == Activation(0.0)


@pytest.mark.parametrize("operator", ["Identity", "Transpose"])
def test_two_pairs_that_differ_little_are_named_in_any_layout(tmp_path: Path, operator: str) -> None:
    with pytest.raises(InputError, match=r"scale 0.1 .* scale 0.11 "):
        import_model(with_two_pairs(Form(), 0.11, operator).save(tmp_path))
