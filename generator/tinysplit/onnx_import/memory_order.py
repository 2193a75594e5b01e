"""The execution order of the layers of a network with branches: a topological order with a small memory peak."""

from collections.abc import Sequence
from dataclasses import dataclass

from tinysplit.network.layers import Layer

BEAM = 64  # beam width: exact for networks with few parallel branches


@dataclass(frozen=True)
class _Order:
    """A partial order: the values alive after it, the peak of elements alive, and their sum over its steps."""

    layers: tuple[Layer, ...]
    alive: frozenset[str]
    most: int = 0
    total: int = 0

    @property
    def cost(self) -> tuple[int, int]:
        return self.most, self.total


def small_memory_order(layers: Sequence[Layer], input_name: str) -> tuple[Layer, ...]:
    """Return `layers`, which are in topological order, in a topological order with a small peak of live elements.

    A beam search over sets of executed layers; of several orders of one set, only the best can be part of the best
    order. Ties keep the order of `layers`.
    """
    sizes = {layer.output: layer.out_shape.size for layer in layers}
    sizes[input_name] = layers[0].in_shape.size if layers else 0
    best = [_Order((), frozenset([input_name]))]
    for _ in layers:
        followers: dict[frozenset[Layer], _Order] = {}
        for order in best:
            for layer in _ready(layers, order):
                longer = _with(order, layer, layers, sizes)
                done = frozenset(longer.layers)
                if done not in followers or longer.cost < followers[done].cost:
                    followers[done] = longer
        best = sorted(followers.values(), key=lambda order: order.cost)[:BEAM]
    return best[0].layers


def _ready(layers: Sequence[Layer], order: _Order) -> list[Layer]:
    return [layer for layer in layers if layer not in order.layers and order.alive.issuperset(layer.inputs)]


def _with(order: _Order, layer: Layer, layers: Sequence[Layer], sizes: dict[str, int]) -> _Order:
    done = (*order.layers, layer)
    alive = order.alive | {layer.output}
    elements = sum(sizes[name] for name in alive)
    needed = {name for other in layers if other not in done for name in other.inputs}
    return _Order(done, alive & (needed | {layers[-1].output}), max(order.most, elements), order.total + elements)
