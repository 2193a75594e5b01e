"""Builds the state graph: which devices still need which tensors, layer by layer.

A state between two layers is, for every tensor that a later layer reads, the set of devices that will read it. The
devices are chosen when the tensor is computed, because that is when it is sent. So the cost of a layer, and the RAM
that is live while it runs, follow from the state before it and the move.
"""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import product
from math import inf, isfinite
from operator import and_

import numpy as np

from tinysplit.split import clock
from tinysplit.split.problem import Period, Problem
from tinysplit.split.solvers.labels.firmware_bounds import least_feeding_s, least_input_s
from tinysplit.split.solvers.labels.fused import FusedLayerCosts
from tinysplit.split.solvers.labels.links import LinkRam
from tinysplit.split.solvers.labels.pending_tensors import PendingTensor, all_pending_tensors
from tinysplit.split.solvers.labels.resources import Resources
from tinysplit.split.solvers.labels.state_graph import (
    Floats,
    StateGraph,
    Step,
    with_tight_devices,
    without_dead_ends,
)
from tinysplit.split.solvers.labels.transitions import Move, Moves, moves_of, readers_on, what_moves_depend_on
from tinysplit.timing.topology import NETWORK_INPUT

ARCS_A_LAYER = 200_000  # about: half a second, and 20 megabytes
ARCS_A_READING, MOVES_A_READING = 4096, 256  # between two readings of the clock
FREE = -1  # no device

Node = tuple[
    tuple[PendingTensor, ...], int
]  # of the tensors that later layers read; the device that the next layer must take, as it is joined or fused
Ram = tuple[tuple[int, int], ...]  # device and bytes


