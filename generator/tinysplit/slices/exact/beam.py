"""Beam search: the most promising partial choices, stage by stage, all of them in one array operation."""

from collections.abc import Iterator

import numpy as np

from tinysplit.slices.exact.bounds import Remaining
from tinysplit.slices.exact.problem import Choice, DistributionProblem, Flags, Floats, Integers, step
from tinysplit.timing.topology import NETWORK_INPUT

WIDTH = 200  # partial choices that go on
WIDTH_OF_EACH = 20  # at least, of each of the n best choices
OF_A_STATE = 4  # with the same options of all tensors that later stages read


def promising_choices(
    problem: DistributionProblem, rest: tuple[Remaining, ...], limit: float, n_best: int
) -> Iterator[Choice]:
    """Yield choices below a `limit`, the best ones that were found first.

    Those go on where the busiest board and an equal share of what is left are least.
    """
    width, of_a_state = max(WIDTH, WIDTH_OF_EACH * n_best), max(OF_A_STATE, n_best)
    chosen = np.zeros((1, 0), np.intp)
    begin = clock = flash = np.zeros((1, problem.n_boards))
    for number, stage in enumerate(problem.stages):
        options = np.arange(stage.n_options)
        sources = [_options_of(chosen, each.source) for each in stage.transitions]
        first, last = step(stage, sources, options, begin, clock)
        used = flash[:, None] + stage.flash_bytes
        ways: Flags = (used <= problem.flash_limits).all(axis=2) & (rest[number].bounds(options, first, last) < limit)
        for each, source in zip(stage.transitions, sources, strict=True):
            ways &= each.allowed[source, options]
        labels, taken = np.nonzero(ways)
        begin, clock, flash = first[labels, taken], last[labels, taken], used[labels, taken]
        chosen = np.column_stack([chosen[labels], taken])
        estimates = clock.max(axis=1) + rest[number].together[taken] / problem.n_boards
        read = [tensor for tensor, last_reader in enumerate(problem.last_readers[: number + 1]) if last_reader > number]
        kept = _most_promising(estimates, chosen[:, [*read, number]], width, of_a_state)
        begin, clock, flash, chosen = begin[kept], clock[kept], flash[kept], chosen[kept]
    yield from (tuple(int(option) for option in each) for each in chosen)


def _options_of(chosen: Integers, source: int) -> Integers:
    """Return the options of a stage or of the network's input, an array (labels, 1)."""
    return np.zeros((len(chosen), 1), np.intp) if source == NETWORK_INPUT else chosen[:, source, None]


def _most_promising(estimates: Floats, states: Integers, width: int, of_a_state: int) -> Integers:
    """Return the indices of the least estimates, in their order, of each state not too many."""
    order = np.argsort(estimates, kind="stable")
    _, numbers = np.unique(states[order], axis=0, return_inverse=True)
    by_state = np.argsort(numbers.ravel(), kind="stable")
    ordered = numbers.ravel()[by_state]
    places = np.arange(len(ordered)) - np.searchsorted(ordered, ordered)
    few = np.sort(by_state[places < of_a_state])
    kept: Integers = order[few[:width]]
    return kept
