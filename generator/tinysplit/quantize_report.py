"""What `tinysplit quantize` shows: the formats of every layer, the analysis behind them, and how good they are."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from tinysplit.auto_widths import AutoWidths
from tinysplit.fidelity import Fidelity
from tinysplit.odd_values import odd_values
from tinysplit.quantized import QuantizedGraph, QuantizedLayer
from tinysplit.range_analysis import Statistics, decibels
from tinysplit.tables import plain_table

SPARKS = " ▁▂▃▄▅▆▇█"
SPARK_COLUMNS = 12
LOW_SNR_DB = 10
NAME_LENGTH = 32  # its end tells a layer from others


@dataclass(frozen=True, eq=False)
class QuantizeReport:
    """A network in fixed point, the statistics of its values (by ONNX name) and its quality on the samples."""

    quantized: QuantizedGraph
    statistics: Mapping[str, Statistics]
    fidelity: Fidelity
    auto: AutoWidths | None = None

    @property
    def warnings(self) -> list[str]:
        """What is odd about values and weights, by the layer's name, and about the whole network."""
        low = [f"only {self.fidelity.snr_db:.1f} dB before the softmax: the answers are mostly noise, try more bits"]
        return [*odd_values(self.quantized, self.statistics), *(low if self.fidelity.snr_db < LOW_SNR_DB else ())]

    def to_json(self) -> dict[str, Any]:
        """Return everything as JSON writes it."""
        graph = self.quantized.graph
        return {
            "name": graph.name,
            "bits": self.quantized.bits,
            "fidelity": asdict(self.fidelity),
            "input": _statistics_json(self.statistics[graph.input_name])
            | {"format": _format_json(self.quantized.layers[0])["inputs"][0]},
            "layers": [self._layer_json(number, layer) for number, layer in enumerate(self.quantized.layers, 1)],
            "auto": self.auto and _auto_json(self.auto),
            "warnings": self.warnings,
        }

    def _layer_json(self, number: int, quantized: QuantizedLayer) -> dict[str, Any]:
        layer = quantized.layer
        weights = {}
        if "weights" in layer.parameters:
            by_channel = layer.by_channel(layer.parameters["weights"])
            weights = {
                "weights": _statistics_json(Statistics.of(by_channel))
                | {
                    "snr_db": weights_snr_db(quantized),
                    "channels": [
                        {"minimum": float(channel.min()), "maximum": float(channel.max())}
                        | {"mean": float(channel.mean()), "variance": float(channel.var())}
                        for channel in by_channel
                    ],
                    "steps": quantized.formats.weight_scales.tolist(),
                }
            }
        return {
            "number": number,
            "name": layer.name,
            "kind": layer.kind,
            "formats": _format_json(quantized),
            "values": _statistics_json(self.statistics[layer.output]),
            **weights,
        }


def weights_snr_db(quantized: QuantizedLayer) -> float:
    """Return how far the rounding of a layer's weights lies below them."""
    layer = quantized.layer
    weights = layer.by_channel(layer.parameters["weights"]).astype(np.float64)
    steps = quantized.formats.weight_scales[:, np.newaxis]
    rounded = layer.by_channel(quantized.constants["weights"]) * steps
    return decibels(float((weights**2).sum()), float(((rounded - weights) ** 2).sum()))


def print_quantization(report: QuantizeReport, console: Console, *, analysis: bool) -> None:
    """Print a line a layer and one for its weights, with `analysis` the statistics behind them, and the quality."""
    console.print(_formats(report.quantized), "", _weights(report.quantized), sep="\n")
    if analysis:
        console.print()
        _print_analysis(report, console)
    if report.auto:
        console.print()
        _print_auto(report.auto, console)
    console.print()
    for line in (*_quality(report.fidelity), *(f"warning: {text}" for text in report.warnings)):
        console.print(line, highlight=False, soft_wrap=True)


def _formats(quantized: QuantizedGraph) -> Table:
    table = plain_table("#", "layer", "kind", "input", "output", numbers=("bits",))
    for number, layer in enumerate(quantized.layers, 1):
        inputs = ", ".join(str(values) for values in layer.formats.inputs)
        y = layer.formats.y
        table.add_row(str(number), _short(layer), layer.layer.kind, inputs, str(y), str(y.bits))
    return table


