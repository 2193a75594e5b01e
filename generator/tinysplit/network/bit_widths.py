"""Bit widths of every value and every layer's weights."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from tinysplit.common.choices import LONG_BITS, SHORT_BITS
from tinysplit.common.errors import InputError
from tinysplit.network.fixed_point.layer_formats import LayerFormats
from tinysplit.network.graph import Graph
from tinysplit.network.layers.base import Layer
from tinysplit.network.quantized_graph import QuantizedGraph

_SUM_BITS = 31
_MEAN_SQUARE = 1 / 8  # of values, relative to the square of the largest: an assumption
_FEW_INPUTS = 1400  # of which 16 bits always have the smaller error (by the inequality of Cauchy and Schwarz)


class Widths(NamedTuple):
    """Bits of a layer's values in, values out and weights; a layer without weights has those of its values."""

    x: int
    y: int
    w: int

    @classmethod
    def of(cls, formats: LayerFormats) -> Self:
        """Return the widths of these formats."""
        return cls(formats.x.bits, formats.y.bits, formats.weight_bits or formats.x.bits)

    @classmethod
    def all(cls, bits: int) -> Self:
        """Return one width for everything."""
        return cls(bits, bits, bits)


@dataclass(frozen=True)
class BitWidths:
    """8 or 16 bits: `values` by ONNX value name, `weights` by the output of the layer that has them."""

    values: Mapping[str, int]
    weights: Mapping[str, int]

    @classmethod
    def all(cls, graph: Graph, bits: int) -> Self:
        """Return one width for everything; 16 bits for what needs them, as the number of one of many classes."""
        weighted = [layer.output for layer in graph.layers if "weights" in layer.parameters]
        widths = cls(dict.fromkeys(graph.value_names, bits), dict.fromkeys(weighted, bits))
        for layer in graph.layers:
            if layer.least_bits > bits:
                widths = widths.with_value(graph, layer.output, bits)
        return widths

    @classmethod
    def of(cls, graph: Graph, bits: "int | BitWidths") -> "BitWidths":
        """Return `bits` as bit widths: a single width is that of everything.

        With two exceptions: what the file of a quantized (QDQ) network has formats for has their width, and of 16 bits,
        a layer with thousands of inputs has inputs of 8 where that makes the rounding error of its 32-bit sums smaller.
        """
        if not isinstance(bits, int):
            return bits
        widths = cls.all(graph, bits).as_in_file(graph)
        if bits == LONG_BITS:
            for layer in graph.layers:
                if widths.weights.get(layer.output) == LONG_BITS and _input_bits(layer) == SHORT_BITS:
                    widths = widths.with_value(graph, graph.format_source(layer.inputs[0]), SHORT_BITS)
        return widths

    def as_in_file(self, graph: Graph) -> "BitWidths":
        """Return these with the widths that the formats of a quantized network have, and its weights of 8 bits.

        Raises InputError for several inputs or outputs of different widths.
        """
        if not graph.qdq_formats:
            return self
        onnx_values = graph.onnx_values
        values = dict(self.values)
        for name, layer in zip(graph.value_names, (None, *graph.layers), strict=True):
            in_file = graph.qdq_formats.get(onnx_values[name])
            if in_file:
                values[name] = in_file.bits
            elif layer and layer.keeps_format:
                values[name] = values[layer.inputs[0]]
        for layer in graph.layers:
            if layer.keeps_integers:
                values |= _width_side_by_side(graph, graph.of_one_width(layer.output))
        kept = {layer.output: SHORT_BITS for layer in graph.layers if layer.qdq_scales is not None}
        return replace(self, values=values, weights={**self.weights, **kept})

    @classmethod
    def of_quantized(cls, quantized: QuantizedGraph) -> Self:
        """Return the widths of a network in fixed point."""
        return cls(
            {name: formats.bits for name, formats in quantized.formats.items()},
            {layer.layer.output: bits for layer in quantized.layers if (bits := layer.formats.weight_bits)},
        )

    @property
    def widest(self) -> int:
        """Bits of the widest value or weights."""
        return max(*self.values.values(), *self.weights.values())

    def size_bytes(self, graph: Graph, source: int) -> int:
        """Return the bytes of a layer's output, or of the network's input (NETWORK_INPUT)."""
        return graph.size(source) * self.values[graph.value_names[source + 1]] // 8

    def of_layer(self, layer: Layer) -> Widths:
        """Return the bit widths of a layer's kernel; of several inputs the widest counts."""
        x = max(map(self.values.__getitem__, layer.inputs))
        return Widths(x, self.values[layer.output], self.weights.get(layer.output, x))

    def with_value(self, graph: Graph, name: str, bits: int) -> Self:
        """Return these with another bit width for a value, and for those that have its format or lie side by side.

        Where one of them needs 16 bits, all have them.
        """
        bits = max(bits, graph.least_bits(name))
        return replace(self, values={**self.values, **dict.fromkeys(graph.of_one_width(name), bits)})

    def with_weights(self, name: str, bits: int) -> Self:
        """Return these with another bit width for the weights of the layer with this output."""
        return replace(self, weights=dict(self.weights) | {name: bits})


def _width_side_by_side(graph: Graph, names: Iterable[str]) -> dict[str, int]:
    """Return the width of values of one width, where the file has formats for some. Raises InputError for several."""
    onnx_values = graph.onnx_values
    formats = {own: graph.qdq_formats[own] for name in names if (own := onnx_values[name]) in graph.qdq_formats}
    first = {values.bits: own for own, values in sorted(formats.items())}
    if len(first) > 1:
        named = " and ".join(f"'{own}' {bits} bits" for bits, own in sorted(first.items()))
        raise InputError(
            f"{named} have different widths: all inputs of a network need one width, and so do its outputs; quantize "
            "it again"
        )
    return {name: bits for bits in first for name in names}


def _input_bits(layer: Layer) -> int:
    """Return the bits of inputs, 8 or 16, with which a layer of 16-bit weights has the smaller error of its sums.

    The finer the inputs are, the coarser the weights have to be for sums to fit 32 bits.
    """
    weights = layer.by_channel(layer.parameters["weights"]).astype(np.float64)
    if weights.shape[1] <= _FEW_INPUTS:
        return LONG_BITS
    errors = {bits: _error_of_sums(weights, bits) for bits in (LONG_BITS, SHORT_BITS)}
    return min(errors, key=lambda bits: errors[bits])


def _error_of_sums(weights: NDArray[np.float64], input_bits: int) -> float:
    """Return the mean squared rounding error, times 12, of all sums (`weights`: channels x inputs) of values <= 1."""
    largest, total = np.abs(weights).max(axis=1), np.abs(weights).sum(axis=1)
    step = 2.0 ** (1 - input_bits)
    weight_steps = np.maximum(largest * 2.0 ** (1 - LONG_BITS), total / step * 2.0**-_SUM_BITS)
    return float(((weights**2).sum(axis=1) * step**2 + weights.shape[1] * _MEAN_SQUARE * weight_steps**2).sum())
