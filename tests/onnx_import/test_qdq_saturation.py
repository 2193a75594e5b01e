"""What a pair saturates stays so, whatever is behind it, against ONNX Runtime without optimizations."""

from pathlib import Path

import numpy as np
import pytest

from models.onnx_builder import batch_normalization
from models.qdq_networks import Form, QdqBuilder, Step, X, check, conv, normal, outputs, quantization, run_plain

RELU = (0.05, -128)  # scale and zero point of a pair that is a ReLU, 0 to 12.75
SATURATING = [RELU, (0.05, 0), (0.05, 100), (0.05, -100)]
NARROW, WIDE = 0.045, 0.25
CONSTANTS = [[[-2.0]], [[-1.0]], [[0.5]], [[-0.3]]]
BETWEEN: dict[str, Step] = {
    "nothing": lambda _: None,
    "Identity": lambda b: b.node("Identity"),
    "Dropout": lambda b: b.node("Dropout"),
    "Flatten": lambda b: b.node("Flatten"),
    "Reshape": lambda b: b.node("Reshape", b.shape(1, 4, -1, 2)),
    "Transpose": lambda b: b.node("Transpose", perm=[0, 2, 3, 1]),
    "MaxPool": lambda b: b.node("MaxPool", kernel_shape=[2, 2]),
    "Relu": lambda b: b.node("Relu"),
    "Clip": lambda b: b.node("Clip", b.constant(0.0), b.constant(6.0)),
    "Clip, Transpose": lambda b: (b.node("Clip", b.constant(-20.0), b.constant(3.0)), b.node("Transpose")),
}
SCALED: dict[str, Step] = {
    "Mul": lambda b: b.node("Mul", b.constant(CONSTANTS)),
    "Add": lambda b: b.node("Add", b.constant(CONSTANTS)),
    "BatchNormalization": lambda b: batch_normalization(b, 4),
    "Identity, Sub": lambda b: (b.node("Identity"), b.node("Sub", b.constant(CONSTANTS))),
}


def saturating(first: tuple[float, int]) -> QdqBuilder:
    builder = QdqBuilder(X, Form(), 13)
    builder.pair()
    conv(builder)
    builder.pair(*first)
    return builder


@pytest.mark.parametrize("first", SATURATING)
@pytest.mark.parametrize("second", [NARROW, WIDE])
@pytest.mark.parametrize("operator", BETWEEN)
def test_a_pair_saturates_in_front_of_another(
    tmp_path: Path, operator: str, second: float, first: tuple[float, int]
) -> None:
    builder = saturating(first)
    BETWEEN[operator](builder)
    builder.pair(second)
    check(builder, tmp_path, steps=2)


@pytest.mark.parametrize("second", [NARROW, WIDE])
def test_pairs_saturate_in_a_row(tmp_path: Path, second: float) -> None:
    builder = saturating((0.08, -100))
    for number, operator in enumerate(("Identity", "Relu", "Flatten")):
        BETWEEN[operator](builder)
        builder.pair(0.07 - 0.01 * number)
    builder.pair(second, 3)
    check(builder, tmp_path, steps=2)


@pytest.mark.parametrize("first", SATURATING)
@pytest.mark.parametrize("operator", SCALED)
def test_a_pair_saturates_in_front_of_constants(tmp_path: Path, operator: str, first: tuple[float, int]) -> None:
    builder = saturating(first)
    SCALED[operator](builder)
    builder.pair()
    expected = run_plain(builder.model(), X)
    found = outputs(quantization(builder, tmp_path).quantized, X).reshape(expected.shape)
    assert np.abs(found - expected).max() <= (2 + 1e-3) * builder.pairs[-1][0]


@pytest.mark.parametrize("scale", [2e-4, 5e-4])  # up to 6.6 and 16.4; the convolution makes 20
def test_a_finer_pair_of_16_bits_behind_8_bits_saturates(tmp_path: Path, scale: float) -> None:
    builder = QdqBuilder(X, Form(), 21)
    builder.pair()
    builder.node("Conv", builder.constant(normal(4, 4, 3, 3)), pads=[1, 1, 1, 1])
    builder.form = Form("int16")
    builder.pair(scale)
    quantized = quantization(builder, tmp_path).quantized
    expected = run_plain(builder.model(), X)
    found = outputs(quantized, X).reshape(expected.shape)
    assert quantized.output_formats[0].scale == builder.pairs[-1][0]
    assert np.abs(found - expected).max() <= 0.04 * np.abs(expected).max()  # of weights of 8 bits
