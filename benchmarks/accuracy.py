"""Accuracy of quantized networks: those of ../shared/models and the example in 8 bits, 16 bits and mixed precision.

    .venv/bin/python benchmarks/accuracy.py [--json]

Calibration uses the first 100 samples, the measurement all of them. Networks without samples of their own get uniform
random inputs, which say nothing about accuracy but show the quantization noise: 48 to calibrate on, and 48 others to
measure; mixed precision, whose goal is accuracy, is left out for them. Rows "nearest" round weights and biases to
nearest in the same formats; rows "ONNX Runtime" are its own 8-bit quantization.
"""

import argparse
import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console

from onnxruntime_peer import peer_accuracy
from tinysplit.boards.catalog import load_board
from tinysplit.common.tables import plain_table
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.graph import Graph
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.network.samples import Samples, load_samples
from tinysplit.onnx_import import import_model
from tinysplit.quantize.accuracy import Accuracy, FloatScores
from tinysplit.quantize.calibrate import Calibration
from tinysplit.quantize.mixed_precision.bit_allocation import Goal, Limits
from tinysplit.quantize.quantize_model import quantize_model

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared" / "models"
EXAMPLE = ROOT / "examples" / "tiny_cnn"
CALIBRATION_COUNT = 100
RANDOM_SAMPLES = 48
BOARD = "nucleo_f446re"
QUIET = Console(quiet=True)


class Network(NamedTuple):
    """A model with its samples, or with the range of random ones."""

    name: str
    model: Path
    samples: Path | None
    low: float = 0.0
    high: float = 1.0


NETWORKS = (
    Network("KWS DS-CNN", SHARED / "mlperf_tiny_kws_dscnn.onnx", SHARED / "mlperf_tiny_kws01_samples.npz"),
    Network("Tiny-CNN", EXAMPLE / "tiny_cnn.onnx", EXAMPLE / "samples.npz"),
    Network("ResNet-8", SHARED / "mlperf_tiny_ic_resnet8.onnx", None, 0, 255),
    Network("MobileNet v1 0.25", SHARED / "mobilenet_v1_025_128.onnx", None, -1, 1),
)


class Row(NamedTuple):
    """The accuracy of one network in one bit width."""

    network: str
    bits: str
    accuracy: Accuracy


def measure() -> Iterator[Row]:
    """Yield all rows; missing networks are skipped."""
    limits = Limits(Goal(), (load_board(BOARD),))
    for network in NETWORKS:
        if not network.model.exists():
            continue
        graph = import_model(network.model)
        calibration, measured = _samples(network, graph)
        floats = FloatScores.of(graph, network.model, measured)
        widths: dict[str, int | Limits] = {"8": 8, "16": 16} | ({"mixed": limits} if network.samples else {})
        for name, bits in widths.items():
            quantized = quantize_model(graph, network.model, calibration, bits, QUIET).quantized
            yield Row(network.name, name, Accuracy.of(quantized, floats))
        yield Row(network.name, "8, nearest", Accuracy.of(_nearest(network.model, graph, calibration), floats))
        yield Row(network.name, "8, ONNX Runtime", peer_accuracy(graph, network.model, calibration.x, floats))


def _nearest(model: Path, graph: Graph, calibration: Samples) -> QuantizedGraph:
    return Calibration.of(graph, model, calibration, QUIET).nearest(BitWidths.all(graph, 8))


def _samples(network: Network, graph: Graph) -> tuple[Samples, Samples]:
    """Return the calibration samples and the test samples."""
    if network.samples:
        samples = load_samples(network.samples, graph)
        return samples.first(CALIBRATION_COUNT), samples
    shape = (RANDOM_SAMPLES, *graph.sample_shape)
    calibration, measured = (
        Samples(np.random.default_rng(seed).uniform(network.low, network.high, shape).astype(np.float32), None)
        for seed in range(2)
    )
    return calibration, measured


def main() -> None:
    """Print a row per network and bit width."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    as_json = parser.parse_args().json
    rows = list(measure())
    if as_json:
        print(json.dumps([{"network": r.network, "bits": r.bits, **asdict(r.accuracy)} for r in rows], indent=2))
        return
    table = plain_table("network", "bits", numbers=("samples", "top-1", "float", "SQNR dB", "agreement"))
    for name, bits, accuracy in rows:
        top1 = ("", "") if accuracy.top1 is None else (f"{accuracy.top1:.3f}", f"{accuracy.float_top1:.3f}")
        table.add_row(name, bits, str(accuracy.samples), *top1, f"{accuracy.sqnr_db:.1f}", f"{accuracy.agreement:.3f}")
    Console().print(table)


if __name__ == "__main__":
    main()
