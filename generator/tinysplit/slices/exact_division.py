"""The exact search's best division of a network over boards in one order, evaluated as it would be generated."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tinysplit.network.distribution import Axis, Distribution, Distributions
from tinysplit.slices.distribution_problem import DistributionModel
from tinysplit.slices.exact.search import best_choice
from tinysplit.slices.part_costs import PartCosts
from tinysplit.slices.sliced_network import Sliced, SlicedNetwork

ENOUGH = 0.01  # gap of a search: its model is less precise
MOST_ATTEMPTS = 4  # each leaves more flash free


@dataclass(frozen=True, eq=False)
class ExactDivision:
    """The `divisions` that may fit: the same one with all edges apart and with none.

    No choice among the options of the search has an objective below `lower_bound`, 0 if it has none.
    """

    divisions: tuple[Sliced, ...]
    lower_bound: float
    explored: int


def divide_exactly(
    network: SlicedNetwork, order: tuple[int, ...], axes: Sequence[Axis], until_s: float
) -> ExactDivision:
    """Return the best division by `axes` of boards that are wired in `order`.

    Where a board lacks flash for it, as it takes more than its parts do alone, the next attempt leaves that free.
    """
    ends = (network.input_board, network.output_board)
    costs = PartCosts(network.graph, network.boards, network.linked(order), network.widths)
    model = DistributionModel.of(costs, order, axes, *ends)
    if not model.has_options:
        return ExactDivision((), 0.0, 0)
    problem, lower_bound, explored = model.problem, 0.0, 0
    for attempt in range(MOST_ATTEMPTS):
        found = best_choice(problem, until_s, ENOUGH, model.whole_choices())
        explored += found.explored
        lower_bound = found.lower_bound if attempt == 0 else lower_bound
        generated = _generated(network, model.distributions(found.choice), costs) if found.choice else ()
        divisions = tuple(each for each in generated if network.may_fit(each))
        excess = min((network.excess_flash(each) for each in generated), key=sum, default=())
        if divisions or not any(excess):
            return ExactDivision(divisions, lower_bound, explored)
        problem = replace(problem, flash_limits=problem.flash_limits - np.array(excess))
    return ExactDivision((), lower_bound, explored)


def _generated(network: SlicedNetwork, layers: tuple[Distribution, ...], costs: PartCosts) -> tuple[Sliced, ...]:
    """Return a division with all edges apart and with none, as far as it can be generated."""
    ways = (
        Distributions(layers, network.input_board, network.output_board, edges)
        for edges in (frozenset(range(len(layers))), frozenset[int]())
    )
    return tuple(each for how in ways if (each := network.generated(how, costs.settings)))
