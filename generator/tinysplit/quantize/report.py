"""What `tinysplit quantize` shows: the formats of every layer, the analysis behind them, and how good they are."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from tinysplit.common.tables import plain_table
from tinysplit.common.units import MS
from tinysplit.network.layers.base import Shape
from tinysplit.network.quantized_graph import QuantizedGraph, QuantizedLayer
from tinysplit.quantize.accuracy import Fidelity
from tinysplit.quantize.mixed_precision.bit_allocation import AutoWidths
from tinysplit.quantize.statistics import Statistics
from tinysplit.quantize.statistics_report import (
    channel_statistics,
    channels_snr_db,
    has_weights,
    print_ranges,
    weights_snr_db,
)
from tinysplit.quantize.warnings import odd_values

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
            "fidelity": asdict(self.fidelity) | {"snr_db": _or_none(self.fidelity.snr_db)},
            "input": _statistics_json(self.statistics[graph.input_name])
            | _channel_ranges_json(self.statistics[graph.input_name], graph.layers[0].in_shape)
            | {"format": _format_json(self.quantized.layers[0])["inputs"][0]},
            "layers": [self._layer_json(number, layer) for number, layer in enumerate(self.quantized.layers, 1)],
            "auto": self.auto and _auto_json(self.auto),
            "warnings": self.warnings,
        }

    def _layer_json(self, number: int, quantized: QuantizedLayer) -> dict[str, Any]:
        layer = quantized.layer
        return {
            "number": number,
            "name": layer.name,
            "kind": layer.kind,
            "formats": _format_json(quantized),
            "values": _statistics_json(self.statistics[layer.output])
            | _channel_ranges_json(self.statistics[layer.output], layer.out_shape),
            **({"weights": _weights_json(quantized)} if has_weights(quantized) else {}),
        }


def print_quantization(report: QuantizeReport, console: Console, *, analysis: bool) -> None:
    """Print a line a layer and one for its weights, with `analysis` the statistics behind them, and the quality."""
    console.print(_formats(report.quantized), "", _weights(report.quantized), sep="\n")
    if analysis:
        console.print()
        print_ranges(report.quantized, report.statistics, console)
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


def _print_auto(auto: AutoWidths, console: Console) -> None:
    if not auto.choices:
        console.print("auto: 8 bits do everywhere")
    table = plain_table("auto: part", numbers=("bits", "SNR dB with 8 bits alone", "extra ms of 16 bits"))
    for choice in auto.choices:
        table.add_row(str(choice.part)[-48:], str(choice.bits), f"{choice.snr_db:.1f}", f"{MS * choice.extra_s:.3f}")
    if auto.choices:
        console.print(table)
    console.print(f"auto: {MS * auto.seconds:.3f} ms", highlight=False)


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


def _weights_json(quantized: QuantizedLayer) -> dict[str, Any]:
    channels = zip(channel_statistics(quantized), channels_snr_db(quantized), strict=True)
    return _statistics_json(Statistics.of(quantized.trained.parameters["weights"])) | {
        "snr_db": _or_none(weights_snr_db(quantized)),
        "channels": [_statistics_json(channel) | {"snr_db": _or_none(snr_db)} for channel, snr_db in channels],
        "steps": quantized.formats.weight_scales.tolist(),
    }


def _or_none(number: float) -> float | None:
    """Return None for what JSON cannot say: the decibels of nothing lost."""
    return number if isfinite(number) else None


def _channel_ranges_json(statistics: Statistics, shape: Shape) -> dict[str, Any]:
    ranges = statistics.channel_ranges(shape)
    if ranges is None:
        return {}
    return {"channels": [{"minimum": low, "maximum": high} for low, high in ranges.T.tolist()]}


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
        {"part": str(c.part), "bits": c.bits, "snr_db": _or_none(c.snr_db), "extra_s": c.extra_s} for c in auto.choices
    ]
    return {"seconds": auto.seconds, "choices": choices}
