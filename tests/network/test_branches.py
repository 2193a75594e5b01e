"""Networks with branches in integers: by hand, and against ONNX Runtime within what rounding allows."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from models.onnx_builder import OnnxBuilder, conv
from models.value_ranges import value_ranges
from session.profiles import cases
from session.shared_models import RESNET, shared_model
from tinysplit.network.fixed_point.arithmetic import ACCUMULATOR_MAX
from tinysplit.network.fixed_point.formats import IntArray, QFormat, ValueFormat
from tinysplit.network.fixed_point.layer_formats import LayerFormats
from tinysplit.network.float_reference import run_float_values
from tinysplit.network.integer_reference import quantize_input, run_layers
from tinysplit.network.layers import Add, Concat, Mul, Shape
from tinysplit.network.layers.joining import Alignment, product_requantization
from tinysplit.network.quantized_graph import QuantizedLayer
from tinysplit.onnx_import import import_model
from tinysplit.quantize.choose_formats import choose_formats, quantize

BEFORE_SOFTMAX = -2
PAIR = Shape(1, 1, 2)
Q7, Q6, Q4 = QFormat(8, 7), QFormat(8, 6), QFormat(8, 4)


def pair(*values: int) -> IntArray:
    return np.array(values, np.int8).reshape(1, 1, 1, 2)


def test_add_by_hand() -> None:
    layer = Add(name="sum", inputs=("a", "b"), output="y", in_shape=PAIR, other_shapes=(PAIR,), signs=(1, -1))
    quantized = QuantizedLayer.of(layer, LayerFormats((Q6, Q7), Q4))
    # 100 / 64 - 50 / 128 = 1.171875, 18.75 of 16 a one; -128 / 64 - 127 / 128 = -2.9921875, -47.875
    assert layer.integer_reference(quantized, pair(100, -128), pair(50, 127)).ravel().tolist() == [19, -48]


def test_mul_by_hand() -> None:
    layer = Mul(name="gate", inputs=("a", "b"), output="y", in_shape=PAIR, other_shapes=(PAIR,))
    quantized = QuantizedLayer.of(layer, LayerFormats((Q6, Q7), Q7))
    # 1.5625 * 0.5 = 0.78125, 100 of 128; 2 * 1 saturates
    assert layer.integer_reference(quantized, pair(100, -128), pair(64, -128)).ravel().tolist() == [100, 127]


def test_concat_by_hand() -> None:
    layer = Concat(name="both", inputs=("a", "b"), output="y", in_shape=PAIR, other_shapes=(PAIR,))
    quantized = QuantizedLayer.of(layer, LayerFormats((Q6, Q7), Q6))
    assert layer.integer_reference(quantized, pair(1, -2), pair(3, -5)).ravel().tolist() == [1, -2, 2, -2]


def test_alignment_never_leaves_32_bits() -> None:
    rng = np.random.default_rng(1)
    for _ in range(cases(quick=50, full=500, nightly=5000)):
        bits, count = int(rng.choice([8, 16])), int(rng.integers(1, 5))
        ratios = (rng.choice([-1, 1], count) * 2.0 ** rng.uniform(-20, 31 - bits - 2, count)).tolist()
        zeros = rng.integers(-128, 128, count).tolist() if bits == 8 else [0] * count
        largest = 1 << (bits - 1)
        factors, offset, shift = Alignment.of(ratios, zeros, int(rng.integers(-128, 128)) if bits == 8 else 0, largest)
        reach = sum(abs(factor) * largest for factor in factors)
        assert reach + abs(offset) <= ACCUMULATOR_MAX
        assert 0 <= shift <= 30


def test_powers_of_two_are_exact() -> None:
    assert Alignment.of([0.5, 2.0], [0, 0], 0, 128) == ((1, 4), 1, 1)
    assert Alignment.of([1.0, 1.0], [0, 0], 0, 1 << 15) == ((1, 1), 0, 0)


def test_aligned_values_are_as_near_as_their_last_step() -> None:
    rng = np.random.default_rng(2)
    for _ in range(cases(quick=50, full=500, nightly=5000)):
        ratios = (rng.choice([-1, 1], 2) * 2.0 ** rng.uniform(-12, 0, 2)).tolist()
        x = rng.integers(-(1 << 15), 1 << 15, (100, 2))
        factors, offset, shift = Alignment.of(ratios, [0, 0], 0, 1 << 15)
        aligned = (offset + (x * factors).sum(axis=1)) >> shift
        assert np.abs(aligned - x @ ratios).max() <= 0.5 + 2  # a step an input: 16 bits and a sign leave factors 14


def test_products_are_as_near_as_their_last_step_and_stay_in_32_bits() -> None:
    rng = np.random.default_rng(3)
    for _ in range(cases(quick=50, full=500, nightly=5000)):
        bits, y_bits = rng.choice([8, 16], 2), int(rng.choice([8, 16]))
        low = (-(2 ** (bits - 1))).tolist()
        largest, zero_point = low[0] * low[1], int(rng.integers(-(1 << (y_bits - 1)), 1 << (y_bits - 1)))
        ratio = 2.0 ** rng.uniform(-4, y_bits - 1) / largest  # products fill the output, or a part of it
        found = product_requantization(ratio, ValueFormat(y_bits, 1.0, zero_point), largest)
        products = rng.integers(low[0], -low[0], 1000) * rng.integers(low[1], -low[1], 1000)
        products[0] = largest
        y = found.apply(products + found.sum_rounding, zero_point) - zero_point
        assert np.abs(y - ratio * products).max() <= 0.5 + 1
        assert found.largest(np.array([largest + found.sum_rounding]), zero_point) <= ACCUMULATOR_MAX


@pytest.mark.parametrize("scale", [2.0**-11, 2.0**-11 * 1.4, 2.0**-11 * 1.45, 2.0**-14 * 1.7])
def test_mul_of_16_bits_in_any_scale(scale: float) -> None:
    layer = Mul(name="square", inputs=("a", "b"), output="y", in_shape=PAIR, other_shapes=(PAIR,))
    quantized = QuantizedLayer.of(layer, LayerFormats((QFormat(16, 13), QFormat(16, 13)), ValueFormat(16, scale)))
    x = np.random.default_rng(4).integers(-(1 << 15), 1 << 15, (500, 1, 1, 2)).astype(np.int16)
    wanted = np.clip((x * 2.0**-13) ** 2 / scale, -(1 << 15), (1 << 15) - 1)
    assert np.abs(layer.integer_reference(quantized, x, x) - wanted).max() <= 4


def test_mul_of_wide_zero_points_stays_in_32_bits() -> None:
    layer = Mul(name="gate", inputs=("a", "b"), output="y", in_shape=PAIR, other_shapes=(PAIR,))
    a, b, y = ValueFormat(16, 1e-4, -1526), ValueFormat(16, 2.0**-16, -(1 << 15)), ValueFormat(16, 6e-5, -26509)
    quantized = QuantizedLayer.of(layer, LayerFormats((a, b), y))
    rng = np.random.default_rng(4)
    xs = [rng.integers(-(1 << 15), 1 << 15, (500, 1, 1, 2)).astype(np.int16) for _ in range(2)]
    wanted = np.clip(a.dequantize(xs[0]) * b.dequantize(xs[1]) / y.scale + y.zero_point, y.low, y.high)
    assert np.abs(layer.integer_reference(quantized, *xs) - wanted).max() <= 4  # a step of `a` is 1.7
    widest = ValueFormat(16, 1e-4, -(1 << 15))
    assert layer.sum_bounds(QuantizedLayer.of(layer, LayerFormats((widest, widest), y)))[0] <= ACCUMULATOR_MAX


def signal_to_noise_db(path: Path, x: NDArray[np.float32], bits: int, index: int = -1) -> float:
    """Return how far the outputs of layer `index` are from float in the integer network, calibrated on the samples."""
    graph = import_model(path)
    ranges = value_ranges(path, graph.value_names, x)
    quantized = quantize(graph, choose_formats(graph, ranges, bits), bits)
    integers = list(run_layers(quantized, quantize_input(quantized, x)))[index]
    name = graph.layers[index].output
    floats = np.sort(run_float_values(path, x, [name])[name].reshape(len(x), -1).astype(np.float64), axis=1)
    values = np.sort(quantized.layers[index].formats.y.dequantize(integers).reshape(len(x), -1), axis=1)
    return float(10 * np.log10(np.sum(floats**2) / np.sum((values - floats) ** 2)))


@pytest.mark.parametrize(("bits", "least_db"), [(8, 25), (16, 70)])
def test_branches_keep_their_precision(tmp_path: Path, bits: int, least_db: float) -> None:
    builder = OnnxBuilder(["n", 4, 8, 8])
    conv(builder, 6, 4, pads=[1, 1, 1, 1])
    shortcut = builder.node("Relu")
    conv(builder, 6, 6, pads=[1, 1, 1, 1])
    added = builder.node("Add", shortcut)
    builder.node("GlobalAveragePool")
    gated = builder.node("Mul", added)
    builder.node("Concat", shortcut, gated, axis=1)
    x = np.random.default_rng(0).normal(size=(8, 4, 8, 8)).astype(np.float32)
    assert signal_to_noise_db(builder.save(tmp_path), x, bits) > least_db


@pytest.mark.parametrize(("bits", "least_db"), [(8, 20), (16, 50)])
def test_resnet8_keeps_its_precision(bits: int, least_db: float) -> None:
    x = np.random.default_rng(0).uniform(0, 255, size=(8, 32, 32, 3)).astype(np.float32)
    assert signal_to_noise_db(shared_model(RESNET), x, bits, BEFORE_SOFTMAX) > least_db
