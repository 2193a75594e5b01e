"""Tables of the statistics behind the formats: of values, of weights, and per channel."""

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from tinysplit.common.tables import plain_table
from tinysplit.network.fixed_point.formats import QFormat
from tinysplit.network.quantized_graph import QuantizedGraph, QuantizedLayer
from tinysplit.quantize.read_errors import ReadError
from tinysplit.quantize.statistics import Statistics, decibels

SPARKS = " ▁▂▃▄▅▆▇█"
SPARK_COLUMNS = 12
CHANNEL_BINS = 16  # of a channel's histogram, at most, on either side of zero
QUANTILES = {"min": 0.0, "25 %": 0.25, "median": 0.5, "75 %": 0.75, "max": 1.0}
MOMENTS = ("min", "max", "mean", "variance", "SQNR dB", "histogram")


def weights_sqnr_db(quantized: QuantizedLayer) -> float:
    """Return the SQNR of a layer's weights in dB."""
    signal, noise = _powers(quantized)
    return decibels(float(signal.sum()), float(noise.sum()))


def channels_sqnr_db(quantized: QuantizedLayer) -> list[float]:
    """Return the SQNR of each output channel's weights in dB."""
    signal, noise = (power.tolist() for power in _powers(quantized))
    return [decibels(*powers) for powers in zip(signal, noise, strict=True)]


def channel_statistics(quantized: QuantizedLayer) -> list[Statistics]:
    """Return the statistics of each output channel's weights."""
    weights = quantized.layer.by_channel(quantized.layer.parameters["weights"])
    return [Statistics.of(channel, CHANNEL_BINS) for channel in weights]


def has_weights(quantized: QuantizedLayer) -> bool:
    """Return whether a layer has weights."""
    return "weights" in quantized.layer.parameters


def print_ranges(quantized: QuantizedGraph, statistics: Mapping[str, Statistics], console: Console) -> None:
    """Print statistics of values and weights, then how much their channels differ."""
    console.print(_numbers(quantized, statistics), "", sep="\n")
    console.print("Largest magnitude per channel:", highlight=False)
    console.print(_spreads(quantized, statistics), "", sep="\n")
    console.print("Output channels with the least and the greatest weights:", highlight=False)
    console.print(_extreme_channels(quantized))


def _powers(quantized: QuantizedLayer) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the sums of squares of each channel's weights, and of their rounding errors."""
    layer = quantized.layer
    weights = layer.by_channel(layer.parameters["weights"]).astype(np.float64)
    steps = quantized.formats.weight_scales[:, np.newaxis]
    rounded = layer.by_channel(quantized.constants["weights"]) * steps
    return (weights**2).sum(axis=1), ((rounded - weights) ** 2).sum(axis=1)


def _numbers(quantized: QuantizedGraph, statistics: Mapping[str, Statistics]) -> Table:
    table = plain_table("tensor", "format", numbers=MOMENTS)
    for number, (name, values) in enumerate(quantized.formats.items()):
        seen = statistics[name]
        shown = str(values) if isinstance(values, QFormat) else f"{values.scale:.3g}"  # the scale: names are longer
        sqnr_db = ReadError.of(quantized.graph, name, statistics).sqnr_db(values)
        table.add_row(_value_label(number), shown, *_moments(seen, sqnr_db))
    for number, layer in _weighted(quantized):
        seen = Statistics.of(layer.layer.parameters["weights"])
        text = f"{layer.formats.weight_bits} bits"
        table.add_row(f"weights of {number}", text, *_moments(seen, weights_sqnr_db(layer)))
    return table


def _spreads(quantized: QuantizedGraph, statistics: Mapping[str, Statistics]) -> Table:
    table = plain_table("tensor", numbers=("channels", *QUANTILES))
    layers = quantized.graph.layers
    shapes = [layers[0].in_shape, *(layer.out_shape for layer in layers)]
    for number, (name, shape) in enumerate(zip(quantized.graph.value_names, shapes, strict=True)):
        ranges = statistics[name].channel_ranges(shape)
        if ranges is not None:
            table.add_row(_value_label(number), *_quantiles(np.abs(ranges).max(axis=0)))
    for number, layer in _weighted(quantized):
        table.add_row(f"weights of {number}", *_quantiles(_largest(layer)))
    return table


def _extreme_channels(quantized: QuantizedGraph) -> Table:
    table = plain_table("layer: channel", numbers=MOMENTS)
    for number, layer in _weighted(quantized):
        largest, channels, sqnr_db = _largest(layer), channel_statistics(layer), channels_sqnr_db(layer)
        for channel, what in ((int(largest.argmin()), "min"), (int(largest.argmax()), "max")):
            label = f"{number}: {channel + 1} ({what})"
            table.add_row(label, *_moments(channels[channel], sqnr_db[channel]))
    return table


def _weighted(quantized: QuantizedGraph) -> Iterator[tuple[int, QuantizedLayer]]:
    return ((number, layer) for number, layer in enumerate(quantized.layers, 1) if has_weights(layer))


def _largest(quantized: QuantizedLayer) -> NDArray[np.float64]:
    """Return the largest absolute weight of each channel."""
    weights = quantized.layer.by_channel(quantized.layer.parameters["weights"])
    largest: NDArray[np.float64] = np.abs(weights).max(axis=1).astype(np.float64)
    return largest


def _value_label(number: int) -> str:
    return f"output of {number}" if number else "input"


def _quantiles(numbers: NDArray[np.float64]) -> list[str]:
    return [str(numbers.size), *(f"{quantile:.3g}" for quantile in np.quantile(numbers, list(QUANTILES.values())))]


def _moments(statistics: Statistics, sqnr_db: float) -> list[str]:
    numbers = (statistics.minimum, statistics.maximum, statistics.mean, statistics.variance)
    return [*(f"{number:.3g}" for number in numbers), f"{sqnr_db:.1f}", _sparkline(statistics)]


def _sparkline(statistics: Statistics) -> str:
    """Return a histogram of the numbers that are not 0 from their minimum to their maximum, in roots of the counts."""
    columns = np.array_split(statistics.bins, min(SPARK_COLUMNS, len(statistics.bins)))
    heights = np.array([column.sum() for column in columns], np.float64) ** 0.5
    scaled = np.ceil(heights / max(heights.max(), 1e-9) * (len(SPARKS) - 1)).astype(int)
    return "".join(SPARKS[height] for height in scaled)
