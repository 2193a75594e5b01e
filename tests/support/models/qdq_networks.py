"""Quantized (QDQ) networks in the forms that exporters give them, with scales that fit the values."""

from collections.abc import Callable
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import ArrayLike, NDArray
from onnx import ModelProto, TensorProto, numpy_helper
from onnx.reference import ReferenceEvaluator
from rich.console import Console

from models.onnx_builder import OnnxBuilder
from tinysplit.network.integer_reference import run_integer
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.network.samples import Samples
from tinysplit.onnx_import import import_model
from tinysplit.quantize.quantize_model import Quantization, quantize_model

Floats = NDArray[np.float32]
X = np.random.default_rng(1).normal(size=(12, 4, 6, 6)).astype(np.float32)
TYPES = ("int8", "uint8", "int16", "uint16")
STATED_OPSET = 21  # the first with output_dtype, and with 16 bits
EVALUATED_OPSET = 19  # the first in which ONNX's own evaluator knows DequantizeLinear
CONTRIBUTED = "com.microsoft"
SCALARS = ("initializer", "value", "value_float", "identity", "cast", "reshape", "product")
WEIGHTS = ("integers", "floats", "integers_clipped", "floats_clipped")
CLIPPED = 100  # bound of clipped weights


def run_plain(model: ModelProto, x: Floats) -> NDArray[np.float64]:
    """Return what ONNX Runtime computes, sample by sample, node by node as they are in the file."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3  # errors: initializers that no node reads are no matter
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return np.concatenate([session.run(None, {"x": sample[np.newaxis]})[0] for sample in x]).astype(np.float64)


def run_reference(model: ModelProto, x: Floats) -> NDArray[np.float64]:
    """Return what ONNX's own evaluator computes."""
    evaluator = ReferenceEvaluator(model)
    runs: list[Any] = [evaluator.run(None, {"x": sample[np.newaxis]}) for sample in x]
    return np.concatenate([output for (output,) in runs]).astype(np.float64)


@dataclass(frozen=True)
class Form:
    """How a network says that it is quantized.

    `element` is the type of activations: that of zero points, or of output_dtype where `is_stated`. `domain` is that of
    the nodes. `scalars` is what computes scales (of SCALARS), `weights` what is in front of the DequantizeLinear of
    weights (of WEIGHTS): integers or QuantizeLinear behind floats, and perhaps a Clip.
    """

    element: str = "int8"
    is_stated: bool = False
    domain: str = ""
    scalars: str = "initializer"
    weights: str = "integers"
    per_channel: bool = True


