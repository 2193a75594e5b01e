"""Depth first search for the least period, and for the best split within limits on latency and period.

Layers are assigned in their order, the child with the smallest bound first. Every partial assignment has a bound on I
(`bounds.py`) and one on the period (`period_bounds.py`); it is cut off if the objective's is not below the best split
so far, or the other's is above its limit. By definition of the period, the bound is

- `load`: that of busy times;
- `span`: the same, since a device's span has all of its busy time, and the spans so far, which only grow;
- `paper`: that of busy times, since it is the span of the busiest device;
- `old`: that of computing times, since it is at least what the device with most computation computes.

A partial assignment is dropped if an earlier one on the same last device leaves as much flash everywhere that counts
and is no worse in everything that the rest can add to: I, the busy time of each device (`load`), or the longest span
and how long ago each device began (`span`). `paper` and `old` pick their device by another figure than the one that
they report, so that being better in both can be worse in the end: they drop nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import inf, isfinite
from operator import le
from time import perf_counter

from tinysplit.split.bounds import LatencyBound, earlier_twins
from tinysplit.split.period import Period
from tinysplit.split.period_bounds import PeriodBounds
from tinysplit.split.problem import Assignment, Objective, Problem, within

NODES_BETWEEN_CLOCK_READINGS = 256
MAX_REMEMBERED_STATES = 300_000  # about 150 MB
MAX_REMEMBERED_A_PLACE = 100
ROUNDING = 1e-12  # relative: sums of the same times in another order are no improvement

Times = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class _Node:
    """Layers up to `layer` are assigned, the last one to `device`; `bound` is the objective's."""

    bound: float
    latency_bound: float
    layer: int
    device: int
    free_flash: tuple[int, ...]
    used: int  # bit set of devices
    latency: float
    loads: Times  # seconds that each device computes and, but for `old`, sends
    starts: Times  # of the first sub-model of each device, infinite if it has none
    longest_span: float
    parent: "_Node | None"

    def assignment(self) -> Assignment:
        """Return the devices of layers 0 to `layer`."""
        devices: list[int] = []
        node: _Node = self
        while node.parent:
            devices.append(node.device)
            node = node.parent
        return tuple(reversed(devices))


