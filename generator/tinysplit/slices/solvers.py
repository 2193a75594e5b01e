"""The solvers of divided layers by name."""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

from tinysplit.network.distribution import Axis
from tinysplit.slices.geometric.solver import solve_geometrically
from tinysplit.slices.result import SliceResult
from tinysplit.slices.search import search_exactly
from tinysplit.slices.sliced_network import SlicedNetwork
from tinysplit.slices.two_phase.search import solve_in_two_phases


class SliceSolver(StrEnum):
    """How divisions are searched for; a name is also one of `--solver`."""

    EXACT = "exact"
    GEOMETRIC = "geometric"
    TWO_PHASE = "two-phase"


# A solver returns the best division by some of the axes that it finds until a deadline of `split/clock.py`.
SLICE_SOLVERS: Mapping[SliceSolver, Callable[[SlicedNetwork, Sequence[Axis], float], SliceResult]] = {
    SliceSolver.EXACT: search_exactly,
    SliceSolver.GEOMETRIC: solve_geometrically,
    SliceSolver.TWO_PHASE: solve_in_two_phases,
}
