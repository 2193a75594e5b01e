"""The exact integers against counts by hand, and against ONNX Runtime, which others wrote."""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper

from kernel_cases.layer_cases import KINDS_AND_BITS, MAKERS, one_layer_graph
from tinysplit.network.fixed_point.arithmetic import Requantization, scaled_root
from tinysplit.network.fixed_point.formats import QFormat, ValueFormat
from tinysplit.network.fixed_point.layer_formats import LayerFormats
from tinysplit.network.integer_reference import CHUNK, quantize_input, run_integer, run_layers
from tinysplit.network.layers import (
    ArgMax,
    AveragePool,
    Cell,
    Conv,
    Dense,
    DepthwiseConv,
    Layer,
    Lookup,
    MatMul,
    MaxPool,
    Normalization,
    Pads,
    PRelu,
    Recurrent,
    Shape,
    Softmax,
    Window,
)
from tinysplit.network.onnx_session import open_session
from tinysplit.network.quantized_graph import QuantizedGraph, QuantizedLayer
from tinysplit.quantize.choose_formats import choose_formats, quantize

HAND: dict[str, Any] = {"name": "hand", "inputs": ("x",), "output": "y"}
IN_NETWORKS = (
    *("add", "arg_max", "mul", "concat", "lookup", "normalization", "prelu", "upsample", "pad", "permute"),
    *("conv_transpose", "matmul", "recurrent"),
)
Q7, Q6, Q4 = QFormat(8, 7), QFormat(8, 6), QFormat(8, 4)


def run_layer(layer: Layer, x: list[int], formats: LayerFormats) -> list[int]:
    ints = np.array(x, formats.x.dtype).reshape(1, *layer.in_shape)
    outputs: list[int] = layer.integer_reference(QuantizedLayer.of(layer, formats), ints).ravel().tolist()
    return outputs


def test_dense_by_hand() -> None:
    layer = Dense(
        **HAND, in_shape=Shape(1, 1, 2), weights=np.array([[0.5, -1.0]], np.float32), bias=np.array([0.25], np.float32)
    )
    # 32 * 100 - 64 * 7 + 0.25 * 2^13 = 4800; 4800 / 2^9 = 9.375
    assert run_layer(layer, [100, 7], LayerFormats((Q7,), Q4, 8, Requantization((1,), 9))) == [9]
    # 32 * 127 + 64 * 128 + 2048 = 14304; 14304 / 2^6 = 223.5 saturates
    assert run_layer(layer, [127, -128], LayerFormats((Q7,), Q7, 8, Requantization((1,), 6))) == [127]


def test_conv_by_hand() -> None:
    weights = np.float32(1 / 64) * np.array([[[[1.0], [0.5]], [[0.0], [-1.0]]]], np.float32)  # integers 1, 1, 0, -1
    window = Window((2, 2), pads=Pads(0, 0, 1, 0))
    layer = Conv(**HAND, in_shape=Shape(2, 3, 1), weights=weights, bias=np.zeros(1, np.float32), window=window)
    # [[1 2 3], [4 5 6], [0 0 0]] with [[1 1], [0 -1]]: 1 + 2 - 5, 2 + 3 - 6, 4 + 5, 5 + 6
    assert run_layer(layer, [1, 2, 3, 4, 5, 6], LayerFormats((Q7,), QFormat(8, 13), 8, Requantization((1,), 0))) == [
        -2,
        -1,
        9,
        11,
    ]


def test_average_pool_by_hand() -> None:
    window = Window((2, 2), (1, 1), pads=Pads(0, 0, 0, 1))
    layer = AveragePool(**HAND, in_shape=Shape(2, 2, 1), window=window)
    # (1 + 2 - 5 - 5) / 4 = -1.75; at the border (2 - 5) / 2 = -1.5, half up
    assert run_layer(layer, [1, 2, -5, -5], LayerFormats((Q7,), Q7)) == [-2, -1]
    assert run_layer(layer, [1, 2, -5, -5], LayerFormats((Q6,), Q7)) == [-3, -3]  # -3.5, half up, and -3 in half steps
    padded = AveragePool(**HAND, in_shape=Shape(2, 2, 1), window=window, count_include_pad=True)
    assert run_layer(padded, [1, 2, -5, -5], LayerFormats((Q7,), Q7)) == [-2, -1]  # -0.75


def test_max_pool_never_takes_the_padding() -> None:
    layer = MaxPool(**HAND, in_shape=Shape(1, 2, 1), window=Window((2, 2), (1, 2), pads=Pads(1, 1, 0, 1)))
    assert run_layer(layer, [-100, -7], LayerFormats((Q7,), Q7)) == [-100, -7]


