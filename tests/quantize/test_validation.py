"""Errors layer by layer: against the error of the whole network, and against damage that was done to one layer."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnxruntime.quantization import QuantFormat, QuantType, quantize_static
from rich.console import Console

from commands.command_line import BAD_INPUT, run
from example_folders import example
from models.onnx_builder import OnnxBuilder, conv, weights
from models.qdq import Reader
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.network.samples import Samples, load_samples
from tinysplit.onnx_import import import_model
from tinysplit.project.validation_file import FileLayerError
from tinysplit.quantize.accuracy import Accuracy, FloatScores
from tinysplit.quantize.calibrate import Calibration
from tinysplit.quantize.report import QuantizeReport
from tinysplit.quantize.validation import layer_errors, loses_most

QUIET = Console(quiet=True)


def quantized_example(bits: int) -> tuple[QuantizedGraph, Samples]:
    graph = import_model(example.MODEL)
    samples = load_samples(example.CALIBRATION, graph).first(8)
    calibration = Calibration.of(graph, example.MODEL, samples, QUIET)
    return calibration.nearest(BitWidths.of(graph, bits)), samples


def test_the_last_layer_has_the_error_of_the_network() -> None:
    quantized, samples = quantized_example(8)
    errors = layer_errors(quantized, example.MODEL, samples.x)
    whole = Accuracy.of(quantized, FloatScores.of(quantized.graph, example.MODEL, samples))
    assert errors[-1].sqnr_db == pytest.approx(whole.sqnr_db)
    assert errors[0].sqnr_db == errors[0].own_sqnr_db  # the network's input is rounded in both
    assert all(each.sqnr_db is not None and 20 < each.sqnr_db < 70 for each in errors)
    for coarse, fine in zip(errors, layer_errors(*long_example()), strict=True):
        assert (fine.own_sqnr_db or 0) > (coarse.own_sqnr_db or 0) + 20


def long_example() -> tuple[QuantizedGraph, Path, np.ndarray]:
    quantized, samples = quantized_example(16)
    return quantized, example.MODEL, samples.x


def test_a_damaged_channel_is_found() -> None:
    quantized, model, x = long_example()
    layers = list(quantized.layers)
    parameters = layers[2].parameters
    assert parameters
    weights = parameters.weights.copy()
    axis = next(axis for axis, size in enumerate(weights.shape) if size == layers[2].layer.out_shape.channels)
    np.moveaxis(weights, axis, 0)[4] //= 2
    layers[2] = replace(layers[2], parameters=replace(parameters, weights=weights))
    errors = layer_errors(replace(quantized, layers=tuple(layers)), model, x)
    most = loses_most(errors)
    assert most
    assert (most.number, most.worst_channel) == (3, 5)
    assert (errors[3].sqnr_db or 0) < 40 < (errors[3].own_sqnr_db or 0)  # the pool behind it adds little


@pytest.mark.parametrize("shape", [(1, 6, 6, 3), (1, 3, 3, 3)])
def test_values_with_channels_last(shape: tuple[int, ...], tmp_path: Path) -> None:
    builder = OnnxBuilder(shape)
    builder.node("Add", builder.constant(np.full((1, 1, 1, 3), 0.25)))
    builder.node("Relu")
    path = builder.save(tmp_path)
    graph = import_model(path)
    x = np.random.default_rng(1).normal(size=(4, *shape[1:])).astype(np.float32)
    calibration = Calibration.of(graph, path, Samples(x), QUIET)
    errors = layer_errors(calibration.nearest(BitWidths.of(graph, 8)), path, x)
    assert all(each.sqnr_db is not None and each.sqnr_db > 30 for each in errors)


def with_dropped_relus(folder: Path, x: np.ndarray, activations: QuantType) -> Path:
    """Write a network as ONNX Runtime quantizes it: the zero point of a pair stands for each ReLU, the last one too."""
    builder = OnnxBuilder([1, *x.shape[1:]])
    conv(builder, 8, 3, pads=[1, 1, 1, 1])
    left = builder.node("Relu")
    conv(builder, 8, 1, pads=[1, 1, 1, 1], group=8)
    builder.node("Relu")
    builder.node("MaxPool", kernel_shape=[2, 2], strides=[1, 1], pads=[0, 0, 1, 1])
    conv(builder, 8, 8, (1, 1))
    builder.node("Add", left)
    builder.node("Relu")
    conv(builder, 4, 8)
    builder.node("Clip", builder.constant(0.0), builder.constant(6.0))
    builder.node("Flatten")
    builder.node("Gemm", builder.constant(weights(6, 4 * 6 * 6)), transB=1)
    builder.node("Relu")
    path = folder / "quantized.onnx"
    quantize_static(
        str(builder.save(folder)),
        str(path),
        Reader(x),
        quant_format=QuantFormat.QDQ,
        per_channel=True,
        activation_type=activations,
        weight_type=QuantType.QInt8,
    )
    assert not {"Relu", "Clip"}.intersection(node.op_type for node in onnx.load(path).graph.node)
    return path


@pytest.mark.parametrize("activations", [QuantType.QInt8, QuantType.QUInt8])
def test_layers_whose_relu_a_pair_stands_for_are_healthy(tmp_path: Path, activations: QuantType) -> None:
    x = np.random.default_rng(4).normal(size=(6, 3, 8, 8)).astype(np.float32)
    path = with_dropped_relus(tmp_path, x, activations)
    graph = import_model(path)
    calibration = Calibration.of(graph, path, Samples(x), QUIET)
    quantized = calibration.nearest(BitWidths.of(graph, 8))
    errors = layer_errors(quantized, path, x)
    assert len(errors) == 7
    assert all(each.own_sqnr_db is not None and each.own_sqnr_db > 45 for each in errors)
    assert all(each.sqnr_db is not None and each.sqnr_db > 30 for each in errors)
    add = FileLayerError.of(errors[4])
    assert (add.kind, add.is_exact, add.own_is_exact, add.own_sqnr_db) == ("add", False, True, None)
    whole = Accuracy.of(quantized, FloatScores.of(graph, path, Samples(x)))
    assert whole.sqnr_db == pytest.approx(errors[-1].sqnr_db)
    report = QuantizeReport(quantized, calibration, whole)
    assert not report.warnings
    for layer, own in zip(graph.layers, quantized.layers, strict=True):
        assert calibration.statistics[layer.output].sqnr_db(own.formats.y) > 35  # clamping is no noise


def test_other_samples_are_refused(tmp_path: Path) -> None:
    folder = example.shared_example("nucleo_g071rb", "nucleo_g071rb")[1]
    path = tmp_path / "samples.npz"
    np.savez(path, x=np.zeros((2, 5), np.float32))
    assert str(path) in run("validate", str(folder), "-s", str(path), expect=BAD_INPUT)
    assert "is not a generated folder" in run("validate", str(tmp_path), "-s", str(path), expect=BAD_INPUT)
