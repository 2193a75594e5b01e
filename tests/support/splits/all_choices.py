"""The answer of the search in two phases beside all choices, each by the event timeline: for small networks only."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from tinysplit.network.distribution import SliceAxis
from tinysplit.papers.solvers.two_phase.analytical_phase import Clustering, Layers, clusterings_of, models
from tinysplit.papers.solvers.two_phase.result import TwoPhaseResult
from tinysplit.papers.solvers.two_phase.search import timeline_of
from tinysplit.slices.sliced_network import SlicedNetwork
from tinysplit.split.problem import is_better


@dataclass(frozen=True)
class AllChoices:
    """The objective of every feasible choice by the event timeline."""

    values: dict[Layers, float]

    @property
    def best(self) -> Layers:
        """The best choice."""
        return min(self.values, key=lambda layers: self.values[layers])

    @property
    def clusterings(self) -> dict[tuple[Clustering, ...], float]:
        """The objective of every clustering with its best mapping."""
        found: dict[tuple[Clustering, ...], float] = {}
        for layers, value in self.values.items():
            key = clusterings_of(layers)
            found[key] = min(value, found.get(key, value))
        return found

    def keeps_best(self, result: TwoPhaseResult) -> bool:
        """Return whether phase 1 has kept a choice that no other one is better than."""
        least = self.values[self.best]
        return any(
            not is_better(least, self.values[each.layers]) for each in result.phase_1.kept if each.layers in self.values
        )

    def share_of_worse(self, value: float) -> float:
        """Return the share of all choices that a value is better than."""
        return sum(is_better(value, other) for other in self.values.values()) / len(self.values)

    def share_of_worse_clusterings(self, value: float) -> float:
        """Return the share of all clusterings that a value is better than, each of them with its best mapping."""
        others = self.clusterings.values()
        return sum(is_better(value, other) for other in others) / len(others)


def all_choices(network: SlicedNetwork, axes: Sequence[SliceAxis]) -> AllChoices:
    """Return all choices of the options of the analytical model, whether it allows them or not."""
    values: dict[Layers, float] = {}
    for settings, model in models(network, axes):
        tensors = [model.options(number).distributions for number in range(len(network.graph.layers))]
        for layers in product(*tensors):
            found = timeline_of(network, layers, settings)
            if found:
                values[layers] = min(found.figures.value, values.get(layers, found.figures.value))
    return AllChoices(values)
