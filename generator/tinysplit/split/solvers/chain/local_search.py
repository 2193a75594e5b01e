"""Local search: beam passes of small width over chains in which most layers are fixed to their devices.

The Lagrangian bounds, which guide the beam search, are weakest where boards are nearly full. Local search completes
dropped labels, and reassigns the layers of two boards between these two, pair by pair, until no pair improves.
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
WORSE = 1.05  # times the incumbent: completions up to this value are tried

Found = tuple[float, list[int]]  # objective and device of every layer; infinite and empty if nothing was found


class LocalSearch:
    """Local search on a chain; no pass starts after `deadline`."""

    def __init__(self, resources: ChainResources, rules: Rules, deadline: float) -> None:
        self.resources, self.rules, self.deadline = resources, rules, deadline

    @property
    def is_time_over(self) -> bool:
        """Whether the deadline has passed."""
        return clock.now() > self.deadline

    def ended(self, devices: Sequence[int], multipliers: Floats, best: float) -> Found:
        """Return a completion of a partial assignment of the first layers to `devices`."""
        allowed = np.ones((self.resources.n_layers, self.resources.n_devices), dtype=bool)
        allowed[: len(devices)] = False
        allowed[np.arange(len(devices)), devices] = True
        return self._best(allowed, multipliers, best * WORSE)

    def paired(self, start: Found, multipliers: Floats) -> Found:
        """Return `start` improved by reassigning the layers of pairs of devices, until no pair improves."""
        pairs = list(combinations(range(self.resources.n_devices), 2))
        waiting = pairs[::-1]
        while waiting and not self.is_time_over:
            pair = waiting.pop()
            devices = np.array(start[1])
            allowed = devices[:, None] == np.arange(self.resources.n_devices)
            allowed[np.ix_(np.isin(devices, pair), np.array(pair))] = True
            found = self._best(allowed, multipliers, start[0])
            if found[0] < start[0] * (1 - ROUNDING):
                start = found
                waiting = [other for other in pairs[::-1] if other != pair]
        return start

    def _best(self, allowed: Bools, multipliers: Floats, below: float) -> Found:
        """Return the best split below a value with each layer on its allowed devices, [layer][device]."""
        resources = replace(self.resources, runs_on=self.resources.runs_on & allowed)
        narrow = BeamPass(Runs(resources), multipliers, self.rules, below, WIDTH, inf)
        narrow.run()
        return narrow.value, narrow.devices
