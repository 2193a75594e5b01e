"""Candidates: which layers are divided, and into what."""

import pytest

from models.networks import tiny_cnn
from tinysplit.network.distribution import Distribution, SliceAxis
from tinysplit.network.layers import Shape
from tinysplit.network.network_builder import NetworkBuilder
from tinysplit.network.parts import needed_rows
from tinysplit.slices.candidates import Candidate, ends_of_tiles


def candidate(axis: SliceAxis, n_divided: int, shares: tuple[float, ...] = (0.5, 0.5)) -> Candidate:
    order = tuple(range(len(shares)))
    return Candidate(axis, n_divided, order, shares, input_board=0, output_board=0, edges=frozenset())


def sizes(divided: Distribution) -> list[int]:
    return [len(part) for part in divided.parts]


def test_rows_that_nobody_needs_count_for_no_share() -> None:
    """The last pool reads 6 of 7 rows of the convolution before it."""
    graph = tiny_cnn()
    assert [needed_rows(graph)[number].stop for number in range(6)] == [28, 14, 14, 7, 6, 3]
    how = candidate(SliceAxis.ROWS, 6).distributions(graph, 2)
    assert [sizes(divided) for divided in how.layers[:5]] == [[14, 14], [7, 7], [7, 7], [4, 3], [3, 4]]
    assert how.layers[6].is_whole


@pytest.mark.parametrize("axis", SliceAxis)
def test_every_tensor_is_covered(axis: SliceAxis) -> None:
    graph = tiny_cnn()
    how = candidate(axis, len(graph.layers), (0.2, 0.5, 0.3)).distributions(graph, 4)
    for layer, divided in zip(graph.layers, how.layers, strict=True):
        assert divided.covers(layer.out_shape)


def test_layers_with_the_same_channels_have_the_same_slices() -> None:
    graph = tiny_cnn()  # convolutions, each with a pool
    how = candidate(SliceAxis.CHANNELS, len(graph.layers), (0.25, 0.75)).distributions(graph, 2)
    assert how.layers[0].axis is SliceAxis.CHANNELS
    assert sizes(how.layers[0]) == sizes(how.layers[1]) == [2, 6]


def test_tiles_end_where_maps_get_smaller_and_before_the_dense_layer() -> None:
    assert list(ends_of_tiles(tiny_cnn(), 2)) == [6, 5, 3, 1]


def test_softmax_is_not_divided() -> None:
    graph = NetworkBuilder("wide", Shape(8, 8, 4)).conv(4).softmax().graph()
    how = candidate(SliceAxis.ROWS, 2).distributions(graph, 2)
    assert [divided.is_whole for divided in how.layers] == [False, True]


def test_a_board_gives_rows_to_another_one() -> None:
    moved = candidate(SliceAxis.ROWS, 1).moved(0, 1, 0.125)
    assert moved.shares == (0.375, 0.625)
    assert moved.order == (0, 1)
