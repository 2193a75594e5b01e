"""How many bits every value and every layer's weights have."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

from tinysplit.graph import Graph

SHORT, LONG = 8, 16


@dataclass(frozen=True)
class BitWidths:
    """8 or 16 bits: `values` by ONNX value name, `weights` by the output of the layer that has them."""

    values: Mapping[str, int]
    weights: Mapping[str, int]

    @classmethod
    def all(cls, graph: Graph, bits: int) -> Self:
        """Return one width for everything."""
        weighted = [layer.output for layer in graph.layers if "weights" in layer.parameters]
        return cls(dict.fromkeys(graph.value_names, bits), dict.fromkeys(weighted, bits))

    def with_value(self, graph: Graph, name: str, bits: int) -> Self:
        """Return the widths with another one for a value, and for those that have its format."""
        values = dict(self.values) | {name: bits}
        for layer in graph.layers:
            if layer.keeps_format:
                values[layer.output] = values[layer.inputs[0]]
        return replace(self, values=values)

    def with_weights(self, name: str, bits: int) -> Self:
        """Return the widths with another one for the weights of the layer with this output."""
        return replace(self, weights=dict(self.weights) | {name: bits})
