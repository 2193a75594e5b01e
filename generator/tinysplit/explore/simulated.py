"""The figures of a split of a set of boards, by the event engine."""

from collections.abc import Sequence

from tinysplit.explore.figures import Figures
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.problem import Assignment, Problem
from tinysplit.split.solution import assignments
from tinysplit.timing.figures import Timing


def simulated_figures(problem: Problem, assignment: Assignment, copies: Sequence[int] = ()) -> Figures:
    """Return the figures of the event engine; latency with host transfers where `problem` counts them."""
    found = [evaluate(problem, each) for each in assignments(assignment, copies)]
    timing = Timing(tuple(each.firmware.program for each in found), problem.frame_period_s)
    return Figures(timing.i_s + max(each.host_s for each in found), timing.period_s, timing.energy_j(problem.devices))
