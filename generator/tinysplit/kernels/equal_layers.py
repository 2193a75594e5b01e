"""Costs of layers that are equal but for their names, as many parts of distributed networks are: computed once.

What does not depend on trained weights either is computed once for all layers of a shape.
"""

from collections.abc import Callable, Hashable
from dataclasses import fields
from functools import lru_cache, wraps
from typing import Any, TypeVar, cast

from typing_extensions import override

from tinysplit.network.layers.base import Layer

_NAMES = frozenset({"name", "inputs", "output"})  # of a layer: no costs depend on them
_TRAINED = frozenset({"weights", "bias"})
_MOST_LAYERS, _MOST_RESULTS = 1 << 14, 1 << 16  # that are kept, the latter of each function

F = TypeVar("F", bound=Callable[..., Any])  # takes something, a layer, and whatever else, all hashable


class _Same:
    """A value that is equal to itself alone, as arrays are here."""

    def __init__(self, value: object) -> None:
        self.value = value

    @override
    def __hash__(self) -> int:
        return id(self.value)

    @override
    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.value is other.value


class _Equal:
    """A layer, equal to others that have the same kind, shapes, settings and arrays, or `trained` arrays of a shape."""

    def __init__(self, layer: Layer, trained: frozenset[str]) -> None:
        self.layer = layer
        values = {each.name: getattr(layer, each.name) for each in fields(layer) if each.name not in _NAMES}
        values |= {name: values[name].shape for name in trained & values.keys()}
        own = (value if isinstance(value, Hashable) else _Same(value) for value in values.values())
        self._key = (type(layer), len(layer.inputs), *own)

    @override
    def __hash__(self) -> int:
        return hash(self._key)

    @override
    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Equal) and self._key == other._key


@lru_cache(_MOST_LAYERS)
def _first(equal: _Equal) -> Layer:
    """Return the first of equal layers."""
    return equal.layer


@lru_cache(_MOST_LAYERS)
def _first_equal(layer: Layer, trained: frozenset[str]) -> Layer:
    """Return the first layer that is equal to `layer`: only itself is equal to it."""
    return _first(_Equal(layer, trained))


def of_equal_layers(costs: F) -> F:
    """Keep what a method returns for equal layers."""
    return _kept(costs, frozenset())


def of_equal_shapes(costs: F) -> F:
    """Keep what a method, which does not read trained weights, returns for layers that are equal but for these."""
    return _kept(costs, _TRAINED)


def _kept(costs: F, trained: frozenset[str]) -> F:
    kept = lru_cache(_MOST_RESULTS)(costs)

    @wraps(costs)
    def of_layer(owner: Any, layer: Layer, *rest: Any) -> Any:  # noqa: ANN401 (whatever the method takes)
        return kept(owner, _first_equal(layer, trained), *rest)

    return cast("F", of_layer)
