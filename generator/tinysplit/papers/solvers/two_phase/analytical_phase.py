"""Phase 1: the best clusterings of layers and mappings of clusters to boards, by the analytical model.

A clustering says into how many clusters of rows or channels each layer is divided; a mapping says which boards compute
these, and in which order they are wired. Both are one choice of the distribution problem (`distribution_problem.py`),
by branch and bound layer by layer (`exact/search.py`): a partial choice is pruned when its bound is not below the last
of the best choices.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from tinysplit.costs.settings import CostSettings
from tinysplit.network.distribution import Distribution, SliceAxis
from tinysplit.slices.distribution_problem import DistributionModel
from tinysplit.slices.exact.search import best_choices
from tinysplit.slices.sliced_network import SlicedNetwork
from tinysplit.split import clock
from tinysplit.split.problem import Objective

Layers = tuple[Distribution, ...]  # the distribution of each layer's output


class Clustering(NamedTuple):
    """Into how many clusters a layer is divided, and by what."""

    axis: SliceAxis
    n_clusters: int


def clusterings_of(layers: Layers) -> tuple[Clustering, ...]:
    """Return the clustering of each layer, whatever boards it is mapped to."""
    return tuple(Clustering(each.axis, len(each.owners)) for each in layers)


class Kept(NamedTuple):
    """A choice that phase 1 keeps: its seconds by the model, and the settings with its links."""

    model_s: float
    layers: Layers
    settings: CostSettings


@dataclass(frozen=True)
class AnalyticalPhase:
    """The best choices, the best one first, and how they were found.

    No choice takes less than `lower_bound_s` by the model; `is_proved` if no other choice of an order is better than
    those kept.
    Of the partial choices `explored`, `pruned` were left out.
    """

    kept: tuple[Kept, ...]
    lower_bound_s: float
    is_proved: bool
    explored: int
    pruned: int


def best_by_model(network: SlicedNetwork, axes: Sequence[SliceAxis], deadline_s: float, n_kept: int) -> AnalyticalPhase:
    """Return the best choices until the deadline: `n_kept`, as many of each order of boards.

    Otherwise the choices of one order would often be all that is kept, whatever the model leaves out of its links.
    """
    every = [(settings, model) for settings, model in models(network, axes) if model.has_options]
    searched, ranked = [], dict[Layers, Kept]()
    for number, (settings, model) in enumerate(every):
        now = clock.now()
        best = best_choices(model.problem, now + (deadline_s - now) / (len(every) - number), -(-n_kept // len(every)))
        searched.append(best)
        for value, choice in zip(best.values, best.choices, strict=True):
            layers = model.distributions(choice)
            if layers not in ranked or value < ranked[layers].model_s:
                ranked[layers] = Kept(value, layers, settings)
    return AnalyticalPhase(
        kept=tuple(sorted(ranked.values(), key=lambda each: each.model_s)[:n_kept]),
        lower_bound_s=min((best.lower_bound for best in searched), default=0.0),
        is_proved=all(best.is_proved for best in searched),
        explored=sum(best.explored for best in searched),
        pruned=sum(best.pruned for best in searched),
    )


def models(network: SlicedNetwork, axes: Sequence[SliceAxis]) -> Iterator[tuple[CostSettings, DistributionModel]]:
    """Yield the analytical model of each order of boards, and the settings with its links.

    It has seconds and no joules: with energy as the objective, it is that of latency.
    """
    for order in network.orders():
        model = network.model(order, axes)
        settings = model.costs.settings
        if settings.objective is Objective.ENERGY:
            in_seconds = replace(model.costs, settings=replace(settings, objective=Objective.LATENCY))
            model = replace(model, costs=in_seconds)
        yield settings, model
