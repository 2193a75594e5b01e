"""Number formats of values, from their value ranges, and of weights, per channel; and the quantization to them.

Values get the Q format with the most fraction bits that holds their range. The weights of each output channel get a
scale that uses all their bits, as far as every accumulator provably fits 32 bits (`weight_scales`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from tinysplit.common.errors import InputError
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.fixed_point.arithmetic import ACCUMULATOR_MAX, MAX_SHIFT
from tinysplit.network.fixed_point.formats import QFormat, ValueFormat
from tinysplit.network.fixed_point.integer_layer import IntegerParameters
from tinysplit.network.fixed_point.layer_formats import Bounds, LayerFormats
from tinysplit.network.graph import Graph
from tinysplit.network.layers import Layer, MaxPool, Pad, Pads
from tinysplit.network.layers.pad import MINUS_INFINITY
from tinysplit.network.layers.softmax import Softmax
from tinysplit.network.quantized_graph import QuantizedGraph, QuantizedLayer
from tinysplit.quantize.weight_scales import FACTOR_BITS, correct, keep, largest_sum, refit

HALF_A_STEP = 0.5
FEW_WEIGHT_BITS = 8


def choose_formats(
    graph: Graph,
    ranges: Mapping[str, tuple[float, float]],
    bits: int | BitWidths,
    chosen_before: Mapping[str, ValueFormat] | None = None,
) -> tuple[LayerFormats, ...]:
    """Return the formats of every layer for `bits` (8 or 16) in values and weights, or in mixed precision.

    `ranges` holds minimum and maximum of the network's input and of every layer's `output`, by ONNX value name; values
    get the Q formats that hold them, except those with a format in `chosen_before`.
    Raises InputError where a range is missing or not finite, and where no format, or not that of a QDQ network, keeps a
    layer's sums in 32 bits.
    """
    return tuple(layer.formats for layer in _chosen(graph, ranges, bits, chosen_before or {}, {}))


def quantize_alike(
    graph: Graph,
    ranges: Mapping[str, tuple[float, float]],
    widths: BitWidths,
    chosen_before: Mapping[str, ValueFormat],
    fitted: dict[object, QuantizedLayer],
) -> QuantizedGraph:
    """Return the network in the formats of `choose_formats`: layers between the same formats are those in `fitted`.

    New ones are added to it. The errors are those of `choose_formats` and `quantize`.
    """
    layers = _chosen(graph, ranges, widths, chosen_before, fitted)
    bits = widest([layer.formats for layer in layers])
    values = {graph.input_name: layers[0].formats.x}
    for own in layers:
        _check_formats(own.layer, own.formats, [values[name] for name in own.layer.inputs], bits)
        values[own.layer.output] = own.formats.y
    return QuantizedGraph(graph, bits, layers)


def _chosen(
    graph: Graph,
    ranges: Mapping[str, tuple[float, float]],
    bits: int | BitWidths,
    chosen_before: Mapping[str, ValueFormat],
    fitted: dict[object, QuantizedLayer],
) -> tuple[QuantizedLayer, ...]:
    """Return the layers in the formats of `choose_formats`."""
    widths = BitWidths.of(graph, bits)
    in_file = {name: graph.qdq_formats[own] for name, own in graph.onnx_values.items() if own in graph.qdq_formats}
    wanted = _wanted_formats(graph, ranges, widths, {**chosen_before, **in_file})
    x = wanted[graph.input_name]
    values: dict[str, ValueFormat] = {graph.input_name: x}
    bounds = {graph.input_name: (x.low, x.high)}
    chosen = []
    for layer in graph.layers:
        inputs, input_bounds = [values[name] for name in layer.inputs], [bounds[name] for name in layer.inputs]
        weight_bits = widths.weights.get(layer.output)
        y = inputs[0] if _keeps_input_format(graph, layer, inputs[0], wanted[layer.output]) else wanted[layer.output]
        is_in_file = layer.output in in_file
        key = layer.output, tuple(inputs), y, tuple(input_bounds), weight_bits
        if key not in fitted:
            fitted[key] = _fit(layer, inputs, y, input_bounds, weight_bits, FACTOR_BITS[0] if is_in_file else 0)
        quantized = fitted[key]
        if is_in_file and not isinstance(layer, Softmax):
            _check_kept(layer, y, quantized.formats.y)
        chosen.append(quantized)
        values[layer.output] = quantized.formats.y
        bounds[layer.output] = _output_bounds(quantized)
    return tuple(chosen)


def keep_structure(graph: Graph, formats: Sequence[LayerFormats]) -> tuple[LayerFormats, ...]:
    """Return formats for a network of the same layers as one with `formats`, which differ in weight scales alone.

    Raises InputError for a network of other layers, and where weights are too large for these formats.
    """
    bounds = {graph.input_name: (formats[0].x.low, formats[0].x.high)} if formats else {}
    if len(formats) != len(graph.layers):
        raise InputError(f"the network has {len(graph.layers)} layers, the structure is of {len(formats)}")
    chosen = []
    for number, (layer, before) in enumerate(zip(graph.layers, formats, strict=True), 1):
        has_weights = "weights" in layer.parameters
        if len(layer.inputs) != len(before.inputs) or has_weights != (before.weight_bits is not None):
            raise InputError(f"layer {number} {layer.name!r} is of another kind than that of the structure")
        kept = refit(layer, before, bounds[layer.inputs[0]]) if has_weights else before
        if kept is None:
            raise InputError(
                f"layer {number} {layer.name!r}: its weights are too large for the formats of the structure: generate "
                "a structure of its own"
            )
        bounds[layer.output] = _output_bounds(QuantizedLayer.of(layer, kept, [bounds[name] for name in layer.inputs]))
        chosen.append(kept)
    return tuple(chosen)


def quantize(
    graph: Graph,
    formats: Sequence[LayerFormats],
    bits: int,
    parameters: Mapping[str, IntegerParameters] = MappingProxyType({}),
) -> QuantizedGraph:
    """Return the network in fixed point: no value and no weights have more than `bits` bits (8 or 16).

    `parameters` are weights and biases by the layers' outputs; those of other layers are rounded to nearest.
    Raises InputError where a sum could overflow or formats do not match.
    """
    layers = []
    x = formats[0].x
    values = {graph.input_name: x}
    bounds = {graph.input_name: (x.low, x.high)}
    for layer, chosen in zip(graph.layers, formats, strict=True):
        _check_formats(layer, chosen, [values[name] for name in layer.inputs], bits)
        quantized = QuantizedLayer.of(layer, chosen, [bounds[name] for name in layer.inputs])
        if layer.output in parameters:
            quantized = replace(quantized, parameters=parameters[layer.output])
        largest = largest_sum(quantized)
        if largest > ACCUMULATOR_MAX:
            raise InputError(f"layer {layer.name!r}: its sums can reach {largest}, which overflows 32 bits")
        values[layer.output] = chosen.y
        bounds[layer.output] = _output_bounds(quantized)
        layers.append(quantized)
    return QuantizedGraph(graph, bits, tuple(layers))


def quantized_by_file(graph: Graph, bits: int) -> QuantizedGraph | None:
    """Return the network in fixed point where its file has the formats of all values, else None: it is calibrated.

    Also None for a network without weights, and for one whose formats no layer can have.
    """
    if not graph.has_weights or not graph.qdq_formats.keys() >= set(graph.onnx_values.values()):
        return None
    try:
        formats = choose_formats(graph, {}, bits)
        return quantize(graph, formats, widest(formats))
    except InputError:
        return None


def widest(formats: Sequence[LayerFormats]) -> int:
    """Return the bits of the widest values or weights."""
    return max(bits for own in formats for bits in (own.y.bits, own.weight_bits or 0, *(x.bits for x in own.inputs)))


def _wanted_formats(
    graph: Graph, ranges: Mapping[str, tuple[float, float]], widths: BitWidths, given: Mapping[str, ValueFormat]
) -> dict[str, ValueFormat]:
    """Return the given formats, and the Q formats of the value ranges for other values."""
    owners = [f"input {graph.input_name!r}", *(f"layer {layer.name!r}" for layer in graph.layers)]
    return {
        name: given.get(name) or _wanted_format(ranges, name, owner, widths.values[name])
        for name, owner in zip(graph.value_names, owners, strict=True)
    }


def _wanted_format(ranges: Mapping[str, tuple[float, float]], value: str, owner: str, bits: int) -> QFormat:
    """Return the Q format of a value range."""
    if value not in ranges:
        raise InputError(f"{owner}: no range was measured for {value!r}; calibrate with samples of this model")
    low, high = ranges[value]
    if not (np.isfinite(low) and np.isfinite(high)):
        raise InputError(
            f"{owner}: the float network overflows (values from {low} to {high}); scale its samples or train it again"
        )
    return QFormat.for_range(bits, low, high)


def _keeps_input_format(graph: Graph, layer: Layer, x: ValueFormat, wanted: ValueFormat) -> bool:
    """Return whether a Pad leaves its input's format `x` as it is, because that is exact for its constant, too.

    It is where it holds the constant, where that stands for minus infinity, and where all readers take maxima, in which
    the lowest integer stands for a lower constant. A format of a QDQ network counts first.
    """
    if not isinstance(layer, Pad) or layer.onnx_value in graph.qdq_formats or x.bits != wanted.bits:
        return False
    lost = float(x.dequantize(x.quantize(np.array(layer.value)))) - layer.value
    if abs(lost) <= x.scale / 2 or layer.value <= MINUS_INFINITY:
        return True
    readers = [reader for reader in graph.layers if layer.output in reader.inputs]
    return lost > 0 and bool(readers) and all(_takes_maxima_inside(reader, layer) for reader in readers)


def _takes_maxima_inside(reader: Layer, pad: Pad) -> bool:
    """Return whether a layer behind a Pad is a maximum pool without windows of padding alone."""
    if not isinstance(reader, MaxPool) or any(pad.channels):
        return False
    pads = Pads(*(own + more for own, more in zip(pad.pads, reader.window.pads, strict=True)))
    return bool(replace(reader.window, pads=pads).counts(pad.in_shape).all())


def _fit(
    layer: Layer,
    inputs: Sequence[ValueFormat],
    wanted: ValueFormat,
    bounds: Sequence[Bounds],
    weight_bits: int | None,
    finer: int,
) -> QuantizedLayer:
    """Return a layer in fixed point; its output gets the format `wanted` or a coarser one, as in `correct`."""
    for name, parameter in layer.parameters.items():
        if not np.isfinite(parameter).all():
            raise InputError(f"layer {layer.name!r}: its {name} hold NaN or infinity; export the model again")
    formats: LayerFormats | None
    if weight_bits is None:
        formats = LayerFormats(tuple(inputs), layer.output_format(inputs, wanted))
    else:
        kept = keep(layer, inputs[0], wanted, bounds[0])
        formats = kept or correct(layer, inputs[0], wanted, bounds[0], weight_bits, finer)
    quantized = None if formats is None else QuantizedLayer.of(layer, formats, bounds)
    if quantized is None or largest_sum(quantized) > ACCUMULATOR_MAX or _loses_weights(quantized):
        raise InputError(
            f"layer {layer.name!r}: no {inputs[0].bits}-bit format keeps its sums in 32 bits; "
            "use fewer bits or a smaller layer"
        )
    return quantized


def _check_kept(layer: Layer, wanted: ValueFormat, output: ValueFormat) -> None:
    """Raise InputError for a layer whose sums allow only a coarser format than that of its pair."""
    if output.scale > wanted.scale and not layer.keeps_format:
        raise InputError(
            f"layer {layer.name!r}: the pair behind it has the scale {wanted.scale:g}, but its sums allow "
            f"{output.scale:g} or more: quantize the model again, with samples that cover its values"
        )


def few_weight_bits(quantized: QuantizedLayer) -> int:
    """Return how many bits, with sign, 16-bit weights use where 32-bit accumulators leave them 8 or fewer, else 0."""
    if quantized.parameters is None or (quantized.formats.weight_bits or 0) <= FEW_WEIGHT_BITS:
        return 0
    largest = int(np.abs(quantized.parameters.weights.astype(np.int64)).max())
    return largest.bit_length() + 1 if 0 < largest < 1 << (FEW_WEIGHT_BITS - 1) else 0


def _loses_weights(quantized: QuantizedLayer) -> bool:
    """Return whether all weights round to 0 although together they change the output by more than half a step."""
    layer, formats = quantized.layer, quantized.formats
    if quantized.parameters is None or quantized.parameters.weights.any():
        return False
    gain = np.abs(layer.by_channel(layer.parameters["weights"]).astype(np.float64)).sum(axis=1).max()
    largest_input = 2.0 ** (formats.x.bits - 1) * formats.x.scale
    return bool(gain * largest_input > HALF_A_STEP * formats.y.scale)


def _output_bounds(quantized: QuantizedLayer) -> Bounds:
    """Return integers between which a layer's output stays, zero among them for the padding of the next layer."""
    low, high = quantized.clamp
    formats, bounds = quantized.formats, quantized.bounds
    if quantized.layer.keeps_sign and all(b[0] >= x.zero_point for b, x in zip(bounds, formats.inputs, strict=True)):
        low = max(low, formats.y.zero_point)
    return min(low, formats.y.zero_point), max(high, formats.y.zero_point)


