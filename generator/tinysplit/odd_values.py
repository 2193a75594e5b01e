"""Warnings about values and weights that fixed point can do little with, each named by its layer."""

from collections.abc import Iterator, Mapping

from tinysplit.quantized import QuantizedGraph, QuantizedLayer
from tinysplit.range_analysis import Statistics
from tinysplit.units import PERCENT

LARGEST_VANISHING = 0.9  # of the values that are not 0 anyway


def odd_values(quantized: QuantizedGraph, statistics: Mapping[str, Statistics]) -> Iterator[str]:
    """Yield a line for values that never change, for ranges that are too wide, and for weights that are zero."""
    graph = quantized.graph
    owners = [f"input {graph.input_name!r}", *(f"layer {layer.name!r}" for layer in graph.layers)]
    formats = [quantized.input_format, *(layer.formats.y for layer in quantized.layers)]
    for owner, name, values in zip(owners, graph.value_names, formats, strict=True):
        seen = statistics[name]
        if seen.is_constant:
            yield f"{owner}: all samples give the value {seen.minimum:g} only: they never excite it, give others"
        elif (share := seen.vanishing(values)) > LARGEST_VANISHING:
            yield (
                f"{owner}: {PERCENT * share:.0f} % of its values become 0 in {values}: from {seen.minimum:g} to "
                f"{seen.maximum:g} they differ too much for {values.bits} bits"
            )
    for layer in quantized.layers:
        yield from _silent_channels(layer)


def _silent_channels(quantized: QuantizedLayer) -> Iterator[str]:
    layer = quantized.layer
    if "weights" not in layer.parameters:
        return
    silent = int((~layer.by_channel(layer.parameters["weights"]).any(axis=1)).sum())
    if silent == layer.out_shape.channels:
        yield f"layer {layer.name!r}: all its weights are zero: its output is its bias"
    elif silent:
        yield (
            f"layer {layer.name!r}: the weights of {silent} of its {layer.out_shape.channels} output channels are all "
            "zero: these are constant"
        )
