"""The best single board of a problem: what a split has to be compared with."""

from dataclasses import replace
from math import inf

from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.problem import Problem


def one_board_period_s(problem: Problem) -> float | None:
    """Return the shortest period of one board that computes the whole network, None where no board can hold it."""
    free = replace(problem, must_use_all=False, frame_period_s=0.0).without_limits()
    whole = [evaluate(free, (device,) * len(problem.layers)) for device in range(len(problem.devices))]
    shortest = min((alone.period_s for alone in whole if alone.is_feasible), default=inf)
    return shortest if shortest < inf else None