class StateGraphBuilder:
    """Builds the graph of one problem, complete or with the most promising nodes only."""

    def __init__(self, costs: FusedLayerCosts, resources: Resources) -> None:
        self.fused, self.resources = costs, resources
        self.problem = problem = costs.least
        self.links = LinkRam(problem)
        alone = problem.is_chain and problem.links is None  # only the tensors of the running layer are live
        layers = range(len(problem.layers))
        self.bytes = [0 if alone else problem.held_bytes(tensor) for tensor in (*layers, NETWORK_INPUT)]
        sees_order = problem.asks_for_period and problem.period_definition in {Period.SPAN, Period.PAPER}
        self.is_ordered = sees_order and bool(problem.links or problem.host_seconds)
        self.moves: list[Moves] = []
        self._known_moves: dict[Hashable, Moves] = {}
        self.least_left = np.zeros(0)
        self.room_bytes: Sequence[float] = problem.arena_limits  # up to which an arena leaves room for any links

    def build(self, most_nodes: int, best: float, deadline: float) -> StateGraph | None:
        """Return the paths that may be better than `best`, through at most `most_nodes` nodes after each layer.

        None where the time is over first.
        """
        is_late = _Deadline(deadline)
        if not self._find_moves(is_late):
            return None
        readers = self.problem.readers[NETWORK_INPUT]
        needs = list(
            all_pending_tensors(readers_on(self.problem, NETWORK_INPUT), len(readers), is_ordered=self.is_ordered)
        )
        entry = np.array([self.resources.of_input(need.devices()) for need in needs])
        entry = entry.reshape(len(needs), len(self.resources.number))  # also where no device has any
        begun = np.array([self._begun(need) for need in needs]).reshape(-1, len(self.problem.devices))
        fed = np.array([self._fed(need) for need in needs])
        nodes: Mapping[Node, int] = {((need,), FREE): number for number, need in enumerate(needs)}
        scores = entry @ self.resources.average
        alive: tuple[int, ...] = (NETWORK_INPUT,)
        steps: list[Step] = []
        left_out = inf
        for layer in range(len(self.problem.layers)):
            bounds = scores + self.least_left[layer]
            most = min(most_nodes, ARCS_A_LAYER * len(self.problem.devices) // max(1, len(self.moves[layer].every)))
            kept = self._most_promising(nodes, alive, np.where(bounds < best, bounds, inf), most)
            left_out = min(left_out, np.delete(bounds, list(kept.values())).min(initial=inf))
            live_after = tuple(tensor for tensor in (*alive, layer) if self._readers_left(tensor, layer))
            numbers = _Numbers(self.problem, live_after, layer)
            arcs: list[tuple[int, int, int, Ram]] = []
            for origin, node, move, tight in self._arcs(layer, alive, live_after, kept):
                if (target := numbers.of(node)) is not None:
                    arcs.append((origin, target, move, tight))
                if is_late(1 / ARCS_A_READING):
                    return None
            if not arcs:
                return StateGraph(entry, begun, fed, (), left_out, np.zeros(0, dtype=np.intp))
            steps.append(self._step(layer, arcs))
            nodes, alive = numbers.number, live_after
            scores = _scores(scores, steps[-1], self.resources.average, len(nodes))
        return without_dead_ends(
            with_tight_devices(StateGraph(entry, begun, fed, tuple(steps), left_out, np.arange(0)))
        )

    def _find_moves(self, is_late: "_Deadline") -> bool:
        """Find the moves of all layers, once for equal ones; return whether there was time: with many boards, many."""
        for layer in range(len(self.moves), len(self.problem.layers)):
            held_bytes = self.bytes[layer]
            key = what_moves_depend_on(self.problem, self.resources.path, layer, held_bytes)
            if key not in self._known_moves:
                every: list[Move] = []
                own = (self.fused, self.resources, self.links, layer, held_bytes)
                for move in moves_of(*own, is_ordered=self.is_ordered):
                    every.append(move)
                    if is_late(1 / MOVES_A_READING):
                        return False
                self._known_moves[key] = Moves(every)
            self.moves.append(self._known_moves[key])
        weights, some = self.resources.average, [moves for moves in self.moves if moves.every]
        least = [(moves.costs @ weights).min(initial=inf) for moves in some]
        self.least_left = np.append(np.cumsum(least[::-1])[::-1], 0.0)
        most = [moves.link_bytes.max(axis=0) for moves in some]
        taken = np.array(most).reshape(-1, len(self.problem.devices))
        if self.links.counts:
            self.room_bytes = self.links.room_bytes(taken.sum(axis=0).tolist())
        return True

    def _most_promising(
        self, nodes: Mapping[Node, int], alive: Sequence[int], bounds: Floats, most: int
    ) -> Mapping[Node, int]:
        """Return `most` nodes of finite bounds: half with the smallest bounds, half with the most free RAM."""
        order = np.argsort(bounds, kind="stable")[: np.count_nonzero(np.isfinite(bounds))]
        kept = set(order.tolist())
        if len(order) > most:
            ram = np.array([max(1, limit) for limit in self.problem.arena_limits])
            held = np.array([self._held(dict(zip(alive, needs, strict=True))) for needs, _ in nodes])
            roomiest = np.argsort((held / ram).max(axis=1)[order], kind="stable")
            kept = {*order[: most // 2].tolist(), *order[roomiest[: most // 2]].tolist()}
        return {node: number for node, number in nodes.items() if number in kept}

    def _readers_left(self, tensor: int, layer: int) -> int:
        return sum(reader > layer for reader in self.problem.readers[tensor])

    def _arcs(
        self, layer: int, alive: Sequence[int], live_after: Sequence[int], nodes: Mapping[Node, int]
    ) -> Iterator[tuple[int, Node, int, Ram]]:
        """Yield node before, node after, move, and RAM of the devices that have little of it, of every arc."""
        inputs = self.problem.predecessors[layer]
        left = [self._readers_left(tensor, layer) for tensor in inputs]
        binds, fuses = layer in self.problem.joined, self.fused.joins(layer)
        on_device: list[list[tuple[int, Move]]] = [[] for _ in self.problem.devices]
        for number, move in enumerate(self.moves[layer].every):
            on_device[move.device].append((number, move))
        for (needs, bound_to), origin in nodes.items():
            need_of = dict(zip(alive, needs, strict=True))
            held = self._held(need_of)
            for device in self._hosts(layer, need_of, held):
                if bound_to not in {FREE, device}:
                    continue
                fitting = [
                    (number, move, device if binds or (fuses and move.goes_on) else FREE, ram)
                    for number, move in on_device[device]
                    if (ram := self._ram(layer, held, move, came=bound_to == device)) is not None
                ]
                for after in product(*(need_of[t].read_on(device, n) for t, n in zip(inputs, left, strict=True))):
                    later = need_of | dict(zip(inputs, after, strict=True))
                    kept = tuple(later[tensor] for tensor in live_after if tensor != layer)
                    for number, move, binding, ram in fitting:
                        yield origin, ((*kept, *move.needs), binding), number, ram

    def _held(self, needs: Mapping[int, PendingTensor]) -> list[int]:
        """Return the bytes that are alive on every device."""
        held = [0] * len(self.problem.devices)
        for tensor, need in needs.items():
            for device in need.devices():
                held[device] += self.bytes[tensor]
        return held

    def _hosts(self, layer: int, needs: Mapping[int, PendingTensor], held: Sequence[int]) -> Iterator[int]:
        """Yield the devices that have the inputs of `layer` and the RAM to run it, where others have theirs."""
        inputs = self.problem.predecessors[layer]
        ram = self.problem.arena_limits
        overfull = [device for device, n_bytes in enumerate(held) if n_bytes > ram[device]]
        input_bytes = sum(self.bytes[tensor] for tensor in inputs)
        for device in needs[inputs[0]].next_readers():
            has_all = all(device in needs[tensor].next_readers() for tensor in inputs[1:])
            own_bytes = self.problem.layers[layer].ram_bytes[device] - input_bytes
            if has_all and held[device] + own_bytes <= ram[device] and not set(overfull) - {device}:
                yield device

    def _ram(self, layer: int, held: Sequence[int], move: Move, *, came: bool) -> Ram | None:
        """Return the RAM in use while `layer` runs on devices that may lack room for links; None if one lacks more."""
        input_bytes = sum(self.bytes[tensor] for tensor in self.problem.predecessors[layer])
        own = self.fused.ram_bytes(layer, move.device, came=came, goes_on=move.goes_on) - input_bytes
        tight: Ram = ()
        for device, more in ((move.device, own), *move.arriving):
            used = held[device] + more
            if used > self.problem.arena_limits[device]:
                return None
            if used > self.room_bytes[device]:
                tight = (*tight, (device, used))
        return tight

    def _step(self, layer: int, arcs: Sequence[tuple[int, int, int, Ram]]) -> Step:
        origin, target, move = np.array([arc[:3] for arc in arcs], dtype=np.intp).T
        own = self.moves[layer]
        order = np.lexsort((own.device[move], origin))
        origin, target, move = origin[order], target[order], move[order]
        ram = np.zeros((len(arcs), len(self.problem.devices) if any(arc[3] for arc in arcs) else 0))
        for row, arc in enumerate(order) if ram.size else ():
            for tight, used in arcs[arc][3]:
                ram[row, tight] = used
        times = (own.begins_s, own.ends_s, own.line_s)
        return Step(origin, target, move, own.costs, own.device, own.powered, *times, ram, own.link_bytes, own.peers)

    def _begun(self, need: PendingTensor) -> list[float]:
        """Return when the host begins to send its input to each device, one after the other."""
        begun, clock_s = [inf] * len(self.problem.devices), 0.0
        if self.resources.is_firmware:
            for device in need.devices() if self.problem.is_chain else ():
                begun[device] = -least_input_s(self.problem, device)
            return begun
        for device in need.devices() if self.problem.host_seconds else ():
            begun[device] = clock_s
            clock_s += self.problem.host_seconds[device][0]
        return begun

    def _fed(self, need: PendingTensor) -> float:
        """Return the seconds of the slowest device to which the host sends its input."""
        if not self.resources.is_firmware:
            return 0.0
        return max((least_feeding_s(self.problem, device) for device in need.devices()), default=0.0)


class _Deadline:
    """Whether it has passed, which is looked up once for each unit of work."""

    def __init__(self, deadline: float) -> None:
        self.deadline, self.work = deadline, 0.0

    def __call__(self, work: float) -> bool:
        """Return whether the deadline is known to have passed, after more work."""
        self.work += work
        if self.work < 1:
            return False
        self.work -= 1
        return clock.now() > self.deadline


class _Numbers:
    """Numbers of the nodes after a layer from which the end may be reached."""

    def __init__(self, problem: Problem, live_after: Sequence[int], layer: int) -> None:
        self.number: dict[Node, int] = {}
        self._dead_ends = set[Node]()
        self._readers: list[tuple[int, list[int]]] = []  # devices that can run a later layer, and which inputs it has
        for reader in sorted({each for tensor in live_after for each in problem.readers[tensor] if each > layer}):
            known = [place for place, tensor in enumerate(live_after) if tensor in problem.predecessors[reader]]
            runs = sum(1 << device for device, s in enumerate(problem.usable_seconds[reader]) if isfinite(s))
            self._readers.append((runs, known))

    def of(self, node: Node) -> int | None:
        """Return the number of `node`, None where some layer cannot have all that it reads, or a need has no reader."""
        if node in self._dead_ends:
            return None
        number = self.number.get(node)
        if number is None:
            if self._is_dead_end([need.mask for need in node[0]]):
                self._dead_ends.add(node)
                return None
            number = self.number[node] = len(self.number)
        return number

    def _is_dead_end(self, needs: Sequence[int]) -> bool:
        served = [0] * len(needs)
        for runs, known in self._readers:
            devices = reduce(and_, (needs[place] for place in known), runs)
            if not devices:
                return True
            for place in known:
                served[place] |= devices
        return any(need & ~reading for need, reading in zip(needs, served, strict=True))


def _scores(scores: Floats, step: Step, weights: Floats, n_nodes: int) -> Floats:
    """Return the least weighted costs from the input to each node after `step`."""
    live_after = np.full(n_nodes, inf)
    np.minimum.at(live_after, step.target, scores[step.origin] + (step.costs @ weights)[step.move])
    return live_after
