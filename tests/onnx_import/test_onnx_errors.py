"""Every file that cannot be imported is refused with one line that names the thing and the remedy."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from models.onnx_builder import OnnxBuilder, batch_normalization, conv, weights
from tinysplit.common.errors import InputError
from tinysplit.onnx_import import import_model


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        import_model(path)
    text = str(caught.value)
    assert "\n" not in text
    return text


def a_map() -> OnnxBuilder:
    """Return the beginning of a network: a convolution that computes 1x4x6x6."""
    builder = OnnxBuilder(["n", 3, 8, 8])
    conv(builder, 4, 3)
    return builder


def test_files_that_are_no_models(tmp_path: Path) -> None:
    assert "missing" in refusal(tmp_path / "absent.onnx")
    assert "folder" in refusal(tmp_path)
    contents = {"empty": b"", "text": b"hello world, this is text\n", "zip": b"PK\x03\x04" * 9, "zeros": bytes(99)}
    for name, content in contents.items():
        path = tmp_path / f"{name}.onnx"
        path.write_bytes(content)
        assert "no ONNX file" in refusal(path)
    whole = a_map().save(tmp_path)
    whole.write_bytes(whole.read_bytes()[:-200])
    assert "no ONNX file" in refusal(whole)


def test_a_model_without_operators(tmp_path: Path) -> None:
    path = tmp_path / "none.onnx"
    value = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 3])
    onnx.save(onnx.helper.make_model(onnx.helper.make_graph([], "none", [value], [value])), path)
    assert "has a network without operators" in refusal(path)


def test_invalid_model(tmp_path: Path) -> None:
    builder = a_map()
    builder.node("Relu", "surplus")
    assert "no valid ONNX model" in refusal(builder.save(tmp_path))


def test_opset_of_the_future(tmp_path: Path) -> None:
    path = a_map().save(tmp_path)
    model = onnx.load(path)
    model.opset_import[0].version = 999
    onnx.save(model, path)
    assert "opset 999" in refusal(path)


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        (["n", 3, "height", 8], "input 'x' has a dynamic dimension 2 ('height')"),
        (["n", 3, 8, None], "input 'x' has a dynamic dimension 3:"),
        ([8, 3, 8, 8], "input 'x' has a fixed batch of 8"),
        ([3], "input 'x' has 1 dimensions"),
    ],
)
def test_shapes_that_cannot_be_fixed(tmp_path: Path, shape: list[int | str | None], text: str) -> None:
    builder = OnnxBuilder(shape)
    builder.node("Relu")
    assert text in refusal(builder.save(tmp_path))


@pytest.mark.parametrize(("element", "text"), [(TensorProto.INT64, "INT64"), (TensorProto.INT32, "INT32")])
def test_other_numbers_than_float32(tmp_path: Path, element: int, text: str) -> None:
    builder = OnnxBuilder([1, 4], element=element)
    builder.node("Identity")
    model = builder.model()
    model.graph.output[0].type.tensor_type.elem_type = element
    path = tmp_path / "network.onnx"
    onnx.save(model, path)
    assert f"input 'x' is {text}: export the network in float32" in refusal(path)


def test_unsupported_operator(tmp_path: Path) -> None:
    builder = a_map()
    builder.node("Sinh", name="wave")
    assert refusal(builder.save(tmp_path)) == (
        "Sinh 'wave' (inputs 1x4x6x6) is not supported: `tinysplit operators` lists the operators that are; the "
        "network without its end, up to 'value_0', can be imported: "
        "onnx.utils.extract_model('network.onnx', 'part.onnx', ['x'], ['value_0'])"
    )


def test_all_that_is_missing_is_said_at_once(tmp_path: Path) -> None:
    builder = a_map()
    for name in ("first", "second", "third"):
        builder.node("Sinh", name=name)
        conv(builder, 4, 4, pads=[1, 1, 1, 1])
    builder.node("PRelu", builder.constant(weights(6)), name="slopes")
    builder.node("Sin", name="own", domain="com.example")
    builder.node("Cosh", name="behind what has no known shape")
    text = refusal(builder.save(tmp_path))
    assert text.endswith(
        "network.onnx has 5 nodes that are not supported: Sinh 'first' (inputs 1x4x6x6) is not supported: `tinysplit "
        "operators` lists the operators that are (also 'second', 'third'); PRelu 'slopes' has slopes of shape (6,): "
        "supported are one for all or one per channel; com.example.Sin 'own' (inputs 1x4x6x6) is not supported: "
        "`tinysplit operators` lists the operators that are"
    )


def test_operator_of_another_domain(tmp_path: Path) -> None:
    builder = a_map()
    builder.node("Relu", name="own", domain="com.example")
    assert refusal(builder.save(tmp_path)).startswith("com.example.Relu 'own' (inputs 1x4x6x6) is not supported")


def test_quantized_operators(tmp_path: Path) -> None:
    builder = OnnxBuilder([1, 4])
    builder.node("QuantizeLinear", builder.constant(0.1), builder.constant(0, np.int8), name="q")
    builder.node("Cast", to=TensorProto.FLOAT)
    assert refusal(builder.save(tmp_path)).startswith("QuantizeLinear 'q' belongs to a quantized network")


def test_operators_that_cannot_join_branches(tmp_path: Path) -> None:
    builder = a_map()
    relu = builder.node("Relu")
    conv(builder, 4, 4, pads=[1, 1, 1, 1])
    builder.node("PRelu", relu, name="slopes")
    assert refusal(builder.save(tmp_path)).startswith(
        "PRelu 'slopes' reads 2 computed values (1x4x6x6, 1x4x6x6), which only Add, Concat, GRU, LSTM, MatMul, Max, "
        "Min, Mul, RNN, Sub, Sum may do: not supported; the network without its end, up to 'value_1', 'value_2', "
        "can be imported: "
    )


def test_concatenation_with_a_constant_without_elements(tmp_path: Path) -> None:
    builder = a_map()
    relu = builder.node("Relu")
    conv(builder, 4, 4, pads=[1, 1, 1, 1])
    builder.node("Concat", relu, builder.constant(np.zeros((1, 0, 6, 6))), axis=1, name="cat")
    assert "Concat 'cat' joins activations and constants" in refusal(builder.save(tmp_path))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_weights_that_are_not_finite(tmp_path: Path, value: float) -> None:
    builder = OnnxBuilder([1, 4])
    builder.node("Gemm", builder.constant([[1.0], [2.0], [value], [4.0]]), name="dense")
    assert refusal(builder.save(tmp_path)) == (
        "Gemm 'dense' has values in 'constant_0' that are not finite (NaN or infinity): export the network again"
    )


@pytest.mark.parametrize(
    ("build", "text"),
    [
        (lambda b: b.node("Clip", b.constant(np.nan), b.constant(6.0)), "Clip 'clip_1' has values in 'constant_2'"),
        (lambda b: b.node("Clip", "", b.constant(np.nan)), "has values in 'constant_2' that are not finite"),
        (lambda b: b.node("Clip", b.constant(np.inf)), "Clip 'clip_1' has the bounds inf and inf"),
        (lambda b: b.node("Clip", "", b.constant(-np.inf)), "has the bounds -inf and -inf"),
        (lambda b: b.node("LeakyRelu", alpha=np.nan), "LeakyRelu 'leakyrelu_1' has the alpha nan"),
        (lambda b: b.node("Elu", alpha=np.inf), "Elu 'elu_1' has the alpha inf"),
        (lambda b: b.node("HardSigmoid", beta=np.nan), "has the beta nan"),
        (lambda b: b.node("PRelu", b.constant(np.nan)), "PRelu 'prelu_1' has values in 'constant_2'"),
        (lambda b: b.node("Mul", b.constant(np.inf)), "Mul 'mul_1' has values in 'constant_2'"),
        (lambda b: b.node("Pad", b.shape(0, 0, 1, 1, 0, 0, 1, 1), b.constant(np.nan)), "Pad 'pad_1' has values"),
        (lambda b: b.node("Resize", b.constant([]), b.constant([1, 1, np.nan, 2])), "Resize 'resize_1' has values"),
    ],
)
def test_numbers_that_are_not_finite(tmp_path: Path, build: Callable[[OnnxBuilder], str], text: str) -> None:
    builder = a_map()
    build(builder)
    assert text in refusal(builder.save(tmp_path))


def test_a_bound_that_is_not_finite_in_an_attribute(tmp_path: Path) -> None:
    builder = OnnxBuilder([1, 4], opset=10)
    builder.node("Clip", min=float("nan"), max=6.0, name="clamp")
    assert refusal(builder.save(tmp_path)).startswith("Clip 'clamp' has values in ")


def test_negative_variance(tmp_path: Path) -> None:
    builder = a_map()
    batch_normalization(builder, 4)
    builder.initializers[-1].CopyFrom(
        onnx.numpy_helper.from_array(-np.ones(4, np.float32), builder.initializers[-1].name)
    )
    assert "not finite" in refusal(builder.save(tmp_path))


def test_missing_weights_file(tmp_path: Path) -> None:
    path = tmp_path / "network.onnx"
    onnx.save(a_map().model(), path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    (tmp_path / "weights.bin").write_bytes(b"short")
    assert "cannot be read" in refusal(path)
    (tmp_path / "weights.bin").unlink()
    assert "keeps weights in weights.bin, which is missing" in refusal(path)


def test_contradicting_shapes(tmp_path: Path) -> None:
    builder = OnnxBuilder([1, 4])
    builder.node("MatMul", builder.constant(weights(5, 2)))
    assert "contradict" in refusal(builder.save(tmp_path))


def test_network_without_layers(tmp_path: Path) -> None:
    builder = OnnxBuilder([1, 4])
    builder.node("Identity")
    assert "holds no layer that computes" in refusal(builder.save(tmp_path))


def _pad(mode: str, value: float, follower: Callable[[OnnxBuilder], str]) -> OnnxBuilder:
    builder = a_map()
    builder.node("Pad", builder.shape(0, 0, 1, 1, 0, 0, 1, 1), builder.constant(value), mode=mode)
    follower(builder)
    return builder


def _pool(operator: str, **attributes: Any) -> Callable[[OnnxBuilder], str]:  # noqa: ANN401 - as onnx.helper takes them
    return lambda builder: builder.node(operator, kernel_shape=[3, 3], strides=[2, 2], **attributes)


@pytest.mark.parametrize(
    ("builder", "text"),
    [
        (_pad("own", 0, lambda b: conv(b, 4, 4)), "mode 'own'"),
        (
            _pad("constant", 1, lambda b: b.node("Pad", b.shape(0, 0, 1, 1, 0, 0, 1, 1))),
            "follows a Pad with another constant",
        ),
    ],
)
def test_pads(tmp_path: Path, builder: OnnxBuilder, text: str) -> None:
    assert text in refusal(builder.save(tmp_path))


@pytest.mark.parametrize(
    ("follower", "text"),
    [
        (lambda b: b.node("MatMul", b.constant(weights(4, 2, 6)), "@"), "only one weight matrix for all"),
        (
            lambda b: (
                b.node("Flatten", axis=2)
                and b.node("Gemm", b.constant(weights(36, 2)), b.constant(weights(4, 2)), name="rows")
            ),
            "adds 4x2, other values to each row",
        ),
        (lambda b: b.node("Dropout", b.constant(0.5), b.constant(True, np.bool_)), "drops values at random"),
        (lambda b: b.node("Div", b.constant(weights(4, 1, 1)), "@"), "a constant dividend has to be one number"),
        (lambda b: b.node("Add", b.constant(weights(2, 4, 6, 6))), "enlarges the batch of its input"),
        (lambda b: conv(b, 2, 3), "has weights for 3 channels, but its input has 4"),
        (lambda b: conv(b, 2, 4, kernel_shape=[2, 3]), "contradicts its weights of 3x3"),
        (lambda b: b.node("Conv", b.constant(weights(2, 4, 1, 1)), b.constant([1.0])), "a bias of (1,)"),
        (lambda b: conv(b, 2, 4, (7, 7)), "a window of 7x7 that is larger than its padded input 6x6x4"),
        (lambda b: b.node("Pad", b.shape(0, 0, -6, 0, 0, 0, 0, 0)), "takes no element of 1x4x6x6"),
        (lambda b: b.node("MaxPool", kernel_shape=[2, 2], pads=[2, 0, 0, 0]), "padding alone"),
        (
            lambda b: b.node("MaxPool", kernel_shape=[2, 2], dilations=[2, 2], auto_pad="SAME_UPPER"),
            "has auto_pad and dilations, from which ONNX and ONNX Runtime compute other shapes",
        ),
        (
            lambda b: conv(b, 2, 4, (1, 1), strides=[1, 3], auto_pad="SAME_UPPER"),
            "has auto_pad and strides of 1x3 above its kernel of 1x1",
        ),
        (
            lambda b: b.node("ConvTranspose", b.constant(weights(4, 2, 3, 3)), strides=[4, 1], auto_pad="SAME_LOWER"),
            "strides of 4x1 above its kernel of 3x3, from which ONNX and ONNX Runtime compute other shapes: export it",
        ),
    ],
)
def test_what_layers_cannot_do(tmp_path: Path, follower: Callable[[OnnxBuilder], str], text: str) -> None:
    builder = a_map()
    follower(builder)
    assert text in refusal(builder.save(tmp_path))


def test_weights_that_are_computed(tmp_path: Path) -> None:
    builder = OnnxBuilder([1, 3, 3, 3])
    builder.node("Conv", builder.constant(weights(1, 3, 3, 3)), "@")
    assert "computes its operand 1 from the network's input" in refusal(builder.save(tmp_path))


def test_attributes_that_the_checker_lets_pass(tmp_path: Path) -> None:
    builder = OnnxBuilder([1, 4])
    builder.node("Gemm", builder.constant(weights(4, 2)), builder.constant(weights(3)), name="dense")
    path = tmp_path / "network.onnx"
    onnx.save(builder.model(), path)
    assert "contradict each other" in refusal(path)


@pytest.mark.parametrize("operator", ["Unsqueeze", "Squeeze", "ReduceMax"])
def test_axes_that_the_checker_does_not_know(operator: str, tmp_path: Path) -> None:
    """As they are computed from a shape; there are as many as the shape has sizes of 6."""
    builder = a_map()
    builder.opset, value = 18, builder.value
    builder.node("Shape", start=2)
    builder.node(operator, value, "@", name="own")
    text = refusal(builder.save(tmp_path))
    assert text.startswith(f"{operator} 'own' has attributes or constants that contradict each other: axis 6 is out of")


def test_three_dimensional_conv(tmp_path: Path) -> None:
    builder = OnnxBuilder([1, 3, 4, 4, 4])
    conv(builder, 2, 3, (2, 2, 2))
    assert "has 3 spatial dimensions" in refusal(builder.save(tmp_path))
