"""Constants that parts of one layer on a board have in common: in flash once, in the file of the first part."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from tinysplit.codegen.layer_source import LayerSource
from tinysplit.network.graph import Graph


def with_shared_constants(graph: Graph, sources: Mapping[int, LayerSource]) -> Mapping[int, LayerSource]:
    """Return the layers of a board, in which the first of each group of tiles has what others have as well."""
    owners = {number: dict(_owners(graph, sources, number)) for number in sources}
    shared = defaultdict[int, set[str]](set)
    for owned in owners.values():
        for name, owner in owned.items():
            shared[owner].add(name)
    return {
        number: replace(
            source,
            owners={name: owner + 1 for name, owner in owners[number].items()},
            shared=frozenset(shared[number]),
        )
        for number, source in sources.items()
    }


def _owners(graph: Graph, sources: Mapping[int, LayerSource], number: int) -> Iterator[tuple[str, int]]:
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
