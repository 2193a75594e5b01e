"""Lagrangian lower bounds for every state of a chain, with multipliers for its resources.

For multipliers m >= 0 that sum to one over the resources of the objective, and limits b of the others, no assignment
costs less than the minimum of m * totals - m * b. That minimum is a shortest path. Its steps are runs of layers on one
device, and a run may not consume more of a resource than the limit. This tightens the bound: without it, the convex
combination of paths that each overload another device would count as feasible, and necessary cuts would be missed. The
tables are computed for many multipliers at the same time.
"""

from math import inf
from typing import NamedTuple

import numpy as np

from tinysplit.split.solvers.chain.resources import ChainResources, Floats, Ints

ROUNDING = 1e-11  # relative difference of sums of the same numbers in another order
CANCELLED = 1e-13  # relative rounding error of subtracted terms, where large multipliers nearly cancel


class States(NamedTuple):
    """States of partial assignments: number of assigned layers, device of the last one, consumed resources."""

    done: Ints
    device: Ints  # arbitrary for an empty assignment
    totals: Floats  # [state][resource]


class Runs:
    """Longest feasible runs of consecutive layers on one device."""

    def __init__(self, resources: ChainResources) -> None:
        self.resources = resources
        none = np.zeros((1, *resources.layer_costs.shape[1:]))
        self.sums = np.concatenate([none, np.cumsum(resources.layer_costs, axis=0)])  # [layers assigned]..
        self._by_resource = np.ascontiguousarray(self.sums.transpose(1, 2, 0))
        self._used_by = [np.flatnonzero(totals) for totals in self.sums[-1]]  # resources, by device
        # The next layer that cannot run on the device.
        self._closed = np.full((resources.n_layers + 1, resources.n_devices), resources.n_layers)
        for layer in range(resources.n_layers - 1, -1, -1):
            self._closed[layer] = np.where(resources.runs_on[layer], self._closed[layer + 1], layer)

    def ends(self, first: int | Ints, device: int, free: Floats) -> Ints:
        """Return the layer after the longest run that starts with layer `first`, [state].

        `free` has the resources left, [state][resource].
        """
        ends: Ints = self._closed[first, device] + np.zeros(len(free), dtype=np.intp)
        for resource in self._used_by[device]:
            sums = self._by_resource[device, resource]
            limit = (sums[first] + free[:, resource]) * (1 + ROUNDING)
            ends = np.minimum(ends, sums.searchsorted(limit, side="right") - 1)
        return ends

    def farthest_ends(self, caps: Floats) -> Ints:
        """Return the ends of the longest runs, [first layer][device], with the resources `caps` left."""
        firsts = np.arange(self.resources.n_layers)
        free = np.broadcast_to(caps, (len(firsts), len(caps)))
        return np.stack([self.ends(firsts, device, free) for device in range(self.resources.n_devices)], axis=1)


