"""Warnings about values and weights that fixed point can do little with, each named by its layer."""

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from tinysplit.common.units import PERCENT
from tinysplit.network.fixed_point.formats import ValueFormat
from tinysplit.network.layers.base import Shape
from tinysplit.network.quantized_graph import QuantizedGraph, QuantizedLayer
from tinysplit.quantize.choose_formats import few_weight_bits
from tinysplit.quantize.statistics import Statistics

NAMED_CHANNELS = 8
LARGEST_VANISHING = 0.9  # of the values that are not 0 anyway


def odd_values(quantized: QuantizedGraph, statistics: Mapping[str, Statistics]) -> Iterator[str]:
    """Yield a line for values and channels that never change, for ranges too wide, and for weights that are zero."""
    graph = quantized.graph
    owners = [f"input {graph.input_name!r}", *(f"layer {layer.name!r}" for layer in graph.layers)]
    formats = [quantized.input_format, *(layer.formats.y for layer in quantized.layers)]
    shapes = [graph.layers[0].in_shape, *(layer.out_shape for layer in graph.layers)]
    makes_channels = [True, *("weights" in layer.parameters for layer in graph.layers)]  # others pass on odd ones
    for owner, name, shape, values, is_new in zip(
        owners, graph.value_names, shapes, formats, makes_channels, strict=True
    ):
        seen = statistics[name]
        if seen.is_constant:
            yield f"{owner}: all samples give the value {seen.minimum:g} only: they never excite it, give others"
        elif (share := seen.vanishing(values)) > LARGEST_VANISHING:
            yield (
                f"{owner}: {PERCENT * share:.0f} % of its values become 0 in {values}: from {seen.minimum:g} to "
                f"{seen.maximum:g} they differ too much for {values.bits} bits"
            )
        elif is_new:
            yield from _odd_channels(owner, shape, values, seen)
    for layer in quantized.layers:
        yield from _silent_channels(layer)
        yield from _coarse_weights(layer)


def _odd_channels(owner: str, shape: Shape, values: ValueFormat, seen: Statistics) -> Iterator[str]:
    ranges = seen.channel_ranges(shape)
    if ranges is None:
        return
    spans = ranges[1] - ranges[0]
    if (spans == 0).any():
        yield f"{owner}: {_channels(spans == 0)} constant in all samples: dead, or not excited by these"
    faint = (spans > 0) & (spans < values.scale)
    if faint.any():
        yield f"{owner}: {_channels(faint)} within one step of {values}, nothing beside channels that are much larger"


def _channels(chosen: NDArray[np.bool_]) -> str:
    """Name channels from 1, the first few of many."""
    numbers = (np.flatnonzero(chosen) + 1).tolist()
    more = "" if len(numbers) <= NAMED_CHANNELS else f" and {len(numbers) - NAMED_CHANNELS} more"
    named = ", ".join(map(str, numbers[:NAMED_CHANNELS]))
    return (
        f"channels {named}{more} of {chosen.size} are" if len(numbers) > 1 else f"channel {named} of {chosen.size} is"
    )


def _silent_channels(quantized: QuantizedLayer) -> Iterator[str]:
    layer = quantized.trained
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


def _coarse_weights(quantized: QuantizedLayer) -> Iterator[str]:
    if left := few_weight_bits(quantized):
        yield (
            f"layer {quantized.layer.name!r}: sums of 32 bits leave its 16-bit weights only {left} bits: "
            "8 bits or --bits auto may be better"
        )