def test_slopes_of_channels_are_as_fine_as_the_sum_allows_whatever_the_largest_is() -> None:
    layer = PRelu(**HAND, in_shape=Shape(1, 1, 4), slopes=np.array([0.5, 0.3, -0.01, 0.125], np.float32))
    # -100 * 0.5, -100 * 0.3, -100 * -0.01, -100 * 0.125 = -12.5, half up
    assert run_layer(layer, [-100, -100, -100, -100], LayerFormats((Q7,), Q7)) == [-50, -30, 1, -12]


@pytest.mark.parametrize("bits", [8, 16])
def test_functions_without_a_value_saturate_or_are_zero(bits: int) -> None:
    x, y = QFormat(bits, bits - 4), QFormat(bits, bits - 4)
    ends = np.array([x.low, 0, x.high], x.dtype).reshape(3, 1, 1, 1)
    for function, expected in (
        (np.sqrt, [0, 0, np.sqrt(8) * 2.0 ** (bits - 4)]),
        (np.log, [0, y.low, np.log(8) * 2.0 ** (bits - 4)]),
        (np.reciprocal, [-(2.0 ** (bits - 7)), y.high, 2.0 ** (bits - 7)]),
    ):
        layer = Lookup(name="f", inputs=("x",), output="y", in_shape=Shape(1, 1, 1), function=function)
        result = layer.integer_reference(QuantizedLayer.of(layer, LayerFormats((x,), y)), ends)
        np.testing.assert_allclose(result.ravel(), expected, rtol=0, atol=1)


def test_softmax_by_hand() -> None:
    layer = Softmax(**HAND, in_shape=Shape(1, 1, 3))
    # exp(0), exp(-1), exp(-1) over their sum 1.7358: 0.5761, 0.2119, 0.2119 of 128
    assert run_layer(layer, [64, 0, 0], LayerFormats((Q6,), Q7)) == [74, 27, 27]
    # a distance of 64 leaves nothing; 1.0 saturates
    assert run_layer(layer, [127, -128, -128], LayerFormats((QFormat(8, 2),), Q7)) == [127, 0, 0]
    # what is masked is not the largest, and leaves the others their sum
    masked = replace(layer, masked=np.array([[[True, False, False]]]))
    assert run_layer(masked, [127, 64, 64], LayerFormats((Q6,), Q7)) == [0, 64, 64]


@pytest.mark.parametrize(("picks_last", "expected"), [(False, [1, 0]), (True, [2, 2])])
def test_arg_max_by_hand(picks_last: bool, expected: list[int]) -> None:
    layer = ArgMax(**HAND, in_shape=Shape(1, 2, 3), picks_last=picks_last)
    numbers = run_layer(layer, [3, 7, 7, -5, -5, -5], LayerFormats((Q7,), ValueFormat.of(8, 1.0, -128)))
    assert [number + 128 for number in numbers] == expected


def test_normalization_by_hand() -> None:
    scales: dict[str, Any] = {
        "gamma": np.array([1.0, 2.0, 1.0], np.float32),
        "beta": np.array([0.0, 0.0, -1.0], np.float32),
    }
    layer = Normalization(**HAND, in_shape=Shape(1, 1, 3), **scales, epsilon=0.0)
    # mean 20, deviation sqrt(200 / 3) = 8.165: -1.2247, 0, 1.2247 - 1, of 16
    assert run_layer(layer, [10, 20, 30], LayerFormats((Q7,), Q4)) == [-20, 0, 4]
    assert run_layer(layer, [7, 7, 7], LayerFormats((Q7,), Q4)) == [0, 0, -16]  # no deviation
    root = Normalization(**HAND, in_shape=Shape(1, 1, 3), **scales, epsilon=0.0, centers=False)
    # root of (36 + 9 + 36) / 3 = 5.196: 1.1547, 2 * 0.5774, -1.1547 - 1
    assert run_layer(root, [6, 3, -6], LayerFormats((Q7,), Q4)) == [18, 18, -34]
    # each channel over two pixels: half of epsilon's root, (2 / 128)^2, beside a deviation of 2
    over_map = Normalization(**HAND, in_shape=Shape(2, 1, 3), **scales, epsilon=2.0**-12, groups=3, over_map=True)
    assert run_layer(over_map, [0, 1, 2, 4, 5, 6], LayerFormats((Q7,), Q4)) == [-11, -23, -27, 11, 23, -5]


