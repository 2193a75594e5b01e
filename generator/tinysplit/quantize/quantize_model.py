"""A network in fixed point, from its samples: 8 bits, 16 bits, or each value and weight as `--bits auto` needs."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

from rich.console import Console

from tinysplit.common.progress import steps
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.graph import Graph
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.network.samples import Samples
from tinysplit.quantize.accuracy import Fidelity, FloatScores
from tinysplit.quantize.calibrate import Quantizer
from tinysplit.quantize.mixed_precision.bit_allocation import AutoWidths, Limits, choose_widths
from tinysplit.quantize.report import QuantizeReport
from tinysplit.quantize.statistics import Statistics, value_statistics
from tinysplit.quantize.warnings import odd_values


@dataclass(frozen=True, eq=False)
class Calibration:
    """A network with the statistics of its values on samples, from which its formats follow."""

    graph: Graph
    model: Path
    samples: Samples
    statistics: Mapping[str, Statistics]

    @classmethod
    def of(cls, graph: Graph, model: Path, samples: Samples, messages: Console) -> Self:
        """Run the float network on all samples."""
        with steps(messages, f"calibrating on {len(samples.x)} samples"):
            return cls(graph, model, samples, value_statistics(model, graph.value_names, samples.x))

    def quantized(self, bits: int) -> QuantizedGraph:
        """Return the network in 8 or 16 bits, in the formats that lose least."""
        return Quantizer(self.graph, self.statistics, self.samples.x).best(BitWidths.all(self.graph, bits))

    def auto(self, limits: Limits) -> AutoWidths:
        """Return the network in the widths that auto chooses."""
        return choose_widths(self.graph, self.statistics, self._floats, limits)

    def warn(self, quantized: QuantizedGraph, messages: Console) -> None:
        """Print what is odd about values and weights."""
        for text in odd_values(quantized, self.statistics):
            messages.print(f"warning: {text}", highlight=False, markup=False, soft_wrap=True)

    @cached_property
    def _floats(self) -> FloatScores:
        return FloatScores.of(self.graph, self.model, self.samples)


def quantize_graph(
    graph: Graph, model: Path, samples: Samples, bits: int | Limits, messages: Console
) -> QuantizedGraph:
    """Return the network in the formats that lose least on the samples; `bits` 8, 16 or what auto has to keep."""
    calibrated = Calibration.of(graph, model, samples, messages)
    if isinstance(bits, Limits):
        with steps(messages, f"choosing widths of {graph.name}"):
            quantized = calibrated.auto(bits).quantized
    else:
        quantized = calibrated.quantized(bits)
    calibrated.warn(quantized, messages)
    return quantized


def quantize_model(
    graph: Graph, model: Path, samples: Samples, calibration_count: int, bits: int | Limits, messages: Console
) -> QuantizeReport:
    """Quantize on the first `calibration_count` samples and measure on all; `bits` 8, 16 or what auto has to keep."""
    calibration = samples.first(calibration_count)
    with steps(messages, f"statistics of {len(calibration.x)} samples"):
        statistics = value_statistics(model, graph.value_names, calibration.x)
    with steps(messages, f"quantizing, and measuring on {len(samples.x)} samples"):
        floats = FloatScores.of(graph, model, samples)
        if isinstance(bits, Limits):
            scores = FloatScores(calibration, floats.scores[:calibration_count])
            auto = choose_widths(graph, statistics, scores, bits)
            return QuantizeReport(auto.quantized, statistics, Fidelity.of(auto.quantized, floats), auto)
        quantized = Quantizer(graph, statistics, calibration.x).best(BitWidths.all(graph, bits))
        return QuantizeReport(quantized, statistics, Fidelity.of(quantized, floats))
