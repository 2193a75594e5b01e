"""The execution order of the layers of a network with branches: a topological order with a small memory peak."""

from collections.abc import Sequence
from dataclasses import dataclass

from tinysplit.network.layers import Layer

BEAM = 64  # beam width: exact for networks with few parallel branches
MAX_WORK = 2**24  # live values and ready layers of all orders that are compared: about 2 s
WORK_OF_ORDER = 8  # of one without any


@dataclass(frozen=True, eq=False)
class _Order:
    """A partial order: its last layer and what comes before that, and what is known after it.

    Layers are numbers of the sequence; `done` has a bit for each. `ready` are those that can follow, ascending.
    """

    last: int
    before: "_Order | None"
    done: int
    ready: tuple[int, ...]
    alive: frozenset[str]
    elements: int  # alive
    most: int = 0  # peak of elements alive
    total: int = 0  # their sum over the steps
    crowding: int = 0  # the same, each times the MACs of its step: kernels with much scratch memory are faster

    @property
    def cost(self) -> tuple[int, int, int]:
        return self.most, self.total, self.crowding


class _Network:
    """The layers by the values that they read, and the sizes of values."""

    def __init__(self, layers: Sequence[Layer], input_name: str) -> None:
        self.layers = layers
        self.kept = layers[-1].output
        self.sizes = {input_name: layers[0].in_shape.size} | {layer.output: layer.out_shape.size for layer in layers}
        self.readers: dict[str, list[int]] = {name: [] for name in self.sizes}
        for number, layer in enumerate(layers):
            for name in set(layer.inputs):
                self.readers[name].append(number)

    def first(self, input_name: str) -> _Order:
        """Return the empty order."""
        alive = frozenset([input_name])
        ready = (number for number, layer in enumerate(self.layers) if alive.issuperset(layer.inputs))
        return _Order(-1, None, 0, tuple(ready), alive, self.sizes[input_name])

    def followed(self, order: _Order, number: int) -> _Order:
        """Return `order` with one more layer, after which values that no later layer reads are dead."""
        layer, done = self.layers[number], order.done | 1 << number
        alive = order.alive | {layer.output}
        elements = order.elements + self.sizes[layer.output]
        dead = {name for name in {*layer.inputs, layer.output} if name != self.kept and not self._later(name, done)}
        more = (each for each in self.readers[layer.output] if alive.issuperset(self.layers[each].inputs))
        return _Order(
            last=number,
            before=order,
            done=done,
            ready=tuple(sorted({*order.ready, *more} - {number})),
            alive=alive - dead,
            elements=elements - sum(self.sizes[name] for name in dead),
            most=max(order.most, elements),
            total=order.total + elements,
            crowding=order.crowding + elements * layer.macc,
        )

    def _later(self, name: str, done: int) -> bool:
        return any(not done >> reader & 1 for reader in self.readers[name])


def small_memory_order(layers: Sequence[Layer], input_name: str) -> tuple[Layer, ...]:
    """Return `layers`, which are in topological order, in a topological order with a small peak of live elements.

    A beam search over sets of executed layers; of several orders of one set, only the best can be part of the best
    order. Ties keep the order of `layers`. Layers that the search does not reach within `MAX_WORK` keep theirs.
    """
    network = _Network(layers, input_name)
    best = [network.first(input_name)]
    work = 0
    while best[0].ready:
        work += sum(len(order.ready) * (len(order.ready) + len(order.alive) + WORK_OF_ORDER) for order in best)
        if work > MAX_WORK:
            break
        followers: dict[int, _Order] = {}
        for order in best:
            for number in order.ready:
                longer = network.followed(order, number)
                if longer.done not in followers or longer.cost < followers[longer.done].cost:
                    followers[longer.done] = longer
        best = sorted(followers.values(), key=lambda order: order.cost)[:BEAM]
    numbers = _numbers(best[0])
    rest = sorted(set(range(len(layers))).difference(numbers))
    return tuple(layers[number] for number in (*numbers, *rest))


def _numbers(order: _Order) -> list[int]:
    numbers = []
    while order.before is not None:
        numbers.append(order.last)
        order = order.before
    return numbers[::-1]
