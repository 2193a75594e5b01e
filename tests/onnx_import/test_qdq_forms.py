"""Quantized networks in all forms of pairs, against ONNX Runtime without optimizations and ONNX's own evaluator.

Both round to nearest even and in float32, the boards halves up: a value between two integers may be one step off.
"""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from models.qdq_networks import (
    CONTRIBUTED,
    EVALUATED_OPSET,
    SCALARS,
    STATED_OPSET,
    TYPES,
    WEIGHTS,
    Form,
    QdqBuilder,
    X,
    check,
    conv,
    conv_and_dense,
    formats,
    normal,
    quantization,
    run_plain,
    run_reference,
)
from tinysplit.common.errors import InputError
from tinysplit.onnx_import import import_model
from tinysplit.quantize.warnings import quantization_warnings

OPSETS = (11, 13, 19, 21, 23, 25)


@pytest.mark.parametrize("element", TYPES)
@pytest.mark.parametrize("opset", OPSETS)
def test_types_of_zero_points(tmp_path: Path, element: str, opset: int) -> None:
    if element.endswith("16") and opset < STATED_OPSET:
        form = Form(element, domain=CONTRIBUTED)  # ONNX Runtime's own operators had 16 bits earlier
        opset = max(opset, 13)
    else:
        form = Form(element, per_channel=opset > 11)
    builder = conv_and_dense(form, opset)
    quantized = check(builder, tmp_path, steps=1 if element.endswith("8") else 16)
    assert formats(quantized) == builder.pairs
    if opset >= EVALUATED_OPSET and not form.domain:
        difference = run_reference(builder.model(), X) - run_plain(builder.model(), X)
        assert np.abs(difference).max() <= 1.001 * builder.pairs[-1][0]  # one step


@pytest.mark.parametrize("element", TYPES)
def test_output_dtype_without_a_zero_point(tmp_path: Path, element: str) -> None:
    builder = conv_and_dense(Form(element, is_stated=True), STATED_OPSET)
    quantized = check(builder, tmp_path, steps=1 if element.endswith("8") else 32)
    assert formats(quantized) == builder.pairs
    assert quantized.output_formats[0].bits == np.iinfo(element).bits


def test_uint8_is_the_type_that_is_not_stated(tmp_path: Path) -> None:
    builder = conv_and_dense(Form("uint8", is_stated=True), STATED_OPSET)
    for node in builder.nodes:
        if node.op_type == "QuantizeLinear":
            del node.attribute[:]
    assert formats(check(builder, tmp_path)) == builder.pairs


@pytest.mark.parametrize("scalars", SCALARS)
def test_scales_that_other_nodes_hold(tmp_path: Path, scalars: str) -> None:
    builder = conv_and_dense(Form(scalars=scalars), 13)
    assert formats(check(builder, tmp_path)) == builder.pairs


@pytest.mark.parametrize("weights", WEIGHTS)
@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("domain", ["", CONTRIBUTED])
def test_weights_are_the_integers_of_the_file(tmp_path: Path, weights: str, per_channel: bool, domain: str) -> None:
    builder = conv_and_dense(Form(weights=weights, per_channel=per_channel, domain=domain), 13)
    assert formats(check(builder, tmp_path)) == builder.pairs


@pytest.mark.parametrize("element", ["int4", "uint4"])
def test_weights_of_fewer_bits_are_kept(tmp_path: Path, element: str) -> None:
    builder = QdqBuilder(X, Form(), STATED_OPSET)
    builder.pair()
    integers = np.random.default_rng(2).integers(-7, 8, (4, 4, 1, 1))
    zero = 8 if element == "uint4" else 0
    kind = TensorProto.DataType.Value(element.upper())
    builder.initializers += [
        helper.make_tensor("w", kind, integers.shape, (integers + zero).ravel()),
        helper.make_tensor("w_zero", kind, [], [zero]),
    ]
    builder.node("Conv", builder.beside("DequantizeLinear", "w", builder.constant(0.11), "w_zero"))
    builder.weights.append(integers.astype(np.int8))
    builder.pair()
    check(builder, tmp_path)


@pytest.mark.parametrize("kind", ["int8", "int32"])
def test_quantized_biases(tmp_path: Path, kind: str) -> None:
    builder = QdqBuilder(X, Form(), 13)
    builder.pair()
    scale, zero = builder.constant(0.02), builder.constant(0, np.dtype(kind))
    bias = builder.constant([-300, 20, 10, 500], np.int32)
    if kind == "int8":
        bias = builder.beside("QuantizeLinear", builder.constant([-2.5, 0.4, 0.2, 2.5]), scale, zero)
    builder.node("Conv", builder.quantized(normal(4, 4, 3, 3)), builder.beside("DequantizeLinear", bias, scale, zero))
    builder.pair()
    check(builder, tmp_path)


@pytest.mark.parametrize("weights", ["integers", "floats"])
def test_weights_stay_integers_under_a_batch_normalization(tmp_path: Path, weights: str) -> None:
    builder = QdqBuilder(X, Form(weights=weights), 13)
    builder.pair()
    conv(builder)
    factors = (
        builder.constant(values) for values in ([0.5, 1.7, 0.9, 3.1], [1, 0, -1, 2], [0, 1, 0, 1], [1, 2, 0.5, 1])
    )
    builder.node("BatchNormalization", *factors)
    builder.pair()
    check(builder, tmp_path)


