"""Value ranges for tests that choose formats: whole ones, and those that calibration would clip to."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tinysplit.network.graph import Graph
from tinysplit.quantize.statistics import Statistics, value_statistics


def value_ranges(model: Path, names: Iterable[str], x: NDArray[np.float32]) -> dict[str, tuple[float, float]]:
    """Return minimum and maximum of the named values of the float network over all samples."""
    return {name: values.range for name, values in value_statistics(model, names, x).items()}


def ranges_of(graph: Graph, model: Path, x: NDArray[np.float32]) -> dict[str, tuple[float, float]]:
    """Return minimum and maximum of all values of the network; layers that copy have those of what they copy."""
    joined = graph.side_by_side
    onnx_values = {name: own for name, own in graph.onnx_values.items() if name not in joined}
    found = value_ranges(model, onnx_values.values(), x)
    ranges = {name: found[own] for name, own in onnx_values.items()}
    for name, values in joined.items():
        lows, highs = zip(*(ranges[value] for value in values), strict=True)
        ranges[name] = (min(lows), max(highs))
    return ranges


def clipped_ranges(statistics: Mapping[str, Statistics], bits: int) -> dict[str, tuple[float, float]]:
    """Return the value ranges whose formats of `bits` bits have the least mean squared error."""
    return {name: values.clipped(bits) for name, values in statistics.items()}
