"""Algorithm 1 of Mukherjee 2022 as printed, changed only where it cannot run otherwise; kept for comparison.

Repaired: D[j] is the output of layer l (j is undefined); I, undefined too, is the output of layer 1. Kept: devices in
their order, the first column without transfers, a transfer behind the last layer, layer 1 on any device, and a schedule
of each layer's own least entry in place of the way that leads to the best one.
"""

from itertools import accumulate
from math import inf

from tinysplit.common.errors import UsageError
from tinysplit.split import clock
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.problem import Assignment, Problem
from tinysplit.split.solution import DEFAULT_TIME_LIMIT_S, Split
from tinysplit.split.solvers.lower_bound import lower_bound_without_transfers
from tinysplit.split.solvers.no_split import NoSplitError, check_capacity


def algorithm_1_least_repair(problem: Problem, *, time_limit_s: float = DEFAULT_TIME_LIMIT_S) -> Split:
    """Return its one schedule, in O(d n^2), whatever is to be minimized; `time_limit_s` is not needed.

    It knows no memory and no rules: CheckFailedError where its schedule breaks one. UsageError for branches.
    """
    del time_limit_s
    if not problem.is_chain:
        raise UsageError("Algorithm 1 solves chains only, and this network has branches")
    check_capacity(problem)
    start = clock.now()
    assignment = _schedule(problem)
    if not evaluate(problem, assignment).is_feasible:
        raise NoSplitError(proved=False)
    return Split(
        problem=problem,
        assignment=assignment,
        lower_bound=min(evaluate(problem, assignment).value, lower_bound_without_transfers(problem)),
        explored=1,
        solver="algorithm-1",
        spent_s=clock.now() - start,
    )


def _schedule(problem: Problem) -> Assignment:
    """Return the device of every layer, feasible or not."""
    layers, n_devices = range(len(problem.layers)), len(problem.devices)
    seconds = [[layer.seconds[device] for layer in problem.layers] for device in range(n_devices)]
    sums = [[0.0, *accumulate(column)] for column in seconds]

    def sending(layer: int, device: int) -> float:
        other = device + 1 if device + 1 < n_devices else device - 1
        return problem.transfer_seconds[layer][device][other]

    table = [[inf] * n_devices for _ in layers]
    for layer in layers:
        table[layer][0] = sums[0][layer + 1]
    for device in range(1, n_devices):
        table[0][device] = seconds[device][0] + sending(0, device)
        for layer in layers[1:]:
            table[layer][device] = min(
                max(table[i][device - 1], sums[device][layer + 1] - sums[device][i + 1] + sending(layer, device))
                for i in range(layer)
            )
    return tuple(row.index(min(row)) for row in table)
