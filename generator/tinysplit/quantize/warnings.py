"""Warnings about values and weights that lose much accuracy in quantization, each with the name of its layer."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from tinysplit.common.units import PERCENT
from tinysplit.network.fixed_point.formats import FloatArray, ValueFormat
from tinysplit.network.integer_reference import CHUNK, LayerStates, quantize_input, run_layers
from tinysplit.network.layers.base import Shape
from tinysplit.network.layers.softmax import Softmax
from tinysplit.network.quantized_graph import QuantizedGraph, QuantizedLayer
from tinysplit.network.removal.removable_channels import removable_channels
from tinysplit.quantize.calibrate import Calibration
from tinysplit.quantize.choose_formats import few_weight_bits
from tinysplit.quantize.statistics import Statistics
from tinysplit.quantize.weight_scales import clipped_weights, rounded_again
from tinysplit.settings.fixed_point import BITS

NAMED_CHANNELS = 8
MOST_UNDERFLOW = 0.9  # of the values other than 0
MOST_SAMPLES = 128  # of which softmax outputs are computed
MOST_DEAD = 0.5  # of the channels: so many are at the lower limit of a ReLU in all samples of trained networks


@dataclass(frozen=True, kw_only=True)
class _Value:
    """A value of the network: an input, or the output of a layer. `lowest` is the least number that it can have."""

    owner: str
    name: str
    shape: Shape
    format: ValueFormat
    has_own_channels: bool  # channels of other values are those of the layer's inputs
    lowest: float
    is_softmax: bool = False  # of many classes, most are near 0


def _values(quantized: QuantizedGraph) -> Iterator[_Value]:
    graph = quantized.graph
    for end, own in zip(graph.inputs, quantized.input_formats, strict=True):
        yield _Value(
            owner=f"input {end.name!r}",
            name=end.name,
            shape=graph.shape_of(end.name),
            format=own,
            has_own_channels=True,
            lowest=_low(own),
        )
    for each in quantized.layers:
        layer, own = each.layer, each.formats.y
        if layer.keeps_integers:
            continue
        yield _Value(
            owner=f"layer {layer.name!r}",
            name=layer.output,
            shape=layer.out_shape,
            format=own,
            has_own_channels="weights" in layer.parameters,
            lowest=max(layer.activation.low, _low(own)),  # a pair may stand for a ReLU
            is_softmax=layer.kind == Softmax.kind,
        )


def quantization_warnings(quantized: QuantizedGraph, statistics: Mapping[str, Statistics]) -> Iterator[str]:
    """Yield a line for constant values and channels, for ranges that are too wide, and for weights that are zero.

    Nothing is said of channels that the network can lack: another line says how many are removed.
    """
    removable = removable_channels(quantized, multiple=1)
    for value in _values(quantized):
        seen, owner = statistics[value.name], value.owner
        if seen.is_constant:
            yield f"{owner}: constant {seen.minimum:g} in all samples: calibrate with samples that cover its range"
        elif not value.is_softmax and (share := seen.underflow(value.format)) > MOST_UNDERFLOW:
            yield (
                f"{owner}: {PERCENT * share:.0f} % of its values underflow to 0 in {value.format}: the value "
                f"range {seen.minimum:g} to {seen.maximum:g} is too wide for {value.format.bits} bits"
            )
        elif value.has_own_channels:
            yield from _constant_channels(value, seen, removable.get(value.name, ()))
    for layer in quantized.layers:
        yield from _zero_channels(layer, removable.get(layer.layer.output, ()))
        yield from _coarse_weights(layer)
        if channels := rounded_again(layer):
            yield (
                f"layer {layer.layer.name!r}: the weights of {channels} of its {layer.layer.out_shape.channels} output "
                "channels are no longer the integers of the file: their scales are much smaller than the largest one"
            )
    if clipped := list(filter(None, map(clipped_weights, quantized.layers))):
        yield (
            f"{sum(clipped)} weights in {len(clipped)} layers are -128 in the file and -127 here: "
            "quantize with a range of -127 to 127 to avoid it"
        )


def softmax_warnings(quantized: QuantizedGraph, x: FloatArray) -> Iterator[str]:
    """Yield a line for each softmax whose classes are all within one step of 0 on samples `x` (N x sample_shape).

    They may be where there are so many that each of them, all being equal, is below one step and a half.
    """
    layers = quantized.layers
    many = [k for k, own in enumerate(layers) if own.layer.kind == Softmax.kind and _may_be_coarse(own)]
    if not many:
        return
    coarse = dict.fromkeys(many, 0)
    x = x[:MOST_SAMPLES]
    states = LayerStates()
    for start in range(0, len(x), CHUNK):
        for k, values in enumerate(run_layers(quantized, quantize_input(quantized, x[start : start + CHUNK]), states)):
            if k in coarse:
                highest = values.max(axis=-1).astype(np.int64) - layers[k].formats.y.zero_point
                coarse[k] += int((highest <= 1).any(axis=(1, 2)).sum())
    for k, count in coarse.items():
        if count:
            layer, y = layers[k].layer, layers[k].formats.y
            yield (
                f"layer {layer.name!r}: all its {layer.out_shape.channels} classes are 0 or one step of {y} in {count} "
                f"of {len(x)} samples, being nearly equal: use 16 bits, or the values before the softmax"
            )


def _may_be_coarse(softmax: QuantizedLayer) -> bool:
    return softmax.layer.out_shape.channels * softmax.formats.y.scale * 3 > 2  # noqa: PLR2004 - a step and a half


def print_warnings(quantized: QuantizedGraph, calibration: Calibration, messages: Console) -> None:
    """Print the warnings about a quantized network."""
    x = calibration.samples.x
    for text in (*quantization_warnings(quantized, calibration.statistics), *softmax_warnings(quantized, x)):
        messages.print(f"warning: {text}", highlight=False, markup=False, soft_wrap=True)


def _low(values: ValueFormat) -> float:
    return float(values.dequantize(np.array(values.low)))


def _constant_channels(value: _Value, seen: Statistics, removable: tuple[int, ...]) -> Iterator[str]:
    ranges = seen.channel_ranges(value.shape)
    if ranges is None:
        return
    spans = ranges[1] - ranges[0]
    stays = np.isin(np.arange(spans.size), removable, invert=True)
    constant = (spans == 0) & stays
    dead = constant & (ranges[0] == value.lowest)
    if dead.mean() <= MOST_DEAD:
        constant &= ~dead
    if constant.any():
        named = f"{_channels(constant)} constant in all samples"
        yield f"{value.owner}: {named}: dead channels, or samples that do not cover the range"
    lost = (spans > 0) & (spans < value.format.scale) & stays
    if lost.any():
        narrow = f"{_channels(lost)} within one step of {value.format}"
        yield f"{value.owner}: {narrow}: quantized to a constant, because other channels have a much larger range"


def _channels(chosen: NDArray[np.bool_]) -> str:
    """Name channels from 1, the first few of many."""
    numbers = (np.flatnonzero(chosen) + 1).tolist()
    more = "" if len(numbers) <= NAMED_CHANNELS else f" and {len(numbers) - NAMED_CHANNELS} more"
    named = ", ".join(map(str, numbers[:NAMED_CHANNELS]))
    return (
        f"channels {named}{more} of {chosen.size} are" if len(numbers) > 1 else f"channel {named} of {chosen.size} is"
    )


def _zero_channels(quantized: QuantizedLayer, removable: tuple[int, ...]) -> Iterator[str]:
    layer = quantized.layer
    if "weights" not in layer.parameters:
        return
    zero = set(np.flatnonzero(~layer.by_channel(layer.parameters["weights"]).any(axis=1)).tolist())
    if len(zero) == layer.out_shape.channels:
        yield f"layer {layer.name!r}: all its weights are zero: its output is constant (the bias)"
    elif stays := len(zero.difference(removable)):
        yield (
            f"layer {layer.name!r}: the weights of {stays} of its {layer.out_shape.channels} output channels are all "
            "zero: these channels are constant"
        )


def _coarse_weights(quantized: QuantizedLayer) -> Iterator[str]:
    if left := few_weight_bits(quantized):
        yield (
            f"layer {quantized.layer.name!r}: its 32-bit accumulators leave only {left} of 16 bits for its weights: "
            f"8 bits or {BITS.option} auto may be more accurate"
        )
