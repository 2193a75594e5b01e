"""Cycles of every layer of a network on a virtual board without firmware, beside those of the cost table."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bare_network import run_bare
from tinysplit.codegen.layer_source import LayerSource
from tinysplit.kernels.cost_table import CycleTable, Work
from tinysplit.network.bit_widths import Widths
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.layers import Layer
from tinysplit.network.quantized_graph import QuantizedGraph

BOARDS = {"cortex-m0plus": "nucleo_g071rb", "cortex-m4": "nucleo_l4r5zi", "cortex-m7": "nucleo_h743zi"}


@dataclass(frozen=True, eq=False)
class MeasuredLayer:
    """One layer on one core; `number` counts from 1."""

    network: str
    number: int
    core: str
    bits: int
    source: LayerSource
    cycles: int

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


def measure_layers(quantized: QuantizedGraph, x: IntArray, core: str) -> Iterator[MeasuredLayer]:
    """Yield the layers of a network that runs once, on input `x`, with the kernels that are chosen for `core`."""
    with tempfile.TemporaryDirectory() as folder:
        run = run_bare(quantized, BOARDS[core], x, Path(folder))
    for number, (source, cycles) in enumerate(zip(run.kernels, run.cycles, strict=True), 1):
        yield MeasuredLayer(quantized.graph.name, number, core, quantized.bits, source, cycles)
