"""Operators of .tflite files, each in a small network, against LiteRT's reference kernels."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from rich.console import Console

from models.tflite_builder import Quantization, TfliteBuilder
from tinysplit.common.errors import InputError
from tinysplit.network.float_reference import run_float
from tinysplit.network.integer_reference import run_integer
from tinysplit.network.sample_files import SampleArrays
from tinysplit.network.samples import load_samples
from tinysplit.onnx_import import import_model
from tinysplit.quantize.quantize_model import quantize_model

litert = pytest.importorskip("ai_edge_litert.interpreter", reason="ai-edge-litert is not installed (extra dev)")

SAME, VALID = 0, 1
RELU, RELU6 = 1, 3
Case = Callable[[TfliteBuilder, int], int]
RNG = np.random.default_rng(11)
MAP = (1, 7, 6, 4)


def weights(*shape: int) -> NDArray[np.float32]:
    return RNG.normal(0, 0.5, shape).astype(np.float32)


def simple(kind: str, options: str = "", **fields: float) -> Case:
    def add(net: TfliteBuilder, x: int) -> int:
        y = net.tensor(net.tensors[x][0])
        net.operator(kind, [x], y, options, **fields)
        return y

    return add


def joined(kind: str, operand: Any, **fields: float) -> Case:  # noqa: ANN401 (an array)
    def add(net: TfliteBuilder, x: int) -> int:
        y = net.tensor(net.tensors[x][0])
        name = {"ADD": "AddOptions", "SUB": "SubOptions", "MUL": "MulOptions", "PRELU": ""}[kind]
        net.operator(kind, [x, net.constant(operand)], y, name, **fields)
        return y

    return add


def windowed(kind: str, shape: tuple[int, ...], options: str, operands: tuple[Any, ...] = (), **fields: float) -> Case:
    def add(net: TfliteBuilder, x: int) -> int:
        y = net.tensor(shape)
        constants = [net.constant(each) for each in operands]
        net.operator(kind, [x, *constants], y, options, StrideH=2, StrideW=1, **fields)
        return y

    return add


def moved(
    kind: str, shape: tuple[int, ...], operands: tuple[Any, ...] = (), options: str = "", **fields: float
) -> Case:
    def add(net: TfliteBuilder, x: int) -> int:
        y = net.tensor(shape)
        given = [net.constant(np.asarray(each, np.int32)) for each in operands]
        net.operator(kind, [x, *given], y, options, **fields)
        return y

    return add


def before_tanh(case: Case) -> Case:
    """Add a layer behind operators that only move data, which are no network alone."""
    return lambda net, x: simple("TANH")(net, case(net, x))


def split(net: TfliteBuilder, x: int) -> int:
    parts = [net.tensor((1, 7, 6, 2)) for _ in range(2)]
    net.operator("SPLIT", [net.constant(np.int32(3)), x], parts, "SplitOptions", NumSplits=2)
    y = net.tensor(MAP)
    net.operator("CONCATENATION", [parts[1], parts[0]], y, "ConcatenationOptions", Axis=3)
    return y


def transposed(padding: int, size: tuple[int, int]) -> Case:
    def add(net: TfliteBuilder, x: int) -> int:
        shape = (1, *size, 3)
        y = net.tensor(shape)
        given = [net.constant(np.array(shape, np.int32)), net.constant(weights(3, 3, 2, 4)), x]
        net.operator("TRANSPOSE_CONV", given, y, "TransposeConvOptions", Padding=padding, StrideH=2, StrideW=2)
        return y

    return add


def classes(net: TfliteBuilder, x: int) -> int:
    """The number of the largest channel of every pixel."""
    y = net.tensor(MAP[:3], "int64")
    net.operator("ARG_MAX", [simple("TANH")(net, x), net.constant(np.int32(3))], y, "ArgMaxOptions", OutputType=4)
    return y


def computed_shape(net: TfliteBuilder, x: int) -> int:
    """Reshape to sizes that are computed of the input's, as of a batch that was dynamic."""
    shape, batch = net.tensor((4,), "int32"), net.tensor((), "int32")
    net.operator("SHAPE", [x], shape, "ShapeOptions", OutType=2)
    bounds = [net.constant(np.array([each], np.int32)) for each in (0, 1, 1)]
    net.operator("STRIDED_SLICE", [shape, *bounds], batch, "StridedSliceOptions", ShrinkAxisMask=1)
    sizes, y = net.tensor((2,), "int32"), net.tensor((1, 168))
    net.operator("PACK", [batch, net.constant(np.int32(168))], sizes, "PackOptions", ValuesCount=2)
    net.operator("RESHAPE", [x, sizes], y)
    return y


