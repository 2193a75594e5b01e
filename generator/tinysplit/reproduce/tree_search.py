"""Depth first search over assignments of a growing number of layers, with pruning."""

from dataclasses import dataclass
from math import inf, isfinite
from operator import mul
from time import perf_counter

from tinysplit.split.problem import Problem
from tinysplit.split.solvers.bounds import FlashLeft, LatencyBound, earlier_twins, fastest_devices

NODES_BETWEEN_CLOCK_READINGS = 1024
MAX_REMEMBERED_STATES = 500_000  # about 150 MB
ROUNDING = 1e-11  # relative: sums of the same times in another order are no improvement


@dataclass(frozen=True, slots=True)
class _Node:
    """Layers up to `layer` are assigned, the last one to `device`; `bound` underestimates I of every completion."""

    bound: float
    latency: float
    layer: int
    device: int
    free_flash: tuple[int, ...]
    free_value: float  # seconds, free flash at its prices
    used: int  # bit set of devices
    parent: "_Node | None"


class TreeSearch:
    """The stack of open nodes and the best complete one; `explored` counts the feasible nodes opened."""

    def __init__(self, problem: Problem, *, as_published: bool = False) -> None:
        self.problem = problem
        self.seconds = problem.usable_seconds
        self.rest = self.priced_rest = fastest_devices(problem)
        self.prices = [0.0] * len(problem.devices)
        if not as_published:
            bound = LatencyBound(problem)
            self.rest, self.prices, self.priced_rest = bound.rest, bound.prices, bound.priced_rest
        self.as_published = as_published
        self.twins = [()] * len(problem.devices) if as_published else earlier_twins(problem)
        self.has_twins = any(self.twins)
        self.flash_left = FlashLeft(problem)
        self.fastest_by_state: dict[tuple[int, ...], float] = {}
        self.best: _Node | None = None
        self.best_s = inf
        self.explored = 0
        limits = tuple(device.flash_bytes for device in problem.devices)
        value = sum(map(mul, limits, self.prices))
        least_s = max(self.rest[0][0], self.priced_rest[0][0] - value)
        self.open_nodes = [_Node(least_s, 0.0, -1, 0, limits, value, 0, None)]

    def run(self, time_limit_s: float) -> None:
        """Search until no node is open or the time is over."""
        deadline = perf_counter() + time_limit_s
        steps = 0
        while self.open_nodes:
            self._step()
            steps += 1
            if steps % NODES_BETWEEN_CLOCK_READINGS == 0 and perf_counter() > deadline:
                break

    def _step(self) -> None:
        """Take the last open node and open its feasible children, the most promising one last."""
        node = self.open_nodes.pop()
        if node.bound >= self.best_s * (1 - ROUNDING):
            return
        if node.layer == len(self.problem.layers) - 1:
            if self._keeps_rules(node):
                self.best, self.best_s = node, node.latency
            return
        if not self.as_published and self._is_hopeless(node):
            return
        devices = range(len(self.problem.devices))
        children = [child for device in reversed(devices) if (child := self._child(node, device))]
        self.explored += len(children)
        children.sort(key=lambda child: child.bound, reverse=True)  # stable: of equals the first device is tried first
        self.open_nodes += children

    def _child(self, node: _Node, device: int) -> _Node | None:
        layer = node.layer + 1
        flash_bytes = self.problem.layers[layer].flash_bytes[device]
        free = node.free_flash[device] - flash_bytes
        latency = node.latency + self.seconds[layer][device]
        if node.layer >= 0:
            latency += self.problem.transfer_seconds[node.layer][node.device][device]
        free_value = node.free_value - flash_bytes * self.prices[device]
        bound = latency + max(self.rest[layer + 1][device], self.priced_rest[layer + 1][device] - free_value)
        if free < 0 or not isfinite(bound):
            return None
        if any(not node.used >> twin & 1 for twin in self.twins[device]):
            return None  # the same with the twin's name is searched anyway
        flash = (*node.free_flash[:device], free, *node.free_flash[device + 1 :])
        return _Node(bound, latency, layer, device, flash, free_value, node.used | 1 << device, node)

    def _keeps_rules(self, node: _Node) -> bool:
        all_used = not self.problem.must_use_all or node.used.bit_count() == len(self.problem.devices)
        if not self.problem.keep_last_two or not node.parent or node.parent.layer < 0:
            return all_used
        return all_used and node.parent.device == node.device

    def _is_hopeless(self, node: _Node) -> bool:
        """Return whether nothing can come of `node`, or nothing that an earlier node had not."""
        layers_left = len(self.problem.layers) - 1 - node.layer
        devices_left = len(self.problem.devices) - node.used.bit_count()
        if self.problem.must_use_all and devices_left > layers_left:
            return True
        if self.flash_left.is_too_much(node.layer + 1, node.free_flash):
            return True
        free = self.flash_left.needed(node.layer + 1, node.free_flash)
        used = node.used if self.problem.must_use_all or self.has_twins else 0  # else it makes no difference
        state = (node.layer, node.device, used, *free)
        if self.fastest_by_state.get(state, inf) <= node.latency:
            return True
        if len(self.fastest_by_state) < MAX_REMEMBERED_STATES:
            self.fastest_by_state[state] = node.latency
        return False
