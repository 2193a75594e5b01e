"""Small networks with several inputs or outputs."""

from pathlib import Path
from typing import Any

from onnx import TensorProto, helper

from models.onnx_builder import OnnxBuilder, conv, weights

SAME = [1, 1, 1, 1]


def two_inputs(folder: Path) -> Path:
    """Save a network that reads a map `x`, 2x6x6, and a vector `settings`, 3, and computes 5 classes."""
    builder = OnnxBuilder(["n", 2, 6, 6])
    builder.inputs.append(helper.make_tensor_value_info("settings", TensorProto.FLOAT, ["n", 3]))
    conv(builder, 4, 2, pads=SAME)
    builder.node("Relu")
    builder.node("GlobalAveragePool")
    averages = builder.node("Flatten")
    builder.value = "settings"
    builder.node("Gemm", builder.constant(weights(3, 4) / 100))  # of settings, which may be large
    builder.node("Add", averages)
    builder.node("Gemm", builder.constant(weights(4, 5)))
    return builder.save(folder)


def two_outputs(folder: Path) -> Path:
    """Save a network whose outputs are a map, 4x6x6, classes of it, 5, and the averages before them, 4."""
    builder = OnnxBuilder([1, 2, 6, 6])
    conv(builder, 4, 2, pads=SAME)
    mapped = builder.node("Relu")
    average = builder.node("ReduceMean", axes=[2, 3], keepdims=0)
    builder.node("Gemm", builder.constant(weights(4, 5)))
    classes = builder.node("Softmax")
    builder.outputs = [mapped, classes, average]
    return builder.save(folder)


def streaming(folder: Path, operator: str = "LSTM", layers: int = 2, steps: int = 1, units: int = 6) -> Path:
    """Write a recurrent network on `steps` of 5 values, whose states are inputs and outputs: h0, hn, and c0, cn."""
    b = OnnxBuilder([1, steps, 5], 17)
    states = ("h", "c")[: 1 + (operator == "LSTM")]
    b.inputs += [helper.make_tensor_value_info(f"{each}0", TensorProto.FLOAT, [layers, 1, units]) for each in states]
    value, size, gates = b.node("Transpose", perm=[1, 0, 2]), 5, {"LSTM": 4, "GRU": 3}[operator]
    attributes: dict[str, Any] = {"linear_before_reset": 1} if operator == "GRU" else {}
    for layer in range(layers):
        b.value = value
        operands = [b.constant(0.5 * weights(1, gates * units, count)) for count in (size, units)]
        first = []
        for each in states:
            b.value = f"{each}0"
            first.append(b.node("Slice", b.shape(layer), b.shape(layer + 1), b.shape(0)))
        b.value = value
        operands.append(b.constant(weights(1, 2 * gates * units)))
        b.node(operator, *operands, "", *first, hidden_size=units, **attributes)
        b.nodes[-1].output.extend(f"{each} {layer}" for each in states)
        value, size = b.node("Squeeze", b.shape(1)), units
    b.node("Reshape", b.shape(1, -1))
    b.outputs = [b.node("Gemm", b.constant(weights(steps * units, 3)), b.constant(weights(3)))]
    for each in states:
        b.value = f"{each} 0"
        b.node("Concat", *(f"{each} {layer}" for layer in range(1, layers)), axis=0)
        b.nodes[-1].output[0] = f"{each}n"
        b.outputs.append(f"{each}n")
    return b.save(folder)
