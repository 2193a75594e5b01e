"""Problems whose seconds are something else, so that every bound on latency is one on that: weighted times, joules."""

from collections.abc import Sequence
from dataclasses import replace
from math import inf, isfinite

from tinysplit.split.problem import Problem


def rated(
    problem: Problem, computing: Sequence[float], sending: Sequence[float], receiving: Sequence[float] = ()
) -> Problem:
    """Return a chain in which each second counts as much as the device that spends it says, nothing in RAM changed.

    What a device does for the host counts as sending. A tensor that is passed on counts on every hop, on both its ends.
    """
    receiving = receiving or [0.0] * len(sending)
    layers = tuple(replace(layer, seconds=tuple(map(_worth, layer.seconds, computing))) for layer in problem.layers)
    devices = range(len(problem.devices))

    def transfer(layer: int, sender: int, receiver: int) -> float:
        seconds = problem.transfer_seconds[layer][sender][receiver]
        if problem.links is None or not 0 < seconds < inf:
            return _worth(seconds, sending[sender] + receiving[receiver])
        way = problem.links.routes[layer][sender][receiver]
        return sum((sending[hop.sender] + receiving[hop.receiver]) * hop.seconds for hop in way)

    return replace(
        problem,
        layers=layers,
        transfer_seconds=tuple(
            tuple(tuple(transfer(layer, i, h) for h in devices) for i in devices) for layer in range(len(layers))
        ),
        links=None,
        host_seconds=tuple(
            (in_s * rate, out_s * rate) for (in_s, out_s), rate in zip(problem.host_seconds, sending, strict=False)
        ),
    )


def in_joules(problem: Problem) -> Problem:
    """Return a chain whose latency is the joules that computing and talking take more than waiting does."""
    idle = [device.idle_w for device in problem.devices]
    running = [device.run_w - idle_w for device, idle_w in zip(problem.devices, idle, strict=True)]
    talking = [device.transfer_w - idle_w for device, idle_w in zip(problem.devices, idle, strict=True)]
    return rated(problem, running, talking, talking)


def _worth(seconds: float, rate: float) -> float:
    return seconds * rate if isfinite(seconds) else inf
