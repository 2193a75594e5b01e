"""From floats to Q formats: one for a layer's weights, one for a tensor's values, chosen from the ranges seen.

Values and weights get the format with most fraction bits that holds their range. Sums have as many fraction bits as
values and weights together; the weights give up fraction bits until every sum provably fits 32 bits, and an output
never has more fraction bits than the sums that it is made from. So a kernel only ever shifts right, by 0 to 30 bits.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from tinysplit.errors import InputError
from tinysplit.fixed_point import ACCUMULATOR_MAX, MAX_SHIFT
from tinysplit.graph import NETWORK_INPUT, Graph
from tinysplit.layers.base import Layer
from tinysplit.qformat import QFormat
from tinysplit.quantized import LayerFormats, QuantizedGraph, QuantizedLayer

Bounds = tuple[int, int]
HALF_A_STEP = 0.5


def choose_formats(graph: Graph, ranges: Mapping[str, tuple[float, float]], bits: int) -> tuple[LayerFormats, ...]:
    """Return the formats of every layer for `bits` (8 or 16) in values and weights.

    `ranges` holds minimum and maximum of the network's input and of every layer's `output`, by ONNX value name.
    Raises InputError where a range is missing or no number, and where no format keeps a layer's sums in 32 bits.
    """
    x = _wanted_format(ranges, graph.input_name, f"input {graph.input_name!r}", bits)
    known = {NETWORK_INPUT: (x, (x.low, x.high))}
    chosen = []
    for index, layer in enumerate(graph.layers):
        (x, x_bounds), *others = (known[source] for source in graph.predecessors[index])
        wanted = _wanted_format(ranges, layer.output, f"layer {layer.name!r}", bits)
        formats = _fit(layer, x, x_bounds, layer.output_format(x, wanted))
        formats = replace(formats, others=tuple(q for q, _ in others))
        chosen.append(formats)
        known[index] = formats.y, _output_bounds(QuantizedLayer(layer, formats), x_bounds)
    return tuple(chosen)


def quantize(graph: Graph, formats: Sequence[LayerFormats], bits: int) -> QuantizedGraph:
    """Return the network in fixed point. Raises InputError where a sum could overflow or formats do not match."""
    layers = tuple(QuantizedLayer(layer, chosen) for layer, chosen in zip(graph.layers, formats, strict=True))
    x = formats[0].x
    known = {NETWORK_INPUT: (x, (x.low, x.high))}
    for index, quantized in enumerate(layers):
        inputs = [known[source] for source in graph.predecessors[index]]
        x_bounds = inputs[0][1]
        _check(quantized, [q for q, _ in inputs], x_bounds, bits)
        known[index] = quantized.formats.y, _output_bounds(quantized, x_bounds)
    return QuantizedGraph(graph, bits, layers)


def _wanted_format(ranges: Mapping[str, tuple[float, float]], value: str, owner: str, bits: int) -> QFormat:
    """Return the format that suits the range of a value."""
    if value not in ranges:
        raise InputError(f"{owner}: no range was measured for {value!r}; calibrate with samples of this model")
    low, high = ranges[value]
    if not (np.isfinite(low) and np.isfinite(high)):
        raise InputError(
            f"{owner}: its values range from {low} to {high}; look for NaN or infinity in model and samples"
        )
    return QFormat.for_range(bits, low, high)


def _fit(layer: Layer, x: QFormat, x_bounds: Bounds, wanted: QFormat) -> LayerFormats:
    """Return the formats of a layer whose output should have the format `wanted`."""
    for name, parameter in layer.parameters.items():
        if not np.isfinite(parameter).all():
            raise InputError(f"layer {layer.name!r}: its {name} hold NaN or infinity; export the model again")
    for formats in _candidates(layer, x, wanted):
        if layer.accumulator_bound(formats, x_bounds) <= ACCUMULATOR_MAX:
            if not _loses_weights(layer, formats):
                return formats
            break
    raise InputError(
        f"layer {layer.name!r}: no {x.bits}-bit format keeps its sums in 32 bits; use fewer bits or a smaller layer"
    )


def _candidates(layer: Layer, x: QFormat, wanted: QFormat) -> Iterator[LayerFormats]:
    """Yield formats with fewer and fewer fraction bits in the weights; just one for a layer without weights."""
    if "weights" not in layer.parameters:
        yield LayerFormats(x, wanted)
        return
    weights = layer.parameters["weights"]
    most = wanted.fraction_bits - x.fraction_bits + MAX_SHIFT
    if weights.any():
        most = min(most, QFormat.for_range(x.bits, float(weights.min()), float(weights.max())).fraction_bits)
    while True:
        y = QFormat(x.bits, min(wanted.fraction_bits, x.fraction_bits + most))
        yield LayerFormats(x, y, QFormat(x.bits, most))
        most -= 1


def _loses_weights(layer: Layer, formats: LayerFormats) -> bool:
    """Whether all weights vanish although together they move the output by more than half a step."""
    if formats.w is None or layer.constants(formats)["weights"].any():
        return False
    weights = np.moveaxis(layer.parameters["weights"], layer.channel_axis, 0).astype(np.float64)
    largest_sum = np.abs(weights).reshape(len(weights), -1).sum(axis=1).max() * 2.0 ** (formats.x.bits - 1)
    return bool(largest_sum * 2.0 ** (formats.y.fraction_bits - formats.x.fraction_bits) > HALF_A_STEP)


def _output_bounds(quantized: QuantizedLayer, x_bounds: Bounds) -> Bounds:
    """Return integers between which a layer's output stays, 0 among them for the padding of the next layer."""
    low, high = quantized.clamp
    if quantized.layer.keeps_sign and x_bounds[0] == 0:
        low = max(low, 0)
    return min(low, 0), max(high, 0)


def _check(quantized: QuantizedLayer, inputs: Sequence[QFormat], x_bounds: Bounds, bits: int) -> None:
    """Refuse formats that break the chain or the kernel's arithmetic."""
    layer, formats = quantized.layer, quantized.formats
    widths = {q.bits for q in (formats.x, formats.y, formats.w) if q}
    has_weights = "weights" in layer.parameters
    fitting = formats.y == layer.output_format(formats.x, formats.y) and (formats.w is not None) == has_weights
    if formats.inputs != tuple(inputs) or widths != {bits} or not fitting:
        raise InputError(f"layer {layer.name!r}: its formats do not match its kind, the layer before it or {bits} bits")
    if has_weights and not 0 <= formats.shift <= MAX_SHIFT:
        raise InputError(f"layer {layer.name!r}: a shift by {formats.shift} bits is outside 0 to {MAX_SHIFT}")
    bound = layer.accumulator_bound(formats, x_bounds)
    if bound > ACCUMULATOR_MAX:
        raise InputError(f"layer {layer.name!r}: its sums can reach {bound}, which overflows 32 bits")
