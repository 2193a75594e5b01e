"""The exact search's best divisions of a network over boards in one order, evaluated as they would be generated."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import inf

from tinysplit.network.distribution import Distributions
from tinysplit.slices.distribution_problem import DistributionModel
from tinysplit.slices.exact.problem import Choice
from tinysplit.slices.exact.search import Found, best_choices
from tinysplit.slices.sliced_network import Sliced, SlicedNetwork
from tinysplit.split import clock
from tinysplit.split.problem import Objective

ENOUGH = 0.01  # gap of a search: its model is less precise
N_BEST = 6  # choices of a search that are evaluated: the best one of the model need not be that of the firmware
SEARCH_SHARE = 0.5  # of the time; the rest is for evaluations
MOST_ATTEMPTS = 4  # each leaves more memory free


@dataclass(frozen=True, eq=False)
class ExactDivision:
    """The `divisions` that may fit, of the best choices.

    No choice among the options of the search has an objective below `lower_bound`, which is infinite without any.
    """

    divisions: tuple[Sliced, ...]
    lower_bound: float
    explored: int


def divide_exactly(
    network: SlicedNetwork,
    model: DistributionModel,
    until_s: float,
    limit: float = inf,
    edges: frozenset[int] | None = None,
    n_best: int = N_BEST,
) -> ExactDivision:
    """Return the best divisions among the options of `model`, by it those below a `limit`.

    With `edges`, those layers have edges apart, and the bound is not searched for; else the better of all and none. For
    energy, it chooses by latency, as it has seconds and no joules; the bound is that of what boards compute. Where none
    of them fits, as they take more than their parts do alone, the next attempt leaves that memory free which boards
    lack.
    """
    is_energy = network.settings.objective is Objective.ENERGY
    gap = 1.0 if edges is not None else ENOUGH
    lower_bound, most, explored = inf, limit, 0
    if is_energy and model.has_options:
        lower_bound, most = model.least_energy_j, inf
        if lower_bound >= limit:
            return ExactDivision((), lower_bound, explored)
    for attempt in range(MOST_ATTEMPTS):
        if not model.has_options:
            break
        search_until_s = clock.after(SEARCH_SHARE, until_s)
        found = best_choices(model.problem, search_until_s, n_best, gap, model.whole_choices(), most)
        explored += found.explored
        if attempt == 0 and not is_energy:
            lower_bound = found.lower_bound
        choices = dict.fromkeys([*found.choices, *_others(network, model, found)])
        generated = list(_generated(network, model, choices, until_s, edges))
        divisions = tuple(each for each in generated if network.may_fit(each))
        is_too_slow = lower_bound * (1 - ENOUGH) > network.settings.max_latency_s  # a period is no more than a latency
        if divisions or not generated or is_too_slow or clock.now() > until_s:
            return ExactDivision(divisions, lower_bound, explored)
        lacking = (zip(network.excess_flash(each), network.excess_ram(each), strict=True) for each in generated)
        least = min((tuple(each) for each in lacking), key=lambda boards: sum(map(sum, boards)))
        if not any(map(sum, least)):
            break
        model = model.keeping(*zip(*least, strict=True))
    return ExactDivision((), lower_bound, explored)


def _others(network: SlicedNetwork, model: DistributionModel, found: Found) -> Iterable[Choice]:
    """Return choices that the firmware may make better than the model does, where that knows less of the objective."""
    objective = network.settings.objective
    if objective is Objective.ENERGY:
        return model.whole_choices()
    return found.promising if objective is Objective.THROUGHPUT else ()


def _generated(
    network: SlicedNetwork,
    model: DistributionModel,
    choices: Iterable[Choice],
    until_s: float,
    edges: frozenset[int] | None,
) -> Iterator[Sliced]:
    """Yield choices that can be generated, all but the first one until a time.

    With these edges; else the first one with all edges apart and with none, the others as the better of both.
    """
    every = frozenset(range(len(network.graph.layers)))
    ways: tuple[frozenset[int], ...] = (every, frozenset()) if edges is None else (edges,)
    for choice in choices:
        layers = model.distributions(choice)
        hows = (Distributions(layers, network.input_board, network.output_board, each) for each in ways)
        generated = [each for how in hows if (each := network.generated(how, model.costs.settings))]
        yield from generated
        if len(generated) == len(ways) > 1:
            best = min(generated, key=lambda each: (not network.may_fit(each), each.figures.value))
            ways = (best.distributions.edges,)
        if clock.now() > until_s:
            return
