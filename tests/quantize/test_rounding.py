from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from example_folders.example import CALIBRATION, MODEL, SAMPLES
from models.calibrated import calibrated
from models.networks import chain, dense
from models.onnx_builder import OnnxBuilder, conv, weights
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.fixed_point.arithmetic import ACCUMULATOR_MAX
from tinysplit.network.layers import Conv, DepthwiseConv, Pads, Shape, Window
from tinysplit.network.samples import Samples, load_samples
from tinysplit.quantize.accuracy import Accuracy, FloatScores
from tinysplit.quantize.calibrated_parameters import calibrate_parameters
from tinysplit.quantize.choose_formats import choose_formats, quantize
from tinysplit.quantize.rounding import round_weights
from tinysplit.quantize.warnings import quantization_warnings
from tinysplit.quantize.weight_scales import largest_sum

Floats = NDArray[np.float64]
RNG = np.random.default_rng(0)


def test_errors_of_inputs_that_go_together_cancel() -> None:
    together = np.array([[1.0, 1.0], [1.0, 1.0]])
    assert np.rint([[0.4, 0.4]]).sum() == 0
    assert round_weights(np.array([[0.4, 0.4]]), together).sum() == 1  # 0.8 of both is nearer to 1 than to 0
    assert round_weights(np.array([[0.4, 0.4]]), np.eye(2)).tolist() == [[0, 0]]


def test_inputs_that_go_against_each_other_round_alike() -> None:
    against = np.array([[1.0, -1.0], [-1.0, 1.0]])
    first, second = round_weights(np.array([[0.6, 0.4]]), against)[0]
    assert first == second


def test_no_channel_is_worse_than_with_the_nearest_integers() -> None:
    x = RNG.normal(size=(500, 3)) @ RNG.normal(size=(3, 12)) + RNG.normal(size=(500, 12)) / 10
    covariance, exact = np.cov(x.T, bias=True), RNG.uniform(-127, 127, (8, 12))

    def noise(rounded: Floats) -> float:
        return float(((rounded - exact) @ covariance * (rounded - exact)).sum())

    rounded = round_weights(exact, covariance)
    assert np.abs(rounded).max() <= 127
    assert noise(rounded) < noise(np.rint(exact)) / 3


def test_inputs_that_never_vary_keep_the_nearest_weights() -> None:
    exact = np.array([[0.4, 3.6, -200.0]])
    assert round_weights(exact, np.zeros((3, 3))).tolist() == [[0, 4, -127]]


def test_the_bias_takes_the_mean_error_away() -> None:
    # by hand: 3 weights of 0.3 in steps of 1/127 * factor lose what they lose on inputs that are 1 on average
    layer = dense(RNG.normal(size=(4, 24)), RNG.normal(size=4))
    x = (1 + RNG.normal(size=(64, 1, 1, 24)) / 8).astype(np.float32)
    graph, ranges = chain(layer), {"x": (0.0, 1.9), "y": (-20.0, 20.0)}
    short, long = (quantize(graph, choose_formats(graph, ranges, bits), bits) for bits in (8, 16))
    better = calibrate_parameters(short, long, x)
    exact = x[:, 0, 0] @ layer.weights.T + layer.bias
    for network, is_better in ((short, False), (better, True)):
        (own,) = network.layers
        integers = own.formats.x.quantize(x)
        sums = integers.reshape(64, 24).astype(int) @ own.constants["weights"].T.astype(int) + own.constants["bias"]
        means = (sums * own.formats.sum_scales - exact).mean(axis=0)
        assert (np.abs(means) < own.formats.sum_scales).all() == is_better
    assert better.layers[0].layer is short.layers[0].layer
    assert better.layers[0].formats == short.layers[0].formats


def test_channels_of_very_many_weights_keep_the_nearest_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = dense(RNG.normal(size=(4, 24)), RNG.normal(size=4))
    x = (1 + RNG.normal(size=(64, 1, 1, 24)) / 8).astype(np.float32)
    graph, ranges = chain(layer), {"x": (0.0, 1.9), "y": (-20.0, 20.0)}
    short, long = (quantize(graph, choose_formats(graph, ranges, bits), bits) for bits in (8, 16))

    def changed() -> int:
        better = calibrate_parameters(short, long, x).layers[0].constants
        assert not np.array_equal(better["bias"], short.layers[0].constants["bias"])
        return int(np.sum(better["weights"] != short.layers[0].constants["weights"]))

    assert changed() > 0
    monkeypatch.setattr("tinysplit.quantize.calibrated_parameters.MOST_COVARIANCES", 23)
    assert changed() == 0


def test_windows_are_what_weights_multiply() -> None:
    window, shape = Window((3, 2), (2, 1), (1, 2), Pads(1, 0, 1, 2)), Shape(6, 7, 4)
    x = RNG.normal(size=(2, *shape))
    for layer in (
        Conv(name="c", inputs=("x",), output="y", in_shape=shape, window=window, groups=2,
             weights=weights(6, 3, 2, 2), bias=weights(6)),
        DepthwiseConv(name="d", inputs=("x",), output="y", in_shape=shape, window=window,
                      weights=weights(3, 2, 4), bias=weights(4)),
    ):  # fmt: skip
        windows = layer.windows(x)
        own = layer.by_channel(layer.weights).reshape(len(windows), -1, windows.shape[2])
        sums = np.concatenate(windows @ own.swapaxes(1, 2), axis=1).reshape(2, *layer.out_shape)
        patches = layer.window.patches(x)
        if isinstance(layer, Conv):
            halves = [
                np.einsum("nijklc,oklc->nijo", patches[..., half], layer.weights[outputs])
                for half, outputs in ((slice(2), slice(3)), (slice(2, None), slice(3, None)))
            ]
            assert np.allclose(sums, np.concatenate(halves, axis=-1))
        else:
            assert np.allclose(sums, (patches * layer.weights).sum(axis=(3, 4)))


