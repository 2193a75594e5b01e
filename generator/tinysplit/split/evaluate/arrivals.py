"""Inputs that arrive at a frame rate: when each is done, through a split or on whole networks (seed 001, section 5.1).

Seed 001's Figures 4 and 5 compare a pipeline with "greedy" placement: each input goes to a device that is free and
runs there alone, or waits for one. Both are simulated exactly, event by event.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from tinysplit.common.errors import CheckFailedError
from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.evaluate.timeline import steps
from tinysplit.split.problem import Assignment, Problem


@dataclass(frozen=True)
class Passage:
    """One input, in seconds: when it comes, when a device begins with it, when its answer is there."""

    arrival_s: float
    start_s: float
    end_s: float

    @property
    def waiting_s(self) -> float:
        """Until a device begins with it."""
        return self.start_s - self.arrival_s

    @property
    def latency_s(self) -> float:
        """From arrival to answer, what Figure 5 plots."""
        return self.end_s - self.arrival_s


def frames(count: int, per_second: float) -> tuple[float, ...]:
    """Return the arrivals of `count` inputs at a frame rate, from 0."""
    return tuple(number / per_second for number in range(count))


def through_split(problem: Problem, assignment: Assignment, arrivals: Sequence[float]) -> tuple[Passage, ...]:
    """Return the passage of each input through a split.

    A device does one thing at a time: it computes what it can of an input and is busy until it has sent the result;
    what comes meanwhile waits in a queue without end. Of several inputs that wait a device takes the oldest.
    """
    stages = _stages(problem, assignment)
    events = [(arrival, number, 0) for number, arrival in enumerate(arrivals)]  # an input is there for a stage
    heapq.heapify(events)
    waiting: dict[int, list[tuple[int, int]]] = {device: [] for device, _ in stages}  # inputs and stages
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
    """Return (device, seconds) of what is done without a change of device, in its order."""
    runs = groupby(steps(problem, assignment), key=lambda step: step.device)
    return [(device, sum(step.seconds for step in run)) for device, run in runs]


def on_whole_networks(problem: Problem, arrivals: Sequence[float]) -> tuple[Passage, ...]:
    """Return the passage of each input, one after the other, on the device that is free first, of those the fastest.

    Only devices that hold the whole network count; CheckFailedError if there is none.
    """
    n_layers = len(problem.layers)
    one_by_one = replace(problem, must_use_all=False).without_limits()
    alone = {
        device: evaluate(problem, (device,) * n_layers).i_s
        for device in range(len(problem.devices))
        if evaluate(one_by_one, (device,) * n_layers).is_feasible
    }
    if not alone:
        raise CheckFailedError("no board holds the whole network: nothing to place inputs on")
    free_s = dict.fromkeys(alone, 0.0)
    passages = []
    for arrival in arrivals:
        start, _, device = min((max(arrival, free_s[device]), alone[device], device) for device in alone)
        free_s[device] = start + alone[device]
        passages.append(Passage(arrival, start, free_s[device]))
    return tuple(passages)
