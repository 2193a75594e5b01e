"""What importers declare is what they do: the attributes that they read, their layers, and each of their refusals."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import ArrayLike

from models.onnx_builder import OnnxBuilder, batch_normalization, conv, weights
from tinysplit.common.errors import InputError
from tinysplit.network.onnx_file.opsets import FOLLOWED_OPSET
from tinysplit.onnx_import import import_model
from tinysplit.onnx_import.graph_builder import GraphBuilder
from tinysplit.onnx_import.node import Constant, Node, Refusal, Tensor
from tinysplit.onnx_import.operators import (
    OPERATORS,
    convolution,
    dense,
    functions,
    group_normalization,
    joining,
    movement,
    normalization,
    pooling,
    recurrent,
    resize,
    softmax,
    window,
)
from tinysplit.onnx_import.operators.declaration import DECLARED

Build = Callable[[OnnxBuilder], object]  # adds the node of an operator to a network that computes 1x4x6x6
GAPS: dict[str, Any] = {"auto_pad": "SAME_UPPER", "strides": [1, 3]}
SCALES = [1, 1, 2, 2]


def branch(b: OnnxBuilder, *shape: int) -> str:
    """Add the network's input, summed to one value for each of `shape`, 4x6x6 at most; return its name."""
    value, b.value = b.value, "x"
    axes = [axis + 1 for axis, size in enumerate(shape) if size == 1]
    result = b.node("Identity") if not axes else b.node("ReduceMean", axes=axes, keepdims=1)
    b.value = value
    return result


def pads(b: OnnxBuilder, *widths: int) -> str:
    """Add a Pad."""
    return b.node("Pad", b.shape(*widths))


def rows(b: OnnxBuilder, *bias: int) -> str:
    """Add a Gemm of 4 rows with a bias of this shape."""
    b.node("Flatten", axis=2)
    return b.node("Gemm", b.constant(weights(36, 2)), b.constant(weights(*bias)))


def vector(b: OnnxBuilder, operator: str, *operands: str) -> str:
    """Add a node on the whole activation as a vector."""
    b.node("Flatten")
    return b.node(operator, *operands)


def enlarged(b: OnnxBuilder, operator: str) -> str:
    """Add a node whose constant has other sizes than 1 where the activation has 1."""
    return b.node(operator, b.constant(weights(2, 4, 6, 6)))


def reshaped(b: OnnxBuilder, *factors: int) -> str:
    """Add a Reshape to a multiple of the shape, which ONNX's checker does not know."""
    value = b.value
    b.node("Shape")
    b.node("Mul", b.shape(*factors))
    return b.node("Reshape", value, "@")


def other_shapes(b: OnnxBuilder, operator: str) -> str:
    """Add a node that joins a 1x4x6x6 and a 1x4x3x12 activation."""
    b.value = b.node("Relu")
    b.node("AveragePool", kernel_shape=[2, 1], strides=[2, 1])
    reshaped(b, 1)
    return b.node(operator, branch(b, 4, 6, 6))


RECURRENT = {"GRU": 3, "LSTM": 4, "RNN": 1}  # gates of a unit