def _check_formats(layer: Layer, formats: LayerFormats, inputs: Sequence[ValueFormat], bits: int) -> None:
    """Raise InputError for formats that do not match the layer or the layers before it."""
    if not _belong_together(layer, formats, inputs, bits):
        raise InputError(f"layer {layer.name!r}: its formats do not match its kind, the layer before it or {bits} bits")
    if formats.shifted:
        for shift in (formats.shifted.pre_shift, formats.shifted.post_shift):
            if not 0 <= shift <= MAX_SHIFT:
                raise InputError(f"layer {layer.name!r}: a shift by {shift} bits is outside 0 to {MAX_SHIFT}")


def _belong_together(layer: Layer, formats: LayerFormats, inputs: Sequence[ValueFormat], bits: int) -> bool:
    """Return whether formats are valid for a layer of this kind after `inputs`."""
    has_weights = "weights" in layer.parameters
    widths = {q.bits for q in (*formats.inputs, formats.y)} | {formats.weight_bits or formats.x.bits}
    if formats.inputs != tuple(inputs) or max(widths) > bits or (formats.weight_bits is not None) != has_weights:
        return False
    if layer.keeps_integers and len(widths) > 1:
        return False
    if not has_weights:
        return not layer.keeps_format or formats.y == formats.x
    requantization = formats.requantization
    return requantization is not None and requantization.corrections.size in {1, layer.out_shape.channels}