def test_all_kinds_get_closer_to_float_on_samples_not_seen(tmp_path: Path) -> None:
    builder = OnnxBuilder([1, 4, 9, 9])
    conv(builder, 8, 4, group=1, pads=[1, 1, 1, 1])
    builder.node("Relu")
    conv(builder, 8, 1, group=8)
    builder.node("Relu")
    conv(builder, 12, 4, group=2, pads=[1, 1, 1, 1])
    builder.node("GlobalAveragePool")
    builder.node("Flatten")
    builder.node("Gemm", builder.constant(weights(5, 12)), builder.constant(weights(5)), transB=1)
    model = builder.save(tmp_path)
    x = np.random.default_rng(1).uniform(0, 1, (96, 4, 9, 9)).astype(np.float32)
    own = calibrated(model, x[:48])
    widths = BitWidths(BitWidths.all(own.graph, 16).values, BitWidths.all(own.graph, 8).weights)
    floats = FloatScores.of(own.graph, model, Samples(x[48:]))
    nearest, best = own.nearest(widths), own.best(widths)
    assert Accuracy.of(best, floats).sqnr_db > Accuracy.of(nearest, floats).sqnr_db + 6
    for layer in best.layers:
        assert largest_sum(layer) <= ACCUMULATOR_MAX


def test_sixteen_bits_stay_as_they_are() -> None:
    own = calibrated(MODEL, np.load(CALIBRATION)["x"][:8])
    widths = BitWidths.all(own.graph, 16)
    for nearest, best in zip(own.nearest(widths).layers, own.best(widths).layers, strict=True):
        if nearest.parameters and best.parameters:
            assert np.array_equal(nearest.parameters.weights, best.parameters.weights)
            assert np.array_equal(nearest.parameters.bias, best.parameters.bias)


def test_the_example_gets_closer_to_float() -> None:
    own = calibrated(MODEL, np.load(CALIBRATION)["x"])
    widths = BitWidths.all(own.graph, 8)
    floats = FloatScores.of(own.graph, MODEL, load_samples(SAMPLES, own.graph))
    nearest, best, again = (Accuracy.of(q, floats) for q in (own.nearest(widths), own.best(widths), own.best(widths)))
    assert best == again
    assert best.sqnr_db > max(nearest.sqnr_db, 38)
    assert best.drop_points == pytest.approx(0, abs=0.3)


def test_wide_layers_of_sixteen_bits_are_compensated_and_named(tmp_path: Path) -> None:
    # 4096 inputs of 16 bits leave weights 8 bits, whose errors move the mean where no input is below zero
    rng = np.random.default_rng(0)
    builder = OnnxBuilder(["n", 64, 8, 8])
    builder.node("Flatten")
    builder.node("Gemm", builder.constant(rng.normal(size=(4096, 2)) / 64), builder.constant([0.5, -0.5]), name="fc")
    model = builder.save(tmp_path)
    x = (1 + rng.normal(size=(40, 64, 8, 8)) / 8).astype(np.float32)
    own = calibrated(model, x[:20])
    widths = BitWidths.all(own.graph, 16)
    floats = FloatScores.of(own.graph, model, Samples(x[20:]))
    nearest, best = own.nearest(widths), own.best(widths)
    assert Accuracy.of(best, floats).sqnr_db > Accuracy.of(nearest, floats).sqnr_db + 2
    assert best.layers[0].formats == nearest.layers[0].formats
    assert largest_sum(best.layers[-1]) <= ACCUMULATOR_MAX
    warning = "layer 'fc': its 32-bit accumulators leave only 8 of 16 bits for its weights:"
    remedy = "8 bits or --bits auto may be more accurate"  # as in JSON, which has no other words
    assert f"{warning} {remedy}" in quantization_warnings(best, own.statistics)


@pytest.mark.parametrize("inputs", [2048, 4096, 16384])
def test_sixteen_bits_are_more_accurate_than_eight_with_any_number_of_inputs(tmp_path: Path, inputs: int) -> None:
    rng = np.random.default_rng(inputs)
    builder = OnnxBuilder(["n", inputs // 16, 8, 8])
    builder.node("MaxPool", kernel_shape=[2, 2], strides=[2, 2])
    builder.node("Flatten")
    builder.node("Gemm", builder.constant(rng.normal(size=(inputs, 10))), builder.constant(rng.normal(size=10)))
    model = builder.save(tmp_path)
    x = rng.normal(size=(40, inputs // 16, 8, 8)).astype(np.float32)
    own = calibrated(model, x[:20])
    floats = FloatScores.of(own.graph, model, Samples(x[20:]))
    short, long = BitWidths.of(own.graph, 8), BitWidths.of(own.graph, 16)
    assert set(long.values.values()) == {8, 16}
    assert long.values[own.graph.input_name] == 8  # the pool keeps the format
    assert set(long.weights.values()) == {16}
    sqnr_db = [Accuracy.of(own.best(widths), floats).sqnr_db for widths in (short, long)]
    assert sqnr_db[1] > sqnr_db[0] + 2
