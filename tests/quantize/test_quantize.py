from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from kernel_cases.layer_cases import KINDS_AND_BITS, hard_inputs, one_layer_graph, quantize_one, random_quantized
from models.networks import RELU, chain, dense
from models.onnx_builder import OnnxBuilder
from tinysplit.common.errors import InputError
from tinysplit.network.fixed_point.arithmetic import ACCUMULATOR_MAX, Requantization
from tinysplit.network.fixed_point.formats import QFormat
from tinysplit.network.fixed_point.layer_formats import LayerFormats
from tinysplit.network.layers import AveragePool, Dense, MaxPool, Shape, Softmax, Window
from tinysplit.onnx_import import import_model
from tinysplit.quantize.choose_formats import choose_formats, quantize
from tinysplit.quantize.statistics import Statistics, value_statistics
from tinysplit.quantize.warnings import quantization_warnings


def test_formats_follow_the_ranges() -> None:
    quantized = quantize_one(dense([[-3.9, 0.5]], [0.25]), (-1.0, 0.9), (-6.0, 2.0), 8)
    formats = quantized.formats
    assert [str(formats.x), str(formats.y)] == ["Q0.7", "Q3.4"]
    [step] = formats.weight_scales
    assert 3.9 / 127 <= step <= 3.9 / 127 * 17 / 16
    assert quantized.constants["weights"].tolist() == [[round(-3.9 / step), round(0.5 / step)]]
    assert quantized.constants["bias"].tolist() == [round(0.25 * 2**7 / step)]


