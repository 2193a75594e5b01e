"""Cycles per MAC, or per element, of layer shapes that are far from the limits of the cores.

    .venv/bin/python benchmarks/slow_shapes.py [--json] [--core CORE] [--only TEXT] [--kernel NAME]

Every shape is the last layer of a small network with random weights and ranges, 8 bits, computed by the kernel that is
chosen for it on a virtual board with ideal memory. Its output is compared with the integer reference. `before` are
the figures of the version that had no kernels for these shapes. The last rows are whole networks with zero points, as
networks quantized by others have them, and their time relative to formats without zero points.
"""

import argparse
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from rich.console import Console

from bare_network import BareRun, run_bare
from measured_layers import BOARDS
from tinysplit.calibration.random_formats import LARGEST_VALUES, quantize_randomly
from tinysplit.common.errors import CheckFailedError
from tinysplit.common.tables import plain_table
from tinysplit.network.fixed_point.formats import IntArray, ValueFormat
from tinysplit.network.graph import Graph
from tinysplit.network.integer_reference import run_layers
from tinysplit.network.layers import Shape
from tinysplit.network.network_builder import NetworkBuilder
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.quantize.choose_formats import choose_formats, quantize

CORES = ("cortex-m4", "cortex-m0plus")
BITS = 8
LARGEST_RELU = 6.0


@dataclass(frozen=True)
class Case:
    """A shape: the network whose last layer it is, and the figures before on each of `CORES`."""

    name: str
    make: Callable[[], NetworkBuilder]
    before: tuple[float, float]


@dataclass(frozen=True)
class Row:
    """One shape on one core; `rate` and `before` are cycles per `unit`, or for networks the time with zero points."""

    name: str
    core: str
    kernel: str
    cycles: int
    unit: str
    rate: float
    before: float


def behind_relu(height: int, width: int, channels: int) -> NetworkBuilder:
    """Return a network whose output has this shape and no negative values."""
    return NetworkBuilder("shape", Shape(height, width, 4)).conv(channels)


CASES = (
    Case("average pool 2x2, 8 channels", lambda: behind_relu(24, 24, 8).average_pool(2), (7.96, 8.99)),
    Case("average pool 2x2, 6 channels", lambda: behind_relu(24, 24, 6).average_pool(2), (8.04, 9.94)),
    Case("average pool 3x3, 8 channels", lambda: behind_relu(24, 24, 8).average_pool(3), (4.08, 11.89)),
    Case("lookup", lambda: behind_relu(16, 16, 8).tanh(), (9.01, 12.01)),
    Case("depthwise 3x3, stride 2", lambda: behind_relu(24, 24, 16).depthwise((3, 3), 2), (3.5, 8.24)),
    Case("depthwise 3x3, 4x4 map", lambda: behind_relu(4, 4, 64).depthwise(), (2.49, 7.67)),
    Case("depthwise 3x3, 7x7 map", lambda: behind_relu(7, 7, 32).depthwise(), (2.7, 7.3)),
    Case("depthwise 5x5", lambda: behind_relu(16, 16, 16).depthwise((5, 5)), (4.75, 13.39)),
    Case("depthwise 5x5, stride 2", lambda: behind_relu(16, 16, 16).depthwise((5, 5), 2), (4.85, 13.29)),
    Case("depthwise 7x7", lambda: behind_relu(16, 16, 16).depthwise((7, 7)), (6.41, 9.45)),
    Case(
        "first 3x3, stride 2, 3 channels",
        lambda: NetworkBuilder("shape", Shape(48, 48, 3)).conv(8, (3, 3), 2),
        (1.73, 4.67),
    ),
    Case("first 3x3, 1 channel", lambda: NetworkBuilder("shape", Shape(28, 28, 1)).conv(16, (3, 3)), (2.28, 6.1)),
    Case("first 3x3, 4 channels", lambda: NetworkBuilder("shape", Shape(24, 24, 4)).conv(16, (3, 3)), (1.22, 3.8)),
    Case(
        "first 10x4, stride 2, 1 channel",
        lambda: NetworkBuilder("shape", Shape(49, 10, 1)).conv(64, (10, 4), 2),
        (1.4, 3.93),
    ),
    Case("pointwise, 8 to 16", lambda: behind_relu(24, 24, 8).conv(16), (2.02, 4.8)),
    Case("pointwise, 16 to 32", lambda: behind_relu(16, 16, 16).conv(32), (1.48, 3.63)),
    Case("ConvTranspose 2x2, stride 2", lambda: behind_relu(8, 8, 16).conv_transpose(8, (2, 2), 2), (14.82, 20.2)),
    Case("ConvTranspose 3x3, stride 2", lambda: behind_relu(8, 8, 16).conv_transpose(8, (3, 3), 2), (14.29, 18.85)),
    Case("grouped 3x3, 4 groups of 8", lambda: behind_relu(12, 12, 32).conv(32, (3, 3), groups=4), (5.64, 8.55)),
    Case("grouped 1x1, 4 groups of 16", lambda: behind_relu(12, 12, 64).conv(64, groups=4), (5.07, 8.55)),
    Case("1-D, 3 taps, dilation 4", lambda: behind_relu(1, 128, 32).conv(32, (1, 3), dilation=4), (4.51, 2.76)),
    Case("dense, 1024 to 32", lambda: behind_relu(8, 8, 16).dense(32), (1.38, 6.4)),
)


