"""Analysis of a network: MACs, weights and activations of every layer and in total."""

from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from tinysplit.common.tables import plain_table
from tinysplit.common.units import KB
from tinysplit.network.graph import Graph
from tinysplit.network.layers import Layer, Shape
from tinysplit.network.layers.base import FLOAT_BITS


@dataclass(frozen=True)
class LayerAnalysis:
    """One layer; `number` counts from 1, activations are inputs plus output, bytes are for float32 and quantized."""

    number: int
    name: str
    kind: str
    in_shape: Shape
    out_shape: Shape
    activation: str  # "ReLU6"; "" for none
    params: int
    macc: int
    weights_bytes: int
    activations_bytes: int
    quantized_weights_bytes: int
    quantized_activations_bytes: int


@dataclass(frozen=True)
class Totals:
    """The whole network with values of `bits` bits; activations are the peak while a layer runs."""

    bits: int
    depth: int
    params: int
    macc: int
    weights_bytes: int
    activations_bytes: int


@dataclass(frozen=True)
class Analysis:
    """All layers, and the totals in float32 and quantized."""

    name: str
    layers: tuple[LayerAnalysis, ...]
    totals: Totals
    quantized: Totals

    def to_json(self) -> dict[str, Any]:
        """Return the analysis as JSON values."""
        return asdict(self)


def analyze(graph: Graph, bits: int) -> Analysis:
    """Analyse the float32 network, and the same network with weights and values of `bits` (8 or 16)."""
    layers = tuple(_layer(number, layer, bits) for number, layer in enumerate(graph.layers, 1))
    return Analysis(graph.name, layers, _totals(graph, FLOAT_BITS), _totals(graph, bits))


def print_analysis(analysis: Analysis, console: Console) -> None:
    """Print a table of the layers and one line per total."""
    bits = analysis.quantized.bits
    numbers = ("macc", f"weights\n{bits} bits", f"activations\n{bits} bits")
    table = plain_table("#", "layer", "kind", "output", numbers=numbers)
    for layer in analysis.layers:
        sizes = (layer.macc, layer.quantized_weights_bytes, layer.quantized_activations_bytes)
        kind = f"{layer.kind} + {layer.activation}" if layer.activation else layer.kind
        table.add_row(str(layer.number), layer.name, kind, str(layer.out_shape), *(f"{size:,}" for size in sizes))
    console.print(table, "", _totals_table(analysis.totals, analysis.quantized), sep="\n")


def _totals_table(*widths: Totals) -> Table:
    numbers = ("depth", "params", "macc", "weights KB", "activations KB")
    table = plain_table("whole network", numbers=numbers)
    for totals in widths:
        table.add_row(
            "float32" if totals.bits == FLOAT_BITS else f"{totals.bits} bits",
            *(f"{count:,}" for count in (totals.depth, totals.params, totals.macc)),
            *(f"{size / KB:.2f}" for size in (totals.weights_bytes, totals.activations_bytes)),
        )
    return table


def _layer(number: int, layer: Layer, bits: int) -> LayerAnalysis:
    return LayerAnalysis(
        number=number,
        name=layer.name,
        kind=layer.kind,
        in_shape=layer.in_shape,
        out_shape=layer.out_shape,
        activation=str(layer.activation),
        params=_params(layer),
        macc=layer.macc,
        weights_bytes=layer.weights_bytes(FLOAT_BITS),
        activations_bytes=layer.activations_bytes(FLOAT_BITS),
        quantized_weights_bytes=layer.weights_bytes(bits),
        quantized_activations_bytes=layer.activations_bytes(bits),
    )


def _totals(graph: Graph, bits: int) -> Totals:
    layers = graph.layers
    return Totals(
        bits=bits,
        depth=len(layers),
        params=sum(map(_params, layers)),
        macc=sum(layer.macc for layer in layers),
        weights_bytes=sum(layer.weights_bytes(bits) for layer in layers),
        activations_bytes=graph.peak_size * bits // 8,
    )


def _params(layer: Layer) -> int:
    return sum(values.size for values in layer.parameters.values())
