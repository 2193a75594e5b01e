"""Formats by what is read: constants that layers bring in, look-up tables and clamps, against ONNX Runtime in float."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from models.calibrated import calibrated
from models.onnx_builder import OnnxBuilder, conv
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.fixed_point.formats import QFormat, ValueFormat
from tinysplit.network.float_reference import run_float
from tinysplit.network.integer_reference import run_integer
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.quantize.choose_formats import choose_formats
from tinysplit.quantize.read_errors import ReadError, functions
from tinysplit.quantize.statistics import decibels
from tinysplit.quantize.validation import layer_errors

X = np.random.default_rng(3).normal(size=(24, 3, 8, 8)).astype(np.float32)
BITS = (8, 16)
LEAST_DB = {8: 28, 16: 64}  # with the rounding of inputs and weights
TABLE_DB = {8: 42, 16: 90}  # of a table alone
Build = Callable[[OnnxBuilder], object]


def network(tmp_path: Path, *nodes: Build) -> Path:
    builder = OnnxBuilder([1, 3, 8, 8], opset=14)
    for node in nodes:
        node(builder)
    return builder.save(tmp_path)


def quantized(model: Path, bits: int, x: NDArray[np.float32] = X) -> QuantizedGraph:
    own = calibrated(model, x)
    return own.best(BitWidths.of(own.graph, bits))


def sqnr_db(model: Path, found: QuantizedGraph, x: NDArray[np.float32] = X) -> float:
    wanted = run_float(model, x).astype(np.float64)
    noise = wanted - found.output_formats[0].dequantize(run_integer(found, x)).reshape(wanted.shape)
    return decibels((wanted**2).sum(), (noise**2).sum())


def operator(name: str, **attributes: Any) -> Build:  # noqa: ANN401 - as onnx.helper takes them
    return lambda builder: builder.node(name, **attributes)


def with_constants(name: str, *constants: float, **attributes: Any) -> Build:  # noqa: ANN401 - as onnx.helper takes them
    return lambda builder: builder.node(name, *map(builder.constant, constants), **attributes)


def convolution(channels: int = 4, **attributes: Any) -> Build:  # noqa: ANN401 - as onnx.helper takes them
    return lambda builder: conv(builder, 4, channels, **attributes)


def padded(value: float) -> Build:
    return lambda builder: builder.node("Pad", builder.shape(0, 0, 1, 1, 0, 0, 1, 1), builder.constant(value))


def doubled(builder: OnnxBuilder) -> None:
    builder.node("Resize", "", builder.constant([1.0, 1.0, 2.0, 2.0]))


def joined(operator: str, *branch: Build, **attributes: Any) -> Build:  # noqa: ANN401 - as onnx.helper takes them
    """Return what joins a value with what a branch computes from it."""

    def build(builder: OnnxBuilder) -> None:
        value = builder.value
        for node in branch:
            node(builder)
        builder.node(operator, value, **attributes)

    return build


SIGMOID = (convolution(3), operator("Sigmoid"))
WIDE = (convolution(3), with_constants("Mul", 30.0))
MAX_POOL, AVERAGE_POOL = (operator(name, kernel_shape=[2, 2]) for name in ("MaxPool", "AveragePool"))

CONSTANTS: dict[str, tuple[Build, ...]] = {
    "Pad": (*SIGMOID, padded(3.0), convolution()),
    "Pad below zero": (*SIGMOID, padded(-2.0), convolution()),
    "Pad below zero at the output": (*SIGMOID, padded(-2.0)),
    "Pad before an average": (*SIGMOID, padded(7.0), operator("AveragePool", kernel_shape=[3, 3]), convolution()),
    "Pad before repeated pixels": (*SIGMOID, padded(7.0), doubled, convolution()),
    "Pad before a sum": (*SIGMOID, padded(7.0), joined("Add", convolution(pads=[1] * 4))),
    "Pad of the input": (padded(20.0), convolution(3)),
    "Pad before a table": (convolution(3), padded(70.0), operator("Sigmoid"), convolution()),
    "Pad far above a table": (convolution(3), padded(1e9), operator("Sigmoid"), convolution()),
    "Pad far below a table": (convolution(3), padded(-1e36), operator("HardSwish"), convolution()),
    "Pad under a ReLU": (convolution(3), padded(-1e5), operator("Relu"), convolution()),
    "Pad under maxima": (*SIGMOID, padded(-1000.0), operator("MaxPool", kernel_shape=[3, 3]), convolution()),
    "Pad with minus infinity": (convolution(3), padded(-3.4028235e38), operator("Relu"), convolution()),
    "Clip above all values": (*SIGMOID, with_constants("Clip", 3.0, 5.0), convolution()),
    "Clip below all values": (*SIGMOID, with_constants("Clip", -5.0, -3.0), convolution()),
    "Clip of a maximum": (*SIGMOID, MAX_POOL, with_constants("Clip", 3.0, 5.0), convolution()),
    "Clip of an average": (*SIGMOID, AVERAGE_POOL, with_constants("Clip", 3.0, 5.0), convolution()),
    "Clip of an average below": (*SIGMOID, AVERAGE_POOL, with_constants("Clip", -5.0, -3.0), convolution()),
    "Clip of a convolution": (convolution(3), with_constants("Clip", 300.0, 500.0), convolution()),
    "narrow Clip of the input": (with_constants("Clip", -0.1, 0.1), convolution(3)),
    "LeakyRelu": (convolution(3), operator("LeakyRelu", alpha=100.0)),
    "PRelu": (
        convolution(3),
        lambda builder: builder.node("PRelu", builder.constant(np.reshape([3.0, -4, 0.01, 50], (4, 1, 1)))),
    ),
    "Add": (*SIGMOID, with_constants("Add", 10.0), convolution()),
    "Mul": (*SIGMOID, with_constants("Mul", 1000.0), convolution()),
    "Concat": (*SIGMOID, joined("Concat", with_constants("Mul", 50.0), axis=1), convolution(8)),
    "padding of maxima": (
        convolution(3),
        with_constants("Sub", 100.0),
        operator("MaxPool", kernel_shape=[3, 3], pads=[1] * 4),
        convolution(),
    ),
}


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("nodes", CONSTANTS.values(), ids=CONSTANTS)
def test_constants_of_layers_do_not_saturate(tmp_path: Path, nodes: tuple[Build, ...], bits: int) -> None:
    model = network(tmp_path, *nodes)
    assert sqnr_db(model, quantized(model, bits)) >= LEAST_DB[bits]


def pad_formats(tmp_path: Path, value: float, *after: Build) -> tuple[ValueFormat, ValueFormat]:
    found = quantized(network(tmp_path, *SIGMOID, padded(value), *after), 8)
    return next((layer.formats.x, layer.formats.y) for layer in found.layers if layer.layer.kind == "pad")


def test_a_pad_has_a_format_of_its_own_only_where_it_needs_one(tmp_path: Path) -> None:
    for value in (0.5, 1.0):
        x, y = pad_formats(tmp_path, value, convolution())
        assert x == y
    x, y = pad_formats(tmp_path, 3.0, convolution())
    assert y.scale == pytest.approx(3 / 255)
    assert x.scale < y.scale / 2  # what else reads the value loses nothing
    x, y = pad_formats(tmp_path, -3.0, operator("MaxPool", kernel_shape=[3, 3]), convolution())
    assert x == y
    x, y = pad_formats(tmp_path, -3.0, operator("MaxPool", kernel_shape=[1, 1]), convolution())
    assert x != y  # whose windows of padding alone have the constant as their maximum
    x, y = pad_formats(tmp_path, 3.0, operator("MaxPool", kernel_shape=[3, 3]), convolution())
    assert x != y


def test_a_given_format_of_a_pad_counts_first(tmp_path: Path) -> None:
    own = calibrated(network(tmp_path, *SIGMOID, padded(0.5), convolution()), X)
    pad = next(layer for layer in own.graph.layers if layer.kind == "pad")
    given = ValueFormat(8, 0.02, 3)
    graph = replace(own.graph, qdq_formats={pad.output: given})
    ranges = {name: seen.clipped(8) for name, seen in own.statistics.items()}
    formats = dict(zip((layer.output for layer in graph.layers), choose_formats(graph, ranges, 8), strict=True))
    assert formats[pad.output].y == given


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("largest", [115, 5000])
@pytest.mark.parametrize("function", ["Sigmoid", "Tanh", "HardSigmoid", "HardSwish", "Elu"])
def test_tables_of_wide_values(tmp_path: Path, function: str, largest: int, bits: int) -> None:
    x = np.random.default_rng(1).uniform(-largest, largest, X.shape).astype(np.float32)
    model = network(tmp_path, operator(function))
    assert sqnr_db(model, quantized(model, bits, x), x) >= TABLE_DB[bits]


def test_a_function_that_is_flat_at_one_end_has_a_zero_point(tmp_path: Path) -> None:
    for bits in BITS:
        found = quantized(network(tmp_path, *WIDE, operator("HardSwish")), bits)
        y = found.layers[0].formats.y
        low, high = y.dequantize(np.array([y.low, y.high])).tolist()
        assert -low < 0.1 * high if bits == 8 else -low > high  # 16 bits keep Q formats


def first_format(tmp_path: Path, *nodes: Build, bits: int = 8) -> tuple[float, ValueFormat]:
    """Return the largest number that the first layer's format holds, and the format."""
    y = quantized(network(tmp_path, *WIDE, *nodes), bits).layers[0].formats.y
    return float(y.dequantize(np.array(y.high))), y


