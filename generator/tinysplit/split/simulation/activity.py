"""What boards do with the time of an inference: the seconds in which they run and sleep."""

from collections.abc import Sequence
from typing import NamedTuple

from tinysplit.split.evaluate.steps import Program
from tinysplit.split.problem import Assignment, Problem
from tinysplit.split.simulation.power import awake_s
from tinysplit.split.simulation.results import Simulated
from tinysplit.split.simulation.run import simulate

_FEW_BEYOND, _MORE = 2, 8  # inputs beyond one a board until a stream is steady, and those that are counted


class Activity(NamedTuple):
    """Seconds of an inference in which a device runs (computes, moves tensors, or waits awake) and sleeps."""

    device: int
    run_s: float
    sleep_s: float


def activities_alone(problem: Problem, assignment: Assignment, program: Program | None = None) -> tuple[Activity, ...]:
    """Return those of one inference on boards at rest, from its first byte at the host until the output was read."""
    return _activities(simulate(problem, assignment, (0.0,), program=program))


def activities_in_stream(
    problem: Problem, assignment: Assignment, program: Program | None = None, interval_s: float = 0.0
) -> tuple[Activity, ...]:
    """Return those of an inference among many, with an input every `interval_s`; 0: as soon as there is room."""
    few = len(set(assignment)) + _FEW_BEYOND
    before, after = (
        _activities(simulate(problem, assignment, _times_s(count, interval_s), program=program))
        for count in (few, few + _MORE)
    )
    return tuple(
        Activity(more.device, (more.run_s - less.run_s) / _MORE, (more.sleep_s - less.sleep_s) / _MORE)
        for less, more in zip(before, after, strict=True)
    )


def _times_s(count: int, interval_s: float) -> Sequence[float]:
    return tuple(interval_s * number for number in range(count))


def _activities(found: Simulated) -> tuple[Activity, ...]:
    span_s = found.end_s
    run_s = [times.computing_s + times.moving_s + awake_s(times, span_s) for times in found.boards]
    activities = (Activity(each.device, run, span_s - run) for each, run in zip(found.boards, run_s, strict=True))
    return tuple(sorted(activities))
