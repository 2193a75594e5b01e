"""Small networks with several inputs or outputs."""

from pathlib import Path

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
