"""The order in which the layers of a network with branches run: any topological one, so that little memory is alive."""

from collections.abc import Sequence
from dataclasses import dataclass

from tinysplit.network.layers import Layer

BEAM = 64  # orders that are followed at once: exact for networks with few layers beside each other


@dataclass(frozen=True)
class _Order:
    """The beginning of an order: what is alive behind it, the most elements that were, and their sum over its steps."""

    layers: tuple[Layer, ...]
    alive: frozenset[str]
    most: int = 0
    total: int = 0

    @property
    def cost(self) -> tuple[int, int]:
        return self.most, self.total


def small_memory_order(layers: Sequence[Layer], input_name: str) -> tuple[Layer, ...]:
    """Return `layers`, which are in some topological order, in one in which few elements are alive at once.

    A beam search over the sets of layers that are done; of several orders of one set only the best can be part of the
    best order. Among equals the order of `layers` is kept, and with it that of a chain.
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
