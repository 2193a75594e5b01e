"""Small random networks, and distributions of their layers over boards, for property-based tests."""

from collections.abc import Sequence

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st

from tinysplit.common.errors import InputError
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.distribute import distribute
from tinysplit.network.distribution import Distribution, Distributions, SliceAxis
from tinysplit.network.distribution_check import reasons_against
from tinysplit.network.fixed_point.formats import IntArray, ValueFormat
from tinysplit.network.graph import Graph
from tinysplit.network.integer_reference import run_layers
from tinysplit.network.layers import Activation, Layer, Shape
from tinysplit.network.network_builder import NetworkBuilder
from tinysplit.network.parts import can_be_sliced, reads_whole_input
from tinysplit.network.quantized_distribution import distribute_quantized
from tinysplit.network.quantized_graph import QuantizedGraph
from tinysplit.quantize.choose_formats import choose_formats, quantize

MOST_BOARDS = 4
SMALLEST_MAP = 3  # rows, below which no window layer follows
BLOCKS = ("conv", "depthwise", "max_pool", "average_pool", "residual", "concat", "gate", "prelu", "tanh", "attention")
ENDS = ("none", "dense", "global", "softmax", "upsample")


@st.composite
def networks(draw: st.DrawFn, blocks: Sequence[str] = BLOCKS, ends: Sequence[str] = ENDS) -> Graph:
    """Draw a network of a few blocks and an end."""
    shape = Shape(draw(st.integers(4, 12)), draw(st.integers(2, 6)), draw(st.integers(1, 4)))
    net = NetworkBuilder("random", shape, rng=np.random.default_rng(draw(st.integers(0, 1000))))
    net.conv(draw(st.integers(1, 5)), (3, 3))
    for block in draw(st.lists(st.sampled_from(blocks), min_size=1, max_size=4)):
        _add_block(draw, net, block)
    end = draw(st.sampled_from(ends))
    if end in {"global", "softmax"}:
        net.average_pool()
    if end == "upsample":
        net.upsample(2).conv(2)
    if end in {"dense", "softmax"}:
        net.dense(draw(st.integers(1, 5)))
    return (net.softmax() if end == "softmax" else net).graph()


def _add_block(draw: st.DrawFn, net: NetworkBuilder, block: str) -> None:  # noqa: C901 - one a block
    height, width, channels = net.shape
    if min(height, width) < SMALLEST_MAP and block in {"conv", "max_pool", "average_pool"}:
        block = "depthwise"
    match block:
        case "conv":
            kernel, dilation = draw(st.sampled_from([(1, 1), (3, 3), (3, 1), (2, 2)])), draw(st.sampled_from([1, 1, 2]))
            padded = min(height, width) <= dilation * (max(kernel) - 1) or draw(st.booleans())
            net.conv(draw(st.integers(1, 6)), kernel, draw(st.integers(1, 2)), dilation, padded=padded)
        case "depthwise":
            net.depthwise((3, 3), draw(st.integers(1, 2)))
        case "max_pool":
            net.max_pool(draw(st.integers(2, 3)), draw(st.integers(1, 3)))
        case "average_pool":
            net.average_pool(2)
        case "residual":
            short = net.value
            net.conv(channels, (3, 3)).conv(channels, (3, 3), activation=Activation()).add(short)
        case "concat":
            short = net.value
            net.conv(draw(st.integers(1, 4)), (3, 3)).concat(short)
        case "gate":
            value = net.value
            gate = net.average_pool().conv(channels).value
            net.after(value).mul(gate)
        case "attention":
            value = net.value
            query, key, own = (net.after(value).conv(channels, activation=Activation()).value for _ in range(3))
            scores = net.after(query).matmul(key, transposed=True).softmax().value
            net.after(scores).matmul(own)
        case "prelu":
            net.prelu()
        case _:
            net.tanh()


@st.composite
def distributions(draw: st.DrawFn, graph: Graph, n_boards: int) -> Distributions:
    """Draw how the layers of a network are divided, most of them as their kinds allow."""
    found: list[Distribution] = []
    for number, layer in enumerate(graph.layers):
        own = [Distribution.whole(layer.out_shape, draw(st.integers(0, n_boards - 1)), n_boards)]
        sources = [found[source] if source >= 0 else None for source in graph.predecessors[number]]
        own += _divided(draw, layer, sources, n_boards)
        found.append(own[-1] if draw(st.integers(0, 3)) else own[0])
    edges = draw(st.sets(st.integers(0, len(graph.layers) - 1)))
    last, boards = found[-1], st.integers(0, n_boards - 1)
    output_board = last.owners[0] if last.is_whole else draw(boards)
    return Distributions(tuple(found), draw(boards), output_board, frozenset(edges))


