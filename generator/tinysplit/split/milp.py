"""The splitting problem as a mixed integer program for HiGHS (through scipy): an independent peer of the searches.

One binary variable says that a layer is on a device, one flow that a cut goes from one device to another; the flow
leaves where the layer before is and arrives where the next one is. This is the tightest of the usual linearizations.
"""

from math import inf
from time import perf_counter

import numpy as np

from tinysplit.errors import ToolError, UsageError
from tinysplit.split.infeasible import check_memories, explain, explain_timeout
from tinysplit.split.problem import Problem
from tinysplit.split.split import DEFAULT_TIME_LIMIT_S, Split

SCALE = 1000.0  # what the largest cost becomes: HiGHS stops at an absolute gap of 1e-6
TIME_OVER, INFEASIBLE = 1, 2  # scipy's status


def milp(problem: Problem, *, time_limit_s: float = DEFAULT_TIME_LIMIT_S) -> Split:
    """Return the fastest split that HiGHS finds, with its bound.

    ToolError when scipy is not installed, UsageError for throughput and limits, CheckFailedError when nothing fits.
    """
    try:
        from scipy.optimize import Bounds, LinearConstraint  # noqa: PLC0415 (an optional extra)
        from scipy.optimize import milp as highs  # noqa: PLC0415
    except ImportError:
        raise ToolError("HiGHS needs scipy: pip install 'tinysplit[milp]'") from None
    if problem.asks_for_period or problem.is_limited:
        raise UsageError("the mixed integer program knows neither throughput nor limits")
    check_memories(problem)
    start = perf_counter()
    program = _Program(problem)
    finite = np.isfinite(program.costs)
    scale = SCALE / max(1e-300, float(program.costs[finite].max()))
    result = highs(
        np.where(finite, program.costs, 0.0) * scale,
        integrality=program.integrality,
        bounds=Bounds(0, finite.astype(float)),
        constraints=LinearConstraint(*program.constraints()),
        options={"time_limit": time_limit_s, "mip_rel_gap": 0},
    )
    if result.x is None:
        raise explain(problem) if result.status == INFEASIBLE else explain_timeout(problem, time_limit_s)
    places = result.x[: program.n_places].reshape(len(problem.layers), -1)
    assignment = tuple(map(int, places.argmax(axis=1)))
    bound = result.mip_dual_bound / scale if result.mip_dual_bound is not None else 0.0
    return Split(
        problem=problem,
        assignment=assignment,
        lower_bound=min(problem.value(assignment), bound),
        explored=result.mip_node_count or 0,
        solver="highs",
        spent_s=perf_counter() - start,
    )


class _Program:
    """Variables: [layer][device], then [layer before][device][device]; rows are added one by one."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.n_devices = len(problem.devices)
        n_layers = len(problem.layers)
        self.n_places = n_layers * self.n_devices
        places = np.array(problem.usable_seconds).ravel()
        self.costs = np.append(places, np.array(problem.transfer_seconds[:-1]).ravel())
        self.integrality = np.where(np.arange(len(self.costs)) < self.n_places, 1, 0)
        self.rows: list[tuple[dict[int, float], float, float]] = []
        for layer in range(n_layers):
            self.rows.append(({self._place(layer, i): 1.0 for i in range(self.n_devices)}, 1, 1))
        for layer in range(n_layers - 1):
            self._add_flow(layer)
        for device, limits in enumerate(problem.devices):
            flash = {self._place(k, device): float(layer.flash_bytes) for k, layer in enumerate(problem.layers)}
            self.rows.append((flash, -inf, limits.flash_bytes))
            if problem.must_use_all:
                self.rows.append((dict.fromkeys(flash, 1.0), 1, inf))
            if problem.keep_last_two and n_layers > 1:
                last = {self._place(n_layers - 1, device): 1.0, self._place(n_layers - 2, device): -1.0}
                self.rows.append((last, 0, 0))

    def constraints(self) -> tuple[object, list[float], list[float]]:
        """Return the sparse matrix and the lower and upper limits of its rows."""
        from scipy.sparse import csr_array  # noqa: PLC0415 (an optional extra)

        entries = [
            (row, column, value) for row, (terms, _, _) in enumerate(self.rows) for column, value in terms.items()
        ]
        rows, columns, values = zip(*entries, strict=True)
        matrix = csr_array((values, (rows, columns)), shape=(len(self.rows), len(self.costs)))
        return matrix, [low for _, low, _ in self.rows], [high for _, _, high in self.rows]

    def _place(self, layer: int, device: int) -> int:
        return layer * self.n_devices + device

    def _cut(self, layer: int, sender: int, receiver: int) -> int:
        return self.n_places + (layer * self.n_devices + sender) * self.n_devices + receiver

    def _add_flow(self, layer: int) -> None:
        devices = range(self.n_devices)
        for device in devices:
            leaving = {self._cut(layer, device, h): 1.0 for h in devices}
            arriving = {self._cut(layer, i, device): 1.0 for i in devices}
            self.rows.append((leaving | {self._place(layer, device): -1.0}, 0, 0))
            self.rows.append((arriving | {self._place(layer + 1, device): -1.0}, 0, 0))