def half_weights(net: TfliteBuilder, x: int) -> int:
    stored, y = net.constant(weights(5, 3, 3, 4).astype(np.float16)), net.tensor((1, 5, 4, 5))
    full = net.tensor((5, 3, 3, 4))
    net.operator("DEQUANTIZE", [stored], full)
    fields = {"Padding": VALID, "StrideH": 1, "StrideW": 1}
    net.operator("CONV_2D", [x, full, net.constant(weights(5))], y, "Conv2DOptions", **fields)
    return y


CONV = (weights(5, 3, 3, 4), weights(5))
DEPTHWISE = (weights(1, 3, 2, 8), weights(8))
SLICE = ([0, 1, 0, 3], [1, 7, 6, -5], [1, 2, 1, -1])
CASES: dict[str, Case] = {
    "conv same": windowed("CONV_2D", (1, 4, 6, 5), "Conv2DOptions", CONV, Padding=SAME, FusedActivationFunction=RELU),
    "conv valid": windowed(
        "CONV_2D", (1, 3, 4, 5), "Conv2DOptions", CONV, Padding=VALID, FusedActivationFunction=RELU6
    ),
    "depthwise": windowed(
        "DEPTHWISE_CONV_2D", (1, 4, 6, 8), "DepthwiseConv2DOptions", DEPTHWISE, Padding=SAME, DepthMultiplier=2
    ),
    "max pool": windowed("MAX_POOL_2D", (1, 4, 6, 4), "Pool2DOptions", Padding=SAME, FilterHeight=3, FilterWidth=2),
    "average pool": windowed(
        "AVERAGE_POOL_2D", (1, 4, 6, 4), "Pool2DOptions", Padding=SAME, FilterHeight=3, FilterWidth=2
    ),
    "transposed same": transposed(SAME, (14, 12)),
    "transposed valid": transposed(VALID, (15, 12)),
    "mean": moved("MEAN", (1, 4), ([1, 2],), "ReducerOptions"),
    "mean that keeps dimensions": moved("MEAN", (1, 1, 1, 4), ([1, 2],), "ReducerOptions", KeepDims=1),
    "reshape": before_tanh(moved("RESHAPE", (1, 42, 4), ([1, 42, 4],))),
    "computed shape": before_tanh(computed_shape),
    "expand": before_tanh(moved("EXPAND_DIMS", (1, 7, 1, 6, 4), (2,))),
    "transpose": before_tanh(moved("TRANSPOSE", (1, 4, 7, 6), ([0, 3, 1, 2],))),
    "pad": moved("PAD", (1, 10, 6, 5), ([[0, 0], [1, 2], [0, 0], [0, 1]],)),
    "strided slice": moved(
        "STRIDED_SLICE", (1, 3, 6, 4), SLICE, "StridedSliceOptions", BeginMask=0, EndMask=0, ShrinkAxisMask=0
    ),
    "single row": moved(
        "STRIDED_SLICE",
        (1, 6, 4),
        ([0, -2, 0, 0], [0, 0, 0, 0], [1] * 4),
        "StridedSliceOptions",
        EndMask=13,
        ShrinkAxisMask=2,
    ),
    "slice": moved("SLICE", (1, 3, 6, 2), ([0, 2, 0, 1], [1, 3, -1, 2])),
    "split": split,
    "bilinear": moved("RESIZE_BILINEAR", (1, 14, 12, 4), ([14, 12],), "ResizeBilinearOptions", HalfPixelCenters=1),
    "bilinear-any": moved("RESIZE_BILINEAR", (1, 5, 11, 4), ([5, 11],), "ResizeBilinearOptions", HalfPixelCenters=1),
    "bilinear-aligned": moved("RESIZE_BILINEAR", (1, 13, 9, 4), ([13, 9],), "ResizeBilinearOptions", AlignCorners=1),
    "bilinear-plain": moved("RESIZE_BILINEAR", (1, 10, 9, 4), ([10, 9],), "ResizeBilinearOptions"),
    "nearest-any": before_tanh(
        moved("RESIZE_NEAREST_NEIGHBOR", (1, 10, 5, 4), ([10, 5],), "ResizeNearestNeighborOptions")
    ),
    "nearest": moved("RESIZE_NEAREST_NEIGHBOR", (1, 14, 12, 4), ([14, 12],), "ResizeNearestNeighborOptions"),
    "nearest, half pixels": moved(
        "RESIZE_NEAREST_NEIGHBOR", (1, 14, 12, 4), ([14, 12],), "ResizeNearestNeighborOptions", HalfPixelCenters=1
    ),
    "add": joined("ADD", weights(1, 1, 1, 4), FusedActivationFunction=RELU),
    "subtract": joined("SUB", weights(4)),
    "multiply": joined("MUL", weights(4)),
    "prelu": joined("PRELU", weights(1, 1, 4)),
    "leaky relu": simple("LEAKY_RELU", "LeakyReluOptions", Alpha=0.2),
    "softmax": simple("SOFTMAX", "SoftmaxOptions", Beta=1.0),
    "softmax with beta": simple("SOFTMAX", "SoftmaxOptions", Beta=0.5),
    "half weights": half_weights,
    **{kind.lower(): simple(kind) for kind in ("RELU", "RELU6", "RELU_N1_TO_1", "LOGISTIC", "TANH", "HARD_SWISH")},
}


