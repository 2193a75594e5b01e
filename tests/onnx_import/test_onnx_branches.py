"""Networks with branches: every layer agrees with ONNX Runtime, and their order keeps little alive."""

from pathlib import Path

import numpy as np
import onnx
import pytest

from models.calibrated import calibrated
from models.import_check import check, kinds
from models.onnx_builder import OnnxBuilder, batch_normalization, conv, weights
from session.profiles import cases
from session.shared_models import RESNET, shared_model
from tinysplit.network.analyze import analyze
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.layers import Activation, Add, Concat, Conv, DepthwiseConv, MaxPool, Mul, Shape
from tinysplit.onnx_import.memory_order import small_memory_order
from tinysplit.quantize.accuracy import Accuracy

SAME = [1, 1, 1, 1]


def a_map(channels: int = 4) -> OnnxBuilder:
    return OnnxBuilder(["n", channels, 6, 6])


def test_residual_block(tmp_path: Path) -> None:
    builder = a_map()
    conv(builder, 4, 4, pads=SAME)
    shortcut = builder.node("Relu")
    conv(builder, 4, 4, pads=SAME)
    builder.node("Relu")
    conv(builder, 4, 4, pads=SAME)
    batch_normalization(builder, 4)
    builder.node("Add", shortcut)
    builder.node("Relu")
    graph = check(builder.save(tmp_path))
    assert kinds(graph) == [Conv, Conv, Conv, Add]
    assert graph.predecessors == ((-1,), (0,), (1,), (2, 0))
    assert graph.layers[-1].activation == Activation(0.0)


def test_nothing_folds_into_what_others_read(tmp_path: Path) -> None:
    builder = a_map()
    raw = conv(builder, 4, 4, pads=SAME)
    batch_normalization(builder, 4)
    builder.node("Relu")
    builder.node("Add", raw)
    graph = check(builder.save(tmp_path))
    assert kinds(graph) == [Conv, DepthwiseConv, Add]
    assert graph.layers[1].activation == Activation(0.0)


def test_nothing_folds_behind_a_change_of_layout_that_others_read(tmp_path: Path) -> None:
    builder = a_map()
    conv(builder, 4, 4, pads=SAME)
    flat = builder.node("Flatten")
    builder.node("Relu")
    builder.node("Concat", flat, axis=1)
    assert kinds(check(builder.save(tmp_path))) == [Conv, MaxPool, Concat]


def test_the_input_is_read_twice(tmp_path: Path) -> None:
    builder = a_map()
    scaled = builder.node("Mul", builder.constant(0.5))
    first = conv(builder, 4, 4, pads=SAME)
    builder.value = scaled
    conv(builder, 4, 4, pads=SAME)
    builder.node("Add", first)
    builder.node("Sub", scaled)
    builder.node("Add", "x")
    graph = check(builder.save(tmp_path))
    assert kinds(graph) == [DepthwiseConv, Conv, Conv, Add, Add, Add]
    assert graph.predecessors[-1] == (4, -1)


def test_a_value_joined_to_itself(tmp_path: Path) -> None:
    builder = a_map()
    doubled = conv(builder, 2, 4)
    builder.node("Concat", doubled, axis=1)
    assert check(builder.save(tmp_path)).predecessors == ((-1,), (0, 0))


def test_operands_are_repeated_along_any_axis(tmp_path: Path) -> None:
    builder = OnnxBuilder([1, 3, 6, 6])
    row = builder.node("ReduceMean", axes=[2, 3], keepdims=1)
    builder.value = "x"
    column = conv(builder, 1, 3, kernel=(1, 1))
    both = builder.node("Add", row)
    builder.value = column
    builder.node("Mul", both)
    graph = check(builder.save(tmp_path))
    assert sorted(layer.kind for layer in graph.layers) == ["add", "average_pool", "conv", "mul", "permute"]


def test_concatenation_of_channels_and_of_rows(tmp_path: Path) -> None:
    for axis, shape in ((1, (6, 6, 7)), (2, (1, 1, 288))):
        builder = a_map()
        left = conv(builder, 4 if axis == 2 else 3, 4, pads=SAME)
        builder.value = "x"
        conv(builder, 4, 4, kernel=(1, 1))
        builder.node("Concat", left, "@", axis=axis)
        if axis == 2:
            conv(builder, 2, 4)
        graph = check(builder.save(tmp_path))
        assert kinds(graph)[:3] == [Conv, Conv, Concat]
        assert graph.layers[2].out_shape == shape


def test_squeeze_and_excite(tmp_path: Path) -> None:
    builder = a_map()
    wide = conv(builder, 5, 4, pads=SAME)
    builder.node("GlobalAveragePool")
    conv(builder, 5, 5, kernel=(1, 1))
    builder.node("Mul", wide)
    graph = check(builder.save(tmp_path))
    assert isinstance(graph.layers[-1], Mul)
    assert graph.layers[-1].in_shapes == ((6, 6, 5), (1, 1, 5))


