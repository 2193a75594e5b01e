"""Accuracy of quantized networks in 8 bits, 16 bits and mixed precision, beside ONNX Runtime's quantization.

Nothing runs on boards: the integer reference computes. Takes some 10 minutes.
"""

import contextlib
import io
import logging
import tempfile
from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

from common.benchmark import JSON, ONLY, benchmark
from common.networks import CALIBRATION_COUNT, QUIET, Network, chosen_networks, random_samples
from common.tables import Cell, MarkdownTable, print_json
from tinysplit.boards.catalog import load_board
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.float_reference import run_float_values
from tinysplit.network.graph import Graph
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.network.samples import Samples, load_samples
from tinysplit.quantize.accuracy import Accuracy, FloatScores, scores_values
from tinysplit.quantize.calibrate import Calibration
from tinysplit.quantize.mixed_precision.bit_allocation import Goal, Limits
from tinysplit.quantize.quantize_model import quantize_model

RANDOM_SAMPLES = 48
BOARD = "nucleo_f446re"
METHODS = (CalibrationMethod.MinMax, CalibrationMethod.Percentile, CalibrationMethod.Entropy)


class Row(NamedTuple):
    """The accuracy of one network in one bit width."""

    network: str
    bits: str
    accuracy: Accuracy


@benchmark("accuracy", "10 minutes", ONLY, JSON)
def accuracy(options: Namespace) -> None:
    """Measure the accuracy of networks in 8 bits, 16 bits and mixed precision, beside ONNX Runtime's quantization.

    Calibration uses the first 100 samples, the measurement all of them. Networks without samples of their own get
    uniform random inputs, which say nothing about accuracy but show the quantization noise: 48 to calibrate on, and 48
    others to measure; mixed precision, whose goal is accuracy, is left out for them. Rows "nearest" round weights and
    biases to nearest in the same formats; rows "ONNX Runtime" are its own 8-bit quantization.
    """
    rows = (row for name, network in chosen_networks(options.only).items() for row in measure(name, network))
    if options.json:
        print_json([{"network": row.network, "bits": row.bits, **asdict(row.accuracy)} for row in rows])
    else:
        numbers = ("samples", "top-1", "float", "SQNR dB", "agreement")
        MarkdownTable("network", "bits", numbers=numbers).print(map(_cells, rows))


def _cells(row: Row) -> Sequence[Cell]:
    name, bits, found = row
    top1 = (None if value is None else f"{value:.3f}" for value in (found.top1, found.float_top1))
    return name, bits, found.samples, *top1, f"{found.sqnr_db:.1f}", f"{found.agreement:.3f}"


def measure(name: str, network: Network) -> Iterator[Row]:
    """Yield the rows of a network."""
    graph = network.graph()
    calibration, measured = _samples(network, graph)
    floats = FloatScores.of(graph, network.model, measured)
    limits = Limits(shipped_table(), Goal(), (load_board(BOARD),))
    widths: dict[str, int | Limits] = {"8": 8, "16": 16} | ({"mixed": limits} if network.samples else {})
    for title, bits in widths.items():
        quantized = quantize_model(graph, network.model, calibration, bits, QUIET).quantized
        yield Row(name, title, Accuracy.of(quantized, floats))
    yield Row(name, "8, nearest", Accuracy.of(_nearest(network.model, graph, calibration), floats))
    yield Row(name, "8, ONNX Runtime", peer_accuracy(graph, network.model, calibration.x, floats))


def _nearest(model: Path, graph: Graph, calibration: Samples) -> QuantizedGraph:
    return Calibration.of(graph, model, calibration, QUIET).nearest(BitWidths.all(graph, 8))


def _samples(network: Network, graph: Graph) -> tuple[Samples, Samples]:
    """Return the calibration samples and the test samples."""
    if network.samples:
        samples = load_samples(network.samples, graph)
        return samples.first(CALIBRATION_COUNT), samples
    calibration, measured = (random_samples(network, graph, RANDOM_SAMPLES, seed) for seed in range(2))
    return calibration, measured


class _Reader(CalibrationDataReader):  # type: ignore[misc]
    """Iterator over the samples."""

    def __init__(self, name: str, x: NDArray[np.float32]) -> None:
        self._rest = iter([{name: sample[np.newaxis]} for sample in x])

    def get_next(self) -> dict[str, NDArray[np.float32]] | None:
        """Return the next sample, None after the last one."""
        return next(self._rest, None)


def peer_accuracy(graph: Graph, model: Path, calibration: NDArray[np.float32], floats: FloatScores) -> Accuracy:
    """Return the accuracy of the network as ONNX Runtime quantizes it, calibrated on samples, in float arithmetic.

    QDQ, int8 weights with per-channel scales, uint8 values with any scale and zero point. Of its three calibration
    methods (minimum and maximum, percentile, entropy) the one with the highest SQNR on the measured samples counts.
    """
    logging.getLogger().setLevel(logging.ERROR)  # its warnings recommend what is already done here
    return max(_accuracies(graph, model, calibration, floats), key=lambda found: found.sqnr_db)


def _accuracies(graph: Graph, model: Path, calibration: NDArray[np.float32], floats: FloatScores) -> Iterator[Accuracy]:
    scores = scores_values(graph)
    with tempfile.TemporaryDirectory() as folder:
        prepared, quantized = Path(folder) / "prepared.onnx", Path(folder) / "quantized.onnx"
        quant_pre_process(model, prepared, skip_symbolic_shape=True)
        for method in METHODS:
            with contextlib.redirect_stdout(io.StringIO()):
                quantize_static(
                    prepared,
                    quantized,
                    _Reader(graph.input_name, calibration),
                    quant_format=QuantFormat.QDQ,
                    per_channel=True,
                    activation_type=QuantType.QUInt8,
                    weight_type=QuantType.QInt8,
                    calibrate_method=method,
                )
            x = floats.samples.x
            found = run_float_values(quantized, x, scores.values())
            reshaped = {name: found[own].reshape(len(x), -1).astype(np.float64) for name, own in scores.items()}
            yield Accuracy.of_scores(reshaped, floats)