def two_inputs(first: Shape, second: Shape) -> dict[str, Any]:
    return HAND | {"inputs": ("x", "v"), "in_shape": first, "other_shapes": (second,)}


@pytest.mark.parametrize("transposed", [False, True])
def test_matmul_by_hand(transposed: bool) -> None:
    layer = MatMul(**two_inputs(Shape(2, 2, 2), Shape(2, 2, 2)), transposed=transposed, scale=0.5)
    a = np.array([[[1, 2], [-3, 4]], [[5, 6], [0, -8]]])  # rows x heads x terms
    b = np.array([[[1, 10], [2, 3]], [[4, 20], [-1, 5]]])
    # head 0 by rows of terms: [1 2] and [5 6] with [1 10], [4 20]: 9, 50 and 29, 170
    # head 1: [-3 4] and [0 -8] with [2 3], [-1 5]: -10, 11 and 8, -40
    expected = [[[9, 50], [-10, 11]], [[29, 170], [8, -40]]]
    if transposed:
        # head 0: [1 2] and [5 6] with [1 10] and [4 20]: 21, 44 and 65, 140; head 1: 6, 23 and -24, -40
        expected = [[[21, 44], [6, 23]], [[65, 140], [-24, -40]]]
    formats = LayerFormats((QFormat(8, 3), QFormat(8, 2)), QFormat(8, 4))  # half of 2^-5 in steps of 2^-4: a quarter
    result = layer.integer_reference(QuantizedLayer.of(layer, formats), a[np.newaxis], b[np.newaxis])
    assert result[0].tolist() == np.floor(np.array(expected) / 4 + 0.5).clip(-128, 127).tolist()


def test_products_of_16_bits_lose_as_many_bits_as_their_sums_need() -> None:
    layer = MatMul(**two_inputs(Shape(1, 1, 64), Shape(64, 1, 1)), transposed=False)
    long, short = QFormat(16, 15), QFormat(8, 7)
    assert layer.shifts(LayerFormats((short, short), short)) == (0, 0)
    assert layer.shifts(LayerFormats((long, short), long)) == (0, 0)
    # 64 * 2^30 takes 36 bits
    assert layer.shifts(LayerFormats((long, long), long)) == (3, 3)
    # a value without its zero point has 17 bits, and half of it 16
    assert layer.shifts(LayerFormats((ValueFormat(16, 1.0, 100), short), long)) == (1, 0)
    formats = LayerFormats((long, long), long)
    extremes = [np.full((1, *shape), value, np.int16) for shape in layer.in_shapes for value in (long.low, long.high)]
    quantized = QuantizedLayer.of(layer, formats)
    for a, b in product(extremes[:2], extremes[2:]):
        exact = 64 * int(a.flat[0]) * int(b.flat[0]) / 2**15
        assert layer.integer_reference(quantized, a, b) == np.clip(exact, long.low, long.high)


def one_unit(cell: Cell, weights_x: list[float], **fields: Any) -> Recurrent:  # noqa: ANN401 - of the layer
    """Return a cell of one unit whose gates have no weights of the hidden state, over four values."""
    gates, none = len(weights_x), np.zeros(0, np.float32)
    common: dict[str, Any] = {
        "weights_x": np.array(weights_x, np.float32)[:, np.newaxis],
        "weights_h": np.zeros((gates, 1), np.float32),
        "bias_x": np.zeros(gates, np.float32),
        "bias_h": np.zeros(gates, np.float32),
        "first_h": none,
        "first_c": none,
    }
    return Recurrent(**HAND | {"in_shape": Shape(1, 4, 1)} | common | fields, cell=cell)


def test_recurrent_cells_by_hand() -> None:
    formats = LayerFormats((Q4,), Q4)
    half = {"weights_h": np.array([[0.5]], np.float32), "is_relu": True}
    relu = one_unit(Cell.RNN, [1.0], **half)
    # 32; 16 + 16; -64 + 16 below 0; 8
    assert run_layer(relu, [32, 16, -64, 8], formats) == [32, 32, 0, 8]
    # from the last to the first: 8; 0 below; 16; 32 + 8
    assert run_layer(one_unit(Cell.RNN, [1.0], **half, reverse=True), [32, 16, -64, 8], formats) == [40, 16, 0, 8]
    assert run_layer(one_unit(Cell.RNN, [1.0], **half, only_last=True), [32, 16, -64, 8], formats) == [8]
    # h + (1 / 2)(x' - h) with x' = tanh(8) = 1: 1/2, 3/4, 7/8, 15/16 of 16
    gru = one_unit(Cell.GRU, [0.0, 0.0, 4.0])
    assert run_layer(gru, [32, 32, 32, 32], formats) == [8, 12, 14, 15]
    # c is half of itself and half of tanh(8): 1/2, 3/4, 7/8, 15/16; h is half of its tanh, of 32
    lstm = one_unit(Cell.LSTM, [0.0, 0.0, 0.0, 4.0])
    halves = [round(16 * np.tanh(1 - 0.5**n)) for n in range(1, 5)]
    assert run_layer(lstm, [32, 32, 32, 32], LayerFormats((Q4,), QFormat(8, 5))) == halves