def litert_outputs(path: Path, x: NDArray[Any]) -> NDArray[Any]:
    """Return the outputs of LiteRT's reference kernels."""
    kind = litert.OpResolverType.BUILTIN_REF
    interpreter = litert.Interpreter(str(path), experimental_op_resolver_type=kind)
    interpreter.allocate_tensors()
    (given,), (result,) = interpreter.get_input_details(), interpreter.get_output_details()
    outputs = []
    for sample in x:
        interpreter.reset_all_variables()
        interpreter.set_tensor(given["index"], sample[np.newaxis])
        interpreter.invoke()
        outputs.append(interpreter.get_tensor(result["index"]).reshape(-1).copy())
    return np.array(outputs)


def recurrent(path: Path, *, is_quantized: bool = False, **fields: float) -> Path:
    """Write an LSTM of 5 units over 6 steps of 4 values, of floats, or of integers that stand for the same."""
    net, units, steps, inputs, rng = TfliteBuilder(), 5, 6, 4, np.random.default_rng(5)
    unit, step = 1 / 64, 1 / 16

    def constant(scale: float, dtype: type[np.signedinteger[Any]], *shape: int) -> int:
        integers = rng.integers(-100, 100, shape).astype(dtype)
        if is_quantized:
            return net.constant(integers, Quantization([scale]))
        return net.constant((integers * scale).astype(np.float32))

    of_x, of_y = (Quantization([step], 3), Quantization([1 / 128])) if is_quantized else (None, None)
    dtype = "int8" if is_quantized else "float32"
    x, y = net.tensor((1, steps, inputs), dtype, of_x), net.tensor((1, steps, units), dtype, of_y)
    gates = [constant(unit, np.int8, units, size) for size in (*[inputs] * 4, *[units] * 4)]
    biases = [constant(unit * step, np.int32, units) for _ in range(4)]
    states = [net.state((1, units)), net.state((1, units))]
    operands = [x, *gates, -1, -1, -1, *biases, -1, -1, *states, *[-1] * 4]
    options = {"FusedActivationFunction": 4, **fields}
    net.operator("UNIDIRECTIONAL_SEQUENCE_LSTM", operands, y, "UnidirectionalSequenceLSTMOptions", **options)
    return net.save(path, [x], [y])


def test_weights_of_an_lstm_of_integers_are_those_of_floats(tmp_path: Path) -> None:
    path = recurrent(tmp_path / "integers.tflite", is_quantized=True)
    samples = load_samples(SampleArrays(RNG.integers(-40, 40, (8, 6, 4)).astype(np.int8), None), import_model(path))
    expected = litert_outputs(recurrent(tmp_path / "floats.tflite"), samples.x)
    np.testing.assert_allclose(run_float(path, samples.x).reshape(expected.shape), expected, rtol=0, atol=0.51 / 128)


def test_an_lstm_computes_what_litert_does(tmp_path: Path) -> None:
    path = recurrent(tmp_path / "net.tflite", CellClip=10.0)
    x = RNG.normal(size=(8, 6, 4)).astype(np.float32)
    expected = litert_outputs(path, x)
    np.testing.assert_allclose(run_float(path, x).reshape(expected.shape), expected, rtol=1e-4, atol=1e-5)
    graph = import_model(path)
    quantized = quantize_model(
        graph, path, load_samples(SampleArrays(x, None), graph), 16, Console(quiet=True)
    ).quantized
    real = quantized.layers[-1].formats.y.dequantize(run_integer(quantized, x)).reshape(expected.shape)
    np.testing.assert_allclose(real, expected, rtol=0, atol=2e-3)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"CellClip": 1.0}, "has another activation than tanh, or a clip below 10"),
        ({"FusedActivationFunction": 1}, "has another activation than tanh, or a clip below 10"),
        ({"TimeMajor": 1}, "has its steps before the batch"),
    ],
)
def test_an_unusual_lstm_is_refused(tmp_path: Path, fields: dict[str, Any], text: str) -> None:
    with pytest.raises(InputError, match=f"UNIDIRECTIONAL_SEQUENCE_LSTM 0: {text}"):
        import_model(recurrent(tmp_path / "net.tflite", **fields))


