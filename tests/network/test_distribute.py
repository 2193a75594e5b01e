"""Distributed networks compute the integers of the whole ones, whatever the network and the distribution."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings

from models.distributed_networks import all_outputs, distributed, distributed_cases, quantized_randomly, random_inputs
from session.profiles import cases
from tinysplit.common.errors import InputError
from tinysplit.network.bit_widths import BitWidths
from tinysplit.network.distribution import Distribution, Distributions, Part, SliceAxis
from tinysplit.network.distribution_check import check_distributions, reasons_against
from tinysplit.network.fixed_point.formats import IntArray
from tinysplit.network.graph import NETWORK_INPUT, Graph
from tinysplit.network.layers import AverageOfSums, PartialSum, Shape
from tinysplit.network.network_builder import NetworkBuilder
from tinysplit.network.parts import needed_rows
from tinysplit.network.quantized_distribution import distributed_widths
from tinysplit.network.quantized_graph import QuantizedGraph

CASES = cases(quick=30, full=150, nightly=5000)


def part_of(whole: IntArray, part: Part) -> IntArray:
    """Return what a part is of a whole tensor, N x H x W x C."""
    own = slice(part.range.start, part.range.stop)
    return whole[:, own] if part.axis is SliceAxis.ROWS else whole[..., own]


@settings(max_examples=CASES)
@given(distributed_cases())
def test_every_part_has_the_integers_of_the_whole_network(case: tuple[QuantizedGraph, Distributions, int]) -> None:
    quantized, how, n_boards = case
    parts, x = distributed(quantized, how, n_boards), random_inputs(quantized, 1)
    expected, found = all_outputs(quantized, x), all_outputs(parts, x)
    wholes = {NETWORK_INPUT: x} | dict(enumerate(expected.values()))
    for layer, part, value in zip(parts.graph.layers, parts.graph.parts, found.values(), strict=True):
        if not isinstance(layer, PartialSum):
            np.testing.assert_array_equal(value, part_of(wholes[part.tensor], part), err_msg=layer.output)
    assert parts.graph.out_shape == quantized.graph.out_shape
    np.testing.assert_array_equal(list(found.values())[-1], list(expected.values())[-1])


@settings(max_examples=CASES)
@given(distributed_cases())
def test_layers_compute_every_row_that_is_read_once(case: tuple[QuantizedGraph, Distributions, int]) -> None:
    quantized, how, n_boards = case
    parts = distributed(quantized, how, n_boards).graph
    sliced = [number for number, divided in enumerate(how.layers) if divided.axis is SliceAxis.CHANNELS]
    needed = needed_rows(quantized.graph, sliced)
    computed = defaultdict[int, list[int]](list)
    for layer, part in zip(parts.layers, parts.parts, strict=True):
        is_gathered = part.tensor != NETWORK_INPUT and layer.name != quantized.graph.layers[part.tensor].name
        if layer.is_view or is_gathered or isinstance(layer, PartialSum):
            continue
        computed[part.tensor] += part.range
        own = how.layers[part.tensor].parts[part.board]
        assert isinstance(layer, AverageOfSums) or set(part.range) <= set(own)
    for number, divided in enumerate(how.layers):
        whole = needed[number] if divided.axis is SliceAxis.ROWS else range(quantized.graph.shape(number).channels)
        assert sorted(computed[number]) == list(whole)


@settings(max_examples=CASES)
@given(distributed_cases())
def test_nodes_read_what_was_computed_before_them(case: tuple[QuantizedGraph, Distributions, int]) -> None:
    quantized, how, n_boards = case
    parts = distributed(quantized, how, n_boards)
    graph = parts.graph
    assert len(set(graph.value_names)) == len(graph.value_names)
    for number, (layer, sources) in enumerate(zip(graph.layers, graph.predecessors, strict=True)):
        assert all(source < number for source in sources)
        if layer.is_view:  # shapes of views are those of the tensors that they bring together
            assert list(layer.in_shapes) == [graph.shape(source) for source in sources]
    read = {source for sources in graph.predecessors for source in sources}
    assert read >= set(range(len(graph.layers) - 1))
    widths = distributed_widths(quantized.graph, graph, BitWidths.of_quantized(quantized))
    assert widths == BitWidths.of_quantized(parts)


def rows(*sizes: int) -> Distribution:
    return Distribution.of_sizes(SliceAxis.ROWS, sizes)


def channels(*sizes: int) -> Distribution:
    return Distribution.of_sizes(SliceAxis.CHANNELS, sizes)


def two_convs() -> Graph:
    return NetworkBuilder("two", Shape(8, 4, 4)).conv(4, (3, 3)).conv(4, (3, 3)).average_pool().graph()


def nodes(graph: Graph, board: int) -> list[str]:
    layers = zip(graph.layers, graph.parts, strict=True)
    return [f"{layer.kind} {part.range.start}-{part.range.stop}" for layer, part in layers if part.board == board]


def two_by_rows(edges: frozenset[int]) -> Graph:
    quantized = quantized_randomly(two_convs(), 8, 0)
    return distributed(quantized, Distributions((rows(5, 3), rows(5, 3), rows(1, 0)), 0, 0, edges), 2).graph


def test_boards_exchange_one_row_of_a_halo() -> None:
    # by hand: the input goes to board 2 from row 4 on (of 0 to 7), as its rows 5 to 7 read one more above
    graph = two_by_rows(frozenset())
    assert nodes(graph, 0) == [
        *("row_slice 4-8", "row_slice 0-6", "conv 0-5", "row_slice 4-5", "row_join 0-6", "conv 0-5", "partial_sum 0-5"),
        "average_of_sums 0-1",
    ]
    assert nodes(graph, 1) == ["conv 5-8", "row_slice 5-6", "row_join 4-8", "conv 5-8", "partial_sum 5-8"]


def test_edges_that_others_wait_for_come_first_and_edges_that_wait_last() -> None:
    graph = two_by_rows(frozenset({0, 1}))
    convs = [node for node in nodes(graph, 0) if node.startswith("conv")]
    # the first layer sends row 4 first; the second computes rows 0 to 3 while row 5 comes, and row 4 then
    assert convs == ["conv 4-5", "conv 0-4", "conv 0-4", "conv 4-5"]
    assert [node for node in nodes(graph, 1) if node.startswith("conv")] == [
        *("conv 5-6", "conv 6-8", "conv 6-8", "conv 5-6")
    ]


def test_rows_that_nobody_reads_are_not_computed() -> None:
    graph = NetworkBuilder("odd", Shape(7, 4, 2)).conv(2).max_pool(2, 2).conv(2).graph()
    quantized = quantized_randomly(graph, 8, 0)
    parts = distributed(quantized, Distributions((rows(4, 3), rows(2, 1), rows(3, 0)), 0, 0), 2).graph
    assert [node for node in nodes(parts, 1) if "view" not in node][:2] == ["conv 4-6", "max_pool 2-3"]


def test_values_of_16_bits_are_averaged_on_one_board() -> None:
    how = Distributions((rows(5, 3), rows(5, 3), rows(1, 0)), 0, 0)
    short, long = (distributed(quantized_randomly(two_convs(), bits, 0), how, 2) for bits in (8, 16))
    assert [layer.kind for layer in short.graph.layers].count("partial_sum") == 2
    assert "partial_sum" not in [layer.kind for layer in long.graph.layers]


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ((rows(5, 3), rows(5, 2), rows(1, 0)), "layer 'layer2': row 8 of 8 are on no board"),
        (
            (rows(0, 8), Distribution(SliceAxis.ROWS, (range(6), range(3, 8))), rows(1, 0)),
            "layer 'layer2': rows 4-6 of 8",
        ),
        ((rows(8, 0), rows(8, 4), rows(1, 0)), "layer 'layer2': board 2 has rows 9-12, and there are 8"),
        ((rows(4, 4), rows(4, 2, 2), rows(1, 0)), "layer 'layer2': it is divided over 3 boards, and there are 2"),
        ((rows(4, 4), rows(4, 4)), "2 layers are divided, but 'two' has 3"),
        ((channels(2, 2), rows(8, 0), channels(2, 2)), "layer 'layer3': board 1 computes channels 1-2, but layer 'l"),
        ((channels(2, 2), channels(1, 3), channels(2, 2)), "board 1 computes channels 1-2, but has channel 1 of layer"),
        ((rows(8, 0), rows(4, 4), rows(0, 1)), "layer 'layer3': the network's output is wanted on board 1, and is on"),
    ],
)
def test_a_distribution_that_cannot_be_names_layer_board_and_number(
    layers: Sequence[Distribution], message: str
) -> None:
    with pytest.raises(InputError) as error:
        check_distributions(two_convs(), Distributions(tuple(layers), 0, 0), 2)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_kind_that_cannot_be_divided_is_named() -> None:
    graph = NetworkBuilder("up", Shape(4, 4, 2)).upsample(2).conv(2).concat("value1").conv(2).graph()
    whole = [Distribution.whole(layer.out_shape, 0, 2) for layer in graph.layers]
    by_rows = Distributions((rows(4, 4), *whole[1:]), 0, 0)
    assert list(reasons_against(graph, by_rows, 2)) == [
        "layer 'layer1': upsample cannot be divided by rows, over boards 1 and 2"
    ]
    by_channels = Distributions((*whole[:2], channels(2, 2), whole[3]), 0, 0)
    assert list(reasons_against(graph, by_channels, 2)) == [
        "layer 'layer3': concat cannot be divided by channels, over boards 1 and 2"
    ]


def test_a_tile_with_fewer_rows_than_a_halo_is_named() -> None:
    graph = NetworkBuilder("wide", Shape(8, 4, 2)).conv(2).conv(2, (5, 5)).conv(2).graph()
    how = Distributions((rows(4, 1, 3), rows(4, 1, 3), rows(8, 0, 0)), 0, 0)
    assert list(reasons_against(graph, how, 3)) == [
        "layer 'layer2': board 1 needs 2 rows of layer 'layer1' next to its own, but board 2 has 1",
        "layer 'layer2': board 3 needs 2 rows of layer 'layer1' next to its own, but board 2 has 1",
    ]


def test_boards_without_a_part_are_fine() -> None:
    how = Distributions((rows(4, 0, 4), rows(4, 0, 4), rows(0, 1, 0)), 1, 1)
    assert not list(reasons_against(two_convs(), how, 3))
