"""Depth first search for the least period or energy, and for the best split within limits on them and on latency.

Layers are assigned in their order, the child with the smallest bound first. Every partial assignment has a bound on I
(`bounds.py`), one on the period (`period_bounds.py`) and one on energy: what is spent, the least that the rest can
spend (a bound on I in joules), and the idle power of the devices powered so far for a period. It is cut off if the
objective's bound is not below the best split so far, or another one is above its limit. By definition of the period,
its bound is

- `load`: that of busy times, and the times that half-duplex links are taken so far;
- `span`: the same, since a device's span has all of its busy time, and the spans so far, which only grow;
- `paper`: that of busy times, since it is the span of the busiest device;
- `old`: that of computing times, since it is at least what the device with most computation computes.

A partial assignment is dropped if an earlier one on the same last device leaves as much flash everywhere that counts
and is no worse in everything that the rest can add to: I, joules, the busy time of each device and link (`load`), or
the longest span and how long ago each device began (`span`). `paper` and `old` pick their device by another figure
than the one that they report, so that being better in both can be worse in the end: they drop nothing.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf, isfinite
from operator import le
from time import perf_counter

from tinysplit.reproduce.partial import assignment_of
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.problem import Objective, Period, Problem, within
from tinysplit.split.solvers.bounds import FlashLeft, LatencyBound, earlier_twins
from tinysplit.split.solvers.period_bounds import PeriodBounds
from tinysplit.split.solvers.rates import in_joules
from tinysplit.split.topology import Hop, Links, pair_of

NODES_BETWEEN_CLOCK_READINGS = 256
MAX_REMEMBERED_STATES = 300_000  # about 150 MB
MAX_REMEMBERED_A_PLACE = 100
ROUNDING = 1e-11  # relative: sums of the same times in another order are no improvement

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
    joules: float  # without what powered devices draw while they wait
    powered: int  # bit set of devices
    loads: Times  # seconds that each device computes and, but for `old`, sends and talks to the host
    shared: Times  # seconds that each half-duplex link is taken
    starts: Times  # of the first thing that each device does, infinite if it has nothing to do
    longest_span: float
    parent: "_Node | None"


class _Clock:
    """What a node becomes while the output of its layer is sent and the next layer computes."""

    def __init__(self, node: _Node, links: Links | None) -> None:
        self.now_s, self.longest_span = node.latency, node.longest_span
        self.loads, self.shared, self.starts = list(node.loads), list(node.shared), list(node.starts)
        self.powered = node.powered
        self.pairs = sorted(links.half_duplex) if links else []

    def send(self, hop: Hop, counted: bool) -> None:
        """Let a tensor go over a link."""
        self.spend(hop.sender, hop.seconds, hop.seconds if counted else 0.0)
        pair = pair_of(hop.sender, hop.receiver)
        if pair in self.pairs:
            self.shared[self.pairs.index(pair)] += hop.seconds

    def spend(self, device: int, seconds: float, counted_s: float) -> None:
        """Let a device do something, of which so much counts for its load."""
        self.starts[device] = min(self.starts[device], self.now_s)
        self.now_s += seconds
        self.loads[device] += counted_s
        self.longest_span = max(self.longest_span, self.now_s - self.starts[device])
        self.powered |= 1 << device


class PeriodSearch:
    """The stack of open nodes and the best complete one; `explored` counts the feasible nodes opened."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.latency_bound = LatencyBound(problem)
        self.period_bounds = PeriodBounds(problem)
        self.in_joules = in_joules(problem)
        self.energy_bound = LatencyBound(self.in_joules)
        self.is_load = problem.period_definition is Period.LOAD
        self.is_old = problem.period_definition is Period.OLD
        self.is_span = problem.period_definition is Period.SPAN
        self.can_drop = not problem.asks_for_period or problem.period_definition in {Period.LOAD, Period.SPAN}
        self.twins = earlier_twins(problem)
        self.remembers_used = problem.must_use_all or any(self.twins)
        self.remembers_powered = problem.asks_for_energy and any(device.idle_w for device in problem.devices)
        self.flash_left = FlashLeft(problem)
        self.remembered: dict[tuple[int, ...], list[Times]] = {}
        self.n_remembered = 0
        self.best: _Node | None = None
        self.best_s = inf
        self.explored = 0
        n_devices = len(problem.devices)
        free = tuple(device.flash_bytes for device in problem.devices)
        nothing, unstarted = (0.0,) * n_devices, (inf,) * n_devices
        shared = (0.0,) * len(problem.links.half_duplex if problem.links else ())
        root = _Node(0.0, 0.0, -1, 0, free, 0, 0.0, 0.0, 0, nothing, shared, unstarted, 0.0, None)
        bounds = self._bounds(root)
        self.open_nodes = [replace(root, bound=bounds[problem.objective], latency_bound=bounds[Objective.LATENCY])]

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
            self.best, self.best_s = search.best, evaluate(self.problem, assignment_of(search.best)).value

    def _step(self) -> None:
        """Take the last open node and open its feasible children, the most promising one last."""
        node = self.open_nodes.pop()
        if node.bound >= self.best_s * (1 - ROUNDING):
            return
        if node.layer == len(self.problem.layers) - 1:
            assignment = assignment_of(node)
            figures = evaluate(self.problem, assignment)
            if (value := figures.value) < self.best_s and figures.is_feasible:
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
        free = node.free_flash[device] - self.problem.layers[layer].flash_bytes[device]
        seconds = self.problem.usable_seconds[layer][device]
        sending = self.problem.transfer_seconds[node.layer][node.device][device] if layer else 0.0
        if free < 0 or not isfinite(seconds + sending):
            return None
        if any(not node.used >> twin & 1 for twin in self.twins[device]):
            return None  # the same with the twin's name is searched anyway
        clock = _Clock(node, self.problem.links)
        for hop in self._hops(node, device):
            clock.send(hop, counted=not self.is_old)
        clock.spend(device, seconds, self.problem.layers[layer].seconds[device] if self.is_old else seconds)
        joules = self.in_joules.usable_seconds[layer][device]
        joules += self.in_joules.transfer_seconds[node.layer][node.device][device] if layer else 0.0
        child = _Node(
            bound=0.0,
            latency_bound=0.0,
            layer=layer,
            device=device,
            free_flash=(*node.free_flash[:device], free, *node.free_flash[device + 1 :]),
            used=node.used | 1 << device,
            latency=clock.now_s,
            joules=node.joules + joules,
            powered=clock.powered,
            loads=tuple(clock.loads),
            shared=tuple(clock.shared),
            starts=tuple(clock.starts),
            longest_span=clock.longest_span,
            parent=node,
        )
        return self._bounded(child)

    def _hops(self, node: _Node, device: int) -> Sequence[Hop]:
        if node.layer < 0 or node.device == device:
            return ()
        if self.problem.links:
            return self.problem.links.routes[node.layer][node.device][device]
        return (Hop(node.device, device, self.problem.transfer_seconds[node.layer][node.device][device]),)

    def _bounded(self, node: _Node) -> _Node | None:
        """Return `node` with its bounds, None where they are too high."""
        bounds, problem = self._bounds(node), self.problem
        bound = bounds[problem.objective]
        if not isfinite(bound) or bound >= self.best_s * (1 - ROUNDING):
            return None
        limits = (problem.max_latency_s, problem.longest_period_s, problem.max_energy_j)
        if not all(map(within, bounds.values(), limits)):
            return None
        return replace(node, bound=bound, latency_bound=bounds[Objective.LATENCY])

    def _bounds(self, node: _Node) -> dict[Objective, float]:
        """Return underestimates of I, the period and the energy of all that `node` can become."""
        place = (node.layer + 1, node.device)
        i_s = self.latency_bound.of(*place, node.latency, node.free_flash)
        period_s = self.period_bounds.of(*place, node.loads, node.free_flash) if self.problem.asks_for_period else 0.0
        if self.is_span:
            period_s = max(period_s, node.longest_span)
        elif self.is_load:
            period_s = max(period_s, *node.shared, 0.0)
        energy_j = 0.0
        if self.problem.asks_for_energy:
            idle_w = sum(limits.idle_w for k, limits in enumerate(self.problem.devices) if node.powered >> k & 1)
            energy_j = self.energy_bound.of(*place, node.joules, node.free_flash)
            energy_j += idle_w * (self.problem.frame_period_s or period_s)
        return {Objective.LATENCY: i_s, Objective.THROUGHPUT: period_s, Objective.ENERGY: energy_j}

    def _is_hopeless(self, node: _Node) -> bool:
        """Return whether nothing can come of `node`, or nothing that an earlier node had not."""
        layers_left = len(self.problem.layers) - 1 - node.layer
        if self.problem.must_use_all and len(self.problem.devices) - node.used.bit_count() > layers_left:
            return True
        if self.flash_left.is_too_much(node.layer + 1, node.free_flash):
            return True
        if not self.can_drop:
            return False
        free = self.flash_left.needed(node.layer + 1, node.free_flash)
        used = node.used if self.remembers_used else 0
        powered = node.powered if self.remembers_powered else 0
        place = (node.layer, node.device, used, powered, *free)
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
        if self.problem.objective is Objective.LATENCY or isfinite(self.problem.max_latency_s):
            yield node.latency
        if self.problem.asks_for_energy:
            yield node.joules
        if self.is_span and self.problem.asks_for_period:
            yield node.longest_span
            yield from (node.latency - min(start, node.latency) for start in node.starts)
        elif self.problem.asks_for_period:
            yield from node.loads
            yield from node.shared