@pytest.mark.parametrize("name", CASES)
def test_a_float_operator_computes_what_litert_does(name: str, tmp_path: Path) -> None:
    net = TfliteBuilder()
    x = net.tensor(MAP)
    path = net.save(tmp_path / "net.tflite", [x], [CASES[name](net, x)])
    samples = RNG.normal(size=(3, *MAP[1:])).astype(np.float32) * 3
    import_model(path)
    expected = litert_outputs(path, samples)
    assert np.allclose(run_float(path, samples).reshape(3, -1), expected, rtol=1e-5, atol=1e-5)


def quantize(net: TfliteBuilder) -> None:
    """Let activations and constants of a network of floats be int8, and biases int32."""
    unit, ends = 1 / 16, {"LOGISTIC": (1 / 256, -128), "SOFTMAX": (1 / 256, -128), "TANH": (1 / 128, 0)}
    formats = {each[2][0]: ends[each[0]] for each in net.operators if each[0] in ends}
    biases = {each[1][2] for each in net.operators if each[0] in ("CONV_2D", "DEPTHWISE_CONV_2D")}
    for index, (shape, dtype, _, data) in enumerate(net.tensors):
        if dtype == "float32" and data is None:
            scale, zero_point = formats.get(index, (unit, 3))
            net.tensors[index] = shape, "int8", Quantization([scale], zero_point), None
        elif dtype == "float32":
            scale, kind = (unit / 64, np.int32) if index in biases else (1 / 64, np.int8)
            stored = np.clip(np.rint(np.frombuffer(data, np.float32) / scale), -127, 127).astype(kind)
            net.tensors[index] = shape, stored.dtype.name, Quantization([scale]), stored.tobytes()


def check_integers(path: Path, x: NDArray[Any], least: float = 0.999) -> None:
    """Compare what the boards compute, and the float reference, with LiteRT's integers."""
    scale, zero_point = litert.Interpreter(str(path)).get_output_details()[0]["quantization"]
    expected = (litert_outputs(path, x).astype(np.float64) - zero_point) * scale
    graph = import_model(path)
    samples = load_samples(SampleArrays(x, None), graph)
    quantized = quantize_model(graph, path, samples, 8 * x.itemsize, Console(quiet=True)).quantized
    in_float = run_float(path, samples.x).reshape(expected.shape)
    assert np.mean(np.abs(in_float - expected) < 1.5 * scale) >= 0.999
    if x.dtype != np.int16:  # in 16 bits, factors of 15 bits differ in more than one step
        result = quantized.output_formats[0]
        integers = run_integer(quantized, samples.x).reshape(expected.shape)
        real = (integers.astype(np.float64) - result.zero_point) * result.scale
        assert np.mean(np.abs(real - expected) < 1.5 * scale) >= least


ROUNDED_TWICE = {"bilinear-any": 0.998}  # interpolated along rows, then along columns


# Without the softmax of half the values, which are rounded a second time.
@pytest.mark.parametrize("name", [name for name in CASES if name not in ("half weights", "softmax with beta")])
def test_an_operator_of_integers_is_within_a_step_of_litert(name: str, tmp_path: Path) -> None:
    net = TfliteBuilder()
    x = net.tensor(MAP)
    y = CASES[name](net, x)
    quantize(net)
    path = net.save(tmp_path / "net.tflite", [x], [y])
    check_integers(path, RNG.integers(-128, 128, (4, *MAP[1:])).astype(np.int8), ROUNDED_TWICE.get(name, 0.999))


def test_numbers_of_classes_are_those_of_litert(tmp_path: Path) -> None:
    net = TfliteBuilder()
    x = net.tensor(MAP)
    y = classes(net, x)
    quantize(net)
    path = net.save(tmp_path / "net.tflite", [x], [y])
    values = RNG.integers(-128, 128, (4, *MAP[1:])).astype(np.int8)
    graph = import_model(path)
    samples = load_samples(SampleArrays(values, None), graph)
    quantized = quantize_model(graph, path, samples, 8, Console(quiet=True)).quantized
    numbers = quantized.layers[-1].formats.y.dequantize(run_integer(quantized, samples.x)).reshape(4, -1)
    np.testing.assert_array_equal(numbers, litert_outputs(path, values))


