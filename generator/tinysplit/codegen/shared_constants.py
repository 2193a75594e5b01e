"""Constants that parts of one layer on a board have in common: in flash once, in the file of the first part."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from tinysplit.codegen.layer_source import LayerSource
from tinysplit.network.graph import Graph


def with_shared_constants(graph: Graph, sources: Sequence[LayerSource]) -> Iterator[LayerSource]:
    """Yield the layers, in which the first of each group of tiles has the constants that others have as well."""
    owners = [dict(_owners(graph, sources, number)) for number in range(len(sources))]
    shared = defaultdict[int, set[str]](set)
    for own in owners:
        for name, owner in own.items():
            shared[owner].add(name)
    for number, (source, own) in enumerate(zip(sources, owners, strict=True)):
        numbers = {name: owner + 1 for name, owner in own.items()}
        yield replace(source, owners=numbers, shared=frozenset(shared[number]))


def _owners(graph: Graph, sources: Sequence[LayerSource], number: int) -> Iterator[tuple[str, int]]:
    """Yield the constants of a layer that an earlier tile has, too, at the same place, and that tile."""
    own, earlier = sources[number], [each for each in graph.siblings(number) if each < number]
    for name, values in own.constants.items():
        for other in earlier:
            its = sources[other]
            same_place = own.offsets.get(name) == its.offsets.get(name)
            if same_place and name in its.constants and _are_equal(values, its.constants[name]):
                yield name, other
                break


def _are_equal(values: np.ndarray, others: np.ndarray) -> bool:
    return values.dtype == others.dtype and np.array_equal(values, others)