def test_gates_are_those_of_real_numbers() -> None:
    x = np.arange(-2048, 2048, 7, dtype=np.int16)  # to 16 in steps of 2^-7
    formats = LayerFormats((QFormat(16, 7),), QFormat(16, 15))
    for cell, weights, function in (
        (Cell.RNN, [1.0], np.tanh),
        (Cell.GRU, [1.0, 0.0, 100.0], lambda v: np.tanh(100 * v) / (1 + np.exp(v))),  # (1 - sigmoid) * sign
    ):
        layer = replace(one_unit(cell, weights), in_shape=Shape(1, 1, 1))
        found = layer.integer_reference(QuantizedLayer.of(layer, formats), x.reshape(-1, 1, 1, 1)).ravel() * 2.0**-15
        np.testing.assert_allclose(found, function(x / 128.0), rtol=0, atol=1.5e-4)


def test_roots_are_those_of_integers() -> None:
    rng = np.random.default_rng(3)
    squares = rng.integers(1, 1 << 63, 1000, np.uint64) >> rng.integers(0, 63, 1000, np.uint64)
    squares = np.concatenate([squares.clip(1), np.array([1, 2, 3, (1 << 64) - 1, 1 << 62], np.uint64)])
    roots, exponents = scaled_root(squares)
    assert (roots >= 1 << 15).all()
    assert (roots <= 1 << 16).all()
    np.testing.assert_allclose(roots * 2.0**exponents, np.sqrt(squares.astype(np.float64)), rtol=2**-16 + 2**-30)


def onnx_node(layer: Layer) -> tuple[str, dict[str, Any], list[NDArray[np.float32]]]:
    """Return operator, attributes and parameters of a layer, in ONNX's layout."""
    if isinstance(layer, Dense):
        return "Gemm", {"transB": 1}, [layer.weights, layer.bias]
    if isinstance(layer, Softmax):
        assert layer.masked is None
        return "Softmax", {"axis": 1}, []
    assert isinstance(layer, Conv | DepthwiseConv | MaxPool | AveragePool)
    window = layer.window
    attributes: dict[str, Any] = {
        "kernel_shape": window.kernel,
        "strides": window.stride,
        "dilations": window.dilation,
        "pads": window.pads,
    }
    match layer:
        case Conv():
            return "Conv", attributes | {"group": layer.groups}, [layer.weights.transpose(0, 3, 1, 2), layer.bias]
        case DepthwiseConv():
            weights = layer.weights.transpose(2, 0, 1)[:, np.newaxis]
            return "Conv", attributes | {"group": layer.in_shape.channels}, [weights, layer.bias]
        case MaxPool():
            return "MaxPool", attributes, []
    return "AveragePool", attributes | {"count_include_pad": int(layer.count_include_pad)}, []


def run_onnx(layer: Layer, x: NDArray[np.float32]) -> NDArray[np.float32]:
    """Run a layer with ONNX Runtime on N x H x W x C."""
    operator, attributes, parameters = onnx_node(layer)
    names = [f"parameter_{i}" for i in range(len(parameters))]
    arrays = [
        helper.make_tensor(n, TensorProto.FLOAT, p.shape, p.ravel()) for n, p in zip(names, parameters, strict=True)
    ]
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("x", "y")]
    node = helper.make_node(operator, ["x", *names], ["y"], **attributes)
    graph = helper.make_graph([node], "one", values[:1], values[1:], arrays)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    session = open_session(model)
    x = x.reshape(len(x), -1) if isinstance(layer, Dense) else x.transpose(0, 3, 1, 2)
    [y] = session.run(None, {"x": np.ascontiguousarray(x)})
    y = y if isinstance(layer, Dense) else y.transpose(0, 2, 3, 1)
    clipped: NDArray[np.float32] = y.clip(layer.activation.low, layer.activation.high).reshape(len(x), *layer.out_shape)
    return clipped