def measure_cases(cores: Sequence[str], only: str, kernel: str | None) -> Iterator[Row]:
    """Yield a row for every shape whose name has `only` in it, and core."""
    for case in CASES:
        if only in case.name:
            quantized, x = quantize_randomly(case.make().graph(), BITS)
            for core in cores:
                run = _run(quantized, x, core, kernel)
                layer, cycles = quantized.layers[-1].layer, run.cycles[-1]
                macc = layer.operator_macc
                unit = "MACC" if layer.parameters else "element"
                rate, own = round(cycles / macc, 2), run.kernels[-1].kernel.name
                yield Row(case.name, core, own, cycles, unit, rate, case.before[CORES.index(core)])


def _run(quantized: QuantizedGraph, x: IntArray, core: str, kernel: str | None = None) -> BareRun:
    with tempfile.TemporaryDirectory() as folder:
        run = run_bare(quantized, BOARDS[core], x, Path(folder), named=kernel)
    *_, expected = run_layers(quantized, x)
    if not np.array_equal(run.output, expected.reshape(-1)):
        raise CheckFailedError(f"{quantized.layers[-1].layer} on {core}: the output is not that of the reference")
    return run


def separable() -> Graph:
    """Return a small network of separable convolutions, as KWS."""
    net = NetworkBuilder("separable", Shape(25, 10, 1)).conv(32, (10, 4), 2)
    net.depthwise().conv(32).depthwise().conv(32)
    return net.average_pool().dense(12).graph()


def residual() -> Graph:
    """Return a small residual network."""
    net = NetworkBuilder("residual", Shape(16, 16, 3)).conv(16, (3, 3))
    short = net.value
    net.conv(16, (3, 3)).conv(16, (3, 3)).add(short).conv(32, (3, 3), 2)
    return net.average_pool().dense(10).graph()


NETWORKS = {"separable": (separable, (1.014, 1.107)), "residual": (residual, (1.018, 1.201))}


def with_zero_points(graph: Graph) -> tuple[QuantizedGraph, IntArray]:
    """Return a network whose values have all 256 steps of their range: zero points of -128 behind a ReLU."""
    rng = np.random.default_rng(1)
    formats = {graph.input_name: ValueFormat.of(BITS, 2 * LARGEST_VALUES[0] / 255, -1)}
    ranges = {graph.input_name: (-LARGEST_VALUES[0], LARGEST_VALUES[0])}
    for layer in graph.layers:
        low = layer.activation.low if np.isfinite(layer.activation.low) else -LARGEST_RELU
        formats[layer.output] = ValueFormat.of(BITS, (LARGEST_RELU - low) / 255, -128 if low == 0 else -1)
        ranges[layer.output] = (low, LARGEST_RELU)
    quantized = quantize(graph, choose_formats(graph, ranges, BITS, formats), BITS)
    x = quantized.input_format.quantize(rng.uniform(*ranges[graph.input_name], (1, *graph.in_shape)))
    return quantized, x


def measure_zero_points(cores: Sequence[str], only: str) -> Iterator[Row]:
    """Yield the time of networks with zero points, relative to that without."""
    for name, (make, before) in NETWORKS.items():
        title = f"zero points, {name}"
        for core in cores if only in title else ():
            cycles = sum(_run(*with_zero_points(make()), core).cycles)
            plain = sum(_run(*quantize_randomly(make(), BITS), core).cycles)
            yield Row(title, core, "", cycles, "network", round(cycles / plain, 3), before[CORES.index(core)])


def main() -> None:
    """Print one row per shape and core."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--core", choices=CORES, action="append", help="only this core; repeat for several")
    parser.add_argument("--only", default="", help="only shapes with this text in their name")
    parser.add_argument("--kernel", help="kernel or scheme of the shapes, where it suits them")
    options = parser.parse_args()
    cores = options.core or CORES
    rows = [*measure_cases(cores, options.only, options.kernel), *measure_zero_points(cores, options.only)]
    if options.json:
        print(json.dumps([asdict(row) for row in rows], indent=2))
        return
    table = plain_table("shape", "core", "kernel", "per", numbers=("cycles", "rate", "before"))
    for row in rows:
        table.add_row(
            row.name, row.core, row.kernel, row.unit, f"{row.cycles:,}", f"{row.rate:.2f}", f"{row.before:.2f}"
        )
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
