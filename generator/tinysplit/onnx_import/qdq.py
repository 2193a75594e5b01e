"""Quantized networks in QDQ format: QuantizeLinear and DequantizeLinear pairs around float operators.

Pairs on activations are removed, so that the float network is imported like any other; their scales and zero points
become the formats of the values. Pairs of constants fold to constants: weights that are integers in the file, or that a
pair rounds (QAT); their scale becomes that of the weights.

Behind an operator that keeps the format of its input, a pair can only clamp: quantizers drop a Relu that a pair
implies. Such a pair becomes a Clip.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, numpy_helper

from tinysplit.common.errors import InputError
from tinysplit.network.fixed_point.formats import ValueFormat
from tinysplit.network.layers import Activation, Layer
from tinysplit.network.onnx_file.integer_ends import IN_PAIRS, MOVING
from tinysplit.onnx_import.node import Constant
from tinysplit.onnx_import.qdq_nodes import Network

MOST_COARSE = 1.5  # steps of a value's format in those of another pair behind it
MOST_SATURATED = 1 / 16  # of the range of such a pair


@dataclass(frozen=True, eq=False)
class QdqFormats:
    """Formats of a QDQ network: of activations by value name, scales of weights by node name."""

    values: Mapping[str, ValueFormat] = field(default_factory=dict)
    weight_scales: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)

    def saturated(self, layer: Layer) -> Layer:
        """Return a layer with the ends of its output's format in its clamp, before another operator folds into it."""
        if layer.output not in self.values:
            return layer
        lowest, highest = _ends(self.values[layer.output])
        low, high = np.clip(np.array([layer.activation.low, layer.activation.high]), lowest, highest).tolist()
        return replace(layer, activation=Activation(low, high))

    def activation(self, layer: Layer) -> Activation:
        """Return the clamp of a layer without the bounds that the format of its output has, except a ReLU."""
        values = self.values.get(layer.output)
        low = layer.activation.low
        high = layer.activation.high
        if values is None or layer.keeps_format:
            return layer.activation
        lowest, highest = _ends(values)
        return Activation(-np.inf if low <= lowest < 0 else low, np.inf if high >= highest else high)


def extract_qdq(model: ModelProto, constants: Mapping[str, Constant]) -> tuple[ModelProto, QdqFormats]:
    """Return the float network without pairs on activations, and their formats. The model is not changed.

    `constants` are the values that do not depend on the network's input, by name.
    Raises InputError for pairs that do not belong together, for several pairs of one value whose formats differ, for
    widths of activations other than 8 and 16 bits, and for scales of blocks.
    """
    float_model = ModelProto()
    float_model.CopyFrom(model)
    network = Network(float_model, constants)
    pairs = _Pairs(float_model, network)
    for node in network.nodes:
        pairs.remove(node)
    steps = {node.name: step for node in network.nodes if (step := network.weight_scale(node)) is not None}
    _reconnect(float_model, pairs.replaced)
    return float_model, QdqFormats(pairs.formats, steps)


def _reconnect(model: ModelProto, replaced: Mapping[str, str]) -> None:
    """Connect the readers of dequantized values to the values before quantization, and remove the pairs."""
    kept = [node for node in model.graph.node if node.output[0] not in replaced]
    outputs = {output.name for output in model.graph.output}
    for node in kept:
        for index, name in enumerate(node.input):
            node.input[index] = replaced.get(name, name)
    ends = [onnx.helper.make_node("Identity", [replaced[name]], [name]) for name in outputs if name in replaced]
    del model.graph.node[:]
    model.graph.node.extend([*kept, *ends])


_ByFormat = dict[ValueFormat, NodeProto]  # the first QuantizeLinear of each format


def _quantizers(network: Network) -> dict[str, NodeProto]:
    """Return, by value, the QuantizeLinear whose format the layer that computes it should give it.

    That is the one behind the value, also behind operators that keep formats, where all readers agree. A reader without
    a pair takes the format that the others have, unless it implies a Relu.
    Raises InputError where pairs of one value have other formats.
    """
    chosen: dict[str, NodeProto] = {}
    pairs: dict[str, _ByFormat] = {}  # of the pairs of each value, in any layout
    for name in reversed([*network.inputs, *(node.output[0] for node in network.nodes)]):
        pairs[name], behind, is_read_unquantized = _pairs_behind(network, name, chosen, pairs)
        writer = network.writers.get(name)
        is_stored = writer is None or writer.op_type not in {*MOVING, "QuantizeLinear", "DequantizeLinear"}
        lost = list(pairs[name].values())[1:]
        if len(pairs[name]) == 1:
            lost = [node for other, node in behind.items() if not _holds(next(iter(pairs[name])), other)]
        if is_stored and lost:
            raise _contradiction(network, name, next(iter(pairs[name].values())), lost[0])
        agreed = pairs[name] | behind
        if len(pairs[name]) == 1 or (len(agreed) == 1 and not is_read_unquantized):
            own_format, quantize = next(iter(agreed.items()))
            if not is_read_unquantized or not network.drops_relu(name, own_format):
                chosen[name] = quantize
    return chosen


