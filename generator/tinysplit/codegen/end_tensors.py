"""The inputs and outputs of a network as C programs see them: `tinysplit.h` of libraries and of boards."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from tinysplit.network.fixed_point.formats import ValueFormat
from tinysplit.network.graph import Graph
from tinysplit.network.layers.arg_max import ArgMax
from tinysplit.network.layers.base import Shape
from tinysplit.network.layers.softmax import Softmax
from tinysplit.network.quantized_graph import QuantizedGraph


@dataclass(frozen=True)
class EndTensor:
    """An input or output: its place among the integers of all, its shape there, and what they stand for.

    `has_scores`: its softmax has a meaning, as its values are no probabilities or numbers of classes.
    """

    name: str
    offset: int
    shape: Shape
    format: ValueFormat
    has_scores: bool = False

    @property
    def low(self) -> int:
        """The least integer."""
        return -(1 << (self.format.bits - 1))


def input_tensors(quantized: QuantizedGraph) -> list[EndTensor]:
    """Return the inputs of a network, side by side."""
    graph = quantized.complete.graph
    return _tensors(graph, {end.name: end.name for end in graph.inputs}, quantized.input_formats)


def output_tensors(quantized: QuantizedGraph) -> list[EndTensor]:
    """Return the outputs of a network, side by side."""
    graph = quantized.complete.graph
    return _tensors(graph, {end.name: end.value for end in graph.outputs}, quantized.output_formats)


def _tensors(graph: Graph, values: Mapping[str, str], formats: Sequence[ValueFormat]) -> list[EndTensor]:
    """Return inputs or outputs; `values` has those on the boards by the names of the ends."""
    shapes = [graph.shape_of(value) for value in values.values()]
    offsets = accumulate((shape.size for shape in shapes), initial=0)
    scores = [_has_scores(graph, value) for value in values.values()]
    return [EndTensor(*each) for each in zip(values, offsets, shapes, formats, scores, strict=False)]


def _has_scores(graph: Graph, value: str) -> bool:
    decided = {layer.output for layer in graph.layers if isinstance(layer, Softmax | ArgMax)}
    return value not in decided
