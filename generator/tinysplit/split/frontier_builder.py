"""Finds all ways through a network of any shape: which devices still need which tensors, layer by layer.

Between two layers a way stands at a node: for every tensor that a later layer reads, the devices that will read it.
They are chosen when the tensor is computed, because that is when it is sent; so all that a layer costs, and all that is
alive while it runs, is known from the node before it and the move.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import inf
from time import perf_counter

import numpy as np

from tinysplit.split.columns import Columns
from tinysplit.split.frontier import Floats, Frontier, Step, without_dead_ends
from tinysplit.split.memory import NETWORK_INPUT
from tinysplit.split.moves import Move, moves_of, readers_on
from tinysplit.split.needs import Need, all_needs
from tinysplit.split.period import Period
from tinysplit.split.problem import Problem

ARCS_A_LAYER = 100_000  # that takes about a third of a second
NODES_IN_HASTE = 50  # where half of the time is over
FREE = -1  # no device

Node = tuple[tuple[Need, ...], int]  # of the tensors that later layers read; the device that the next layer must take
Arc = tuple[int, int, int]  # node before, node behind, move


def find_frontier(problem: Problem, columns: Columns, time_limit_s: float) -> Frontier:
    """Return all ways through `problem`, or where a layer has too many arcs those that cost least so far."""
    return _Builder(problem, columns, time_limit_s).build()


class _Builder:
    def __init__(self, problem: Problem, columns: Columns, time_limit_s: float) -> None:
        self.problem, self.columns = problem, columns
        self.hasty_from = perf_counter() + time_limit_s / 2
        alone = problem.is_chain and problem.links is None  # nothing is alive beside the layer that runs
        tensors = (*range(len(problem.layers)), NETWORK_INPUT)
        self.bytes = [0 if alone else problem.held_bytes(tensor) for tensor in tensors]
        sees_order = problem.asks_for_period and problem.period_definition in {Period.SPAN, Period.PAPER}
        self.is_ordered = sees_order and bool(problem.links or problem.host_seconds)
        self.is_whole = True

    def build(self) -> Frontier:
        """Go through the layers."""
        readers = self.problem.readers[NETWORK_INPUT]
        needs = list(all_needs(readers_on(self.problem, NETWORK_INPUT), len(readers), is_ordered=self.is_ordered))
        entry = np.array([self.columns.of_input(need.devices()) for need in needs]).reshape(
            -1, len(self.columns.number)
        )
        nodes: Mapping[Node, int] = {((need,), FREE): number for number, need in enumerate(needs)}
        scores = entry @ self.columns.is_objective
        alive: tuple[int, ...] = (NETWORK_INPUT,)
        steps = []
        for layer in range(len(self.problem.layers)):
            moves = list(moves_of(self.problem, self.columns, layer, self.bytes[layer], is_ordered=self.is_ordered))
            kept = self._most_promising(nodes, scores, len(moves))
            behind = tuple(tensor for tensor in (*alive, layer) if self._readers_left(tensor, layer))
            numbers: dict[Node, int] = {}
            arcs = [
                (origin, numbers.setdefault(node, len(numbers)), move)
                for origin, node, move in self._arcs(layer, alive, behind, kept, moves)
            ]
            if not arcs:
                return Frontier(entry, (), self.is_whole)
            steps.append(_step(arcs, moves))
            scores = self._scores(scores, steps[-1], len(numbers))
            nodes, alive = numbers, behind
        return without_dead_ends(Frontier(entry, tuple(steps), self.is_whole))

    def _readers_left(self, tensor: int, layer: int) -> int:
        return sum(reader > layer for reader in self.problem.readers[tensor])

    def _scores(self, scores: Floats, step: Step, n_nodes: int) -> Floats:
        """Return the least objective, of all columns that may be it together, from the input to each node."""
        onward = scores[step.origin] + (step.costs @ self.columns.is_objective)[step.move]
        behind = np.full(n_nodes, inf)
        np.minimum.at(behind, step.target, onward)
        return behind

    def _most_promising(self, nodes: Mapping[Node, int], scores: Floats, n_moves: int) -> Mapping[Node, int]:
        most = ARCS_A_LAYER * len(self.problem.devices) // max(1, n_moves)
        if perf_counter() > self.hasty_from:
            most = NODES_IN_HASTE
        if len(nodes) <= most:
            return nodes
        self.is_whole = False
        return dict(
            sorted(sorted(nodes.items(), key=lambda item: float(scores[item[1]]))[:most], key=lambda item: item[1])
        )

    def _arcs(
        self, layer: int, alive: Sequence[int], behind: Sequence[int], nodes: Mapping[Node, int], moves: Sequence[Move]
    ) -> Iterator[tuple[int, Node, int]]:
        """Yield node before, node behind and move of every arc."""
        inputs = self.problem.predecessors[layer]
        left = [self._readers_left(tensor, layer) for tensor in inputs]
        binds = self.problem.keep_last_two and layer == len(self.problem.layers) - 2
        on_device: list[list[tuple[int, Move]]] = [[] for _ in self.problem.devices]
        for number, move in enumerate(moves):
            on_device[move.device].append((number, move))
        for (needs, bound_to), origin in nodes.items():
            need_of = dict(zip(alive, needs, strict=True))
            held = self._held(need_of)
            for device in self._hosts(layer, need_of, held):
                if bound_to not in {FREE, device}:
                    continue
                fitting = [(number, move) for number, move in on_device[device] if self._fits(held, move)]
                for after in product(*(need_of[t].read_on(device, n) for t, n in zip(inputs, left, strict=True))):
                    later = need_of | dict(zip(inputs, after, strict=True))
                    kept = tuple(later[tensor] for tensor in behind if tensor != layer)
                    for number, move in fitting:
                        yield origin, ((*kept, *move.needs), device if binds else FREE), number

    def _held(self, needs: Mapping[int, Need]) -> list[int]:
        """Return the bytes that are alive on every device."""
        held = [0] * len(self.problem.devices)
        for tensor, need in needs.items():
            for device in need.devices():
                held[device] += self.bytes[tensor]
        return held

    def _hosts(self, layer: int, needs: Mapping[int, Need], held: Sequence[int]) -> Iterator[int]:
        """Yield the devices that have the inputs of `layer` and the RAM to run it, where others have theirs."""
        inputs = self.problem.predecessors[layer]
        ram = [device.ram_bytes for device in self.problem.devices]
        overfull = [device for device, n_bytes in enumerate(held) if n_bytes > ram[device]]
        own_bytes = self.problem.layers[layer].ram_bytes - sum(self.bytes[tensor] for tensor in inputs)
        for device in needs[inputs[0]].next_readers():
            has_all = all(device in needs[tensor].next_readers() for tensor in inputs[1:])
            if has_all and held[device] + own_bytes <= ram[device] and not set(overfull) - {device}:
                yield device

    def _fits(self, held: Sequence[int], move: Move) -> bool:
        return all(held[other] + more <= self.problem.devices[other].ram_bytes for other, more in move.arriving)


def _step(arcs: Sequence[Arc], moves: Sequence[Move]) -> Step:
    origin, target, move = np.array(arcs, dtype=np.intp).T
    return Step(
        origin,
        target,
        move,
        costs=np.array([move.costs for move in moves]),
        device=np.array([move.device for move in moves], dtype=np.intp),
        powered=np.array([move.powered for move in moves], dtype=np.uint64),
    )
