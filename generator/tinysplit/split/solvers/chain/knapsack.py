"""Lower bounds with a 0/1 knapsack for the flash of one board; all other resources have Lagrangian multipliers.

A Lagrangian bound credits free flash even if no remaining layer fits into it. Here dynamic programming counts the free
flash of a board in cells. Rounding favours the path, so that the result is a lower bound: a run of layers takes the
cells between the cumulative flash at its two ends, and where it begins, one cell is given back for rounding. Unlike
those of `lagrangian.py`, these bounds do not limit the length of runs; the larger of both bounds is used.
"""

from math import inf, isqrt

import numpy as np

from tinysplit.split.solvers.chain.lagrangian import CANCELLED
from tinysplit.split.solvers.chain.resources import ChainResources, Floats, Ints

ROUNDED = 1e-9  # cells: tolerance before rounding up


class KnapsackBounds:
    """Lower bounds of labels for several multipliers, with the flash of `device` in `n_cells` cells.

    The table after a layer is [device of the last layer][free cells][multiplier]. Tables are computed backward and used
    forward, so only some are stored as checkpoints, and those between two checkpoints are computed again when needed.
    """

    def __init__(self, resources: ChainResources, multipliers: Floats, device: int, n_cells: int) -> None:
        d = resources.n_devices
        self.device, self.resource = device, len(resources.limits) - d + device
        self.weights = multipliers.copy()
        self.weights[:, self.resource] = 0.0
        self.offset = (
            self.weights[:, resources.n_objective :] @ resources.limits[resources.n_objective :] * (1 + CANCELLED)
        )
        self.limit = resources.limits[self.resource]
        self.cell = max(self.limit, 1.0) / n_cells
        taken = np.append(0.0, np.cumsum(resources.layer_costs[:, device, self.resource])) / self.cell
        self.marks: Ints = np.floor(taken).astype(np.intp)
        self.begun = taken - self.marks
        self.layer_costs = resources.layer_costs @ self.weights.T
        self.layer_costs[~resources.runs_on] = inf
        leave = resources.cut_costs @ self.weights[:, :-d].T
        leave[~resources.can_send] = inf
        leave[:, range(d), range(d)] = inf
        self.leave = leave.min(axis=2)  # [layer][device][multiplier], to the cheapest receiver
        self.n_positions = n_cells + 2  # 0 to n_cells free, and one that is given back
        self._tables = self._checkpoints()

    def of(self, done: int, device: Ints, totals: Floats) -> Floats:
        """Return lower bounds [label][multiplier] after `done` layers; infinite where flash is exceeded."""
        free = (self.limit - totals[:, self.resource]) / self.cell
        begun = np.where(device == self.device, self.begun[done], 0.0)
        index = device * self.n_positions + np.ceil(free + begun + ROUNDED).astype(np.intp)
        rest = self._after(done).reshape(-1, len(self.weights)).take(index, axis=0)
        return np.asarray(rest + totals @ self.weights.T - self.offset)

    def _checkpoints(self) -> dict[int, Floats]:
        n = len(self.layer_costs)
        table = np.zeros((self.layer_costs.shape[1], self.n_positions, len(self.weights)))
        kept = {n: table}
        for layer in range(n - 1, -1, -1):
            table = self._before(layer, table)
            if layer % _interval(n) == 0:
                kept[layer] = table
        return kept

    def _after(self, done: int) -> Floats:
        """Return the table after `done` layers; compute and store the tables up to the next checkpoint."""
        if done not in self._tables:
            n = len(self.layer_costs)
            self._tables = {at: table for at, table in self._tables.items() if at == n or at % _interval(n) == 0}
            for layer in range(min(at for at in self._tables if at > done) - 1, done - 1, -1):
                self._tables[layer] = self._before(layer, self._tables[layer + 1])
        return self._tables[done]

    def _before(self, layer: int, table: Floats) -> Floats:
        """Return the table before a layer from the table after it."""
        remaining = table + self.layer_costs[layer][:, None]
        own = remaining[self.device].copy()
        taken = int(self.marks[layer + 1] - self.marks[layer])
        remaining[self.device] = _shifted(own, taken - 1)
        begin = remaining.min(axis=0)
        remaining[self.device] = _shifted(own, taken)
        return np.asarray(np.minimum(remaining, begin + self.leave[layer][:, None], out=remaining))


def bytes_per_cell(n_layers: int, n_devices: int, n_multipliers: int) -> int:
    """Return the largest size in bytes per cell of the stored tables of one `KnapsackBounds`."""
    n_tables = n_layers // _interval(n_layers) + 2 + _interval(n_layers)
    return 8 * n_tables * n_devices * n_multipliers


def _interval(n_layers: int) -> int:
    return isqrt(n_layers) + 1


def _shifted(table: Floats, cells: int) -> Floats:
    """Return [free cells][multiplier] before `cells` cells are taken; -1 gives one back."""
    if cells < 0:
        return np.concatenate([table[1:], table[-1:]])
    remaining = np.full_like(table, inf)
    if cells < len(table):
        remaining[cells:] = table[: len(table) - cells]
    return remaining
