"""Moves of local search."""

from tinysplit.network.distribution import Distribution, Distributions, SliceAxis
from tinysplit.slices.moves import moves_of


def division(*sizes: tuple[int, ...], axis: SliceAxis = SliceAxis.ROWS) -> Distributions:
    return Distributions(tuple(Distribution.of_sizes(axis, each) for each in sizes), 0, 0, frozenset({0}))


def parts(how: Distributions) -> list[list[int]]:
    return [[len(part) for part in layer.parts] for layer in how.layers]


def test_a_share_moves_in_all_layers_in_which_boards_are_neighbours() -> None:
    how = division((16, 16), (4, 4), (8, 0))
    found = [parts(move(how)) for move in moves_of(how)]
    assert [[20, 12], [5, 3], [8, 0]] in found
    assert [[12, 20], [3, 5], [8, 0]] in found
    assert [[17, 15], [4, 4], [8, 0]] in found


def test_no_part_becomes_empty() -> None:
    how = division((8, 1), (9, 0))
    assert all(min(each[0]) > 0 for each in (parts(move(how)) for move in moves_of(how)))


def test_edges_are_apart_or_no_longer() -> None:
    how = division((16, 16), (4, 4), (8, 0))
    edges = {move(how).edges for move in moves_of(how)}
    assert edges == {frozenset({0}), frozenset(), frozenset({0, 1})}
    channels = division((16, 16), axis=SliceAxis.CHANNELS)
    assert {move(channels).edges for move in moves_of(channels)} == {frozenset({0})}
