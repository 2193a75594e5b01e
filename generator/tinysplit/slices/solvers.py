"""The solvers of divided layers by name."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import inf

from tinysplit.common.choices import Slices, SliceSolver
from tinysplit.common.extensions import load_extension
from tinysplit.network.distribution import SliceAxis
from tinysplit.slices.result import SliceResult
from tinysplit.slices.search import search_exactly
from tinysplit.slices.sliced_network import SlicedNetwork

_BOTH = (SliceAxis.ROWS, SliceAxis.CHANNELS)
AXES: Mapping[Slices, tuple[SliceAxis, ...]] = {  # what layers may be divided by
    Slices.AUTO: _BOTH,
    Slices.NONE: (),
    Slices.CHANNELS: (SliceAxis.CHANNELS,),
    Slices.ROWS: (SliceAxis.ROWS,),
}

# A solver returns the best division by some of the axes that it finds until a deadline of `split/clock.py`.
SolveSlices = Callable[[SlicedNetwork, Sequence[SliceAxis], float], SliceResult]


def slice_solver(name: SliceSolver, limit: float = inf) -> SolveSlices:
    """Return the solver of that name: those but the exact one are entry points of `tinysplit.slice_solvers`.

    The exact one leaves out divisions whose objective is no less than `limit`.
    """
    if name is SliceSolver.EXACT:
        return partial(search_exactly, limit=limit)
    found: SolveSlices = load_extension("tinysplit.slice_solvers", name)
    return found
