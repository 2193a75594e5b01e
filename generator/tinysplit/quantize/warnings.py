"""Warnings about values and weights that lose much accuracy in quantization, each with the name of its layer."""

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from tinysplit.common.units import PERCENT
from tinysplit.network.fixed_point.formats import ValueFormat
from tinysplit.network.layers.base import Shape
from tinysplit.network.quantized_graph import QuantizedGraph, QuantizedLayer
from tinysplit.quantize.choose_formats import few_weight_bits
from tinysplit.quantize.statistics import Statistics
from tinysplit.quantize.weight_scales import clipped_weights

NAMED_CHANNELS = 8
MOST_UNDERFLOW = 0.9  # of the values other than 0
MOST_DEAD = 0.5  # of the channels: so many are at the lower limit of a ReLU in all samples of trained networks


def quantization_warnings(quantized: QuantizedGraph, statistics: Mapping[str, Statistics]) -> Iterator[str]:
    """Yield a line for constant values and channels, for ranges that are too wide, and for weights that are zero."""
    graph = quantized.graph
    owners = [f"input {graph.input_name!r}", *(f"layer {layer.name!r}" for layer in graph.layers)]
    formats = [quantized.input_format, *(layer.formats.y for layer in quantized.layers)]
    shapes = [graph.layers[0].in_shape, *(layer.out_shape for layer in graph.layers)]
    makes_channels = [
        True,
        *("weights" in layer.parameters for layer in graph.layers),
    ]  # channels of other layers are those of their inputs
    lowest = [-np.inf, *(layer.activation.low for layer in graph.layers)]
    for owner, name, shape, values, is_new, low in zip(
        owners, graph.value_names, shapes, formats, makes_channels, lowest, strict=True
    ):
        seen = statistics[name]
        if seen.is_constant:
            yield f"{owner}: constant {seen.minimum:g} in all samples: calibrate with samples that cover its range"
        elif (share := seen.underflow(values)) > MOST_UNDERFLOW:
            yield (
                f"{owner}: {PERCENT * share:.0f} % of its values underflow to 0 in {values}: the value range "
                f"{seen.minimum:g} to {seen.maximum:g} is too wide for {values.bits} bits"
            )
        elif is_new:
            yield from _constant_channels(owner, shape, values, seen, low)
    for layer in quantized.layers:
        yield from _zero_channels(layer)
        yield from _coarse_weights(layer)
    if clipped := list(filter(None, map(clipped_weights, quantized.layers))):
        yield (
            f"{sum(clipped)} weights in {len(clipped)} layers are -128 in the file and -127 here: "
            "quantize with a range of -127 to 127 to avoid it"
        )


def print_warnings(quantized: QuantizedGraph, statistics: Mapping[str, Statistics], messages: Console) -> None:
    """Print the warnings about a quantized network."""
    for text in quantization_warnings(quantized, statistics):
        messages.print(f"warning: {text}", highlight=False, markup=False, soft_wrap=True)


def _constant_channels(owner: str, shape: Shape, values: ValueFormat, seen: Statistics, low: float) -> Iterator[str]:
    ranges = seen.channel_ranges(shape)
    if ranges is None:
        return
    spans = ranges[1] - ranges[0]
    constant = spans == 0
    dead = constant & (ranges[0] == low)
    if dead.mean() <= MOST_DEAD:
        constant &= ~dead
    if constant.any():
        named = f"{_channels(constant)} constant in all samples"
        yield f"{owner}: {named}: dead channels, or samples that do not cover the range"
    lost = (spans > 0) & (spans < values.scale)
    if lost.any():
        narrow = f"{_channels(lost)} within one step of {values}"
        yield f"{owner}: {narrow}: quantized to a constant, because other channels have a much larger range"


def _channels(chosen: NDArray[np.bool_]) -> str:
    """Name channels from 1, the first few of many."""
    numbers = (np.flatnonzero(chosen) + 1).tolist()
    more = "" if len(numbers) <= NAMED_CHANNELS else f" and {len(numbers) - NAMED_CHANNELS} more"
    named = ", ".join(map(str, numbers[:NAMED_CHANNELS]))
    return (
        f"channels {named}{more} of {chosen.size} are" if len(numbers) > 1 else f"channel {named} of {chosen.size} is"
    )


def _zero_channels(quantized: QuantizedLayer) -> Iterator[str]:
    layer = quantized.layer
    if "weights" not in layer.parameters:
        return
    zero = int((~layer.by_channel(layer.parameters["weights"]).any(axis=1)).sum())
    if zero == layer.out_shape.channels:
        yield f"layer {layer.name!r}: all its weights are zero: its output is constant (the bias)"
    elif zero:
        yield (
            f"layer {layer.name!r}: the weights of {zero} of its {layer.out_shape.channels} output channels are all "
            "zero: these channels are constant"
        )


def _coarse_weights(quantized: QuantizedLayer) -> Iterator[str]:
    if left := few_weight_bits(quantized):
        yield (
            f"layer {quantized.layer.name!r}: its 32-bit accumulators leave only {left} of 16 bits for its weights: "
            "8 bits or --bits auto may be more accurate"
        )