class PeriodSearch:
    """The stack of open nodes and the best complete one; `explored` counts the feasible nodes opened."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.latency_bound = LatencyBound(problem)
        self.period_bounds = PeriodBounds(problem)
        self.wants_throughput = problem.objective is Objective.THROUGHPUT
        self.is_old = problem.period_definition is Period.OLD
        self.is_span = problem.period_definition is Period.SPAN
        self.can_drop = not problem.asks_for_period or problem.period_definition in {Period.LOAD, Period.SPAN}
        self.twins = earlier_twins(problem)
        self.remembers_used = problem.must_use_all or any(self.twins)
        self.flash_left = [0]  # bytes of the layers behind each layer
        for layer in reversed(problem.layers):
            self.flash_left.insert(0, self.flash_left[0] + layer.flash_bytes)
        self.remembered: dict[tuple[int, ...], list[Times]] = {}
        self.n_remembered = 0
        self.best: _Node | None = None
        self.best_s = inf
        self.explored = 0
        n_devices = len(problem.devices)
        free = tuple(device.flash_bytes for device in problem.devices)
        nothing = (0.0,) * n_devices
        i_s = self.latency_bound.of(0, 0, 0.0, free)
        bound = self.period_bounds.of(0, 0, nothing, free) if self.wants_throughput else i_s
        self.open_nodes = [_Node(bound, i_s, -1, 0, free, 0, 0.0, nothing, (inf,) * n_devices, 0.0, None)]

    def run(self, time_limit_s: float) -> None:
        """Search until no node is open or the time is over."""
        deadline = perf_counter() + time_limit_s
        if self.is_old and self.problem.asks_for_period:
            self._start_from_load(time_limit_s / 2)
        steps = 0
        while self.open_nodes:
            self._step()
            steps += 1
            if steps % NODES_BETWEEN_CLOCK_READINGS == 0 and perf_counter() > deadline:
                break

    def _start_from_load(self, time_limit_s: float) -> None:
        """Begin with the best split of `load`, which is never less than `old`: computing alone is a poor guide."""
        search = PeriodSearch(replace(self.problem, period_definition=Period.LOAD))
        search.run(time_limit_s)
        if search.best:
            self.best, self.best_s = search.best, self.problem.value(search.best.assignment())

    def _step(self) -> None:
        """Take the last open node and open its feasible children, the most promising one last."""
        node = self.open_nodes.pop()
        if node.bound >= self.best_s * (1 - ROUNDING):
            return
        if node.layer == len(self.problem.layers) - 1:
            assignment = node.assignment()
            value = self.problem.value(assignment)
            if value < self.best_s and self.problem.is_feasible(assignment):
                self.best, self.best_s = node, value
            return
        if self._is_hopeless(node):
            return
        devices = range(len(self.problem.devices))
        children = [child for device in reversed(devices) if (child := self._child(node, device))]
        self.explored += len(children)
        children.sort(key=lambda child: (child.bound, child.latency_bound), reverse=True)
        self.open_nodes += children

    def _child(self, node: _Node, device: int) -> _Node | None:
        layer = node.layer + 1
        free = node.free_flash[device] - self.problem.layers[layer].flash_bytes
        seconds = self.problem.usable_seconds[layer][device]
        sending = self.problem.transfer_seconds[node.layer][node.device][device] if layer else 0.0
        if free < 0 or not isfinite(seconds + sending):
            return None
        if any(not node.used >> twin & 1 for twin in self.twins[device]):
            return None  # the same with the twin's name is searched anyway
        flash = (*node.free_flash[:device], free, *node.free_flash[device + 1 :])
        loads = list(node.loads)
        loads[node.device] += 0.0 if self.is_old else sending
        loads[device] += seconds
        arrival, latency = node.latency + sending, node.latency + sending + seconds
        first = min(node.starts[device], arrival)
        starts = (*node.starts[:device], first, *node.starts[device + 1 :])
        sender_span = arrival - node.starts[node.device] if layer else 0.0
        longest = max(node.longest_span, sender_span, latency - first)
        i_s = self.latency_bound.of(layer + 1, device, latency, flash)
        period = self.period_bounds.of(layer + 1, device, loads, flash) if self.problem.asks_for_period else 0.0
        period = max(period, longest) if self.is_span else period
        bound = period if self.wants_throughput else i_s
        if not isfinite(bound) or bound >= self.best_s * (1 - ROUNDING):
            return None
        if not within(i_s, self.problem.max_latency_s) or not within(period, self.problem.max_period_s):
            return None
        used = node.used | 1 << device
        return _Node(bound, i_s, layer, device, flash, used, latency, tuple(loads), starts, longest, node)

    def _is_hopeless(self, node: _Node) -> bool:
        """Return whether nothing can come of `node`, or nothing that an earlier node had not."""
        layers_left = len(self.problem.layers) - 1 - node.layer
        if self.problem.must_use_all and len(self.problem.devices) - node.used.bit_count() > layers_left:
            return True
        flash_left = self.flash_left[node.layer + 1]
        if sum(node.free_flash) < flash_left:
            return True
        if not self.can_drop:
            return False
        free = (min(free, flash_left) for free in node.free_flash)  # more than all that is left is no better
        place = (node.layer, node.device, node.used if self.remembers_used else 0, *free)
        times = tuple(self._times(node))
        others = self.remembered.setdefault(place, [])
        if any(all(map(le, other, times)) for other in others):
            return True
        if self.n_remembered < MAX_REMEMBERED_STATES and len(others) < MAX_REMEMBERED_A_PLACE:
            others.append(times)
            self.n_remembered += 1
        return False

    def _times(self, node: _Node) -> Iterable[float]:
        """Yield all that decides what a completion of `node` costs, and whether it keeps the limits."""
        if not self.wants_throughput or isfinite(self.problem.max_latency_s):
            yield node.latency
        if self.is_span and self.problem.asks_for_period:
            yield node.longest_span
            yield from (node.latency - min(start, node.latency) for start in node.starts)
        elif self.problem.asks_for_period:
            yield from node.loads