def _weights(quantized: QuantizedGraph) -> Table:
    table = plain_table("#", "weights of", numbers=("bits", "SNR dB", "division", "correction"))
    for number, layer in enumerate(quantized.layers, 1):
        formats = layer.formats
        if formats.weight_bits is None or formats.requantization is None:
            continue
        limit = 1 << (formats.weight_bits - 1)
        factors = (formats.weight_scales * limit, formats.requantization.corrections)
        cells = (str(formats.weight_bits), f"{weights_snr_db(layer):.1f}", *(_span(numbers) for numbers in factors))
        table.add_row(str(number), _short(layer), *cells)
    return table


def _short(quantized: QuantizedLayer) -> str:
    return quantized.layer.name[-NAME_LENGTH:]


def _span(numbers: NDArray[np.float64]) -> str:
    low, high = f"{numbers.min():.3g}", f"{numbers.max():.3g}"
    return low if low == high else f"{low}..{high}"


def _print_analysis(report: QuantizeReport, console: Console) -> None:
    table = plain_table("numbers", "format", numbers=("min", "max", "mean", "variance", "SNR dB", "histogram"))
    graph, layers = report.quantized.graph, report.quantized.layers
    formats = [report.quantized.input_format, *(layer.formats.y for layer in layers)]
    for number, (name, values) in enumerate(zip(graph.value_names, formats, strict=True)):
        label = f"output of {number}" if number else "input"
        _add_statistics(table, label, str(values), report.statistics[name], report.statistics[name].snr_db(values))
    for number, layer in enumerate(layers, 1):
        if "weights" in layer.layer.parameters:
            statistics = Statistics.of(layer.layer.parameters["weights"])
            text = f"{layer.formats.weight_bits} bits"
            _add_statistics(table, f"weights of {number}", text, statistics, weights_snr_db(layer))
    console.print(table)


def _add_statistics(table: Table, label: str, values: str, statistics: Statistics, snr_db: float) -> None:
    numbers = (statistics.minimum, statistics.maximum, statistics.mean, statistics.variance)
    cells = (*(f"{number:.3g}" for number in numbers), f"{snr_db:.1f}", _sparkline(statistics))
    table.add_row(label, values, *cells)


def _sparkline(statistics: Statistics) -> str:
    """Return a histogram of the numbers that are not 0 from their minimum to their maximum, in powers of the counts."""
    columns = np.array_split(statistics.bins, min(SPARK_COLUMNS, len(statistics.bins)))
    heights = np.array([column.sum() for column in columns], np.float64) ** 0.5
    scaled = np.ceil(heights / max(heights.max(), 1e-9) * (len(SPARKS) - 1)).astype(int)
    return "".join(SPARKS[height] for height in scaled)


def _print_auto(auto: AutoWidths, console: Console) -> None:
    if not auto.choices:
        console.print("auto: 8 bits do everywhere")
    table = plain_table("auto: part", numbers=("bits", "SNR dB with 8 bits alone", "extra cycles of 16 bits"))
    for choice in auto.choices:
        table.add_row(str(choice.part)[-48:], str(choice.bits), f"{choice.snr_db:.1f}", f"{choice.extra_cycles:,.0f}")
    if auto.choices:
        console.print(table)
    console.print(f"auto: {auto.cycles:,.0f} cycles", highlight=False)


def _quality(fidelity: Fidelity) -> Iterator[str]:
    yield f"{fidelity.samples} samples: {fidelity.snr_db:.1f} dB before the softmax, agreement {fidelity.agreement:.3f}"
    if fidelity.drop_points is not None:
        yield f"top-1 {fidelity.top1:.3f}, float {fidelity.float_top1:.3f}: {fidelity.drop_points:.2f} points lost"


def _format_json(quantized: QuantizedLayer) -> dict[str, Any]:
    formats = quantized.formats
    return {
        "inputs": [{"name": str(values), **asdict(values)} for values in formats.inputs],
        "output": {"name": str(formats.y), **asdict(formats.y)},
        "weight_bits": formats.weight_bits,
        "requantization": formats.requantization and asdict(formats.requantization),
    }


def _statistics_json(statistics: Statistics) -> dict[str, Any]:
    return {
        "minimum": statistics.minimum,
        "maximum": statistics.maximum,
        "mean": statistics.mean,
        "variance": statistics.variance,
        "histogram": {
            "bin_width": statistics.bin_width,
            "first_bin": statistics.first_bin,
            "counts": statistics.bins.tolist(),
        },
    }


def _auto_json(auto: AutoWidths) -> dict[str, Any]:
    choices = [
        {"part": str(c.part), "bits": c.bits, "snr_db": c.snr_db, "extra_cycles": c.extra_cycles} for c in auto.choices
    ]
    return {"cycles": auto.cycles, "choices": choices}
