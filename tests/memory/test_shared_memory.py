"""Views take no memory: what lies in the memory of another tensor are the same bytes there."""

from hypothesis import given, settings

from models.distributed_networks import all_outputs, distributed, distributed_cases, quantized_randomly, random_inputs
from session.profiles import cases
from tinysplit.memory.shared_memory import shared_memory, unaligned_rows
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.distribution import Distribution, Distributions, SliceAxis
from tinysplit.network.graph import NETWORK_INPUT, Graph
from tinysplit.network.layers import RowJoin, Shape
from tinysplit.network.network_builder import NetworkBuilder
from tinysplit.network.quantized_graph import QuantizedGraph


def layers_of(graph: Graph, board: int) -> list[int]:
    return [number for number, other in enumerate(graph.boards) if other == board]


@settings(max_examples=cases(quick=30, full=150, nightly=5000))
@given(distributed_cases())
def test_rows_are_where_views_place_them(case: tuple[QuantizedGraph, Distributions, int]) -> None:
    quantized, how, n_boards = case
    parts, x = distributed(quantized, how, n_boards), random_inputs(quantized, 1, count=1)
    graph, widths = parts.graph, BitWidths.of_quantized(parts)
    values = {NETWORK_INPUT: x, **dict(enumerate(all_outputs(parts, x).values()))}
    for board in range(n_boards):
        own = layers_of(graph, board)
        places = shared_memory(graph, widths, own)
        viewed = {source for number in own if graph.layers[number].is_view for source in graph.predecessors[number]}
        assert viewed <= {*places, *(place.tensor for place in places.values())}
        for tensor, place in places.items():
            outer, inner = values[place.tensor].tobytes(), values[tensor].tobytes()
            assert outer[place.offset_bytes :][: len(inner)] == inner
            assert place.tensor not in places
        joined = [
            source
            for number in own
            if isinstance(graph.layers[number], RowJoin)
            for source in graph.predecessors[number]
        ]
        assert len(joined) == len(set(joined))  # no rows in two places


def two_tiles(shape: Shape) -> tuple[Graph, BitWidths]:
    """Return two convolutions of 3x3, of which board 1 has rows 1 to 5 and board 2 the others."""
    graph = NetworkBuilder("two", shape).conv(shape.channels, (3, 3)).conv(shape.channels, (3, 3)).conv(4).graph()
    tiles = Distribution.of_sizes(SliceAxis.ROWS, (5, shape.height - 5))
    whole = Distribution.whole(graph.out_shape, 0, 2)
    parts = distributed(quantized_randomly(graph, 8, 0), Distributions((tiles, tiles, whole), 0, 0), 2)
    return parts.graph, BitWidths.of_quantized(parts)


def test_rows_within_a_word_are_named_where_kernels_use_them() -> None:
    assert not list(unaligned_rows(*two_tiles(Shape(8, 4, 1))))
    assert list(unaligned_rows(*two_tiles(Shape(8, 3, 1)))) == [
        "layer 'layer1': rows 6-8 on board 2 begin at byte 3 of the rows there, which is no multiple of 4",
    ]
