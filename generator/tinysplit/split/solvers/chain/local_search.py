"""Local search: beam passes of small width over chains in which most layers keep their devices.

A pass prefers what its bounds prefer, and they are weakest where boards are nearly full. So dropped labels are
completed, and the layers of two boards at a time are divided between these two again, until no pair improves.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from math import inf

import numpy as np

from tinysplit.split import clock
from tinysplit.split.solvers.chain.beam_pass import BeamPass, Rules
from tinysplit.split.solvers.chain.lagrangian import ROUNDING, Runs
from tinysplit.split.solvers.chain.resources import Bools, ChainResources, Floats

WIDTH = 48
WORSE = 1.05  # times the best split: an end that is worth a try

Found = tuple[float, list[int]]  # what it costs, and the device of every layer; infinite and none where there is none


class LocalSearch:
    """Local search in a chain with rules; nothing begins after `deadline`."""

    def __init__(self, rows: ChainResources, rules: Rules, deadline: float) -> None:
        self.rows, self.rules, self.deadline = rows, rules, deadline

    @property
    def is_time_over(self) -> bool:
        """Whether nothing more may begin."""
        return clock.now() > self.deadline

    def ended(self, devices: Sequence[int], multipliers: Floats, best: float) -> Found:
        """Return a good end for the first layers on `devices`."""
        may = np.ones((self.rows.n_layers, self.rows.n_devices), dtype=bool)
        may[: len(devices)] = False
        may[np.arange(len(devices)), devices] = True
        return self._best(may, multipliers, best * WORSE)

    def paired(self, start: Found, multipliers: Floats) -> Found:
        """Return `start` after pairs of devices have shared their layers anew, until none gains or the time is over."""
        pairs = list(combinations(range(self.rows.n_devices), 2))
        waiting = pairs[::-1]
        while waiting and not self.is_time_over:
            pair = waiting.pop()
            devices = np.array(start[1])
            may = devices[:, None] == np.arange(self.rows.n_devices)
            may[np.ix_(np.isin(devices, pair), np.array(pair))] = True
            found = self._best(may, multipliers, start[0])
            if found[0] < start[0] * (1 - ROUNDING):
                start = found
                waiting = [other for other in pairs[::-1] if other != pair]
        return start

    def _best(self, may: Bools, multipliers: Floats, below: float) -> Found:
        """Return what a narrow pass finds below a value if each layer is only where it may be."""
        rows = replace(self.rows, runs_on=self.rows.runs_on & may)
        narrow = BeamPass(Runs(rows), multipliers, self.rules, below, WIDTH, inf)
        narrow.run()
        return narrow.value, narrow.devices
