"""Copies of the whole network, each simulated with the inputs that the host deals to it."""

from collections.abc import Sequence
from itertools import chain

from tinysplit.split.evaluate.arrivals import deal
from tinysplit.split.problem import Problem
from tinysplit.split.simulation.results import Simulated
from tinysplit.split.simulation.run import queue_of, simulate


def simulate_copies(
    problem: Problem, arrivals_s: Sequence[float], devices: Sequence[int], *, keeps_events: bool = False
) -> Simulated:
    """Simulate inputs on the copies of the whole network on `devices`; there is no link that could lose bytes.

    Raises CheckFailedError if none of them has the memory.
    """
    placed = deal(problem, arrivals_s, devices)
    numbers = {device: [n for n, each in enumerate(placed) if each.device == device] for device in devices}
    parts = [
        (
            own,
            simulate(problem, (device,) * len(problem.layers), [arrivals_s[n] for n in own], keeps_events=keeps_events),
        )
        for device, own in numbers.items()
        if own
    ]
    by_number = sorted(
        chain.from_iterable(zip(own, part.passages, part.inference_s, strict=True) for own, part in parts)
    )
    passages = tuple(passage for _, passage, _ in by_number)
    return Simulated(
        passages=passages,
        inference_s=tuple(inference_s for _, _, inference_s in by_number),
        t_s=(0.0,) * len(passages),
        l_s=max(part.l_s for _, part in parts),
        boards=tuple(chain.from_iterable(part.boards for _, part in parts)),
        buffers=tuple(chain.from_iterable(part.buffers for _, part in parts)),
        queue=queue_of(passages),
        repeated_frames=0,
        hidden_s=sum(part.hidden_s for _, part in parts),
        contended_s=0.0,
        overtakings=0,
        events=tuple(event._replace(number=own[event.number]) for own, part in parts for event in part.events),
    )