def test_all_readers_of_a_value_count(tmp_path: Path) -> None:
    plain, _ = first_format(tmp_path, convolution())
    assert plain > 100
    behind_a_pool, _ = first_format(tmp_path, MAX_POOL, operator("Sigmoid"))
    assert behind_a_pool < 20
    gate, _ = first_format(tmp_path, joined("Concat", operator("Sigmoid"), axis=1))
    assert gate > 100  # as the value itself is read, too
    graph = calibrated(network(tmp_path, *WIDE, joined("Concat", operator("Sigmoid"), axis=1)), X).graph
    assert functions(graph, graph.layers[0].output) == ((),)
    tanh_alone, _ = first_format(tmp_path, operator("Tanh"))

    def both(builder: OnnxBuilder) -> None:
        value, left = builder.value, builder.node("Sigmoid")
        builder.value = value
        builder.node("Tanh")
        builder.node("Mul", left)

    assert tanh_alone < first_format(tmp_path, both)[0] < 20


def test_sums_before_a_table_saturate_where_it_is_flat(tmp_path: Path) -> None:
    found = quantized(network(tmp_path, *WIDE, joined("Add", convolution(pads=[1] * 4)), operator("Sigmoid")), 8)
    y = next(layer.formats.y for layer in found.layers if layer.layer.kind == "add")
    assert (y.high - y.zero_point) * y.scale < 20


