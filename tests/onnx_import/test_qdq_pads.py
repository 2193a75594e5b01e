"""Quantized networks (QDQ) with a Pad of another constant than 0, against ONNX Runtime without optimization."""

from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from onnxruntime.quantization import QuantFormat, QuantType, quantize_static

from models.calibrated import calibrated
from models.onnx_builder import OnnxBuilder, conv
from models.qdq import Reader
from models.qdq_networks import Form, QdqBuilder, Step, check
from models.qdq_networks import X as SQUARES
from models.qdq_networks import conv as conv_4
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.integer_reference import run_integer
from tinysplit.onnx_import import import_model
from tinysplit.quantize.statistics import decibels

X = np.random.default_rng(3).normal(size=(24, 3, 8, 8)).astype(np.float32)
LEAST_DB = 45  # 3 to 12 where the constant saturates


def quantized_model(folder: Path, function: str, constant: float, activations: QuantType) -> Path:
    """Write a network in which a Pad and a convolution read the same value."""
    builder = OnnxBuilder([1, 3, 8, 8])
    conv(builder, 4, 3)
    value = builder.node(function)
    builder.node("Pad", builder.shape(0, 0, 1, 1, 0, 0, 1, 1), builder.constant(constant))
    left = conv(builder, 4, 4)
    builder.value = value
    conv(builder, 4, 4, pads=[1, 1, 1, 1])
    builder.node("Add", left)
    path = folder / "quantized.onnx"
    quantize_static(
        str(builder.save(folder)),
        str(path),
        Reader(X),
        quant_format=QuantFormat.QDQ,
        per_channel=True,
        activation_type=activations,
        weight_type=QuantType.QInt8,
    )
    return path


@pytest.mark.parametrize("activations", [QuantType.QInt8, QuantType.QUInt8])
@pytest.mark.parametrize(("function", "constant"), [("Sigmoid", 3.0), ("Sigmoid", -2.0), ("Relu", -3.0)])
def test_a_pair_behind_a_pad_is_its_format(
    tmp_path: Path, function: str, constant: float, activations: QuantType
) -> None:
    path = quantized_model(tmp_path, function, constant, activations)
    graph = import_model(path)
    own = calibrated(path, X)
    quantized = own.best(BitWidths.all(graph, 8))
    pad = next(layer for layer in quantized.layers if layer.layer.kind == "pad")
    assert pad.formats.y == graph.qdq_formats[pad.layer.output] != pad.formats.x
    assert pad.formats.x == graph.qdq_formats[pad.layer.inputs[0]]
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(path, options)
    wanted = np.concatenate([session.run(None, {"x": sample[np.newaxis]})[0] for sample in X]).astype(np.float64)
    found = quantized.output_formats[0].dequantize(run_integer(quantized, X))
    assert decibels((wanted**2).sum(), ((wanted - found) ** 2).sum()) >= LEAST_DB


def _sum_of_both(builder: QdqBuilder) -> None:
    value = builder.value
    first = conv_4(builder)
    builder.value = value
    builder.node("Transpose", perm=[0, 1, 3, 2])
    conv_4(builder)
    builder.node("Add", first)


BEHIND: dict[str, Step] = {
    "the output": lambda _: None,
    "Identity": lambda b: b.node("Identity"),
    "Identity, Conv": lambda b: (b.node("Identity"), conv_4(b)),
    "Transpose, Sigmoid": lambda b: (b.node("Transpose", perm=[0, 1, 3, 2]), b.node("Sigmoid")),
    "Transpose, Conv": lambda b: (b.node("Transpose", perm=[0, 1, 3, 2]), conv_4(b)),
    "two readers": _sum_of_both,
}


@pytest.mark.parametrize("behind", BEHIND)
@pytest.mark.parametrize("pair", [(0.05, -128), (0.05, 0), (0.1, 20), (0.03, -60)])
@pytest.mark.parametrize("constant", [0.0, 1.5, -6.0])
def test_a_pair_behind_a_pad_saturates_for_all_readers(
    tmp_path: Path, constant: float, pair: tuple[float, int], behind: str
) -> None:
    builder = QdqBuilder(SQUARES, Form(), 13)
    builder.pair()
    conv_4(builder)
    builder.pair(0.05)
    builder.node("Pad", builder.shape(0, 0, 1, 1, 0, 0, 1, 1), builder.constant(constant))
    builder.pair(*pair)
    BEHIND[behind](builder)
    if behind in {"the output", "Identity"}:
        check(builder, tmp_path, steps=3)
    else:
        builder.pair()
        check(builder, tmp_path, steps=8)  # of rounding in the first pairs
