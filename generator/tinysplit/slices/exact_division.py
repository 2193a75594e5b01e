"""The exact search's best divisions of a network over boards in one order, evaluated as they would be generated."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from tinysplit.network.distribution import Distributions, SliceAxis
from tinysplit.slices.distribution_problem import DistributionModel
from tinysplit.slices.exact.search import Found, best_choices
from tinysplit.slices.sliced_network import Sliced, SlicedNetwork
from tinysplit.split import clock

ENOUGH = 0.01  # gap of a search: its model is less precise
N_BEST = 6  # choices of a search that are evaluated: the best one of the model need not be that of the firmware
SEARCH_SHARE = 0.5  # of the time; the rest is for evaluations
MOST_ATTEMPTS = 4  # each leaves more flash free, or has more choices
MORE = 4  # times as many


@dataclass(frozen=True, eq=False)
class ExactDivision:
    """The `divisions` that may fit: the best choices, each with all edges apart and with none.

    No choice among the options of the search has an objective below `lower_bound`, which is infinite without any.
    """

    divisions: tuple[Sliced, ...]
    lower_bound: float
    explored: int


def divide_exactly(
    network: SlicedNetwork, order: tuple[int, ...], axes: Sequence[SliceAxis], until_s: float
) -> ExactDivision:
    """Return the best divisions by `axes` of boards that are wired in `order`.

    Where none of them fits, as they take more than their parts do alone, the next attempt leaves flash free that boards
    lack, or, if they lack RAM, looks at more choices.
    """
    model = network.model(order, axes)
    if not model.has_options:
        return ExactDivision((), inf, 0)
    problem, lower_bound, explored, n_best = model.problem, 0.0, 0, N_BEST
    for attempt in range(MOST_ATTEMPTS):
        search_until_s = clock.now() + SEARCH_SHARE * max(0.0, until_s - clock.now())
        found = best_choices(problem, search_until_s, n_best, ENOUGH, model.whole_choices())
        explored += found.explored
        lower_bound = found.lower_bound if attempt == 0 else lower_bound
        generated = list(_generated(network, model, found, until_s))
        divisions = tuple(each for each in generated if network.may_fit(each))
        excess = min((network.excess_flash(each) for each in generated), key=sum, default=())
        is_too_slow = lower_bound * (1 - ENOUGH) > network.settings.max_latency_s  # a period is no more than a latency
        if divisions or not found.choices or is_too_slow or clock.now() > until_s:
            return ExactDivision(divisions, lower_bound, explored)
        if any(excess):
            problem = replace(problem, flash_limits=problem.flash_limits - np.array(excess))
        else:
            n_best *= MORE
    return ExactDivision((), lower_bound, explored)


def _generated(network: SlicedNetwork, model: DistributionModel, found: Found, until_s: float) -> Iterator[Sliced]:
    """Yield choices that can be generated, with all edges apart and with none; all but the first one until a time."""
    for place, choice in enumerate(found.choices):
        layers = model.distributions(choice)
        for edges in (frozenset(range(len(layers))), frozenset[int]()):
            if place and clock.now() > until_s:
                return
            how = Distributions(layers, network.input_board, network.output_board, edges)
            sliced = network.generated(how, model.costs.settings)
            if sliced:
                yield sliced
