"""Global averages of maps of which boards have rows: the sums of each board, and their average."""

import numpy as np

from kernel_cases.layer_cases import hard_inputs, quantize_one, with_other_scales, with_zero_points
from models.distributed_networks import distributed
from tinysplit.network.distribution import Distribution, Distributions, SliceAxis
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.fixed_point.layer_formats import LayerFormats
from tinysplit.network.graph import Graph
from tinysplit.network.layers import Activation, AverageOfSums, AveragePool, MaxPool, PartialSum, Shape, Window
from tinysplit.network.layers.distributed.partial_sum import MOST_ELEMENTS
from tinysplit.network.quantized_graph import QuantizedGraph, QuantizedLayer

KINDS_OF_AVERAGES = (PartialSum.kind, AverageOfSums.kind)
MOST_TILES = 4
NONE = Activation()


def global_average(shape: Shape, activation: Activation = NONE) -> AveragePool:
    """Return the average over a map."""
    return AveragePool(
        name="example",
        inputs=("x",),
        output="y",
        in_shape=shape,
        window=Window((shape.height, shape.width), (shape.height, shape.width)),
        activation=activation,
    )


def random_average(rng: np.random.Generator) -> QuantizedLayer:
    """Return a random average over a map of 8 bits, most with zero points or scales that are no powers of two."""
    height = int(rng.integers(2, 17))
    shape = Shape(height, int(rng.integers(1, MOST_ELEMENTS // height + 1)), int(rng.integers(1, 9)))
    pool = global_average(shape, Activation(-0.5, 1.5) if rng.integers(2) else NONE)
    quantized = quantize_one(pool, (-2.0, 1.9), (-1.0, 1.9), 8)
    quantized = with_other_scales(rng, quantized) if rng.integers(2) else quantized
    return with_zero_points(rng, quantized) if rng.integers(2) else quantized


def in_tiles(quantized: QuantizedLayer, sizes: list[int]) -> list[QuantizedLayer]:
    """Return the sums of a map's rows on boards that have so many each, and the average."""
    pool, x = quantized.layer, quantized.formats.x
    copy = MaxPool(name="copy", inputs=("input",), output="x", in_shape=pool.in_shape, window=Window((1, 1)))
    graph = Graph.of_layers("average", [copy, pool])
    whole = QuantizedGraph(graph, 8, (QuantizedLayer.of(copy, LayerFormats((x,), x)), quantized))
    tiles, output = Distribution.of_sizes(SliceAxis.ROWS, sizes), Distribution.whole(pool.out_shape, 0, len(sizes))
    parts = distributed(whole, Distributions((tiles, output), 0, 0), len(sizes))
    return [layer for layer in parts.layers if isinstance(layer.layer, PartialSum | AverageOfSums)]


def random_tiles(rng: np.random.Generator) -> list[QuantizedLayer]:
    """Return the parts of a random average over a map that two to four boards have."""
    quantized = random_average(rng)
    height = quantized.layer.in_shape.height
    n_tiles = min(height, int(rng.integers(2, MOST_TILES + 1)))
    ends = sorted(rng.choice(np.arange(1, height), n_tiles - 1, replace=False))
    return in_tiles(quantized, np.diff([0, *ends, height]).tolist())


def inputs_of_tiles(rng: np.random.Generator, tiles: list[QuantizedLayer]) -> list[list[IntArray]]:
    """Return the hardest inputs of the sums, and their sums as the inputs of the average."""
    *sums, _ = tiles
    inputs = [hard_inputs(rng, each) for each in sums]
    totals = [each.layer.integer_reference(each, *xs) for each, xs in zip(sums, inputs, strict=True)]
    return [*inputs, totals]
