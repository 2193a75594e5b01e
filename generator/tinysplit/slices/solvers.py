"""The solvers of divided layers by name."""

from collections.abc import Callable, Mapping, Sequence

from tinysplit.common.choices import Slices, SliceSolver
from tinysplit.network.distribution import Axis
from tinysplit.slices.geometric.solver import solve_geometrically
from tinysplit.slices.result import SliceResult
from tinysplit.slices.search import search_exactly
from tinysplit.slices.sliced_network import SlicedNetwork
from tinysplit.slices.two_phase.search import solve_in_two_phases

_BOTH = (Axis.ROWS, Axis.CHANNELS)
AXES: Mapping[Slices, tuple[Axis, ...]] = {  # what layers may be divided by
    Slices.AUTO: _BOTH,
    Slices.NONE: (),
    Slices.CHANNELS: (Axis.CHANNELS,),
    Slices.ROWS: (Axis.ROWS,),
}

# A solver returns the best division by some of the axes that it finds until a deadline of `split/clock.py`.
SLICE_SOLVERS: Mapping[SliceSolver, Callable[[SlicedNetwork, Sequence[Axis], float], SliceResult]] = {
    SliceSolver.EXACT: search_exactly,
    SliceSolver.GEOMETRIC: solve_geometrically,
    SliceSolver.TWO_PHASE: solve_in_two_phases,
}
