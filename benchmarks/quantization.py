"""Accuracy of quantized networks in 8 bits, 16 bits and mixed precision, beside ONNX Runtime's quantization.

Nothing runs on boards: the integer reference computes. Takes some 10 minutes.
"""

from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from common.benchmark import JSON, ONLY, benchmark
from common.networks import CALIBRATION_COUNT, QUIET, Network, chosen_networks, random_samples
from common.peers import peer_accuracies
from common.tables import Cell, MarkdownTable, print_json
from tinysplit.boards.catalog import load_board
from tinysplit.kernels.cost_table import shipped_table
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.graph import Graph
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.network.samples import Samples, load_samples
from tinysplit.quantize.accuracy import Accuracy, FloatScores
from tinysplit.quantize.calibrate import Calibration
from tinysplit.quantize.mixed_precision.bit_allocation import Goal, Limits
from tinysplit.quantize.quantize_model import quantize_model

RANDOM_SAMPLES = 48
BOARD = "nucleo_f446re"


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
    peers = [found for _, found in peer_accuracies(graph, network.model, calibration.x, floats)]
    yield Row(name, "8, ONNX Runtime", max(peers, key=lambda found: found.sqnr_db))


def _nearest(model: Path, graph: Graph, calibration: Samples) -> QuantizedGraph:
    return Calibration.of(graph, model, calibration, QUIET).nearest(BitWidths.all(graph, 8))


def _samples(network: Network, graph: Graph) -> tuple[Samples, Samples]:
    """Return the calibration samples and the test samples."""
    if network.samples:
        samples = load_samples(network.samples, graph)
        return samples.first(CALIBRATION_COUNT), samples
    calibration, measured = (random_samples(network, graph, RANDOM_SAMPLES, seed) for seed in range(2))
    return calibration, measured