class QdqBuilder(OnnxBuilder):
    """A chain of nodes and pairs. A pair without a given scale fits the values of samples `x`.

    `pairs` are scales with the zero points of signed integers, `weights` the integers, both in the order of the file.
    """

    def __init__(self, x: Floats, form: Form, opset: int = 13) -> None:
        super().__init__([1, *x.shape[1:]], opset)
        self.x = x
        self.form = form
        self.pairs: list[tuple[float, int]] = []
        self.weights: list[NDArray[np.int8]] = []

    def beside(self, operator: str, *inputs: str, domain: str = "", **attributes: Any) -> str:  # noqa: ANN401
        """Add a node that does not read the chain, and return its output."""
        value = self.value
        output = self.node(operator, domain=domain, **attributes)
        self.nodes[-1].input[:] = inputs
        self.value = value
        return output

    def scales(self, values: ArrayLike) -> str:
        """Add the scale of a node in the form of the network."""
        array, form = np.asarray(values, np.float32), self.form.scalars
        if form == "value_float":
            given = {"value_floats": array.tolist()} if array.ndim else {"value_float": float(array)}
            return self.beside("Constant", **given)
        if form == "value":
            return self.beside("Constant", value=numpy_helper.from_array(array))
        if form == "cast":
            return self.beside("Cast", self.constant(array, np.float64), to=TensorProto.FLOAT)
        if form == "reshape":
            return self.beside("Reshape", self.constant(array.reshape(1, -1)), self.shape(*array.shape))
        if form == "product":
            return self.beside("Mul", self.constant(array * 2), self.constant(0.5))
        name = self.constant(array)
        return self.beside("Identity", name) if form == "identity" else name

    def pair(self, scale: float | None = None, zero: int = 0) -> str:
        """Quantize the value of the chain, with a zero point in the type of the form, and dequantize it."""
        form, info = self.form, np.iinfo(self.form.element)
        if scale is None:
            values = run_plain(self.model(), self.x) if self.nodes else self.x
            low, high = min(float(values.min()), 0.0), max(float(values.max()), 1e-3)
            if form.is_stated:
                scale = max(high / info.max, low / info.min if info.min else 0.0)
            else:
                scale = (high - low) / (int(info.max) - int(info.min))
                zero = int(info.min) - round(low / scale)
        scale = float(np.float32(scale))
        self.pairs.append((scale, zero - (int(info.min) + int(info.max) + 1) // 2))
        operands = [self.scales(scale), *([] if form.is_stated else [self.constant(zero, np.dtype(form.element))])]
        stated = {"output_dtype": TensorProto.DataType.Value(form.element.upper())} if form.is_stated else {}
        self.node("QuantizeLinear", *operands, domain=form.domain, **stated)
        return self.node("DequantizeLinear", *operands, domain=form.domain)

    def quantized(self, weights: Floats, axis: int = 0) -> str:
        """Add weights in the form of the network, with their channels along `axis`, and return them dequantized."""
        form = self.form
        others = tuple(other for other in range(weights.ndim) if other != axis)
        largest = np.abs(weights).max(axis=others, keepdims=True) if form.per_channel else np.abs(weights).max()
        steps = np.float32(largest / 120)
        integers = np.rint(weights / steps).astype(np.int8)
        attributes = {"axis": axis} if form.per_channel else {}
        zero = self.constant(np.zeros(weights.shape[axis]) if form.per_channel else 0, np.int8)
        operands = [self.scales(steps.ravel() if form.per_channel else steps.item()), zero]
        value = self.constant(integers, np.int8)
        if form.weights.startswith("floats"):
            value = self.beside("QuantizeLinear", self.constant(weights), *operands, domain=form.domain, **attributes)
        if form.weights.endswith("clipped"):
            integers = integers.clip(-CLIPPED, CLIPPED)
            value = self.beside("Clip", value, *(self.constant(bound, np.int8) for bound in (-CLIPPED, CLIPPED)))
        self.weights.append(integers)
        return self.beside("DequantizeLinear", value, *operands, domain=form.domain, **attributes)


def normal(*shape: int) -> Floats:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


def conv(builder: QdqBuilder, channels: int = 4, **attributes: Any) -> str:  # noqa: ANN401 - as onnx.helper takes them
    weights = builder.quantized(normal(4, channels, 3, 3))
    return builder.node("Conv", weights, builder.constant(normal(4)), pads=[1, 1, 1, 1], **attributes)


def quantization(builder: QdqBuilder, folder: Path) -> Quantization:
    path = builder.save(folder)
    return quantize_model(import_model(path), path, Samples(builder.x), 8, Console(file=StringIO()))


def outputs(quantized: QuantizedGraph, x: Floats) -> NDArray[np.float64]:
    return quantized.output_formats[0].dequantize(run_integer(quantized, x))


def check(builder: QdqBuilder, folder: Path, steps: float = 1) -> QuantizedGraph:
    """Hold output, its format and the weights of a network against those of the file; return the network."""
    quantized = quantization(builder, folder).quantized
    expected = run_plain(builder.model(), builder.x)
    found = outputs(quantized, builder.x).reshape(expected.shape)
    difference = np.abs(found - expected) / builder.pairs[-1][0]
    assert difference.max() <= steps + 1e-3
    assert difference.mean() < 0.2 * steps
    stored = [layer.constants["weights"] for layer in quantized.layers if layer.layer.qdq_scales is not None]
    assert sorted(np.sort(own.ravel()).tobytes() for own in stored) == sorted(
        np.sort(own.ravel()).tobytes() for own in builder.weights
    )
    return quantized


def formats(quantized: QuantizedGraph) -> list[tuple[float, int]]:
    """Return scales and zero points of the network's input and of all layers."""
    found = [quantized.input_formats[0], *(layer.formats.y for layer in quantized.layers)]
    return [(own.scale, own.zero_point) for own in found]


def conv_and_dense(form: Form, opset: int) -> QdqBuilder:
    builder = QdqBuilder(X, form, opset)
    builder.pair()
    conv(builder)
    builder.node("Relu")
    builder.pair()
    builder.node("Flatten")
    builder.node("Gemm", builder.quantized(normal(5, 144)), transB=1)
    builder.pair()
    return builder


def _matmul(builder: QdqBuilder) -> None:
    builder.node("Flatten")
    builder.node("MatMul", builder.quantized(normal(144, 144), 1))
    builder.node("Reshape", builder.shape(1, 4, 6, 6))


Step = Callable[[QdqBuilder], object]
LAYERS: dict[str, Step] = {
    "Conv": conv,
    "DepthwiseConv": lambda b: conv(b, 1, group=4),
    "ConvTranspose": lambda b: b.node("ConvTranspose", b.quantized(normal(4, 4, 2, 2), 1), strides=[2, 2]),
    "MatMul": _matmul,
    "Add": lambda b: b.node("Add", "first"),
    "Sub": lambda b: b.node("Sub", "first"),
    "Mul": lambda b: b.node("Mul", "first"),
    "Concat": lambda b: b.node("Concat", "first", axis=1),
    "AveragePool": lambda b: b.node("AveragePool", kernel_shape=[2, 2], strides=[2, 2]),
    "GlobalAveragePool": lambda b: b.node("GlobalAveragePool"),
    "MaxPool": lambda b: b.node("MaxPool", kernel_shape=[2, 2], strides=[2, 2]),
    "GlobalMaxPool": lambda b: b.node("GlobalMaxPool"),
    "ReduceMax": lambda b: b.node("ReduceMax", axes=[2, 3]),
    "Resize": lambda b: b.node("Resize", "", b.constant([1.0, 1.0, 2.0, 2.0]), nearest_mode="round_prefer_floor"),
    "Pad": lambda b: b.node("Pad", b.shape(0, 0, 1, 1, 0, 0, 1, 1)),
    "Sigmoid": lambda b: b.node("Sigmoid"),
    "Elu": lambda b: b.node("Elu"),
    "PRelu": lambda b: b.node("PRelu", b.constant(np.abs(normal(4, 1, 1)))),
    "Transpose": lambda b: b.node("Transpose", perm=[0, 1, 3, 2]),
    "Reshape": lambda b: b.node("Reshape", b.shape(1, 4, -1, 2)),
}
ACTIVATIONS: dict[str, Step] = {
    "none": lambda _: None,
    "Relu": lambda b: b.node("Relu"),
    "Clip": lambda b: b.node("Clip", b.constant(-1.0), b.constant(20.0)),
    "LeakyRelu": lambda b: b.node("LeakyRelu", alpha=0.2),
}
