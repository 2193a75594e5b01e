"""Weights that came as 8-bit integers with very unequal scales of their channels."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from numpy.typing import ArrayLike, NDArray
from onnxruntime.quantization import QuantFormat, QuantType, quantize_static

from models.calibrated import calibrated
from models.networks import dense
from models.onnx_builder import OnnxBuilder
from models.qdq import Reader
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.fixed_point.arithmetic import TfliteRequantization
from tinysplit.network.fixed_point.formats import IntArray, ValueFormat
from tinysplit.network.fixed_point.layer_formats import LayerFormats
from tinysplit.network.integer_reference import run_integer
from tinysplit.network.quantized_graph import QuantizedLayer
from tinysplit.quantize.statistics import decibels
from tinysplit.quantize.warnings import quantization_warnings
from tinysplit.quantize.weight_scales import keep, refit, rounded_again

BYTES = ValueFormat(8, 1 / 128)
BOUNDS = (-128, 127)
INPUTS = 16


def integers(channels: int) -> NDArray[np.int64]:
    found = np.random.default_rng(1).integers(-127, 127, (channels, INPUTS), endpoint=True)
    found[:, 0] = 127
    return found


def kept(scales: ArrayLike, y_scale: float) -> tuple[QuantizedLayer, IntArray]:
    """Return a layer whose weights came with these scales, and the integers of the file."""
    own = np.array(scales, np.float64)
    file = integers(own.size)
    layer = replace(dense(file * own[:, np.newaxis], np.zeros(own.size)), qdq_scales=own)
    formats = keep(layer, BYTES, ValueFormat(8, y_scale), BOUNDS)
    assert formats is not None
    return QuantizedLayer.of(layer, formats, (BOUNDS,)), file


def factors(quantized: QuantizedLayer) -> tuple[int, ...]:
    assert quantized.formats.shifted is not None
    return quantized.formats.shifted.factors


@pytest.mark.parametrize("spread", [1.5, 10])
def test_factors_take_no_first_shift_where_they_have_bits_enough(spread: float) -> None:
    quantized, file = kept([0.001, 0.001 / spread], 0.02)
    assert quantized.formats.shifted is not None
    assert quantized.formats.shifted.pre_shift == 0
    assert (quantized.constants["weights"] == file).all()
    assert quantized.formats.weight_scales == pytest.approx([0.001, 0.001 / spread], rel=1 / 512)


def test_channels_that_count_get_more_bits_and_keep_their_integers() -> None:
    scales = [0.02, 0.02 / 18]
    quantized, file = kept(scales, 0.0022)  # in the second channel, other weights would make an error of a quarter step
    assert min(factors(quantized)) >= 256
    assert max(factors(quantized)) > 4095
    assert (quantized.constants["weights"] == file).all()
    assert quantized.formats.weight_scales == pytest.approx(scales, rel=1 / 512)
    assert rounded_again(quantized) == 0


@pytest.mark.parametrize("dead", [1e-5, 1e-9, 1e-30])
def test_a_channel_of_tiny_weights_leaves_the_others_as_they_are(dead: float) -> None:
    scales = [0.001, dead, 0.0007]
    quantized, file = kept(scales, 0.02)
    assert (quantized.constants["weights"][[0, 2]] == file[[0, 2]]).all()
    assert max(factors(quantized)) >= 2048
    assert rounded_again(quantized) == 0
    x = np.random.default_rng(0).integers(-128, 127, (8, 1, 1, INPUTS)).astype(np.int8)
    exact = (x[:, 0] / 128) @ (file[1] * dead)
    outputs = quantized.layer.integer_reference(quantized, x)[..., 1] * 0.02
    assert np.abs(outputs.ravel() - exact.ravel()).max() <= 0.011


def test_weights_that_are_rounded_again_use_all_their_bits_and_are_named() -> None:
    scales = [0.05, 0.05 / 900]
    quantized, file = kept(scales, 0.05 / 500)
    assert (quantized.constants["weights"][0] == file[0]).all()
    assert 0 < min(factors(quantized)) < 256
    found = quantized.constants["weights"][1] * quantized.formats.weight_scales[1]
    error = found - file[1] * scales[1]
    assert np.abs(error).max() <= quantized.formats.weight_scales[1] * 0.501  # none saturates
    assert quantized.formats.weight_scales[1] >= scales[1]
    assert rounded_again(quantized) == 1


def test_other_weights_of_the_same_structure_do_not_saturate() -> None:
    quantized, file = kept([0.001, 0.0001], 0.02)
    scales = np.array([0.001, 0.001 / 3000])  # factors of about 1.3 in the shifts of the structure
    layer = replace(dense(file * scales[:, np.newaxis], np.zeros(2)), qdq_scales=scales)
    found = refit(layer, quantized.formats, BOUNDS)
    assert isinstance(found, LayerFormats)
    assert (found.weight_scales >= scales * (1 - 1 / 512)).all()


def test_networks_with_unequal_channels_agree_with_onnx_runtime(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(size=(24, 3, 8, 8)).astype(np.float32)
    builder = OnnxBuilder([1, 3, 8, 8])
    gains = np.array([1, 0.5, 0.02, 0.01, 0.004, 1e-7])
    first = rng.normal(size=(6, 3, 3, 3)) * gains[:, np.newaxis, np.newaxis, np.newaxis]
    builder.node("Conv", builder.constant(first), builder.constant(gains))
    builder.node("Relu")
    second = rng.normal(size=(4, 6, 3, 3)) / np.maximum(gains, 0.01)[:, np.newaxis, np.newaxis]
    builder.node("Conv", builder.constant(second), builder.constant(np.zeros(4)))
    path = tmp_path / "quantized.onnx"
    quantize_static(
        str(builder.save(tmp_path)),
        str(path),
        Reader(x),
        quant_format=QuantFormat.QDQ,
        per_channel=True,
        activation_type=QuantType.QInt8,
        weight_type=QuantType.QInt8,
    )
    own = calibrated(path, x)
    quantized = own.best(BitWidths.all(own.graph, 8))
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(path, options)
    wanted = np.concatenate([session.run(None, {"x": sample[np.newaxis]})[0] for sample in x]).astype(np.float64)
    noise = wanted - quantized.output_formats[0].dequantize(run_integer(quantized, x))
    assert decibels((wanted**2).sum(), (noise**2).sum()) >= 33
    named = [text for text in quantization_warnings(quantized, own.statistics) if "integers of the file" in text]
    assert len(named) == sum(rounded_again(layer) > 0 for layer in quantized.layers)


def as_tflite(scales: ArrayLike, y_scale: float, biases: ArrayLike = 0) -> QuantizedLayer:
    """Return a layer of a .tflite file whose weights and integer biases have these scales."""
    own = np.array(scales, np.float64)
    bias = np.broadcast_to(biases, own.shape) * own * BYTES.scale
    layer = replace(dense(integers(own.size) * own[:, np.newaxis], bias), qdq_scales=own, tflite="CONV_2D")
    formats = keep(layer, BYTES, ValueFormat(8, y_scale), BOUNDS)
    assert formats is not None
    return QuantizedLayer.of(layer, formats, (BOUNDS,))


def test_layers_of_tflite_files_keep_their_integers_and_ratios() -> None:
    scales = np.array([0.02, 0.0002, 0.000003])
    quantized = as_tflite(scales, 0.02, [1000, -1000, 5])
    assert isinstance(quantized.formats.requantization, TfliteRequantization)
    assert (quantized.constants["weights"] == integers(3)).all()
    assert quantized.constants["bias"].tolist() == [1000, -1000, 5]
    assert quantized.formats.requantization.corrections == pytest.approx(scales * BYTES.scale / 0.02, rel=2**-31)


def test_ratios_from_one_on_have_factors() -> None:
    assert as_tflite([0.02, 0.9], 0.006).formats.shifted


def test_channels_of_almost_no_weights_get_coarser_scales_with_equal_outputs() -> None:
    bias = 2**30 + 12345
    quantized = as_tflite([0.02, 5e-9], 0.02, [7, bias])
    assert abs(int(quantized.constants["bias"][1])) < 1 << 23
    x = np.random.default_rng(0).integers(-128, 127, (64, 1, 1, INPUTS)).astype(np.int8)
    outputs = quantized.layer.integer_reference(quantized, x)[..., 1]
    exact = TfliteRequantization.of(np.array([5e-9 * BYTES.scale / 0.02]))
    assert exact is not None
    sums = x[:, 0, 0].astype(np.int64) @ integers(2)[1] + bias
    assert (outputs.ravel() == exact.apply(sums[:, np.newaxis], 0).ravel()).all()


@pytest.mark.parametrize(("other", "fits"), [([0.01, 0.0004], True), ([0.01, 2.0], False)])
def test_other_weights_of_a_tflite_file_fit_its_code_where_all_have_shifts(other: list[float], fits: bool) -> None:
    before, after = as_tflite([0.02, 0.0002], 0.02), as_tflite(other, 0.02)
    found = refit(after.layer, before.formats, BOUNDS)
    assert (found is not None) == fits
    assert not fits or found == after.formats