def test_of_the_value_itself_the_error_is_that_of_its_statistics(tmp_path: Path) -> None:
    own = calibrated(network(tmp_path, convolution(3), convolution()), X)
    name = own.graph.layers[0].output
    error = ReadError.of(own.graph, name, own.statistics)
    for values in (QFormat(8, 4), QFormat(8, 2), ValueFormat(8, 0.1, 20)):
        assert error.sqnr_db(values) == pytest.approx(own.statistics[name].sqnr_db(values))


def test_of_a_function_the_error_is_the_measured_one(tmp_path: Path) -> None:
    x = np.random.default_rng(1).normal(0, 20, X.shape).astype(np.float32)
    own = calibrated(network(tmp_path, operator("Sigmoid")), x)
    error = ReadError.of(own.graph, "x", own.statistics)
    exact = 1 / (1 + np.exp(-x.astype(np.float64)))
    for values in (QFormat(8, 0), QFormat(8, 4), QFormat(8, 6), ValueFormat(8, 0.1, 20)):
        found = 1 / (1 + np.exp(-values.dequantize(values.quantize(x))))
        measured = decibels((exact**2).sum(), ((found - exact) ** 2).sum())
        assert error.sqnr_db(values) == pytest.approx(measured, abs=0.5)


def test_values_are_validated_as_they_are_read(tmp_path: Path) -> None:
    model = network(tmp_path, *WIDE, operator("Sigmoid"), lambda builder: conv(builder, 4, 4, (1, 1)))
    before, table, _ = layer_errors(quantized(model, 8), model, X)
    assert before.sqnr_db is not None
    assert table.sqnr_db is not None
    assert before.sqnr_db == pytest.approx(table.sqnr_db, abs=3)
    assert before.own_sqnr_db is not None
    assert before.own_sqnr_db > 20
    assert before.worst_channel_sqnr_db is not None
    assert before.worst_channel_sqnr_db > 20


def test_very_large_values_give_no_warning(tmp_path: Path) -> None:
    x = np.random.default_rng(1).uniform(-1e5, 1e5, X.shape).astype(np.float32)
    model = network(tmp_path, operator("Sigmoid"))
    assert sqnr_db(model, quantized(model, 16, x), x) > TABLE_DB[16]  # warnings are errors in tests