def _divided(
    draw: st.DrawFn, layer: Layer, sources: Sequence[Distribution | None], n_boards: int
) -> list[Distribution]:
    found = []
    if layer.out_shape.height > 1:
        found.append(_parts(draw, SliceAxis.ROWS, layer, n_boards))
    first = sources[0]
    if not can_be_sliced(layer):
        return found
    if reads_whole_input(layer):
        found.append(_parts(draw, SliceAxis.CHANNELS, layer, n_boards))
    elif first is not None and first.axis is SliceAxis.CHANNELS and all(source == first for source in sources):
        found.append(first)
    draw(st.randoms(use_true_random=False)).shuffle(found)
    return found


def _parts(draw: st.DrawFn, axis: SliceAxis, layer: Layer, n_boards: int) -> Distribution:
    size = axis.size(layer.out_shape)
    ends = sorted(draw(st.lists(st.integers(0, size), min_size=n_boards - 1, max_size=n_boards - 1)))
    ranges = [range(*each) for each in zip([0, *ends], [*ends, size], strict=True)]
    return Distribution(axis, tuple(draw(st.permutations(ranges))))


@st.composite
def distributed_cases(draw: st.DrawFn) -> tuple[QuantizedGraph, Distributions, int]:
    """Draw a quantized network, a distribution that the check accepts, and the number of boards."""
    graph, n_boards = draw(networks()), draw(st.integers(1, MOST_BOARDS))
    how = draw(distributions(graph, n_boards))
    assume(not any(reasons_against(graph, how, n_boards)))
    return draw(quantizations(graph)), how, n_boards


@st.composite
def quantizations(draw: st.DrawFn, graph: Graph) -> QuantizedGraph:
    """Draw the formats of a network."""
    bits, has_zero_points = draw(st.sampled_from([8, 8, 16])), draw(st.booleans())
    try:
        return quantized_randomly(graph, bits, draw(st.integers(0, 1000)), has_zero_points=has_zero_points)
    except InputError:  # sums of the random layers do not fit 32 bits
        assume(condition=False)
        raise


def quantized_randomly(graph: Graph, bits: int, seed: int, *, has_zero_points: bool = False) -> QuantizedGraph:
    """Return a network in fixed point for random ranges of its values."""
    rng = np.random.default_rng(seed)
    clamps = {graph.input_name: Activation()} | {layer.output: layer.activation for layer in graph.layers}
    ranges = {name: (max(clamp.low, -4.0), min(clamp.high, 2.0 ** rng.uniform(0, 3))) for name, clamp in clamps.items()}
    given = {name: _with_zero_point(rng, bits) for name in clamps} if has_zero_points else {}
    return quantize(graph, choose_formats(graph, ranges, bits, given), bits)


def _with_zero_point(rng: np.random.Generator, bits: int) -> ValueFormat:
    most = 1 << (bits - 1)
    return ValueFormat(bits, rng.uniform(2, 8) / most, int(rng.integers(-most, most)))


def random_inputs(quantized: QuantizedGraph, seed: int, count: int = 2) -> IntArray:
    """Return inputs N x H x W x C of all integers of the input's format."""
    x = quantized.input_formats[0]
    shape = (count, *quantized.graph.in_shape)
    return np.random.default_rng(seed).integers(x.low, x.high, shape, endpoint=True).astype(x.dtype)


def all_outputs(quantized: QuantizedGraph, x: IntArray) -> dict[str, IntArray]:
    """Return the outputs of all layers by their names."""
    return dict(zip((layer.output for layer in quantized.graph.layers), run_layers(quantized, x), strict=True))


def distributed(quantized: QuantizedGraph, how: Distributions, n_boards: int) -> QuantizedGraph:
    """Return a network in fixed point whose layers are divided."""
    return distribute_quantized(
        quantized, distribute(quantized.graph, how, n_boards, BitWidths.of_quantized(quantized))
    )
