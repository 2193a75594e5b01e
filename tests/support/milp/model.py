"""A mixed-integer linear program, built constraint by constraint and solved by HiGHS through SciPy."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from math import inf, isfinite

import numpy as np
from numpy.typing import NDArray

from milp.silence import silenced_stdout
from tinysplit.common.interrupts.aside import run_aside
from tinysplit.split import clock
from tinysplit.split.problem import ROUNDING

Terms = Mapping[int, float]  # coefficient by variable
ROW_SIZE = 1000.0  # scaled limit of a constraint: the feasibility tolerance of HiGHS is 1e-6
COST_SIZE = 1e4  # scaled largest cost: HiGHS stops at an absolute gap of 1e-6
INFEASIBLE = 2  # status code of scipy.optimize.milp


@dataclass(frozen=True, eq=False)
class Solution:
    """Result of HiGHS: `values` of all variables, None without a solution, and a lower bound of the cost."""

    values: NDArray[np.float64] | None
    lower_bound: float
    n_nodes: int
    is_infeasible: bool


@dataclass(eq=False)
class LinearProgram:
    """Variables from 0 to an upper limit, constraints with two-sided limits, and linear costs to minimise."""

    costs: Terms = field(default_factory=dict[int, float])
    upper: list[float] = field(default_factory=list)
    is_integer: list[bool] = field(default_factory=list)
    _rows: list[tuple[Terms, float, float]] = field(default_factory=list)

    def variable(self, upper: float = 1.0, *, is_integer: bool = False) -> int:
        """Add a variable and return its number."""
        self.upper.append(upper)
        self.is_integer.append(is_integer)
        return len(self.upper) - 1

    def constrain(self, terms: Terms, low: float = -inf, high: float = inf) -> None:
        """Add the constraint low <= terms <= high."""
        self._rows.append((terms, low, high))

    def at_most(self, terms: Terms, limit: float) -> None:
        """Add the constraint terms <= limit, with a tolerance for rounding; none for an infinite limit."""
        if isfinite(limit):
            size = ROW_SIZE / limit
            self.constrain(
                {variable: value * size for variable, value in terms.items()}, high=ROW_SIZE * (1 + ROUNDING)
            )

    def at_least(self, variable: int, part: int) -> None:
        """Add the constraint variable >= part."""
        self.constrain({variable: 1.0, part: -1.0}, low=0.0)

    def forbid(self, variables: Iterable[int]) -> None:
        """Fix variables to zero."""
        for variable in variables:
            self.upper[variable] = 0.0

    def solve(self, deadline: float) -> Solution:
        """Return the result of HiGHS at `deadline` (of `clock.now`).

        An infeasible result is verified without presolve, which once rejected a problem with tight limits.
        """
        found = self._solve(deadline, presolve=True)
        return self._solve(deadline, presolve=False) if found.is_infeasible else found

    def _solve(self, deadline: float, *, presolve: bool) -> Solution:
        from scipy.optimize import Bounds, LinearConstraint  # noqa: PLC0415 (half a second, and few commands need it)
        from scipy.optimize import milp as highs  # noqa: PLC0415

        costs = np.zeros(len(self.upper))
        costs[list(self.costs)] = list(self.costs.values())
        cost_size = COST_SIZE / (float(costs.max()) or 1.0)
        constraints = LinearConstraint(*self._constraints())
        with silenced_stdout():
            solve = partial(
                highs,
                costs * cost_size,
                integrality=np.array(self.is_integer, dtype=int),
                bounds=Bounds(0, self.upper),
                constraints=constraints,
                options={"time_limit": max(0.01, deadline - clock.now()), "mip_rel_gap": 0, "presolve": presolve},
            )
            result = run_aside(solve)
        bound = result.mip_dual_bound
        return Solution(
            values=result.x,
            lower_bound=0.0 if bound is None else max(0.0, float(bound) / cost_size),
            n_nodes=result.mip_node_count or 0,
            is_infeasible=result.status == INFEASIBLE,
        )

    def _constraints(self) -> tuple[object, list[float], list[float]]:
        """Return the sparse constraint matrix, and the lower and upper limits of its rows."""
        from scipy.sparse import csr_array  # noqa: PLC0415

        lengths = [len(terms) for terms, _, _ in self._rows]
        columns = [variable for terms, _, _ in self._rows for variable in terms]
        values = [value for terms, _, _ in self._rows for value in terms.values()]
        starts = np.concatenate([[0], np.cumsum(lengths)])
        matrix = csr_array((values, columns, starts), shape=(len(self._rows), len(self.upper)))
        return matrix, [low for _, low, _ in self._rows], [high for _, _, high in self._rows]
