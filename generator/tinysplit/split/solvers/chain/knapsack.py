"""Lower bounds with a 0/1 knapsack for the flash of one board; all other resources have Lagrangian multipliers.

Multipliers alone credit flash that stays free because no layer that is left fits into it. Here a board's free flash is
counted in cells by dynamic programming, rounded in favour of the path, so that the result stays a lower bound: a
run of layers takes the cells between the marks at its ends, and gets back where it begins what rounding may cost it.
These bounds ignore how long runs may be; those of `lagrangian.py` do not, and the larger one counts.
"""

from math import inf, isqrt

import numpy as np

from tinysplit.split.solvers.chain.lagrangian import CANCELLED
from tinysplit.split.solvers.chain.resources import ChainResources, Floats, Ints

ROUNDED = 1e-9  # cells


class KnapsackBounds:
    """Bounds for labels with each of some multipliers, the flash of `device` counted in `n_cells`.

    The table behind a layer is [device of the last layer][free cells][multiplier]. It is kept behind every so many
    layers, and made again between these when a pass comes there: a pass goes forward, tables are made backward.
    """

    def __init__(self, rows: ChainResources, multipliers: Floats, device: int, n_cells: int) -> None:
        d = rows.n_devices
        self.device, self.row = device, len(rows.limits) - d + device
        self.weights = multipliers.copy()
        self.weights[:, self.row] = 0.0
        self.offset = self.weights[:, rows.n_objective :] @ rows.limits[rows.n_objective :] * (1 + CANCELLED)
        self.limit = rows.limits[self.row]
        self.cell = max(self.limit, 1.0) / n_cells
        taken = np.append(0.0, np.cumsum(rows.stay[:, device, self.row])) / self.cell
        self.marks: Ints = np.floor(taken).astype(np.intp)
        self.begun = taken - self.marks
        self.stay = rows.stay @ self.weights.T
        self.stay[~rows.runs_on] = inf
        leave = rows.cut @ self.weights[:, :-d].T
        leave[~rows.passes] = inf
        leave[:, range(d), range(d)] = inf
        self.leave = leave.min(axis=2)  # [layer][device][multiplier], to wherever it is cheapest
        self.n_positions = n_cells + 2  # none free, and one given back, too
        self._tables = self._kept()

    def of(self, done: int, device: Ints, totals: Floats) -> Floats:
        """Return bounds [label][multiplier] of labels with `done` layers; infinite where the flash is too small."""
        free = (self.limit - totals[:, self.row]) / self.cell
        begun = np.where(device == self.device, self.begun[done], 0.0)
        places = device * self.n_positions + np.ceil(free + begun + ROUNDED).astype(np.intp)
        rest = self._behind(done).reshape(-1, len(self.weights)).take(places, axis=0)
        return np.asarray(rest + totals @ self.weights.T - self.offset)

    def _kept(self) -> dict[int, Floats]:
        n = len(self.stay)
        table = np.zeros((self.stay.shape[1], self.n_positions, len(self.weights)))
        kept = {n: table}
        for layer in range(n - 1, -1, -1):
            table = self._before(layer, table)
            if layer % _interval(n) == 0:
                kept[layer] = table
        return kept

    def _behind(self, done: int) -> Floats:
        """Return the table behind `done` layers, and make those up to the next one that is kept."""
        if done not in self._tables:
            n = len(self.stay)
            self._tables = {at: table for at, table in self._tables.items() if at == n or at % _interval(n) == 0}
            for layer in range(min(at for at in self._tables if at > done) - 1, done - 1, -1):
                self._tables[layer] = self._before(layer, self._tables[layer + 1])
        return self._tables[done]

    def _before(self, layer: int, table: Floats) -> Floats:
        """Return the table before a layer from that behind it."""
        onward = table + self.stay[layer][:, None]
        own = onward[self.device].copy()
        taken = int(self.marks[layer + 1] - self.marks[layer])
        onward[self.device] = _with_less(own, taken - 1)
        begin = onward.min(axis=0)
        onward[self.device] = _with_less(own, taken)
        return np.asarray(np.minimum(onward, begin + self.leave[layer][:, None], out=onward))


def bytes_per_cell(n_layers: int, n_devices: int, n_multipliers: int) -> int:
    """Return the most that the tables of one `KnapsackBounds` hold at a time."""
    n_tables = n_layers // _interval(n_layers) + 2 + _interval(n_layers)
    return 8 * n_tables * n_devices * n_multipliers


def _interval(n_layers: int) -> int:
    return isqrt(n_layers) + 1


def _with_less(table: Floats, cells: int) -> Floats:
    """Return [free cells][multiplier] before `cells` of them are taken, or -1 is given back."""
    if cells < 0:
        return np.concatenate([table[1:], table[-1:]])
    onward = np.full_like(table, inf)
    if cells < len(table):
        onward[cells:] = table[: len(table) - cells]
    return onward