def _pairs_behind(
    network: Network, name: str, chosen: Mapping[str, NodeProto], pairs: Mapping[str, _ByFormat]
) -> tuple[_ByFormat, _ByFormat, bool]:
    """Return the pairs of a value itself, those behind operators that keep formats, and whether others read it, too."""
    of_value: _ByFormat = {}
    behind: _ByFormat = {}
    is_read_unquantized = name in network.outputs
    for reader in network.readers(name):
        kind, output = reader.op_type, reader.output[0]
        if kind == "QuantizeLinear":
            of_value.setdefault(network.format(reader), reader)
        elif network.keeps_format(reader) and reader.input[0] == name and output in chosen:
            behind.setdefault(network.format(chosen[output]), chosen[output])
        else:
            is_read_unquantized |= kind != "Shape"
        if kind in MOVING and reader.input[0] == name:
            of_value |= pairs[output]
    return of_value, behind, is_read_unquantized


def _holds(values: ValueFormat, other: ValueFormat) -> bool:
    """Return whether values of the format `other` lose little in the format `values`."""
    ends = other.dequantize(np.array([other.low, other.high]))
    saturated = np.abs(values.dequantize(values.quantize(ends)) - ends).max()
    return bool(saturated <= MOST_SATURATED * np.ptp(ends) and values.scale <= MOST_COARSE * other.scale)


def _contradiction(network: Network, name: str, first: NodeProto, second: NodeProto) -> InputError:
    return InputError(
        f"'{name}' is quantized as {network.described(first)} and as {network.described(second)}: not supported; "
        "give all its readers the same scale, zero point and type"
    )


def _ends(values: ValueFormat) -> list[float]:
    """Return the smallest and the largest number of a format, in float32."""
    ends: list[float] = values.dequantize(np.array([values.low, values.high])).astype(np.float32).tolist()
    return ends


def _narrowed(values: ValueFormat, held: ValueFormat | None) -> tuple[float, float]:
    """Return the bounds of `values` that clamp values of the format `held` (None: any), infinite where they do not."""
    low, high = values.dequantize(np.array([values.low, values.high])).tolist()
    if held is None:
        return low, high
    return (
        low if held.quantize(np.array(low)) > held.low else -np.inf,
        high if held.quantize(np.array(high)) < held.high else np.inf,
    )


class _Pairs:
    """Removes the pairs on activations of `model`, node by node in their order.

    `formats` are those of values before quantization and behind a Clip; `replaced` has the values that stand for those
    of removed nodes.
    """

    def __init__(self, model: ModelProto, network: Network) -> None:
        self.model = model
        self.network = network
        self.formats = {name: network.format(node) for name, node in _quantizers(network).items()}
        self.replaced: dict[str, str] = {}
        self._held: dict[str, ValueFormat | None] = {name: self.formats.get(name) for name in network.inputs}
        self._integers: dict[str, NodeProto] = {}  # the QuantizeLinear of integer values

    def remove(self, node: NodeProto) -> None:
        """Remove `node` if it belongs to a pair. Raises InputError for pairs that do not belong together."""
        source, output = node.input[0], node.output[0]
        quantize = self._integers.get(source)
        source = self.replaced.get(source, source)
        if node.op_type == "QuantizeLinear":
            self.network.check_readers(node)
            self._integers[output] = node
            self.replaced[output] = source
        elif node.op_type == "DequantizeLinear":
            self._dequantize(node, source, quantize)
        else:
            self._held[output] = self._held.get(source) if self.network.keeps_format(node) else self.formats.get(output)
            if quantize is not None and node.op_type in IN_PAIRS:
                self._integers[output] = quantize
                if node.op_type == "Clip":
                    values = self.network.format(quantize)
                    low, high = (self.network.real_bound(node, index, values) for index in (1, 2))
                    self._make_clip(node, source, low, high, values)

    def _dequantize(self, node: NodeProto, source: str, quantize: NodeProto | None) -> None:
        if quantize is None:
            writer = self.network.writers.get(node.input[0])
            origin = writer.op_type if writer else f"second output '{node.input[0]}'"
            raise InputError(f"DequantizeLinear '{node.name}' reads a {origin}: not supported")
        output = node.output[0]
        values = self.network.format_of_pair(quantize, node)
        held = self._held.get(source)
        low, high = _narrowed(values, held)
        if np.isfinite([low, high]).any():
            self._make_clip(node, source, low, high, values)
        else:
            self.replaced[output] = source

    def _make_clip(self, node: NodeProto, source: str, low: float, high: float, values: ValueFormat) -> None:
        """Turn a node into a Clip of a value before quantization to `values`."""
        output = node.output[0]
        limits = {f"{output}_low": low, f"{output}_high": high}
        tensors = [numpy_helper.from_array(np.array(limit, np.float32), name) for name, limit in limits.items()]
        self.model.graph.initializer.extend(tensors)
        node.CopyFrom(onnx.helper.make_node("Clip", [source, *limits], [output], name=node.name))
        self.formats[output] = self._held[output] = values
