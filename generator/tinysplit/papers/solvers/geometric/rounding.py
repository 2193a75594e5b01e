"""From channels of a geometric program to whole channels."""

from collections.abc import Sequence
from math import floor

from tinysplit.common.errors import CheckFailedError
from tinysplit.papers.solvers.geometric.problem import Division, DivisionProblem

TOLERANCE = 1e-4  # of the solver: a part at a whole lower bound stays there

Channels = tuple[tuple[int, ...], ...]  # by layer and device


def rounded_to_nearest(division: Division) -> Channels:
    """Return each part rounded by itself, as published: neither the sum nor a limit is kept."""
    return tuple(tuple(floor(part + 0.5) for part in parts) for parts in division)


def rounded_keeping_sums(problem: DivisionProblem, division: Division) -> Channels:
    """Return each part rounded down; each channel that is missing goes where its layer costs least, within the limits.

    Raises:
        CheckFailedError: no device has room for a channel.
    """
    rounded = [tuple(floor(part + TOLERANCE) for part in parts) for parts in division]
    for number, layer in enumerate(problem.layers):
        while sum(rounded[number]) < layer.channels:
            rounded[number] = _with_one_more(problem, rounded, number)
    return tuple(rounded)


def _with_one_more(problem: DivisionProblem, rounded: Sequence[tuple[int, ...]], number: int) -> tuple[int, ...]:
    """Return the parts of a layer with one channel more."""
    parts = rounded[number]
    more = (tuple(part + (position == device) for position, part in enumerate(parts)) for device in range(len(parts)))
    within = [grown for grown in more if problem.is_within_limits([*rounded[:number], grown, *rounded[number + 1 :]])]
    if not within:
        layer = problem.layers[number]
        raise CheckFailedError(f"no device has room for channel {sum(parts) + 1} of {layer.channels} of {layer.name}")
    return min(within, key=lambda grown: problem.layer_cost(number, grown))