def sequence(b: OnnxBuilder, operator: str, batch: int = 1, operands: tuple[str, ...] = (), **attributes: Any) -> None:  # noqa: ANN401
    """Add a recurrent operator of two units on 6 steps; `operands` are those behind its weights."""
    count, rows = 1 + (attributes.get("direction") == "bidirectional"), 2 * RECURRENT[operator]
    b.node("Reshape", b.shape(6, batch, 24 // batch))
    products = [b.constant(weights(count, rows, size)) for size in (24 // batch, 2)]
    b.node(operator, *products, *operands, hidden_size=2, **attributes)


def large_state(b: OnnxBuilder, operator: str) -> None:
    """Add a recurrent operator that begins with a hidden state beyond 1."""
    sequence(b, operator, 1, ("", "", b.constant(np.array([[[0.5, 1.5]]], np.float32))))


def constant_sequence(b: OnnxBuilder, operator: str) -> None:
    """Add a recurrent operator of 144 units on constants, that begins with what the network computes."""
    b.node("Reshape", b.shape(1, 1, 144))
    products = [b.constant(weights(1, RECURRENT[operator] * 144, size)) for size in (2, 144)]
    b.node(operator, b.constant(weights(6, 1, 2)), *products, "", "", "@", hidden_size=144)


COMPARISONS = ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual")


def compared(b: OnnxBuilder, operator: str, values: ArrayLike = 0.1) -> None:
    """Add a comparison with constants, as floats."""
    b.node(operator, b.constant(values))
    b.node("Cast", to=onnx.TensorProto.FLOAT)


def masked(b: OnnxBuilder, mask: np.ndarray, scale: float = 1.0) -> None:
    """Add a softmax over columns behind a computed mask, which a scale multiplies."""
    value, b.value = b.value, b.constant(mask)
    computed = b.node("Identity")
    b.value = value
    b.node("Add", computed)
    b.node("Mul", b.constant(scale))
    b.node("Softmax", axis=-1)


def dilated_average(b: OnnxBuilder) -> None:
    """Add an AveragePool as opset 19 has it."""
    b.opset = 19
    b.node("AveragePool", kernel_shape=[2, 2], dilations=[2, 2], auto_pad="SAME_UPPER")


def unsqueezed_before_opset_13(b: OnnxBuilder) -> None:
    """Add an Unsqueeze whose axes are an attribute."""
    b.opset = 11
    b.node("Unsqueeze", axes=[1])


def trained(b: OnnxBuilder) -> None:
    """Add a BatchNormalization that also computes new statistics."""
    b.node("BatchNormalization", *(b.constant(np.ones(4)) for _ in range(4)), training_mode=1)
    b.nodes[-1].output.extend(["mean", "variance"])


def other_channels(b: OnnxBuilder) -> None:
    """Add a BatchNormalization of 3 channels to a single one."""
    b.node("ReduceMean", axes=[1])
    reshaped(b, 1)
    batch_normalization(b, 3)


def divided_by_norm(b: OnnxBuilder, operator: str, *operands: str) -> str:
    """Add a division by the root of the sum of squares of the channels."""
    b.node("ReduceL2", axes=[1])
    return b.node(operator, *operands)


def scaled(b: OnnxBuilder, opset: int, operator: str, channels: int, **attributes: int) -> None:
    """Add a scale and a shift for each channel to a normalization."""
    of_opset(b, opset, operator, b.constant(weights(channels)), b.constant(weights(channels)), **attributes)


def of_opset(b: OnnxBuilder, opset: int, operator: str, *operands: str, **attributes: Any) -> None:  # noqa: ANN401
    """Add a node of an operator as `opset` has it."""
    b.opset = opset
    b.node(operator, *operands, **attributes)


def split(b: OnnxBuilder, opset: int = 13, **attributes: Any) -> None:  # noqa: ANN401
    """Add a Split into one part."""
    b.opset = opset
    b.node("Split", axis=1, **attributes)


def empty_part(b: OnnxBuilder) -> None:
    """Add a Split into nothing and everything."""
    split(b)
    b.nodes[-1].input.append(b.shape(0, 4))
    b.nodes[-1].output.append("everything")
    b.node("Concat", "everything", axis=1)


def behind_a_function(b: OnnxBuilder, operator: str, *operands: str) -> None:
    """Add a node that computes a function of a function."""
    b.node("Exp")
    b.node(operator, *operands)


AROUND = (0, 0, 1, 1, 0, 0, 1, 1)
JOINS = ("Add", "Mul", "Sub")
BESIDE_FUNCTIONS = (*JOINS, "Div", "Max", "Min")
FUNCTIONS = (
    *("Abs", "Ceil", "Celu", "Cos", "Elu", "Erf", "Exp", "Floor", "HardSigmoid", "HardSwish", "Log", "Reciprocal"),
    *("Round", "Selu", "Sigmoid", "Sign", "Sin", "Softplus", "Softsign", "Sqrt", "Tanh", "ThresholdedRelu"),
)
USES: list[tuple[str, Build]] = [
    ("ArgMax", lambda b: (b.node("ArgMax", axis=1, keepdims=0, select_last_index=1), b.node("Cast", to=1))),
    ("Add", lambda b: b.node("Add", b.constant(weights(4, 1, 1)))),
    ("Add", lambda b: b.node("Add", branch(b, 4, 6, 6))),
    ("AveragePool", lambda b: b.node("AveragePool", kernel_shape=[2, 2])),
    ("BatchNormalization", lambda b: batch_normalization(b, 4)),
    ("Clip", lambda b: b.node("Clip", b.constant(0.0))),
    ("Concat", lambda b: b.node("Concat", branch(b, 4, 6, 6), axis=1)),
    ("Conv", lambda b: conv(b, 2, 4, kernel_shape=[3, 3])),
    ("Conv", lambda b: conv(b, 4, 1, group=4)),
    ("ConvTranspose", lambda b: b.node("ConvTranspose", b.constant(weights(4, 2, 3, 3)))),
    ("Div", lambda b: b.node("Div", b.constant(2.0))),
    ("Div", lambda b: b.node("Div", b.constant(2.0), "@")),
    ("Dropout", lambda b: b.node("Dropout")),
    ("Flatten", lambda b: b.node("Flatten")),
    ("Gemm", lambda b: rows(b, 1, 2)),
    ("Gemm", lambda b: vector(b, "Gemm", b.constant(weights(144, 2)), b.constant(weights(2)))),
    ("GlobalAveragePool", lambda b: b.node("GlobalAveragePool")),
    ("GlobalMaxPool", lambda b: b.node("GlobalMaxPool")),
    ("Identity", lambda b: b.node("Identity")),
    ("LeakyRelu", lambda b: b.node("LeakyRelu")),
    ("MatMul", lambda b: b.node("MatMul", b.constant(weights(6, 2)))),
    ("MatMul", lambda b: b.node("MatMul", "@", "@")),
    *((name, lambda b, name=name: sequence(b, name, direction="bidirectional")) for name in RECURRENT),
    *((name, lambda b, name=name: sequence(b, name)) for name in RECURRENT),
    ("MatMul", lambda b: vector(b, "MatMul", b.constant(weights(144, 2)))),
    ("MaxPool", lambda b: b.node("MaxPool", kernel_shape=[2, 2])),
    ("Mul", lambda b: b.node("Mul", b.constant(weights(4, 1, 1)))),
    ("Mul", lambda b: b.node("Mul", branch(b, 4, 6, 6))),
    ("PRelu", lambda b: b.node("PRelu", b.constant(weights(4, 1, 1)))),
    ("Pad", lambda b: pads(b, 0, 0, 1, 1, 0, 0, 1, 1)),
    ("ReduceMax", lambda b: b.node("ReduceMax", axes=[2, 3])),
    ("ReduceMax", lambda b: b.node("ReduceMax")),
    ("ReduceMean", lambda b: b.node("ReduceMean", axes=[2, 3])),
    ("ReduceMean", lambda b: b.node("ReduceMean")),
    ("ReduceSum", lambda b: of_opset(b, 11, "ReduceSum", axes=[2, 3])),
    ("ReduceSum", lambda b: b.node("ReduceSum")),
    ("Relu", lambda b: b.node("Relu")),
    ("Reshape", lambda b: b.node("Reshape", b.shape(1, -1))),
    ("Resize", lambda b: b.node("Resize", "", b.constant(SCALES), mode="nearest")),
    ("Resize", lambda b: b.node("Resize", "", b.constant(SCALES), mode="linear")),
    ("Resize", lambda b: b.node("Resize", "", "", b.shape(1, 4, 12, 12), mode="nearest")),
    ("Resize", lambda b: b.node("Resize", "", "", b.shape(1, 4, 9, 7), mode="cubic")),
    ("Resize", lambda b: of_opset(b, 18, "Resize", "", b.constant([1, 1, 0.5, 1]), mode="linear")),
    *((name, lambda b, name=name: compared(b, name)) for name in COMPARISONS),
    ("IsNaN", lambda b: (b.node("IsNaN"), b.node("Where", b.constant(0.0), "value_0"))),
    ("Shape", lambda b: reshaped(b, 1)),
    ("Softmax", lambda b: b.node("Softmax", axis=1)),
    ("Where", lambda b: b.node("Where", b.constant(weights(4, 6, 6) > 0, np.bool_), b.constant(1.0), "@")),
    ("Squeeze", lambda b: b.node("Squeeze")),
    ("Sub", lambda b: b.node("Sub", b.constant(weights(4, 1, 1)))),
    ("Sub", lambda b: b.node("Sub", branch(b, 4, 6, 6))),
    ("Sum", lambda b: b.node("Sum", branch(b, 4, 6, 6))),
    ("Transpose", lambda b: b.node("Transpose")),
    ("Unsqueeze", lambda b: b.node("Unsqueeze", b.shape(1))),
    ("Unsqueeze", unsqueezed_before_opset_13),
    ("Gelu", lambda b: of_opset(b, 20, "Gelu")),
    ("Mul", lambda b: (divided_by_norm(b, "Reciprocal", "@"), b.node("Mul", "value_0"))),
    ("GroupNormalization", lambda b: scaled(b, 21, "GroupNormalization", 4, num_groups=2)),
    ("InstanceNormalization", lambda b: scaled(b, 17, "InstanceNormalization", 4)),
    ("LayerNormalization", lambda b: scaled(b, 17, "LayerNormalization", 6)),
    ("LpNormalization", lambda b: b.node("LpNormalization")),
    ("RMSNormalization", lambda b: of_opset(b, 23, "RMSNormalization", b.constant(weights(6)))),
    ("Cast", lambda b: b.node("Cast", to=onnx.TensorProto.FLOAT16)),
    ("DepthToSpace", lambda b: b.node("DepthToSpace", blocksize=2)),
    ("Expand", lambda b: (b.node("ReduceMean", axes=[2, 3]), b.node("Expand", b.shape(1, 4, 2, 2)))),
    ("Gather", lambda b: b.node("Gather", b.shape(0, 3), axis=1)),
    ("Max", lambda b: b.node("Max", b.constant(0.1))),
    ("Slice", lambda b: b.node("Slice", b.shape(1), b.shape(5), b.shape(2))),
    ("SpaceToDepth", lambda b: b.node("SpaceToDepth", blocksize=2)),
    ("Split", split),
    ("Split", lambda b: split(b, 18, num_outputs=1)),
    ("Split", lambda b: split(b, 11, split=[4])),
    ("Min", lambda b: b.node("Min", b.constant(0.1))),
    ("Mish", lambda b: of_opset(b, 18, "Mish")),
    ("Neg", lambda b: b.node("Neg")),
    ("Pow", lambda b: b.node("Pow", b.constant(2.0))),
    *((name, lambda b, name=name: b.node(name)) for name in FUNCTIONS),
    ("Sum", lambda b: behind_a_function(b, "Sum", b.value)),
    *((name, lambda b, name=name: behind_a_function(b, name)) for name in ("Clip", "Neg", "Relu")),
    *((name, lambda b, name=name: behind_a_function(b, name, b.constant(0.5))) for name in BESIDE_FUNCTIONS),
]
OTHER_SCALES = (4, 1, 1)  # of the channels, for groups along columns
POOLS = ("AveragePool", "MaxPool")
REFUSED: list[tuple[str, Refusal, Build]] = [
    *((name, normalization.ENLARGED, lambda b, name=name: enlarged(b, name)) for name in (*JOINS, "Div")),
    *((name, joining.OTHER_SHAPES, lambda b, name=name: other_shapes(b, name)) for name in (*JOINS, "Sum")),
    ("Sum", joining.WITH_CONSTANTS, lambda b: b.node("Sum", branch(b, 4, 6, 6), b.constant(1.0))),
    (
        "Concat",
        joining.WITH_CONSTANTS,
        lambda b: b.node("Concat", branch(b, 4, 6, 6), b.constant(weights(1, 0, 6, 6)), axis=1),
    ),
    *(
        (name, pooling.PADDING_ALONE, lambda b, name=name: b.node(name, kernel_shape=[2, 2], pads=[2, 0, 0, 0]))
        for name in POOLS
    ),
    ("AveragePool", pooling.SAME_AND_DILATIONS, dilated_average),
    (
        "MaxPool",
        pooling.SAME_AND_DILATIONS,
        lambda b: b.node("MaxPool", kernel_shape=[2, 2], dilations=[2, 2], auto_pad="SAME_UPPER"),
    ),
    *((name, window.LARGE_WINDOW, lambda b, name=name: b.node(name, kernel_shape=[7, 7])) for name in POOLS),
    *((name, window.GAPS, lambda b, name=name: b.node(name, kernel_shape=[1, 1], **GAPS)) for name in POOLS),
    ("Conv", window.LARGE_WINDOW, lambda b: conv(b, 2, 4, (7, 7))),
    ("Conv", window.GAPS, lambda b: conv(b, 2, 4, (1, 1), **GAPS)),
    ("Conv", convolution.RANK, lambda b: (b.node("Unsqueeze", b.shape(4)), conv(b, 2, 4, (1, 1, 1)))),
    ("Conv", convolution.CHANNELS, lambda b: conv(b, 2, 3)),
    ("Conv", convolution.KERNEL_SHAPE, lambda b: conv(b, 2, 4, kernel_shape=[2, 3])),
    ("Conv", convolution.BIAS, lambda b: b.node("Conv", b.constant(weights(2, 4, 1, 1)), b.constant([1.0]))),
    (
        "ConvTranspose",
        convolution.RANK,
        lambda b: (b.node("Unsqueeze", b.shape(4)), b.node("ConvTranspose", b.constant(weights(4, 2, 1, 1, 1)))),
    ),
    ("ConvTranspose", convolution.CHANNELS, lambda b: b.node("ConvTranspose", b.constant(weights(3, 2, 3, 3)))),
    (
        "ConvTranspose",
        convolution.TRANSPOSED_GAPS,
        lambda b: b.node("ConvTranspose", b.constant(weights(4, 2, 1, 1)), **GAPS),
    ),
    (
        "BatchNormalization",
        normalization.OTHER_CHANNELS,
        other_channels,
    ),
    ("BatchNormalization", normalization.TRAINING, trained),
    ("Reshape", movement.SEVERAL_SAMPLES, lambda b: reshaped(b, 2, 1, 1, 1)),
    ("Clip", normalization.BOUNDS, lambda b: b.node("Clip", b.constant(np.inf))),
    ("Div", normalization.DIVIDENDS, lambda b: b.node("Div", b.constant(weights(4, 1, 1)), "@")),
    (
        "LayerNormalization",
        group_normalization.OTHER_SCALES,
        lambda b: of_opset(b, 17, "LayerNormalization", b.constant(weights(*OTHER_SCALES))),
    ),
    (
        "RMSNormalization",
        group_normalization.OTHER_SCALES,
        lambda b: of_opset(b, 23, "RMSNormalization", b.constant(weights(*OTHER_SCALES))),
    ),
    (
        "GroupNormalization",
        group_normalization.OTHER_GROUPS,
        lambda b: scaled(b, 21, "GroupNormalization", 4, num_groups=3),
    ),
    ("LpNormalization", group_normalization.OTHER_NORM, lambda b: b.node("LpNormalization", p=1)),
    ("Pow", functions.CONSTANT_BASE, lambda b: b.node("Pow", b.constant(2.0), "@")),
    ("Pow", functions.EXPONENTS, lambda b: b.node("Pow", b.constant(weights(4, 1, 1)))),
    (
        "Dropout",
        movement.TRAINING,
        lambda b: b.node("Dropout", b.constant(0.5), b.constant(True, np.bool_)),
    ),
    ("Gemm", dense.CONSTANT_LEFT, lambda b: (b.node("Flatten"), b.node("Gemm", b.constant(weights(3, 1)), "@"))),
    ("Gemm", dense.OTHER_ROWS, lambda b: rows(b, 4, 2)),
    *((name, recurrent.CLIPPED, lambda b, name=name: sequence(b, name, clip=1.0)) for name in RECURRENT),
    *((name, recurrent.LARGE_STATE, lambda b, name=name: large_state(b, name)) for name in RECURRENT),
    *((name, recurrent.CONSTANT_SEQUENCE, lambda b, name=name: constant_sequence(b, name)) for name in RECURRENT),
    *((name, recurrent.SEVERAL_SEQUENCES, lambda b, name=name: sequence(b, name, 2)) for name in RECURRENT),
    *(
        (name, recurrent.OTHER_STEPS, lambda b, name=name: sequence(b, name, 1, ("", b.constant([5], np.int32))))
        for name in RECURRENT
    ),
    *(
        (name, recurrent.OTHER_FUNCTIONS, lambda b, name=name: sequence(b, name, activations=["Affine"] * 3))
        for name in RECURRENT
    ),
    ("LSTM", recurrent.COUPLED, lambda b: sequence(b, "LSTM", input_forget=1)),
    (
        "LSTM",
        recurrent.PEEPHOLES,
        lambda b: sequence(b, "LSTM", 1, ("", "", "", "", b.constant(weights(1, 6)))),
    ),
    ("MatMul", dense.NO_MATRIX, lambda b: b.node("MatMul", b.constant(weights(4, 2, 6)), "@")),
    *((name, functions.COMPARED, lambda b, name=name: compared(b, name, weights(4, 1, 1))) for name in COMPARISONS),
    ("Softmax", softmax.MASKS_ALL, lambda b: masked(b, np.full((6, 6), -1e9))),
    ("Softmax", softmax.MASK_OF_NUMBERS, lambda b: masked(b, np.triu(np.full((6, 6), -1e9), 1) + np.eye(6) / 2)),
    ("Softmax", softmax.CHANGED_MASK, lambda b: masked(b, np.diag([-1e9] * 6), 2.0)),
    (
        "Where",
        normalization.ENLARGED,
        lambda b: b.node("Where", b.constant(np.ones((2, 4, 6, 6)), bool), b.constant(1.0), "@"),
    ),
    ("PRelu", functions.ENLARGED_BY_SLOPE, lambda b: enlarged(b, "PRelu")),
    ("PRelu", functions.SLOPES, lambda b: b.node("PRelu", b.constant(weights(6)))),
    ("Pad", movement.PAD_MODE, lambda b: b.node("Pad", b.shape(0, 0, 1, 1, 0, 0, 1, 1), mode="own")),
    ("Pad", movement.NOTHING, lambda b: pads(b, 0, 0, -3, 0, 0, 0, -3, 0)),
    ("Pad", movement.SECOND_PAD, lambda b: (pads(b, *AROUND), b.node("Pad", b.shape(*AROUND), b.constant(1.0)))),
    ("Slice", movement.NOTHING, lambda b: b.node("Slice", b.shape(3), b.shape(2), b.shape(1))),
    ("Gather", movement.NOTHING, lambda b: b.node("Gather", b.constant(np.empty(0), np.int64), axis=1)),
    ("Split", movement.NOTHING, empty_part),
    ("Cast", movement.OTHER_TYPE, lambda b: (b.node("Cast", to=onnx.TensorProto.INT8), b.node("Cast", to=1))),
    (
        "Resize",
        resize.BOTH_AXES,
        lambda b: of_opset(
            b, 18, "Resize", "", "", b.shape(9, 8), axes=[2, 3], mode="cubic", keep_aspect_ratio_policy="not_larger"
        ),
    ),
    ("Resize", resize.MODE, lambda b: b.node("Resize", "", b.constant(SCALES), mode="own")),
    ("Resize", resize.OTHER_AXES, lambda b: b.node("Resize", "", b.constant([1, 2, 1, 1]), mode="nearest")),
    (
        "Resize",
        resize.ANTIALIAS,
        lambda b: of_opset(b, 18, "Resize", "", b.constant([1, 1, 0.5, 1]), mode="linear", antialias=1),
    ),
    (
        "Resize",
        resize.EXTRAPOLATION,
        lambda b: b.node(
            "Resize",
            b.constant([0, 0, 0, 0, 1, 1, 1.5, 1]),
            b.constant(SCALES),
            coordinate_transformation_mode="tf_crop_and_resize",
        ),
    ),
    (
        "Resize",
        resize.TRANSFORMATION,
        lambda b: b.node("Resize", "", b.constant(SCALES), mode="nearest", coordinate_transformation_mode="own"),
    ),
]


def network(build: Build) -> OnnxBuilder:
    builder = OnnxBuilder([1, 4, 6, 6], opset=15)
    builder.node("Softmax", axis=1, name="first")  # nothing folds into it
    build(builder)
    return builder


class Read(dict[str, Any]):
    """The attributes of a node, which notes those that are asked for."""

    def __init__(self, names: set[str], values: dict[str, Any]) -> None:
        super().__init__(values)
        self.names = names

    def get(self, name: str, default: Any = None) -> Any:  # noqa: ANN401
        self.names.add(name)
        return super().get(name, default)

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401
        self.names.add(name)
        return super().__getitem__(name)


@pytest.mark.parametrize("name", OPERATORS)
def test_layers_and_attributes_are_those_declared(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    operator, read = OPERATORS[name], set[str]()

    def convert(node: Node, builder: GraphBuilder) -> Tensor | Constant | tuple[Tensor, ...]:
        return operator.convert(replace(node, attributes=Read(read, node.attributes)), builder)

    monkeypatch.setitem(OPERATORS, name, replace(operator, convert=convert))
    made = set()
    for build in (build for used, build in USES if used == name):
        builder = network(build)
        nodes = {node.name for node in builder.nodes if node.op_type == name and node.name != "first"}
        made |= {layer.kind for layer in import_model(builder.save(tmp_path)).layers if layer.name in nodes}
    assert made == set(operator.kinds)
    assert read == set(operator.attributes)


def test_a_function_sees_no_attribute_that_is_not_declared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = network(lambda b: b.node("LeakyRelu", alpha=0.5)).save(tmp_path)
    slopes = [import_model(path).layers[-1].parameters]
    monkeypatch.setitem(OPERATORS, "LeakyRelu", replace(OPERATORS["LeakyRelu"], attributes=()))
    slopes.append(import_model(path).layers[-1].parameters)
    assert [np.unique(each["slopes"]).tolist() for each in slopes] == [[0.5], [float(np.float32(0.01))]]


def test_an_operator_is_declared_once() -> None:
    assert len(DECLARED) == len(OPERATORS)


@pytest.mark.parametrize("name", OPERATORS)
def test_attributes_are_all_those_of_onnx(name: str) -> None:
    operator = OPERATORS[name]
    versions = [each for each in onnx.defs.get_all_schemas_with_history() if (each.name, each.domain) == (name, "")]
    oldest = max((v.since_version for v in versions if v.since_version <= FOLLOWED_OPSET), default=FOLLOWED_OPSET)
    known = {attribute for v in versions if v.since_version >= oldest for attribute in v.attributes}
    assert sorted((*operator.attributes, *operator.ignored)) == sorted(known)


@pytest.mark.parametrize(("name", "refusal", "build"), REFUSED)
def test_refusals_are_those_declared(name: str, refusal: Refusal, build: Build, tmp_path: Path) -> None:
    assert refusal in OPERATORS[name].refusals
    with pytest.raises(InputError) as caught:
        import_model(network(build).save(tmp_path))
    text = ".+".join(map(re.escape, str(refusal).split("...")))
    refused, _, _ = str(caught.value).partition("; the network without")
    assert re.fullmatch(rf"{name} '\w+' {text}", refused)


def test_every_declared_refusal_occurs() -> None:
    declared = {(name, refusal) for name, operator in OPERATORS.items() for refusal in operator.refusals}
    assert {(name, refusal) for name, refusal, _ in REFUSED} == declared
