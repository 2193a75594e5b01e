"""The search of Dariol 2023: the analytical model keeps the best choices, the event timeline decides between them."""

from collections.abc import Iterator, Sequence

import numpy as np

from tinysplit.costs.settings import CostSettings
from tinysplit.network.distribution import Distributions, SliceAxis
from tinysplit.papers.solvers.two_phase.analytical_phase import AnalyticalPhase, Layers, best_by_model
from tinysplit.papers.solvers.two_phase.result import Evaluated, TwoPhaseResult
from tinysplit.slices.result import SliceResult
from tinysplit.slices.sliced_network import Sliced, SlicedNetwork
from tinysplit.split import clock
from tinysplit.split.problem import Objective, is_better

N_KEPT = 50
PHASE_1_SHARE = 0.4  # of the time


def two_phase_search(
    network: SlicedNetwork, axes: Sequence[SliceAxis], deadline_s: float, n_kept: int = N_KEPT
) -> TwoPhaseResult:
    """Return the best of the `n_kept` choices that the model keeps, by the event timeline of the firmware.

    Phase 2 ends with the deadline (of `split/clock.py`), but not before it has a feasible choice.
    """
    start = clock.now()
    first = best_by_model(network, axes, start + PHASE_1_SHARE * (deadline_s - start), n_kept)
    between = clock.now()
    best, evaluated = _best_by_timeline(network, first, deadline_s)
    has_bound = network.settings.objective is not Objective.ENERGY
    return TwoPhaseResult(
        best=best,
        lower_bound=first.lower_bound_s if has_bound else 0.0,
        phase_1=first,
        evaluated=evaluated,
        phase_1_s=between - start,
        phase_2_s=clock.now() - between,
    )


def solve_in_two_phases(network: SlicedNetwork, axes: Sequence[SliceAxis], deadline_s: float) -> SliceResult:
    """Return the best division of `two_phase_search`, and what its phases say of each other."""
    return two_phase_search(network, axes, deadline_s).as_slices()


def _best_by_timeline(
    network: SlicedNetwork, first: AnalyticalPhase, deadline_s: float
) -> tuple[Sliced | None, tuple[Evaluated, ...]]:
    """Return the best choice that phase 1 has kept, and the values of all of them until the deadline."""
    best, evaluated = None, []
    for kept in first.kept:
        if best and clock.now() > deadline_s:
            break
        sliced = timeline_of(network, kept.layers, kept.settings)
        evaluated.append(Evaluated(kept.model_s, sliced.figures.value if sliced else np.inf))
        if sliced and (best is None or is_better(sliced.figures.value, best.figures.value)):
            best = sliced
    return best, tuple(evaluated)


def timeline_of(network: SlicedNetwork, layers: Layers, settings: CostSettings) -> Sliced | None:
    """Return a choice, evaluated with all edges of tiles apart or with none, as is better; None if it is infeasible."""
    splits = [network.evaluated(how, settings) for how in _with_edges(network, layers)]
    return min((each for each in splits if each), key=lambda each: each.figures.value, default=None)


def _with_edges(network: SlicedNetwork, layers: Layers) -> Iterator[Distributions]:
    tiles = {number for number, each in enumerate(layers) if each.axis is SliceAxis.ROWS and not each.is_whole}
    for edges in dict.fromkeys((frozenset(tiles), frozenset[int]())):
        yield Distributions(layers, network.input_board, network.output_board, edges)
