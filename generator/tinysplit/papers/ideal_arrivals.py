"""Inputs that arrive at a frame rate, on an ideal split or on whole networks (Mukherjee 2022, section 5.1).

Mukherjee 2022, Figures 4 and 5, compare a pipeline with "greedy" placement, which runs each input on one free device
or lets it wait for one. Both are simulated exactly, event by event.
"""

import heapq
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

from tinysplit.common.errors import CheckFailedError
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.evaluate.timeline import steps
from tinysplit.split.problem import Assignment, Problem
from tinysplit.timing.results import Passage


class Placed(NamedTuple):
    """An input on the device that runs the whole network for it."""

    device: int
    passage: Passage


def frames(count: int, per_second: float) -> tuple[float, ...]:
    """Return the arrival times in seconds of `count` inputs at a rate per second, from 0."""
    return tuple(number / per_second for number in range(count))


def through_split(problem: Problem, assignment: Assignment, arrivals: Sequence[float]) -> tuple[Passage, ...]:
    """Return the times of each input of `arrivals` (seconds, ascending) through an ideal split.

    A device processes one input at a time and is busy until it has sent the result; inputs that arrive meanwhile wait
    in an unbounded queue, of which the device takes the oldest. `timing/` has the generated firmware.
    """
    stages = _stages(problem, assignment)
    events = [(arrival, number, 0) for number, arrival in enumerate(arrivals)]  # (time, input, stage)
    heapq.heapify(events)
    waiting: dict[int, list[tuple[int, int]]] = {device: [] for device, _ in stages}  # (input, stage) by device
    free_s = dict.fromkeys(waiting, 0.0)
    starts, ends = list(arrivals), list(arrivals)
    while events:
        now = events[0][0]
        while events and events[0][0] == now:
            _, number, position = heapq.heappop(events)
            if position == len(stages):
                ends[number] = now
            else:
                heapq.heappush(waiting[stages[position][0]], (number, position))
        for device, queue in waiting.items():
            if queue and free_s[device] <= now:
                number, position = heapq.heappop(queue)
                free_s[device] = now + stages[position][1]
                starts[number] = now if position == 0 else starts[number]
                heapq.heappush(events, (free_s[device], number, position + 1))
    return tuple(map(Passage, arrivals, starts, ends))


def _stages(problem: Problem, assignment: Assignment) -> list[tuple[int, float]]:
    """Return (device, seconds) of the maximal runs of steps on one device, in order."""
    runs = groupby(steps(problem, assignment), key=lambda step: step.device)
    return [(device, sum(step.seconds for step in run)) for device, run in runs]


def on_whole_networks(
    problem: Problem, arrivals: Sequence[float], devices: Sequence[int] | None = None
) -> tuple[Passage, ...]:
    """Return the times of each input, placed as `deal` does."""
    return tuple(placed.passage for placed in deal(problem, arrivals, devices))


def deal(problem: Problem, arrivals: Sequence[float], devices: Sequence[int] | None = None) -> tuple[Placed, ...]:
    """Place each input on the device that is free first; the fastest device wins ties.

    Only those of `devices` (by default all) that can run the whole network take part. Raises CheckFailedError if there
    is none.
    """
    n_layers = len(problem.layers)
    one_by_one = replace(problem, must_use_all=False).without_limits()
    alone = {
        device: evaluate(problem, (device,) * n_layers).i_s
        for device in (range(len(problem.devices)) if devices is None else devices)
        if evaluate(one_by_one, (device,) * n_layers).is_feasible
    }
    if not alone:
        raise CheckFailedError("no board has the memory for the whole network")
    free_s = dict.fromkeys(alone, 0.0)
    placed = []
    for arrival in arrivals:
        start, _, device = min((max(arrival, free_s[device]), alone[device], device) for device in alone)
        free_s[device] = start + alone[device]
        placed.append(Placed(device, Passage(arrival, start, free_s[device])))
    return tuple(placed)
