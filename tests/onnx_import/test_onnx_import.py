"""What exporters leave in a file, and real models."""

from pathlib import Path

import numpy as np
import onnx
import pytest

from models.import_check import check, kinds
from models.onnx_builder import OnnxBuilder, conv, weights
from session.shared_models import KWS, MOBILENET, shared_model
from tinysplit.network.layers import Conv, Dense
from tinysplit.onnx_import import import_model


@pytest.mark.parametrize("opset", [11, 13, 22])
def test_what_exporters_leave_between_layers(tmp_path: Path, opset: int) -> None:
    builder = OnnxBuilder(["n", 8, 8], opset)
    if opset >= 13:
        builder.node("Unsqueeze", builder.shape(1))
    else:
        builder.node("Unsqueeze", axes=[1])
    builder.node("Identity")
    conv(builder, 4, 1)
    builder.node("Relu", name="")
    builder.node("Dropout")
    conv(builder, 4, 4, name="value_2")
    builder.node("GlobalAveragePool", name="")
    builder.node("Squeeze")
    graph = check(builder.save(tmp_path))
    assert [layer.name for layer in graph.layers] == ["conv_2", "value_2", "GlobalAveragePool_1"]
    assert graph.output_shape == (4,)


def test_shape_computed_from_the_batch(tmp_path: Path) -> None:
    builder = OnnxBuilder(["n", 3, 4, 4])
    map_name = conv(builder, 2, 3)
    builder.node("Shape")
    builder.node("Gather", builder.constant(0, np.int64))
    builder.node("Unsqueeze", builder.shape(0))
    shape = builder.node("Concat", builder.shape(-1), axis=0)
    builder.value = map_name
    builder.node("Reshape", shape)
    flat = builder.value
    builder.value = builder.constant(weights(5, 8))
    transposed = builder.node("Transpose")
    builder.value = flat
    builder.node("MatMul", transposed)
    assert kinds(check(builder.save(tmp_path))) == [Conv, Dense]


@pytest.mark.parametrize(("opset", "channels"), [(11, 1), (13, 1), (13, 5), (21, 5)])
def test_weights_behind_dequantize_linear(tmp_path: Path, opset: int, channels: int) -> None:
    builder = OnnxBuilder(["n", 3, 4, 4], opset)
    scale = np.abs(weights(channels)) + 0.01
    builder.value = builder.constant(np.arange(135).reshape(5, 3, 3, 3) - 60, np.int8)
    if channels == 1:
        folded = builder.node("DequantizeLinear", builder.constant(scale[0]), builder.constant(3, np.int8))
    else:
        folded = builder.node("DequantizeLinear", builder.constant(scale), axis=0)
    builder.value = "x"
    builder.node("Conv", "@", folded)
    assert kinds(check(builder.save(tmp_path))) == [Conv]


def test_constant_nodes(tmp_path: Path) -> None:
    builder = OnnxBuilder(["n", 6])
    value = onnx.numpy_helper.from_array(weights(6, 5))
    builder.nodes.append(onnx.helper.make_node("Constant", [], ["w"], value=value))
    builder.nodes.append(onnx.helper.make_node("Constant", [], ["b"], value_floats=[1.0, 2.0, 3.0, 4.0, 5.0]))
    builder.node("Gemm", "w", "b")
    assert kinds(check(builder.save(tmp_path))) == [Dense]


def test_dead_nodes_are_no_branches(tmp_path: Path) -> None:
    builder = OnnxBuilder(["n", 3, 4, 4])
    kept = conv(builder, 2, 3)
    builder.node("Sin")
    builder.value = kept
    builder.node("Relu")
    assert kinds(check(builder.save(tmp_path))) == [Conv]


def test_weights_in_files_of_their_own(tmp_path: Path) -> None:
    builder = OnnxBuilder(["n", 6])
    builder.node("Gemm", builder.constant(weights(6, 5)))
    path = tmp_path / "network.onnx"
    onnx.save(builder.model(), path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    graph = check(path)
    (tmp_path / "weights.bin").write_bytes(weights(6, 5).tobytes())
    assert import_model(path).sha256 != graph.sha256


@pytest.mark.parametrize("name", [KWS, MOBILENET])
def test_real_models(name: str) -> None:
    path = shared_model(name)
    graph = check(path, samples=1)
    assert graph.name == path.stem
    assert graph.layers[0].activation.low == 0
