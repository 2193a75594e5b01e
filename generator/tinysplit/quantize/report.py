"""The report of `tinysplit quantize`: formats of every layer, statistics of values and weights, and accuracy."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from tinysplit.common.choices import LONG_BITS
from tinysplit.common.progress import steps
from tinysplit.common.tables import plain_table
from tinysplit.common.units import MS
from tinysplit.network.graph import Graph
from tinysplit.network.layers.base import Shape
from tinysplit.network.quantized_graph import QuantizedGraph, QuantizedLayer
from tinysplit.network.samples import Samples
from tinysplit.quantize.accuracy import Accuracy, FloatScores, before_what
from tinysplit.quantize.calibrate import Calibration
from tinysplit.quantize.mixed_precision.bit_allocation import MixedPrecision, TensorName
from tinysplit.quantize.quantize_model import Quantization
from tinysplit.quantize.sample_warnings import chance_warnings
from tinysplit.quantize.statistics import Statistics
from tinysplit.quantize.statistics_report import (
    channel_statistics,
    channels_sqnr_db,
    has_weights,
    print_ranges,
    weights_sqnr_db,
)
from tinysplit.quantize.warnings import quantization_warnings, softmax_warnings

LOW_SQNR_DB = 10


@dataclass(frozen=True, eq=False)
class QuantizeReport:
    """A network in fixed point, the calibration that it follows from, and its accuracy on all samples."""

    quantized: QuantizedGraph
    calibration: Calibration
    accuracy: Accuracy
    mixed_precision: MixedPrecision | None = None
    sample_warnings: tuple[str, ...] = ()

    @property
    def statistics(self) -> Mapping[str, Statistics]:
        """Statistics of the values, by ONNX name."""
        return self.calibration.statistics

    @property
    def warnings(self) -> list[str]:
        """Warnings about the values and weights of layers, about the whole network, and about the samples."""
        warnings = list(quantization_warnings(self.quantized, self.statistics))
        sqnr_db = self.accuracy.sqnr_db
        warnings += softmax_warnings(self.quantized, self.calibration.samples.x)
        if sqnr_db < LOW_SQNR_DB:
            remedy = (
                "use more bits"
                if self.quantized.bits < LONG_BITS
                else "are the samples like those of the network's training?"
            )
            ratio = f"{sqnr_db:.1f} dB SQNR{before_what(self.accuracy.before)}"
            warnings.append(f"only {ratio}: the outputs are mostly noise; {remedy}")
        return [*warnings, *self.sample_warnings]

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON values."""
        graph = self.quantized.graph
        return {
            "name": graph.name,
            "bits": self.quantized.bits,
            "accuracy": self.accuracy.to_json(),
            "input": _statistics_json(self.statistics[graph.input_name])
            | _channel_ranges_json(self.statistics[graph.input_name], graph.layers[0].in_shape)
            | {"format": _format_json(self.quantized.layers[0])["inputs"][0]},
            "layers": [self._layer_json(number, layer) for number, layer in enumerate(self.quantized.layers, 1)],
            "mixed_precision": self.mixed_precision and _mixed_precision_json(self.mixed_precision),
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


def measure_accuracy(quantization: Quantization, samples: Samples, messages: Console) -> QuantizeReport:
    """Measure the accuracy on all samples. Raises InputError where ONNX Runtime cannot run the float network."""
    calibration, quantized = quantization.calibration, quantization.quantized
    with steps(messages, f"measuring the accuracy on {len(samples.x)} samples"):
        floats = FloatScores.of(calibration.graph, calibration.model, samples)
        accuracy = Accuracy.of(quantized, floats)
    warnings = tuple(chance_warnings(floats))
    return QuantizeReport(quantized, calibration, accuracy, quantization.mixed_precision, warnings)


def print_quantization(report: QuantizeReport, console: Console, *, analysis: bool) -> None:
    """Print the formats of layers and weights, with `analysis` their statistics, and the accuracy."""
    console.print(_formats(report.quantized), "", _weights(report.quantized), sep="\n")
    if analysis:
        console.print()
        print_ranges(report.quantized, report.statistics, console)
    if report.mixed_precision:
        console.print()
        _print_mixed_precision(report.mixed_precision, console)
    console.print()
    for line in (*_accuracy(report.accuracy), *(f"warning: {text}" for text in report.warnings)):
        console.print(line, highlight=False, soft_wrap=True)


def _formats(quantized: QuantizedGraph) -> Table:
    table = plain_table("#", "layer", "kind", "input", "output", numbers=("bits",))
    for number, layer in enumerate(quantized.layers, 1):
        inputs = ", ".join(str(values) for values in layer.formats.inputs)
        y = layer.formats.y
        table.add_row(str(number), layer.layer.name, layer.layer.kind, inputs, str(y), str(y.bits))
    return table


def _weights(quantized: QuantizedGraph) -> Table:
    table = plain_table("#", "weights of", numbers=("bits", "SQNR dB", "division", "correction"))
    for number, layer in enumerate(quantized.layers, 1):
        formats = layer.formats
        if formats.weight_bits is None or formats.requantization is None:
            continue
        limit = 1 << (formats.weight_bits - 1)
        factors = (formats.weight_scales * limit, formats.requantization.corrections)
        cells = (str(formats.weight_bits), f"{weights_sqnr_db(layer):.1f}", *(_range(numbers) for numbers in factors))
        table.add_row(str(number), layer.layer.name, *cells)
    return table


def _range(numbers: NDArray[np.float64]) -> str:
    low, high = f"{numbers.min():.3g}", f"{numbers.max():.3g}"
    return low if low == high else f"{low}..{high}"


def _print_mixed_precision(mixed: MixedPrecision, console: Console) -> None:
    if not mixed.choices:
        console.print("mixed precision: 8 bits suffice everywhere")
    table = plain_table("#", "layer", "tensor", numbers=("bits", "SQNR dB alone\nin 8 bits", "added ms\nin 16 bits"))
    for choice in mixed.choices:
        tensor = _tensor_cells(mixed.quantized.graph, choice.tensor)
        table.add_row(*tensor, str(choice.bits), f"{choice.sqnr_db:.1f}", f"{MS * choice.extra_s:.3f}")
    if mixed.choices:
        console.print(table)
    console.print(f"mixed precision: {MS * mixed.seconds:.3f} ms estimated", highlight=False)


def _tensor_cells(graph: Graph, tensor: TensorName) -> tuple[str, str, str]:
    """Return number and name of the layer of a tensor, and what it is there; numbers are blank for the input."""
    for number, layer in enumerate(graph.layers, 1):
        if layer.output == tensor.name:
            return str(number), layer.name, "weights" if tensor.is_weights else "output"
    return "", tensor.name, "input"


def _accuracy(accuracy: Accuracy) -> Iterator[str]:
    for name, output in accuracy.outputs.items():
        of_output = f", output {name}" if len(accuracy.outputs) > 1 else ""
        agreement = "" if output.agreement is None else f", agreement {output.agreement:.3f}"
        ratio = f"{output.sqnr_db:.1f} dB SQNR{before_what(output.before)}"
        yield f"{accuracy.samples} samples{of_output}: {ratio}{agreement}"
        if output.drop_points is not None:
            lost = f"{output.drop_points:.2f} percentage points lost"
            yield f"top-1 {output.top1:.3f}, float {output.float_top1:.3f}: {lost}"


def _format_json(quantized: QuantizedLayer) -> dict[str, Any]:
    formats = quantized.formats
    return {
        "inputs": [{"name": str(values), **asdict(values)} for values in formats.inputs],
        "output": {"name": str(formats.y), **asdict(formats.y)},
        "weight_bits": formats.weight_bits,
        "requantization": formats.requantization and asdict(formats.requantization),
    }


def _weights_json(quantized: QuantizedLayer) -> dict[str, Any]:
    channels = zip(channel_statistics(quantized), channels_sqnr_db(quantized), strict=True)
    return _statistics_json(Statistics.of(quantized.layer.parameters["weights"])) | {
        "sqnr_db": _or_none(weights_sqnr_db(quantized)),
        "channels": [_statistics_json(channel) | {"sqnr_db": _or_none(sqnr_db)} for channel, sqnr_db in channels],
        "scales": quantized.formats.weight_scales.tolist(),
    }


def _or_none(number: float) -> float | None:
    """Return None for infinity, which JSON lacks: the SQNR without any quantization noise."""
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


def _mixed_precision_json(mixed: MixedPrecision) -> dict[str, Any]:
    choices = [
        {"tensor": str(c.tensor), "bits": c.bits, "sqnr_db": _or_none(c.sqnr_db), "extra_s": c.extra_s}
        for c in mixed.choices
    ]
    return {"seconds": mixed.seconds, "choices": choices}