def quantized_network(path: Path, dtype: str) -> Path:
    """Write a residual network of integers: convolutions with scales by channel, an addition, a pool, a dense layer."""
    net, bias = TfliteBuilder(), "int64" if dtype == "int16" else "int32"
    shift = {"int8": 3, "uint8": 131, "int16": 0}[dtype]
    unit = 2.0**-14 if dtype == "int16" else 1 / 20

    def activation(*shape: int, scale: float = 1.0) -> int:
        return net.tensor(shape, dtype, Quantization([scale * unit], shift))

    def parameters(shape: tuple[int, ...], axis: int) -> tuple[int, int]:
        scales = [0.004 * (1 + 0.1 * i) for i in range(shape[axis])]
        stored = RNG.integers(-127, 128, shape).astype(np.int8)
        biases = RNG.integers(-300, 300, shape[axis]).astype(bias)
        of_bias = Quantization([each * unit for each in scales])
        return net.constant(stored, Quantization(scales, axis=axis)), net.constant(biases, of_bias)

    x, a, b, c = activation(*MAP), activation(*MAP, scale=2), activation(*MAP), activation(*MAP, scale=2)
    window = {"Padding": SAME, "StrideH": 1, "StrideW": 1}
    net.operator("CONV_2D", [x, *parameters((4, 3, 3, 4), 0)], a, "Conv2DOptions", **window)
    depthwise = (1, 3, 3, 4)
    net.operator(
        "DEPTHWISE_CONV_2D", [a, *parameters(depthwise, 3)], b, "DepthwiseConv2DOptions", DepthMultiplier=1, **window
    )
    net.operator("ADD", [a, b], c, "AddOptions", FusedActivationFunction=RELU)
    pooled, flat, y = activation(1, 1, 1, 4, scale=2), activation(1, 4, scale=2), activation(1, 5, scale=8)
    pool = {"Padding": VALID, "StrideH": 7, "StrideW": 6, "FilterHeight": 7, "FilterWidth": 6}
    net.operator("AVERAGE_POOL_2D", [c], pooled, "Pool2DOptions", **pool)
    net.operator("RESHAPE", [pooled, net.constant(np.array([1, 4], np.int32))], flat)
    dense = net.constant(RNG.integers(-127, 128, (5, 4)).astype(np.int8), Quantization([0.01]))
    net.operator("FULLY_CONNECTED", [flat, dense, -1], y, "FullyConnectedOptions")
    return net.save(path, [x], [y])


@pytest.mark.parametrize("dtype", ["int8", "int16"])
def test_a_quantized_network_is_within_a_step_of_litert(dtype: str, tmp_path: Path) -> None:
    path = quantized_network(tmp_path / "net.tflite", dtype)
    limits = np.iinfo(dtype)
    check_integers(path, RNG.integers(limits.min // 2, limits.max // 2, (40, *MAP[1:])).astype(dtype))


def test_other_scales_and_types_between_operators(tmp_path: Path) -> None:
    """A network that takes uint8, computes in int8, and joins values of two scales."""
    net = TfliteBuilder()
    wide = Quantization([0.1], -20)
    x, a = net.tensor(MAP, "uint8", Quantization([0.05], 131)), net.tensor(MAP, "int8", Quantization([0.05], 3))
    b, c, y = net.tensor(MAP, "int8", wide), net.tensor(MAP, "int8", wide), net.tensor((1, 7, 6, 8), "int8", wide)
    net.operator("QUANTIZE", [x], a)
    net.operator("QUANTIZE", [a], b)
    net.operator("RELU", [b], c)
    net.operator("CONCATENATION", [b, c], y, "ConcatenationOptions", Axis=3)
    path = net.save(tmp_path / "net.tflite", [x], [y])
    check_integers(path, RNG.integers(0, 256, (4, *MAP[1:])).astype(np.uint8))


def test_rows_of_a_dense_layer(tmp_path: Path) -> None:
    net = TfliteBuilder()
    x, y = net.tensor(MAP), net.tensor((1, 7, 6, 3))
    net.operator("FULLY_CONNECTED", [x, net.constant(weights(3, 4)), -1], y, "FullyConnectedOptions", KeepNumDims=1)
    quantize(net)
    path = net.save(tmp_path / "net.tflite", [x], [y])
    check_integers(path, RNG.integers(-128, 128, (4, *MAP[1:])).astype(np.int8))
