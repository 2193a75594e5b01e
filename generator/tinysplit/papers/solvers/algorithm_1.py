"""Algorithm 1 of Mukherjee 2022 as printed, with the fewest repairs that make it run; used for comparison.

Repaired: D[j] is the output of layer l (j is undefined), and I, also undefined, is the output of layer 1. Not repaired:
devices are used in their order, the first column has no transfers, a transfer follows the last layer, layer 1 may be on
any device, and the schedule takes the least entry of each layer instead of tracing back the optimal path.
"""

from itertools import accumulate
from math import inf

from tinysplit.common.choices import DEFAULT_TIME_LIMIT_S
from tinysplit.common.errors import UsageError
from tinysplit.split import clock
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.problem import Assignment, Problem
from tinysplit.split.solution import Split
from tinysplit.split.solvers.lower_bound import lower_bound_without_transfers
from tinysplit.split.solvers.no_split import NoSplitError, check_capacity


def algorithm_1_least_repair(problem: Problem, *, time_limit_s: float = DEFAULT_TIME_LIMIT_S) -> Split:
    """Return its schedule, in O(d n^2), for any objective; `time_limit_s` is ignored.

    Raises:
        UsageError: the network has branches.
        NoSplitError: the schedule, which ignores memory and rules, is infeasible.
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
    layers = range(len(problem.layers))
    n_devices = len(problem.devices)
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
