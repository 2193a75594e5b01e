"""Moves of local search: each makes another division of a network of one."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import pairwise, product

from tinysplit.network.distribution import Distribution, Distributions, SliceAxis

Move = Callable[[Distributions], Distributions]

SHARES = (1 / 8, 1 / 32)  # of a layer's rows or channels


def moves_of(how: Distributions) -> Iterator[Move]:
    """Yield the moves: a board gives a share of all layers to its neighbour; a layer has edges apart, or no longer."""
    divided = [number for number, each in enumerate(how.layers) if not each.is_whole]
    neighbours = sorted({pair for number in divided for pair in pairwise(how.layers[number].owners)})
    for share, (first, second), sign in product(SHARES, neighbours, (1, -1)):
        yield partial(_with_shares, first=first, second=second, share=sign * share)
    for number in divided:
        if how.layers[number].axis is SliceAxis.ROWS:
            yield partial(_with_edges, number=number)


def _with_edges(how: Distributions, number: int) -> Distributions:
    return replace(how, edges=how.edges ^ {number})


def _with_shares(how: Distributions, first: int, second: int, share: float) -> Distributions:
    """Move the border between the parts of two boards, in all layers in which they are neighbours."""
    return replace(how, layers=tuple(_moved(layer, first, second, share) for layer in how.layers))


def _moved(layer: Distribution, first: int, second: int, share: float) -> Distribution:
    if (first, second) not in pairwise(layer.owners):
        return layer
    before, after = layer.parts[first], layer.parts[second]
    size = max(part.stop for part in layer.parts)
    border = before.stop + round(share * size)
    if not before.start < border < after.stop:
        return layer
    moved = {first: range(before.start, border), second: range(border, after.stop)}
    return replace(layer, parts=tuple(moved.get(board, part) for board, part in enumerate(layer.parts)))
