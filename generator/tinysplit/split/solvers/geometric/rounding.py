"""From channels of a geometric program to whole channels."""

from collections.abc import Sequence
from math import floor

from tinysplit.common.errors import CheckFailedError
from tinysplit.split.solvers.geometric.problem import Division, DivisionProblem

Channels = tuple[tuple[int, ...], ...]  # by layer and device


def rounded_to_nearest(division: Division) -> Channels:
    """Return each part rounded by itself, as published: neither the sum nor a limit is kept."""
    return tuple(tuple(floor(part + 0.5) for part in parts) for parts in division)


def rounded_keeping_sums(problem: DivisionProblem, division: Division) -> Channels:
    """Return whole channels with the sum of each layer: the next one goes where most is missing and limits allow it.

    Raises:
        CheckFailedError: no device has room for a channel.
    """
    rounded: list[tuple[float, ...]] = list(division)
    for number, layer in enumerate(problem.layers):
        wanted = [part * layer.channels / sum(division[number]) for part in division[number]]
        rounded[number] = tuple(min(floor(part), floor(w)) for part, w in zip(division[number], wanted, strict=True))
        while sum(rounded[number]) < layer.channels:
            rounded[number] = _with_one_more(problem, rounded, number, wanted)
    return tuple(tuple(int(part) for part in parts) for parts in rounded)


def _with_one_more(
    problem: DivisionProblem, division: Sequence[tuple[float, ...]], number: int, wanted: Sequence[float]
) -> tuple[float, ...]:
    """Return the parts of a layer with one channel more."""
    parts = division[number]
    for device in sorted(range(len(parts)), key=lambda device: parts[device] - wanted[device]):
        more = tuple(part + (position == device) for position, part in enumerate(parts))
        if problem.is_within_limits([*division[:number], more, *division[number + 1 :]]):
            return more
    layer = problem.layers[number]
    raise CheckFailedError(f"no device has room for channel {sum(parts) + 1:.0f} of {layer.channels} of {layer.name}")
