"""The estimated seconds of an inference in which each board of a plan runs and sleeps."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from tinysplit.plan.period import planned_program
from tinysplit.plan.plan import Plan
from tinysplit.project.activity import BoardActivity
from tinysplit.split.problem import Problem
from tinysplit.split.simulation.activity import Activity, activities_alone, activities_in_stream


def estimated_alone(plans: Sequence[Plan], problem: Problem) -> tuple[BoardActivity, ...]:
    """Return those of one inference on boards at rest, of the slowest copy."""
    return max((_alone(plan, problem) for plan in plans), key=lambda boards: boards[0].span_s)


def estimated_in_stream(plans: Sequence[Plan], problem: Problem, period_s: float) -> tuple[BoardActivity, ...]:
    """Return those of an inference among many on all copies, of which each takes a share."""
    return tuple(chain.from_iterable(_in_stream(plan, problem, period_s) for plan in plans))


def _alone(plan: Plan, problem: Problem) -> tuple[BoardActivity, ...]:
    return _of_boards(plan, activities_alone(problem, plan.assignment, planned_program(plan, problem)))


def _in_stream(plan: Plan, problem: Problem, period_s: float) -> Iterator[BoardActivity]:
    found = activities_in_stream(problem, plan.assignment, planned_program(plan, problem))
    return (each.during(period_s) for each in _of_boards(plan, found))


def _of_boards(plan: Plan, found: Sequence[Activity]) -> tuple[BoardActivity, ...]:
    external_s = _external_s(plan)
    return tuple(
        BoardActivity(
            board=each.device + 1, run_s=each.run_s, sleep_s=each.sleep_s, external_s=external_s.get(each.device, 0.0)
        )
        for each in found
    )


def _external_s(plan: Plan) -> Mapping[int, float]:
    """Return the seconds of an inference in which the external memory of each device is read."""
    return {
        own.index: sum(each.external_cycles for each in own.constants.values()) / own.board.clock.core_hz
        for own in plan.boards
    }
