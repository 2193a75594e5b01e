"""Errors of the cost table's cycles on networks that the calibration did not use.

    .venv/bin/python benchmarks/estimate_errors.py [--layers] [--cost-table FILE]

The kernels run alone, without firmware and with ideal memory: this checks the calibration by another measurement.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

import numpy as np
from rich.console import Console

from accuracy import NETWORKS
from kernels import calibrated
from measured_layers import BOARDS, MeasuredLayer, measure_layers
from tinysplit.calibration.conditions import using_calibration
from tinysplit.calibration.networks import UNSEEN_NETWORKS, random_network
from tinysplit.calibration.random_formats import quantize_randomly
from tinysplit.common.tables import plain_table
from tinysplit.kernels.cost_table import CycleTable, load_cycle_table
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.integer_reference import quantize_input
from tinysplit.network.layers.window import layer_window
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.onnx_import import import_model

SMALL_CYCLES = 10_000  # layers with fewer cycles are reported separately


def unseen_layers() -> Iterator[MeasuredLayer]:
    """Yield the layers of the networks of benchmarks/accuracy.py, and of random ones, not used for the fit."""
    for bits in (8, 16):
        for quantized, x in _unseen_networks(bits):
            for core in BOARDS:
                yield from measure_layers(quantized, x, core)


def _unseen_networks(bits: int) -> Iterator[tuple[QuantizedGraph, IntArray]]:
    for network in NETWORKS:
        if network.model.exists():
            quantized, x = calibrated(network, import_model(network.model), bits)
            yield quantized, quantize_input(quantized, x)
    for seed in UNSEEN_NETWORKS:
        yield quantize_randomly(random_network(seed), bits)


def print_networks(
    console: Console, table: CycleTable, measured: Iterable[MeasuredLayer], every_layer: bool = False
) -> None:
    """Print one row per network with the errors of its layers, and optionally those of every layer."""
    numbers = ("bits", "cycles", "error %", "worst layer %", "small layer %")
    shown = plain_table("network", "core", numbers=numbers)
    groups = [list(group) for _, group in groupby(measured, lambda layer: (layer.network, layer.core, layer.bits))]
    for layers in groups:
        first, cycles = layers[0], sum(layer.cycles for layer in layers)
        error = sum(layer.estimate(table) for layer in layers) / cycles - 1
        worst = (_worst(layers, table, is_small=is_small) for is_small in (False, True))
        shown.add_row(first.network, first.core, str(first.bits), f"{cycles:,}", f"{100 * error:+.1f}", *worst)
    console.print(shown)
    for layers in groups if every_layer else []:
        _print_layers(console, table, layers)


def print_percentiles(console: Console, table: CycleTable, measured: Iterable[MeasuredLayer]) -> None:
    """Print the median and the 95th percentile of the errors of all but small layers, by core and bits."""
    errors: dict[tuple[str, int], list[float]] = defaultdict(list)
    for layer in measured:
        if layer.cycles >= SMALL_CYCLES:
            errors[layer.core, layer.bits].append(100 * abs(layer.error(table)))
    shown = plain_table("core", numbers=("bits", "layers", "median %", "95th percentile %", "worst %"))
    for (core, bits), own in sorted(errors.items()):
        figures = (*np.percentile(own, (50, 95)), max(own))
        shown.add_row(core, str(bits), str(len(own)), *(f"{each:.1f}" for each in figures))
    console.print(shown)


def _worst(layers: Sequence[MeasuredLayer], table: CycleTable, *, is_small: bool) -> str:
    errors = [layer.error(table) for layer in layers if (layer.cycles < SMALL_CYCLES) is is_small]
    return f"{100 * max(errors, key=abs):+.1f}" if errors else ""


def _print_layers(console: Console, table: CycleTable, layers: Sequence[MeasuredLayer]) -> None:
    shown = plain_table("kind", "input", "output", "window", numbers=("#", "cycles", "error %"))
    for layer in layers:
        window = layer_window(layer.layer)
        shapes = (layer.kind, str(layer.layer.in_shape), str(layer.layer.out_shape), str(window or ""))
        shown.add_row(*shapes, str(layer.number), f"{layer.cycles:,}", f"{100 * layer.error(table):+.1f}")
    console.print(f"\n{layers[0].network}, {layers[0].core}, {layers[0].bits} bits", highlight=False)
    console.print(shown)


def main() -> None:
    """Print a row per network, and the percentiles of all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--layers", action="store_true", help="also print the error of every layer")
    parser.add_argument("--cost-table", type=Path, help="file of `tinysplit calibrate`, in place of the table shipped")
    options = parser.parse_args()
    console = Console(width=140)
    with using_calibration(options.calibration, ()):
        table, unseen = load_cycle_table(), list(unseen_layers())
    print_networks(console, table, unseen, options.layers)
    print_percentiles(console, table, unseen)


if __name__ == "__main__":
    main()