class LagrangianBounds:
    """Tables of bounds, [layers assigned][device][multiplier], for states with at least `start` layers assigned."""

    def __init__(self, runs: Runs, multipliers: Floats, farthest: Ints, start: int = 0) -> None:
        resources = self.resources = runs.resources
        self.runs, self.multipliers = runs, multipliers
        n, d = resources.n_layers, resources.n_devices
        first = resources.n_objective
        self.offset = multipliers[:, first:] @ resources.limits[first:] * (1 + CANCELLED)
        self.sums = runs.sums @ multipliers.T
        self.before = self.sums * (1 + CANCELLED)  # subtracted where a run begins
        self.cut = resources.cut_costs @ multipliers[:, :-d].T  # [layer][from][to][multiplier]
        self.cut[~resources.can_send] = inf
        self.cut[:, range(d), range(d)] = inf
        ends = np.arange(n + 1)[:, None]
        self.blocked = np.where((ends > np.arange(n)[:, None, None]) & (ends <= farthest[:, None]), 0.0, inf)
        # Shortest paths that begin with a run from the layer on; and those after a run that ends before the layer, with
        # the sums of that run.
        self.begin = np.full((n, d, len(multipliers)), inf)
        self.end = np.full_like(self.sums, inf)
        self.end[n] = self.sums[n]
        for layer in range(n - 1, start - 1, -1):
            top = int(farthest[layer].max()) + 1
            if top > layer + 1:
                remaining = self.end[layer + 1 : top] + self.blocked[layer, layer + 1 : top, :, None]
                self.begin[layer] = remaining.min(axis=0) - self.before[layer]
            if layer:
                self.end[layer] = self.sums[layer] + (self.cut[layer] + self.begin[layer]).min(axis=1)

    def least(self) -> Floats:
        """Return the lower bound of the whole chain, [multiplier]."""
        return np.asarray(self.begin[0].min(axis=0) - self.offset)

    def remaining(self, done: int) -> Floats:
        """Return the cost of the layers after `done` less the offset, [more layers in the run][device][multiplier]."""
        return np.asarray(np.minimum.accumulate(self.end[done:], axis=0) - self.before[done] - self.offset)

    def shortest_paths(self, states: States, caps: Floats) -> "Completions":
        """Return the shortest paths to the end of the chain, from state k with multiplier k."""
        return Completions(self, states, caps)


class Completions:
    """Shortest paths from states to the end of the chain, one for each multiplier, as sequences of runs."""

    def __init__(self, bounds: LagrangianBounds, states: States, caps: Floats) -> None:
        self.bounds = bounds
        self.n = bounds.resources.n_layers
        self.indices = np.arange(len(states.done))
        self.totals = states.totals.copy()
        self.runs: list[tuple[Ints, Ints]] = []  # device and end of each run
        device, farthest = self._first_runs(states, caps)
        done = states.done
        ends = np.arange(self.n + 1)[:, None]
        remaining = np.where((ends >= done) & (ends <= farthest), bounds.end[:, device, self.indices], inf)
        end = remaining.argmin(axis=0)
        least = remaining[end, self.indices] - bounds.before[done, device, self.indices]
        own = (states.totals * bounds.multipliers).sum(axis=1)
        self.values = own + least - bounds.offset  # lower bounds [state], infinite without a path
        self.exists = np.isfinite(self.values)
        self._trace(done, device, end)

    def _first_runs(self, states: States, caps: Floats) -> tuple[Ints, Ints]:
        """Return the device of the first run from each state, and the farthest end of that run."""
        bounds = self.bounds
        device = np.where(states.done > 0, states.device, bounds.begin[0].argmin(axis=0))
        farthest = np.empty(len(device), dtype=np.intp)
        for index in np.unique(device):
            chosen = np.flatnonzero(device == index)
            farthest[chosen] = bounds.runs.ends(states.done[chosen], int(index), caps - states.totals[chosen])
        return device, farthest

    def _trace(self, done: Ints, device: Ints, end: Ints) -> None:
        bounds, resources = self.bounds, self.bounds.resources
        while True:
            self.totals += bounds.runs.sums[end, device] - bounds.runs.sums[done, device]
            self.runs.append((device, end))
            left = (end < self.n) & self.exists
            if not left.any():
                return
            done = np.where(left, end, self.n)
            layer = np.minimum(end, self.n - 1)
            remaining = bounds.cut[layer, device, :, self.indices] + bounds.begin[layer, :, self.indices]
            after = np.where(left, remaining.argmin(axis=1), device)
            cut_costs = resources.cut_costs[layer, device, after]
            self.totals[:, : -resources.n_devices] += np.where(left[:, None], cut_costs, 0.0)
            farthest = bounds.end[:, after, self.indices] + bounds.blocked[layer, :, after].T
            device, end = after, np.where(left, farthest.argmin(axis=0), self.n)

    def devices(self, state: int, done: int) -> list[int]:
        """Return the devices of the layers from `done` on, on the path from one of the states."""
        found: list[int] = []
        for device, end in self.runs:
            found += [int(device[state])] * (int(end[state]) - done - len(found))
        return found