def runs_in_onnx_runtime(layer: Layer) -> bool:
    """ONNX Runtime refuses pools with padding as large as the kernel or below 0, and wants every window on the map."""
    if not isinstance(layer, MaxPool | AveragePool):
        return True
    pads, (height, width) = layer.window.pads, layer.window.kernel
    return min(pads) >= 0 and max(pads.top, pads.bottom) < height and max(pads.left, pads.right) < width


@pytest.mark.parametrize(("kind", "bits"), [(kind, bits) for kind, bits in KINDS_AND_BITS if kind not in IN_NETWORKS])
def test_agrees_with_onnx_runtime_within_the_formats(kind: str, bits: int) -> None:
    rng = np.random.default_rng(5)
    compared = 0
    while compared < 25:
        layer = MAKERS[kind](rng)
        if not runs_in_onnx_runtime(layer):
            continue
        compared += 1
        x = rng.normal(size=(4, *layer.in_shape)).astype(np.float32)
        if isinstance(layer, Softmax):
            layer = replace(layer, masked=None)  # which ONNX has in other nodes
        y = run_onnx(layer, x)
        graph = one_layer_graph(layer)
        ranges = {"x": (float(x.min()), float(x.max())), "y": (float(y.min()), float(y.max()))}
        formats = choose_formats(graph, ranges, bits)
        quantized = quantize(graph, formats, bits)
        integers = run_integer(quantized, x)
        error = quantized.output_formats[0].dequantize(integers) - y
        assert np.abs(error).max() <= allowed_error(layer, formats[0], x), layer


def allowed_error(layer: Layer, formats: LayerFormats, x: NDArray[np.float32]) -> float:
    """Return half a step of everything that is rounded, times what multiplies it; a step where a value may saturate."""

    def step(values: ValueFormat) -> float:
        return values.scale

    output = 0.5 * step(formats.y)
    if formats.shifted is not None:
        weights = layer.by_channel(layer.parameters["weights"])
        gain = np.abs(weights).sum(axis=1).max()
        inputs = weights.shape[1] * float(np.abs(x).max() + step(formats.x))
        sums = formats.sum_scales.max() * 2**formats.shifted.pre_shift
        output += 0.5 * float(gain * step(formats.x) + inputs * formats.weight_scales.max() + sums)
    elif layer.kind == "softmax":
        output = step(formats.y) + step(formats.x)  # tables and inputs; 1.0 saturates
    else:
        output += 0.5 * step(formats.x)
    return output * 1.001 + 1e-6


def test_layout_changes_at_the_borders_are_those_of_the_graph() -> None:
    layer = MaxPool(**HAND, in_shape=Shape(2, 1, 3), window=Window((1, 1)))
    channels_first = np.arange(6).reshape(3, 2, 1).transpose(1, 2, 0).ravel()
    graph = one_layer_graph(layer)
    graph = replace(
        graph,
        inputs=(replace(graph.inputs[0], shape=(3, 2, 1), order=channels_first),),
        outputs=(replace(graph.outputs[0], shape=(6,), order=np.arange(6)[::-1]),),
    )
    formats = (LayerFormats((QFormat(8, 0),), QFormat(8, 0)),)
    quantized = quantize(graph, formats, 8)
    x = np.arange(6, dtype=np.float32).reshape(1, 3, 2, 1)
    assert quantize_input(quantized, x).tolist() == [[[[0, 2, 4]], [[1, 3, 5]]]]
    assert run_integer(quantized, x).tolist() == [[5, 3, 1, 4, 2, 0]]


def test_many_samples_run_in_chunks_like_one_by_one() -> None:
    quantized = quantized_dense()
    x = np.random.default_rng(0).normal(size=(2 * CHUNK + 1, 1, 1, 4)).astype(np.float32)
    together = run_integer(quantized, x)
    assert together.tolist() == [run_integer(quantized, sample[np.newaxis])[0].tolist() for sample in x]
    [only] = run_layers(quantized, quantize_input(quantized, x))
    assert only.reshape(together.shape).tolist() == together.tolist()


def quantized_dense() -> QuantizedGraph:
    weights = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
    graph = one_layer_graph(Dense(**HAND, in_shape=Shape(1, 1, 4), weights=weights, bias=np.zeros(3, np.float32)))
    return quantize(graph, choose_formats(graph, {"x": (-3.0, 3.0), "y": (-6.0, 6.0)}, 8), 8)