def test_weights_of_minus_128_are_clipped_and_said_once(tmp_path: Path) -> None:
    builder = QdqBuilder(X, Form(), 13)
    builder.pair()
    for _ in range(2):
        integers = np.random.default_rng(3).integers(-127, 128, (4, 4, 1, 1)).astype(np.int8)
        integers[0, 0], integers[0, 1] = -127, 127
        integers[1, :3] = -128
        scale = builder.constant(0.004)
        builder.node("Conv", builder.beside("DequantizeLinear", builder.constant(integers, np.int8), scale))
        builder.pair()
        builder.weights.append(integers.clip(-127))
    found = quantization(builder, tmp_path)
    said = [text for text in quantization_warnings(found.quantized, found.calibration.statistics) if "128" in text]
    assert said == [
        "6 weights in 2 layers are -128 in the file and -127 here: quantize with a range of -127 to 127 to avoid it"
    ]
    check(builder, tmp_path, steps=2)


def test_weights_down_to_minus_127_are_no_reason_for_a_warning(tmp_path: Path) -> None:
    found = quantization(conv_and_dense(Form(), 13), tmp_path)
    assert not [text for text in quantization_warnings(found.quantized, found.calibration.statistics) if "128" in text]


def small(element: int, *, has_zero: bool = True, size: int = 0, weights: bool = False) -> onnx.ModelProto:
    """Return a convolution with a pair of a type, in front of its input or of its weights; `size` is of blocks."""
    shape = (1, 4, 6, 6) if not weights else (4, 4, 1, 1)
    scale, zero_shape = np.array(0.1, np.float32), shape if size else ()
    operands = ["scale", *(["zero"] if has_zero else [])]
    stated: dict[str, Any] = {} if has_zero else {"output_dtype": element}
    blocks: dict[str, Any] = {"axis": 1, "block_size": size} if size else {}
    nodes = [
        helper.make_node(
            "QuantizeLinear", ["w" if weights else "x", *operands], ["q"], name="pair", **stated, **blocks
        ),
        helper.make_node("DequantizeLinear", ["q", *operands], ["d"], **blocks),
        helper.make_node("Conv", ["x", "d"] if weights else ["d", "w"], ["y"]),
    ]
    tensors = [
        onnx.numpy_helper.from_array(np.full(zero_shape, scale), "scale"),
        onnx.numpy_helper.from_array(normal(4, 4, 1, 1), "w"),
        helper.make_tensor("zero", element, zero_shape, [0] * int(np.prod(zero_shape))),
    ]
    borders = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 4, 6, 6]) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "small", borders[:1], borders[1:], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=11)


@pytest.mark.parametrize("kind", ["INT4", "UINT4", "INT2", "FLOAT8E4M3FN", "FLOAT8E5M2", "FLOAT4E2M1"])
@pytest.mark.parametrize("has_zero", [False, True])
@pytest.mark.parametrize("weights", [False, True])
def test_types_that_are_not_supported_are_named(tmp_path: Path, kind: str, has_zero: bool, weights: bool) -> None:
    path = tmp_path / "network.onnx"
    onnx.save(small(TensorProto.DataType.Value(kind), has_zero=has_zero, weights=weights), path)
    with pytest.raises(InputError, match="QuantizeLinear 'pair'") as refused:
        import_model(path)
    assert kind.lower() in str(refused.value).replace("_", "") or "NOT_IMPLEMENTED" in str(refused.value)


@pytest.mark.parametrize("scale", [0.0, -0.03, 1e-40, np.inf, np.nan])
def test_scales_that_no_format_can_have_are_named(tmp_path: Path, scale: float) -> None:
    builder = QdqBuilder(X, Form(), 13)
    builder.pair()
    conv(builder)
    builder.pair(scale)
    with pytest.raises(InputError, match=r"has the scale .*: a positive normal float32 is needed"):
        import_model(builder.save(tmp_path))


@pytest.mark.parametrize("scale", [1e-37, 1e-12])  # ONNX Runtime saturates everything; of 1e-37 are infinite steps
@pytest.mark.parametrize("operator", ["", "Relu", "Identity"])
def test_scales_far_below_those_of_sums_are_named(tmp_path: Path, operator: str, scale: float) -> None:
    builder = QdqBuilder(X, Form(), 13)
    builder.pair()
    conv(builder)
    if operator:
        builder.node(operator)
    builder.pair(scale)
    conv(builder)
    with pytest.raises(InputError, match=f"'conv_3': the pair behind it has the scale {scale:g}, but its sums"):
        quantization(builder, tmp_path)


@pytest.mark.parametrize("weights", [False, True])
def test_scales_of_blocks_are_named(tmp_path: Path, weights: bool) -> None:
    path = tmp_path / "network.onnx"
    onnx.save(small(TensorProto.INT8, size=1, weights=weights), path)
    with pytest.raises(InputError, match=r"QuantizeLinear 'pair' has a scale for every 1 values \(block_size\)"):
        import_model(path)


def test_a_zero_point_that_the_network_computes_is_named(tmp_path: Path) -> None:
    builder = QdqBuilder(X, Form(), 13)
    builder.pair()
    builder.nodes[-1].input[2] = builder.nodes[0].output[0]
    conv(builder)
    with pytest.raises(InputError, match=r"reads 'value_0' \(operand 2\), which the network computes"):
        import_model(builder.save(tmp_path))
