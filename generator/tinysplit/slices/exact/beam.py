"""Beam search: the most promising partial choices, stage by stage, all of them in one array operation."""

from collections.abc import Iterator, Sequence

import numpy as np

from tinysplit.slices.exact.bounds import Remaining
from tinysplit.slices.exact.problem import Choice, DistributionProblem, Flags, Floats, Integers, greatest, step
from tinysplit.timing.topology import NETWORK_INPUT

WIDTH = 200  # partial choices that go on
WIDTH_OF_EACH = 20  # at least, of each of the n best choices
OF_A_STATE = 4  # with the same options of all tensors that later stages read


def promising_choices(
    problem: DistributionProblem, rest: tuple[Remaining, ...], limit: float, n_best: int
) -> Iterator[tuple[Choice, float]]:
    """Yield choices below a `limit` and their values, the best ones that were found first.

    Those go on where the busiest board and an equal share of what is left are least.
    """
    width, of_a_state = max(WIDTH, WIDTH_OF_EACH * n_best), max(OF_A_STATE, n_best)
    begin = clock = flash = np.zeros((1, problem.n_boards))
    read: dict[int, Integers] = {}  # the option of each tensor that this stage or a later one reads
    history: list[tuple[Integers, Integers]] = []  # by stage: partial choice before, and option
    for number, stage in enumerate(problem.stages):
        sources = [0 if each.source == NETWORK_INPUT else read[each.source] for each in stage.transitions]
        first, last = step(stage, sources, slice(None), begin, clock)
        used = flash[:, None] + stage.flash_bytes
        options = np.arange(stage.n_options)
        ways: Flags = (used <= problem.flash_limits).all(axis=2) & (rest[number].bounds(options, first, last) < limit)
        for each, source in zip(stage.transitions, sources, strict=True):
            ways &= each.allowed[source]
        labels, taken = np.nonzero(ways)
        estimates = greatest(last[labels, taken]) + rest[number].together[taken] / problem.n_boards
        later = [tensor for tensor in read if problem.last_readers[tensor] > number]
        states = [*(read[tensor][labels] for tensor in later), taken]
        kept = _most_promising(estimates, states, width, of_a_state)
        labels, taken = labels[kept], taken[kept]
        begin, clock, flash = first[labels, taken], last[labels, taken], used[labels, taken]
        read = {tensor: read[tensor][labels] for tensor in later} | {number: taken}
        history.append((labels, taken))
    yield from zip(_choices(history), clock.max(axis=1).tolist(), strict=True)


def _choices(history: Sequence[tuple[Integers, Integers]]) -> Iterator[Choice]:
    """Yield the choices that the last entry of `history` ends."""
    chosen, rows = [], np.arange(len(history[-1][0]))
    for labels, taken in reversed(history):
        chosen.append(taken[rows])
        rows = labels[rows]
    yield from map(tuple, np.column_stack(chosen[::-1]).tolist())


def _most_promising(estimates: Floats, states: Sequence[Integers], width: int, of_a_state: int) -> Integers:
    """Return the indices of the least estimates, in their order, of each state not too many.

    `states` are the options of each tensor, an array an entry.
    """
    order = np.argsort(estimates, kind="stable")
    numbers = np.zeros(len(order), np.intp)
    for options in states:
        numbers = np.unique(numbers * (options.max(initial=0) + 1) + options[order], return_inverse=True)[1]
    by_state = np.argsort(numbers, kind="stable")
    ordered = numbers[by_state]
    places = np.arange(len(ordered)) - np.searchsorted(ordered, ordered)
    few = np.sort(by_state[places < of_a_state])
    kept: Integers = order[few[:width]]
    return kept
