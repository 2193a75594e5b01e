"""Cycles and bytes of code of every layer of a network, with the selected kernels or those of a given name."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bare_network import run_bare
from tinysplit.build.elf import ElfSizes
from tinysplit.codegen.layer_source import LayerSource
from tinysplit.kernels.cost_table import CycleTable, Work
from tinysplit.network.bit_widths import Widths
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.graph import Graph
from tinysplit.network.layers import Activation, Layer
from tinysplit.network.quantized_graph import QuantizedGraph, QuantizedLayer
from tinysplit.quantize.choose_formats import choose_formats, quantize

BOARDS = {"cortex-m0plus": "nucleo_g071rb", "cortex-m4": "nucleo_l4r5zi", "cortex-m7": "nucleo_h743zi"}
LARGEST_VALUES = (3.0, 14.0)  # so that formats differ as in trained networks


@dataclass(frozen=True, eq=False)
class MeasuredLayer:
    """One layer on one core; `number` counts from 1."""

    network: str
    number: int
    core: str
    bits: int
    source: LayerSource
    cycles: int
    code_bytes: int

    @property
    def layer(self) -> Layer:
        """Description of the layer."""
        return self.source.quantized.layer

    @property
    def kind(self) -> str:
        """The key of the layer in the cost table."""
        return self.source.kernel.cost_kind(self.layer)

    @property
    def work(self) -> Work:
        """Executions of each part of the kernel."""
        quantized, kernel = self.source.quantized, self.source.kernel
        return kernel.exact_work(kernel.work(self.layer, Widths.of(quantized.formats)), quantized)

    def error(self, table: CycleTable) -> float:
        """Return the relative error of the estimate."""
        return self.estimate(table) / self.cycles - 1

    def estimate(self, table: CycleTable) -> float:
        """Return the cycles that the cost table predicts."""
        return table.kernel(self.core, self.bits, self.kind).of(self.work)


def measure_layers(
    quantized: QuantizedGraph, x: IntArray, core: str, name: str | None = None
) -> Iterator[MeasuredLayer]:
    """Yield the layers of a network that runs once, on input `x`.

    With the `name` of a kernel only the layers whose kernel is another one for that.
    """
    if name and not any(_differs(layer, core, name) for layer in quantized.layers):
        return
    with tempfile.TemporaryDirectory() as folder:
        run = run_bare(quantized, BOARDS[core], x, Path(folder), named=name)
    for number, (source, cycles) in enumerate(zip(run.kernels, run.cycles, strict=True), 1):
        if name is None or _differs(source.quantized, core, name):
            code_bytes = _code_bytes(run.sizes, number, source)
            yield MeasuredLayer(quantized.graph.name, number, core, quantized.bits, source, cycles, code_bytes)


def quantize_randomly(graph: Graph, bits: int) -> tuple[QuantizedGraph, IntArray]:
    """Return a network with random ranges of values, since its weights are also random, and a random input."""
    rng = np.random.default_rng(1)
    clamps = {graph.input_name: Activation()} | {layer.output: layer.activation for layer in graph.layers}
    ranges = {name: _range(clamp, rng.uniform(*LARGEST_VALUES)) for name, clamp in clamps.items()}
    quantized = quantize(graph, choose_formats(graph, ranges, bits), bits)
    low, high = ranges[graph.input_name]
    return quantized, quantized.input_format.quantize(rng.uniform(low, high, (1, *graph.in_shape)))


def _range(clamp: Activation, largest: float) -> tuple[float, float]:
    return max(clamp.low, -largest), min(clamp.high, largest)


def _code_bytes(sizes: ElfSizes, number: int, source: LayerSource) -> int:
    """Return the code bytes of a layer with the largest shared function that it may need."""
    prefix = source.kernel.shared_code(source.quantized.layer)
    shared = (size for name, size in sizes.shared_code_bytes.items() if prefix and name.startswith(prefix))
    return sizes.layer_code_bytes[number] - source.weights_bytes + max(shared, default=0)


def _differs(layer: QuantizedLayer, core: str, name: str) -> bool:
    return LayerSource.choose(layer, core, name).kernel is not LayerSource.choose(layer, core).kernel
