"""Networks of old opsets are converted; compared with ONNX Runtime, which reads them as they are."""

from pathlib import Path

import numpy as np
import onnx
import pytest

from models.float_layers import float_outputs
from models.import_check import check, kinds
from models.onnx_builder import OnnxBuilder, batch_normalization, conv, weights
from tinysplit.common.errors import InputError
from tinysplit.network.float_reference import run_float
from tinysplit.network.layers import Conv, Dense, MaxPool, Softmax, Upsample
from tinysplit.onnx_import import import_model


@pytest.mark.parametrize("opset", [7, 8, 9, 10])
def test_what_exporters_of_old_opsets_write(tmp_path: Path, opset: int) -> None:
    builder = OnnxBuilder(["n", 3, 6, 6], opset)
    builder.node("Pad", pads=[0, 0, 1, 1, 0, 0, 1, 1])
    conv(builder, 4, 3)
    batch_normalization(builder, 4)
    builder.node("Clip", min=0.0, max=6.0)
    builder.node("MaxPool", kernel_shape=[2, 2], strides=[2, 2])
    if opset == 10:
        builder.node("Resize", builder.constant([1, 1, 2, 2]), mode="nearest")
    elif opset == 9:
        builder.node("Upsample", builder.constant([1, 1, 2, 2]), mode="nearest")
    else:
        builder.node("Upsample", scales=[1.0, 1.0, 2.0, 2.0], mode="nearest")
    builder.node("Dropout", ratio=0.5)
    builder.node("Flatten")
    builder.node("Gemm", builder.constant(weights(144, 5)), builder.constant(weights(5)))
    builder.node("Softmax", axis=1)
    assert kinds(check(builder.save(tmp_path))) == [Conv, MaxPool, Upsample, Dense, Softmax]


@pytest.mark.parametrize("opset", [8, 9, 10])
def test_interpolation_of_old_opsets_begins_at_the_first_pixel(tmp_path: Path, opset: int) -> None:
    builder = OnnxBuilder(["n", 3, 5, 4], opset)
    conv(builder, 4, 3, (1, 1))
    if opset == 10:
        builder.node("Resize", builder.constant([1, 1, 2, 3]), mode="linear")
    elif opset == 9:
        builder.node("Upsample", builder.constant([1, 1, 2, 3]), mode="linear")
    else:
        builder.node("Upsample", scales=[1.0, 1.0, 2.0, 3.0], mode="linear")
    check(builder.save(tmp_path))


def test_initializers_that_are_inputs_too(tmp_path: Path) -> None:
    """Files of IR version 3 list weights among their inputs; what the converter adds is not listed."""
    builder = OnnxBuilder(["n", 3, 6, 6], opset=7)
    builder.node("Pad", pads=[0, 0, 1, 1, 0, 0, 1, 1])
    conv(builder, 4, 3)
    path = builder.save(tmp_path)
    model = onnx.load(path)
    model.ir_version = 3
    for tensor in model.graph.initializer:
        model.graph.input.append(onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
    onnx.save(model, path)
    assert kinds(check(path)) == [Conv]


def test_second_outputs_and_an_upsample_at_the_end(tmp_path: Path) -> None:
    builder = OnnxBuilder(["n", 3, 6, 6], opset=9)
    conv(builder, 4, 3)
    builder.node("Dropout")
    builder.nodes[-1].output.append("mask")
    builder.node("Upsample", builder.constant([1, 1, 2, 2]), name="end")
    graph = check(builder.save(tmp_path))
    assert (graph.layers[-1].name, graph.layers[-1].output) == ("end", builder.value)


def test_the_operator_that_cannot_be_converted_is_named(tmp_path: Path) -> None:
    builder = OnnxBuilder([1, 3, 6, 6], opset=7)
    conv(builder, 4, 3)
    statistics = [builder.constant(np.ones((4, 4, 4))) for _ in range(4)]
    builder.node("BatchNormalization", *statistics, name="by_element", spatial=0)
    builder.node("Relu")
    with pytest.raises(InputError) as refused:
        import_model(builder.save(tmp_path))
    assert str(refused.value) == (
        "the network has opset 7, and ONNX's converter fails at BatchNormalization 'by_element' "
        "(Attribute spatial must have value 1): export it with opset 11 or later"
    )


def test_an_opset_that_is_too_old(tmp_path: Path) -> None:
    builder = OnnxBuilder([1, 4], opset=6)
    builder.node("Relu")
    with pytest.raises(InputError, match="opset 6: export it with an opset from 7 to"):
        import_model(builder.save(tmp_path))


@pytest.mark.parametrize("element", [np.float16, np.float64])
def test_other_floats_are_computed_as_float32(element: type, tmp_path: Path) -> None:
    builder = OnnxBuilder(["n", 3, 6, 6], 13, onnx.helper.np_dtype_to_tensor_dtype(np.dtype(element)))
    builder.node("Cast", to=onnx.TensorProto.FLOAT)
    conv(builder, 4, 3)
    builder.node("Cast", to=onnx.helper.np_dtype_to_tensor_dtype(np.dtype(element)))
    builder.node("Mul", builder.constant(0.5, element))
    builder.node("Cast", to=onnx.TensorProto.FLOAT)
    path = builder.save(tmp_path)
    graph = import_model(path)
    assert kinds(graph) == [Conv]
    x = np.random.default_rng(2).normal(size=(2, *graph.sample_shape)).astype(np.float32)
    (outputs,) = float_outputs(graph, x[0].astype(np.float64))
    expected = run_float(path, x)[0].ravel()
    np.testing.assert_allclose(outputs.ravel()[graph.output_order], expected, atol=1e-2)


def test_nodes_in_any_order(tmp_path: Path) -> None:
    builder = OnnxBuilder(["n", 3, 6, 6])
    first = conv(builder, 4, 3)
    builder.node("Softmax", axis=1)
    builder.node("Add", first)
    builder.node("Relu")
    model = builder.model()
    del model.graph.node[:]
    model.graph.node.extend(reversed(builder.nodes))
    onnx.save(model, tmp_path / "network.onnx")
    assert [layer.kind for layer in check(tmp_path / "network.onnx").layers] == ["conv", "softmax", "add"]
