"""Cycles and bytes of code of every layer of a network, with the techniques that are chosen or with those of a name."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bare_network import run_bare
from tinysplit.cycles import CycleTable, Work
from tinysplit.elf import ElfSizes
from tinysplit.graph import Graph
from tinysplit.kernels import Kernel
from tinysplit.layers import Activation, Layer
from tinysplit.qformat import IntArray
from tinysplit.quantize import choose_formats, quantize
from tinysplit.quantized import QuantizedGraph, QuantizedLayer
from tinysplit.techniques import Widths

BOARDS = {"cortex-m0plus": "nucleo_g071rb", "cortex-m4": "nucleo_l4r5zi", "cortex-m7": "nucleo_h743zi"}
LARGEST_VALUES = (3.0, 14.0)  # so that formats differ as they do in trained networks


@dataclass(frozen=True, eq=False)
class MeasuredLayer:
    """One layer on one core; `number` counts from 1."""

    network: str
    number: int
    core: str
    bits: int
    kernel: Kernel
    cycles: int
    code_bytes: int

    @property
    def layer(self) -> Layer:
        """What was computed."""
        return self.kernel.quantized.layer

    @property
    def kind(self) -> str:
        """The key of its costs."""
        return self.kernel.technique.cost_kind(self.layer)

    @property
    def work(self) -> Work:
        """How often the parts of the kernel ran."""
        return self.kernel.technique.work(self.layer, Widths.of(self.kernel.quantized.formats))

    def error(self, table: CycleTable) -> float:
        """Return how far the estimate is off, relative to what was measured."""
        return self.estimate(table) / self.cycles - 1

    def estimate(self, table: CycleTable) -> float:
        """Return the cycles by the table."""
        return table.kernel(self.core, self.bits, self.kind).of(self.work)


def measure_layers(
    quantized: QuantizedGraph, x: IntArray, core: str, name: str | None = None
) -> Iterator[MeasuredLayer]:
    """Yield the layers of a network that runs once, on input `x`.

    With the `name` of a technique only the layers whose technique is another one for that.
    """
    if name and not any(_differs(layer, core, name) for layer in quantized.layers):
        return
    with tempfile.TemporaryDirectory() as folder:
        run = run_bare(quantized, BOARDS[core], x, Path(folder), named=name)
    for number, (kernel, cycles) in enumerate(zip(run.kernels, run.cycles, strict=True), 1):
        if name is None or _differs(kernel.quantized, core, name):
            code_bytes = _code_bytes(run.sizes, number, kernel)
            yield MeasuredLayer(quantized.graph.name, number, core, quantized.bits, kernel, cycles, code_bytes)


def quantize_randomly(graph: Graph, bits: int) -> tuple[QuantizedGraph, IntArray]:
    """Return a network with random ranges of values, since its weights are random, too, and a random input."""
    rng = np.random.default_rng(1)
    clamps = {graph.input_name: Activation()} | {layer.output: layer.activation for layer in graph.layers}
    ranges = {name: _range(clamp, rng.uniform(*LARGEST_VALUES)) for name, clamp in clamps.items()}
    quantized = quantize(graph, choose_formats(graph, ranges, bits), bits)
    low, high = ranges[graph.input_name]
    return quantized, quantized.input_format.quantize(rng.uniform(low, high, (1, *graph.in_shape)))


def _range(clamp: Activation, largest: float) -> tuple[float, float]:
    return max(clamp.low, -largest), min(clamp.high, largest)


def _code_bytes(sizes: ElfSizes, number: int, kernel: Kernel) -> int:
    """Return a layer's code with the largest function that it may bring along: promised to each, there once."""
    prefix = kernel.technique.shared_code(kernel.quantized.layer)
    shared = (size for name, size in sizes.shared_code_bytes.items() if prefix and name.startswith(prefix))
    return sizes.layer_code_bytes[number] - kernel.weights_bytes + max(shared, default=0)


def _differs(layer: QuantizedLayer, core: str, name: str) -> bool:
    return Kernel.choose(layer, core, name).technique is not Kernel.choose(layer, core).technique
