"""The published method on boards: fit, solve and tighten the program of a whole network, round, evaluate.

It has all remedies of docs/develop/geometric_program.md but the lower bound on shares.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tinysplit.common.errors import CheckFailedError, UsageError
from tinysplit.memory.shared_memory import unaligned_rows
from tinysplit.network.distribute import distribute
from tinysplit.network.distribution import Distribution, Distributions, SliceAxis
from tinysplit.network.distribution_check import reasons_against
from tinysplit.network.quantized_distribution import distributed_widths
from tinysplit.papers.solvers.geometric.tightening import Settings, Tightening, tighten
from tinysplit.papers.solvers.geometric.tightening_tables import network_table, tightening_json
from tinysplit.papers.solvers.geometric_slices.division import NetworkDivision
from tinysplit.papers.solvers.geometric_slices.groups import groups_of
from tinysplit.settings.search import SOLVER, TIME_LIMIT
from tinysplit.slices.distribution_problem import DistributionModel
from tinysplit.slices.result import SliceResult
from tinysplit.slices.sliced_network import Sliced, SlicedNetwork
from tinysplit.split import clock
from tinysplit.split.problem import Objective
from tinysplit.split.solution import SearchReport

STEP = 10  # % of what the start costs, by which weights grow


class AxisSolution(NamedTuple):
    """The program of one axis, its steps, and the best of `explored` ways to generate its division."""

    division: NetworkDivision
    tightening: Tightening
    best: Sliced
    explored: int


def solve_geometrically(network: SlicedNetwork, axes: Sequence[SliceAxis], deadline_s: float) -> SliceResult:
    """Return the division of a geometric program of one axis; of several axes, the better one.

    Raises:
        UsageError: the objective is throughput.
        ToolError: cvxpy is not installed.
    """
    if network.settings.objective is Objective.THROUGHPUT:
        raise UsageError(f"{SOLVER} geometric minimises latency or energy: use {SOLVER} exact for throughput")
    solutions, notes = list[AxisSolution](), list[str]()
    for n_left, axis in zip(range(len(axes), 0, -1), axes, strict=True):
        now = clock.now()
        try:
            solution = AxisProgram(network, axis).solution(now + (deadline_s - now) / n_left)
        except CheckFailedError as error:
            notes.append(f"{SOLVER} geometric, by {axis}: {error.message}")
            continue
        solutions.append(solution)
        notes += _notes(solution)
    explored = sum(each.explored for each in solutions)
    if not solutions:
        return SliceResult(None, 0.0, explored, notes=tuple(notes))
    chosen = min(solutions, key=lambda each: each.best.figures.value)
    return SliceResult(chosen.best, 0.0, explored, _report(chosen), tuple(notes))


@dataclass(frozen=True, eq=False)
class AxisProgram:
    """The program of a network whose layers are divided by one axis, over all boards in their first order."""

    network: SlicedNetwork
    axis: SliceAxis

    def solution(self, deadline_s: float) -> AxisSolution:
        """Return the program's division of all layers, or of as many of the first ones as can be generated.

        Raises:
            CheckFailedError: no layer can be divided, no division is within the limits, or boards lack what the program
                does not know: memory for tensors that wait, rows of whole words.
        """
        model = self.network.model(next(self.network.orders()), (self.axis,))
        n_layers = len(self.network.graph.layers)
        while groups := groups_of(model.option_set, self.axis, n_layers):
            division = NetworkDivision(model, self.axis, groups)
            how = Settings(factors=(STEP,), renews_start=True, keeps_sums=True, deadline_s=deadline_s)
            tightening = tighten(division.problem, how)
            layers = division.distributions(tightening.channels)
            n_possible = self._n_possible(layers)
            if n_possible == len(layers):
                return AxisSolution(division, tightening, *self._best(layers, model))
            n_layers = n_possible
        raise CheckFailedError(f"no layer can be divided by {self.axis} over {len(self.network.boards)} boards")

    def _n_possible(self, layers: Sequence[Distribution]) -> int:
        """Return how many of the first layers may be divided so, with the others whole on the output's board."""
        whole = [self._whole(number) for number in range(len(layers))]
        return next(
            end for end in range(len(layers), -1, -1) if not any(self._reasons_against((*layers[:end], *whole[end:])))
        )

    def _whole(self, number: int) -> Distribution:
        network = self.network
        return Distribution.whole(network.graph.shape(number), network.output_board, len(network.boards))

    def _reasons_against(self, layers: tuple[Distribution, ...]) -> Iterator[str]:
        network = self.network
        how = Distributions(layers, network.input_board, network.output_board)
        return reasons_against(network.graph, how, len(network.boards))

    def _best(self, layers: tuple[Distribution, ...], model: DistributionModel) -> tuple[Sliced, int]:
        """Return the division with all edges apart or, of rows, with none: the program does not know them."""
        network = self.network
        every = frozenset(range(len(layers)))
        ways = [
            Distributions(layers, network.input_board, network.output_board, edges)
            for edges in ((every, frozenset[int]()) if self.axis is SliceAxis.ROWS else (every,))
        ]
        splits = [each for how in ways if (each := network.evaluated(how, model.costs.settings))]
        if not splits:
            raise CheckFailedError(self._why_not(ways[-1]))
        return min(splits, key=lambda each: each.figures.value), len(ways)

    def _why_not(self, how: Distributions) -> str:
        network = self.network
        parts = distribute(network.graph, how, len(network.boards), network.widths)
        unaligned = unaligned_rows(parts, distributed_widths(network.graph, parts, network.widths))
        return next(iter(unaligned), "boards lack memory for its division, or that exceeds a limit")


def _notes(solution: AxisSolution) -> Iterator[str]:
    """Yield a line if there was too little time for all steps."""
    tightening = solution.tightening
    axis = solution.division.axis
    least = min(tightening.shares(tightening.accepted))
    if least <= Settings.threshold:
        yield (
            f"{SOLVER} geometric, by {axis}: {TIME_LIMIT} ended the tightening at a sum of shares of {least:.3f}: "
            "what was missing went where it costs least"
        )


def _report(solution: AxisSolution) -> SearchReport:
    """Return each step and the errors of the models."""
    division, tightening = solution.division, solution.tightening
    objective = division.problem.objective
    unit = "mJ" if objective is Objective.ENERGY else "ms"
    fits = division.models.fits
    title = f"geometric program of {len(division.groups)} distributions by {division.axis}, {objective} of its layers"
    data = {
        "axis": str(division.axis),
        "unit": unit,
        **tightening_json(tightening),
        "fits": fits.to_json(),
    }
    return SearchReport((title, network_table(tightening, unit), str(fits)), {"tightening": data})