def test_each_channel_uses_all_its_bits() -> None:
    weights = np.array([[0.5, -0.1], [0.04, 0.01], [-30.0, 2.0], [0.0, 0.0]])
    quantized = quantize_one(dense(weights, np.zeros(4)), (-1.0, 0.9), (-30.0, 30.0), 8)
    largest = np.abs(quantized.constants["weights"].astype(int)).max(axis=1)
    assert largest.tolist()[3] == 0
    assert (largest[:3] >= 127 * 16 // 17).all()
    assert quantized.constants["corrections"].dtype == np.uint16


def test_factors_that_are_alike_are_one_constant() -> None:
    quantized = quantize_one(dense(np.eye(4), np.zeros(4)), (-1.0, 0.9), (-1.0, 1.0), 8)
    assert quantized.formats.shifted is not None
    assert len(quantized.formats.shifted.factors) == 1
    assert "corrections" not in quantized.constants


def test_pools_and_softmax_have_the_formats_of_their_inputs_or_their_own() -> None:
    window = Window((2, 2), (2, 2))
    layers = (
        MaxPool(name="max", inputs=("x",), output="a", in_shape=Shape(8, 8, 3), window=window),
        AveragePool(name="average", inputs=("a",), output="b", in_shape=Shape(4, 4, 3), window=window),
        AveragePool(name="again", inputs=("b",), output="c", in_shape=Shape(2, 2, 3), window=window),
        Softmax(name="softmax", inputs=("c",), output="d", in_shape=Shape(1, 1, 3)),
    )
    ranges = {"x": (-5.0, 5.0), "a": (-1.0, 1.0), "b": (-0.9, 0.9), "c": (-2.0, 2.0), "d": (0.0, 1.0)}
    formats = choose_formats(chain(*layers), ranges, 8)
    assert [str(f.y) for f in formats] == [
        "Q3.4",
        "Q0.7",
        "Q0.7",
        "Q-1.8 at -128",
    ]  # the third would lose bits by its range
    assert [f.x for f in formats[1:]] == [f.y for f in formats[:-1]]


def test_weights_give_up_bits_until_sums_of_16_bits_fit() -> None:
    layer = dense(np.full((1, 64), 0.99), [0.0])
    quantized = quantize_one(layer, (-1.0, 1.0), (-64.0, 64.0), 16)
    # 64 products of w and -32768 stay below 2^31 for w < 1024; a factor takes up to 1/16 of that
    assert 1024 * 15 // 16 <= quantized.constants["weights"].max() < 1024


def test_inputs_behind_a_relu_need_half_the_room() -> None:
    signed = np.resize([0.99, -0.99], (1, 64))
    second = dense(signed, [0.0], ("second", "y", "z"))
    first = dense(np.eye(64), np.zeros(64), activation=RELU)
    ranges = {"x": (-1.0, 1.0), "y": (0.0, 0.99), "z": (-30.0, 30.0)}
    behind_relu = choose_formats(chain(first, second), ranges, 16)[1].weight_scales
    free = choose_formats(chain(second), {"y": (-0.99, 0.99), "z": (-30.0, 30.0)}, 16)[0].weight_scales
    assert behind_relu == pytest.approx(free / 2, rel=0.1)


@pytest.mark.parametrize(("kind", "bits"), KINDS_AND_BITS)
def test_no_sum_leaves_the_proven_bound(kind: str, bits: int) -> None:
    rng = np.random.default_rng(7)
    for _ in range(50):
        quantized = random_quantized(rng, kind, bits)
        formats, constants = quantized.formats, quantized.constants
        bounds = quantized.layer.sum_bounds(replace(quantized, bounds=()))
        assert bounds.max() <= ACCUMULATOR_MAX
        requantization = formats.shifted
        if isinstance(quantized.layer, Dense) and requantization:
            x = hard_inputs(rng, quantized)[0].reshape(6, 1, -1).astype(np.int64)
            worst = np.where(constants["weights"] > 0, formats.x.high, formats.x.low)[np.newaxis]
            for inputs in (*x, *worst):
                partial = np.cumsum(inputs * constants["weights"], axis=-1) + constants["bias"][:, np.newaxis]
                assert (np.abs(partial).max(axis=1) <= bounds).all()
                shifted = (partial[:, -1] >> requantization.pre_shift) * np.array(requantization.factors)
                assert np.abs(shifted).max() + requantization.offset(0) <= ACCUMULATOR_MAX


def test_all_zero_weights_leave_the_bias() -> None:
    quantized = quantize_one(dense([[0.0, 0.0]], [0.3]), (-1.0, 1.0), (0.0, 0.3), 8)
    output = quantized.layer.integer_reference(quantized, np.full((1, 1, 1, 2), 77, np.int8))
    assert quantized.formats.y.dequantize(output).item() == pytest.approx(0.3, abs=2**-9)


@pytest.mark.parametrize("bits", [8, 16])
def test_tiny_weights_beside_a_large_bias(bits: int) -> None:
    quantized = quantize_one(dense([[1e-12, -1e-12]], [100.0]), (-1.0, 1.0), (0.0, 100.0), bits)
    output = quantized.layer.integer_reference(quantized, np.zeros((1, 1, 1, 2), quantized.formats.x.dtype))
    assert quantized.formats.y.dequantize(output).item() == pytest.approx(100, abs=2.0 ** (6 - bits + 2))


def test_output_has_no_more_fraction_bits_than_its_sums() -> None:
    quantized = quantize_one(dense([[100.0, -100.0]], [0.0]), (-100.0, 100.0), (-0.01, 0.01), 8)
    assert quantized.formats.shifted is not None
    assert 0.5 < quantized.formats.shifted.corrections[0] <= 1


def test_a_layer_whose_weights_would_all_vanish_is_refused_by_name() -> None:
    layer = dense(np.ones((1, 70_000)), [0.0])
    with pytest.raises(InputError, match=r"layer 'fc': no 16-bit format keeps its sums in 32 bits"):
        quantize_one(layer, (-1.0, 1.0), (-9.0, 9.0), 16)
    quantize_one(layer, (-1.0, 1.0), (-9.0, 9.0), 8)


@pytest.mark.parametrize("x", [np.full(90_000, 32767), np.full(90_000, -32768), np.arange(90_000) % 65_521 - 32_768])
@pytest.mark.parametrize("y_largest", [0.9, 0.01])
def test_an_average_over_very_many_values_is_as_precise_as_its_output(x: NDArray[np.int64], y_largest: float) -> None:
    layer = AveragePool(name="pool", inputs=("x",), output="y", in_shape=Shape(300, 300, 1), window=Window((300, 300)))
    quantized = quantize_one(layer, (-0.9, 0.9), (-y_largest, y_largest), 16)
    y = quantized.formats.y
    average = layer.integer_reference(quantized, x.reshape(1, 300, 300, 1)).item()
    assert layer.needs_64_bits(quantized.formats)
    assert y.scale == {0.9: 2.0**-15, 0.01: 2.0**-21}[y_largest]
    assert average == min(max(round(x.mean() * 2**-15 / y.scale), y.low), y.high)


@pytest.mark.parametrize(
    ("ranges", "message"),
    [
        ({"y": (0.0, 1.0)}, "input 'x': no range was measured for 'x'"),
        ({"x": (0.0, 1.0)}, "layer 'fc': no range was measured for 'y'"),
        ({"x": (0.0, np.nan), "y": (0.0, 1.0)}, "input 'x': the float network overflows .values from 0.0 to nan"),
        ({"x": (0.0, 1.0), "y": (-np.inf, 1.0)}, "layer 'fc': the float network overflows .values from -inf to 1.0"),
    ],
)
def test_missing_and_broken_ranges_are_named(ranges: dict[str, tuple[float, float]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        choose_formats(one_layer_graph(dense([[1.0]], [0.0])), ranges, 8)


def test_weights_that_are_no_numbers_are_named() -> None:
    with pytest.raises(InputError, match="layer 'fc': its bias hold NaN or infinity"):
        quantize_one(dense([[1.0]], [np.nan]), (0.0, 1.0), (0.0, 1.0), 8)


def test_quantize_refuses_formats_that_could_overflow() -> None:
    graph = one_layer_graph(dense(np.full((1, 64), 0.99), [0.0]))
    good = choose_formats(graph, {"x": (-1.0, 1.0), "y": (-64.0, 64.0)}, 16)[0]
    assert good.shifted is not None
    bad = replace(good, requantization=replace(good.shifted, factors=(1,), post_shift=20, pre_shift=0))
    with pytest.raises(InputError, match=r"layer 'fc': its sums can reach \d+, which overflows 32 bits"):
        quantize(graph, [bad], 16)


Q7 = QFormat(8, 7)
SHIFT = Requantization((1,), 7)


@pytest.mark.parametrize(
    ("formats", "bits", "message"),
    [
        (LayerFormats((Q7,), Q7, 16, SHIFT), 8, "its formats do not match its kind"),
        (LayerFormats((Q7,), Q7, 8), 8, "its formats do not match its kind"),
        (LayerFormats((Q7,), Q7), 8, "its formats do not match its kind"),
        (LayerFormats((Q7,), Q7, 8, Requantization((1, 1), 7)), 8, "its formats do not match its kind"),
        (LayerFormats((Q7,), Q7, 8, Requantization((1,), 31)), 8, "a shift by 31 bits is outside 0 to 30"),
    ],
)
def test_quantize_refuses_formats_that_do_not_belong_together(formats: LayerFormats, bits: int, message: str) -> None:
    with pytest.raises(InputError, match=f"layer 'fc': {message}"):
        quantize(one_layer_graph(dense([[0.9]], [0.0])), [formats], bits)


def test_quantize_refuses_a_pool_that_changes_its_format() -> None:
    layer = MaxPool(name="max", inputs=("x",), output="y", in_shape=Shape(2, 2, 1), window=Window((2, 2)))
    with pytest.raises(InputError, match="layer 'max': its formats do not match its kind"):
        quantize(one_layer_graph(layer), [LayerFormats((QFormat(8, 7),), QFormat(8, 6))], 8)


def test_constants_take_no_more_than_the_bytes_that_the_layers_promise() -> None:
    rng = np.random.default_rng(1)
    for kind, bits in KINDS_AND_BITS:
        quantized = random_quantized(rng, kind, bits)
        promised = quantized.layer.weights_bytes(bits)
        factors = 0 if quantized.layer.kind in {"recurrent", "softmax"} or "corrections" in quantized.constants else 2
        channels = quantized.layer.out_shape.channels if "weights" in quantized.constants else 0
        assert sum(array.nbytes for array in quantized.constants.values()) == promised - factors * channels


def test_constant_and_lost_channels_are_named(tmp_path: Path) -> None:
    builder = OnnxBuilder([1, 4, 5, 5])
    scale = np.array([1000.0, 1.0, 1.0, 1.0], np.float32).reshape(4, 1, 1, 1)
    builder.node("Conv", builder.constant(scale), builder.constant([0, 0, 0, -9]), group=4, name="scale")
    builder.node("Relu")
    path = builder.save(tmp_path)
    x = np.random.default_rng(0).uniform(0, 1, (6, 4, 5, 5)).astype(np.float32)
    x[:, 2] = 0.5
    graph, statistics = import_model(path), value_statistics(path, import_model(path).value_names, x)
    formats = choose_formats(graph, {name: values.range for name, values in statistics.items()}, 8)
    assert list(quantization_warnings(quantize(graph, formats, 8), statistics)) == [
        "input 'x': channel 3 of 4 is constant in all samples: dead channels, or samples that do not cover the range",
        (
            "layer 'scale': channel 3 of 4 is constant in all samples: dead channels, "
            "or samples that do not cover the range"
        ),
        (
            "layer 'scale': channel 2 of 4 is within one step of Q10.-3: quantized to a constant, because "
            "other channels have a much larger range"
        ),
    ]


def test_constant_and_wide_values_are_named() -> None:
    layer = dense([[1.0, 0.5], [0.0, 0.0]], [0.0, 0.3])
    wide = Statistics.of(np.append(np.full(10_000, 1e-6), 30_000.0))
    statistics = {"x": Statistics.of(np.full(9, 2.5)), "y": wide}
    graph = one_layer_graph(layer)
    ranges = {name: values.range for name, values in statistics.items()}
    first, second, third = quantization_warnings(quantize(graph, choose_formats(graph, ranges, 8), 8), statistics)
    assert first.startswith("input 'x': constant 2.5 in all samples")
    assert second.startswith("layer 'fc': 100 % of its values underflow to 0 in Q15.-8: the value range 1e-06 to 30000")
    assert third.startswith("layer 'fc': the weights of 1 of its 2 output channels are all zero")
