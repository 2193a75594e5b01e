"""Branch and bound as published: layers in their order, depth first (Santamaria 2021, section 3.3).

The lower bound of a partial assignment is its latency, transfers included, plus each remaining layer on its fastest
device without transfers. The child with the smallest bound is visited first. There is no dominance between nodes, and
the rules of the problem are checked for complete assignments only.
"""

from dataclasses import dataclass
from math import inf, isfinite

from tinysplit.common.choices import DEFAULT_TIME_LIMIT_S
from tinysplit.common.errors import UsageError
from tinysplit.split import clock
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.problem import Assignment, Problem
from tinysplit.split.solution import Split
from tinysplit.split.solvers.no_split import NoSplitError, check_capacity

NODES_BETWEEN_CLOCK_READINGS = 1024
ROUNDING = 1e-11  # relative: smaller differences are rounding errors of sums


def branch_and_bound(problem: Problem, *, time_limit_s: float = DEFAULT_TIME_LIMIT_S) -> Split:
    """Return a split of least latency, or after `time_limit_s` seconds the best one found, with its lower bound.

    `explored` counts the feasible nodes of the tree.

    Raises:
        UsageError: the network has branches, the objective is not latency, or there are limits on figures.
        NoSplitError: the problem is infeasible, or no split was found in time.
    """
    if not problem.is_chain:
        raise UsageError("branch and bound as published solves chains only, and this network has branches")
    if problem.asks_for_period or problem.is_limited:
        raise UsageError("branch and bound as published supports neither throughput, energy nor limits")
    check_capacity(problem)
    start = clock.now()
    search = _TreeSearch(problem)
    search.run(start + time_limit_s)
    if not search.best:
        raise NoSplitError(proved=not search.open_nodes)
    return Split(
        problem=problem,
        assignment=search.best,
        lower_bound=min([search.best_s, *(node.bound for node in search.open_nodes)]),
        explored=search.explored,
        solver="branch-and-bound",
        spent_s=clock.now() - start,
    )


@dataclass(frozen=True, slots=True)
class _PartialAssignment:
    """Partial assignment of the first layers to `devices`, with a lower bound of the latency in seconds."""

    bound: float
    latency_s: float
    devices: Assignment
    free_flash: tuple[int, ...]


class _TreeSearch:
    """The stack of open nodes, and the incumbent, empty if there is none."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.rest_s = _fastest_rest(problem)
        self.best: Assignment = ()
        self.best_s = inf
        self.explored = 0
        self.open_nodes = [
            _PartialAssignment(self.rest_s[0], 0.0, (), tuple(device.flash_bytes for device in problem.devices))
        ]

    def run(self, deadline: float) -> None:
        """Search until no node is open or the time limit is reached."""
        steps = 0
        while self.open_nodes:
            self._step()
            steps += 1
            if steps % NODES_BETWEEN_CLOCK_READINGS == 0 and clock.now() > deadline:
                break

    def _step(self) -> None:
        """Expand the last open node: push its feasible children, the one with the smallest bound last."""
        node = self.open_nodes.pop()
        if node.bound >= self.best_s * (1 - ROUNDING):
            return
        if len(node.devices) == len(self.problem.layers):
            if evaluate(self.problem, node.devices).is_feasible:
                self.best, self.best_s = node.devices, node.latency_s
            return
        devices = range(len(self.problem.devices))
        children = [child for device in reversed(devices) if (child := self._child(node, device))]
        self.explored += len(children)
        children.sort(key=lambda child: child.bound, reverse=True)  # stable: ties go to the first device
        self.open_nodes += children

    def _child(self, node: _PartialAssignment, device: int) -> _PartialAssignment | None:
        layer = len(node.devices)
        free = node.free_flash[device] - self.problem.layers[layer].flash_bytes[device]
        latency_s = node.latency_s + self.problem.usable_seconds[layer][device]
        if layer:
            latency_s += self.problem.transfer_seconds[layer - 1][node.devices[-1]][device]
        bound = latency_s + self.rest_s[layer + 1]
        if free < 0 or not isfinite(bound):
            return None
        flash = (*node.free_flash[:device], free, *node.free_flash[device + 1 :])
        return _PartialAssignment(bound, latency_s, (*node.devices, device), flash)


def _fastest_rest(problem: Problem) -> list[float]:
    """Return by number of assigned layers the seconds of the others, each on its fastest device."""
    rest = [0.0]
    for seconds in reversed(problem.usable_seconds):
        rest.insert(0, rest[0] + min(seconds))
    return rest