@pytest.mark.parametrize("seed", range(cases(quick=10, full=40, nightly=400)))
def test_random_branches(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    builder = a_map(int(rng.integers(1, 5)))
    values = {"x": builder.inputs[0].type.tensor_type.shape.dim[1].dim_value}
    for _ in range(rng.integers(2, 8)):
        _random_node(builder, rng, values)
    unread = [name for name in values if name != "x" and all(name not in node.input for node in builder.nodes)]
    builder.value = unread[0]
    if len(unread) > 1:
        builder.node("Concat", *unread[1:], axis=1)
    check(builder.save(tmp_path), samples=1)


def _random_node(builder: OnnxBuilder, rng: np.random.Generator, values: dict[str, int]) -> None:
    """Add a node that reads one or two of the values, which all have one height and width."""
    name = str(rng.choice(list(values)))
    builder.value, channels = name, values[name]
    alike = [other for other, count in values.items() if count == channels]
    match rng.integers(6):
        case 0:
            channels = int(rng.integers(1, 5))
            conv(builder, channels, values[name], pads=SAME)
        case 1:
            builder.node("Relu")
        case 2:
            batch_normalization(builder, channels)
        case 3:
            other = str(rng.choice(list(values)))
            builder.node("Concat", other, axis=1)
            channels += values[other]
        case _:
            builder.node(str(rng.choice(["Add", "Sub", "Mul"])), str(rng.choice(alike)))
    values[builder.value] = channels


def test_resnet8() -> None:
    graph = check(shared_model(RESNET), samples=1)
    assert graph.predecessors == (
        *((-1,), (0,), (1,), (0, 2), (3,), (3,), (4,), (5, 6), (7,), (7,), (8,), (9, 10), (11,), (12,), (13,)),
    )
    blocks = [
        *((32 * 32 * 16 * (27 + 1), 32 * 32 * 16 * (144 + 1), 32 * 32 * 16 * (144 + 1), 32 * 32 * 16),
          (16 * 16 * 32 * (16 + 1), 16 * 16 * 32 * (144 + 1), 16 * 16 * 32 * (288 + 1), 16 * 16 * 32),
          (8 * 8 * 64 * (32 + 1), 8 * 8 * 64 * (288 + 1), 8 * 8 * 64 * (576 + 1), 8 * 8 * 64)),
    ]  # fmt: skip
    by_hand = sum(sum(block) for block in blocks) + 8 * 8 * 64 + 64 * 10 + 10 + 15 * 10
    assert analyze(graph, 8).totals.macc == by_hand == 12_620_576
    assert analyze(graph, 8).quantized.activations_bytes == 3 * 32 * 32 * 16


def test_branches_stay_together(tmp_path: Path) -> None:
    """Written breadth first, all branches would be alive at once."""
    builder = OnnxBuilder(["n", 1, 8, 8])
    branches = []
    for _ in range(4):
        builder.value = "x"
        branches.append(conv(builder, 8, 1, pads=SAME))
    for i, branch in enumerate(branches):
        builder.value = branch
        branches[i] = builder.node("GlobalAveragePool")
    builder.node("Sum", *branches[:3])
    graph = check(builder.save(tmp_path))
    written = sorted(graph.layers, key=lambda layer: builder.nodes.index(_node(builder, layer.name)))
    assert kinds(graph)[:4] != [Conv] * 4
    assert small_memory_order(written, "x") == graph.layers
    assert analyze(graph, 8).quantized.activations_bytes < 2 * 8 * 64


def _node(builder: OnnxBuilder, name: str) -> onnx.NodeProto:
    return next(node for node in builder.nodes if node.name == name)


@pytest.mark.parametrize("operator", ["Add", "Sub", "Mul"])
def test_a_vector_that_is_repeated_row_by_row(tmp_path: Path, operator: str) -> None:
    builder = OnnxBuilder([1, 6])
    vector = builder.node("MatMul", builder.constant(weights(6, 4)))
    builder.value = "x"
    builder.node("MatMul", builder.constant(weights(6, 12)))
    builder.node("Reshape", builder.shape(1, 3, 4))
    builder.node(operator, vector)
    joined = check(builder.save(tmp_path)).layers[-1]
    assert joined.in_shapes == (Shape(1, 3, 4), Shape(1, 1, 4))


def test_a_sum_of_each_with_each_is_quantized(tmp_path: Path) -> None:
    """Both activations are repeated, of which ONNX has each element once."""
    builder = OnnxBuilder([1, 5], 17)
    builder.node("Gemm", builder.constant(weights(5, 6)))
    columns = builder.node("Unsqueeze", builder.shape(1))
    builder.value = "x"
    builder.node("Unsqueeze", builder.shape(2))
    builder.node("Add", columns)
    path = builder.save(tmp_path)
    check(path)
    own = calibrated(path, np.random.default_rng(0).normal(size=(20, 5)).astype(np.float32))
    assert Accuracy.of(own.best(BitWidths.of(own.graph, 8)), own.float_scores).sqnr_db > 30
