"""Lagrangian lower bounds for every state of a chain, with multipliers for its resources.

For multipliers m >= 0 that sum to one over the resources of the objective, and limits b of the others, no assignment
costs less than the minimum of m * totals - m * b. That minimum is a shortest path, here one over runs: a run of layers
on one device may not take more of any resource than is allowed in all. Without this, a mean of paths that each overload
another device looks cheap; with it the bound sees most of the cuts that are necessary. One table serves many
multipliers.
"""

from math import inf
from typing import NamedTuple

import numpy as np

from tinysplit.split.solvers.chain.resources import ChainResources, Floats, Ints

ROUNDING = 1e-11  # relative, of sums of the same numbers in another order
CANCELLED = 1e-13  # of what is subtracted from sums: what rounding may add where large multipliers nearly cancel


class States(NamedTuple):
    """Where partial assignments stand: layers done, device of the last one, totals of the rows."""

    done: Ints
    device: Ints  # any where nothing is done
    totals: Floats  # state x row


class Runs:
    """How far a run of layers on one device can go."""

    def __init__(self, rows: ChainResources) -> None:
        self.rows = rows
        self.sums = np.concatenate([np.zeros((1, *rows.stay.shape[1:])), np.cumsum(rows.stay, axis=0)])  # [done]..
        self._by_row = np.ascontiguousarray(self.sums.transpose(1, 2, 0))
        self._rows_of = [np.flatnonzero(totals) for totals in self.sums[-1]]  # what a device takes anything of
        self._closed = np.full((rows.n_layers + 1, rows.n_devices), rows.n_layers)  # next layer that does not run there
        for layer in range(rows.n_layers - 1, -1, -1):
            self._closed[layer] = np.where(rows.runs_on[layer], self._closed[layer + 1], layer)

    def ends(self, first: int | Ints, device: int, room: Floats) -> Ints:
        """Return the layer behind the last one of a run from `first` on, [state] for `room` [state][row]."""
        ends: Ints = self._closed[first, device] + np.zeros(len(room), dtype=np.intp)
        for row in self._rows_of[device]:
            sums = self._by_row[device, row]
            most = (sums[first] + room[:, row]) * (1 + ROUNDING)
            ends = np.minimum(ends, sums.searchsorted(most, side="right") - 1)
        return ends

    def whole(self, caps: Floats) -> Ints:
        """Return the same for runs from every layer on, [first layer][device], with all of `caps` as room."""
        firsts = np.arange(self.rows.n_layers)
        room = np.broadcast_to(caps, (len(firsts), len(caps)))
        return np.stack([self.ends(firsts, device, room) for device in range(self.rows.n_devices)], axis=1)


class LagrangianBounds:
    """Tables for many multipliers: [layers done][device][multiplier], filled from `start` layers done on."""

    def __init__(self, runs: Runs, multipliers: Floats, whole: Ints, start: int = 0) -> None:
        rows = self.rows = runs.rows
        self.runs, self.multipliers = runs, multipliers
        n, d = rows.n_layers, rows.n_devices
        self.offset = multipliers[:, rows.n_objective :] @ rows.limits[rows.n_objective :] * (1 + CANCELLED)
        self.sums = runs.sums @ multipliers.T
        self.before = self.sums * (1 + CANCELLED)  # what is subtracted where a run begins
        self.cut = rows.cut @ multipliers[:, :-d].T  # [layer][from][to][multiplier]
        self.cut[~rows.passes] = inf
        self.cut[:, range(d), range(d)] = inf
        ends = np.arange(n + 1)[:, None]
        self.too_far = np.where((ends > np.arange(n)[:, None, None]) & (ends <= whole[:, None]), 0.0, inf)
        self.begin = np.full((n, d, len(multipliers)), inf)  # a run begins with this layer on this device
        self.end = np.full_like(self.sums, inf)  # a run has ended: its own sums up to there, and the rest
        self.end[n] = self.sums[n]
        for layer in range(n - 1, start - 1, -1):
            top = int(whole[layer].max()) + 1
            if top > layer + 1:
                onward = self.end[layer + 1 : top] + self.too_far[layer, layer + 1 : top, :, None]
                self.begin[layer] = onward.min(axis=0) - self.before[layer]
            if layer:
                self.end[layer] = self.sums[layer] + (self.cut[layer] + self.begin[layer]).min(axis=1)

    def least(self) -> Floats:
        """Return the bound for the whole chain, [multiplier]."""
        return np.asarray(self.begin[0].min(axis=0) - self.offset)

    def going_on(self, done: int) -> Floats:
        """Return the rest behind `done` layers less the offset, [layers the run may go on][device][multiplier]."""
        return np.asarray(np.minimum.accumulate(self.end[done:], axis=0) - self.before[done] - self.offset)

    def cheapest(self, states: States, caps: Floats) -> "Completions":
        """Return the cheapest way on from state k with multiplier k."""
        return Completions(self, states, caps)


class Completions:
    """The cheapest ways on from states, one with each multiplier, run by run."""

    def __init__(self, bounds: LagrangianBounds, states: States, caps: Floats) -> None:
        self.bounds = bounds
        self.n = bounds.rows.n_layers
        self.everyone = np.arange(len(states.done))
        self.totals = states.totals.copy()
        self.ways: list[tuple[Ints, Ints]] = []  # device and end of each run
        device, far = self._first_runs(states, caps)
        done = states.done
        ends = np.arange(self.n + 1)[:, None]
        onward = np.where((ends >= done) & (ends <= far), bounds.end[:, device, self.everyone], inf)
        end = onward.argmin(axis=0)
        least = onward[end, self.everyone] - bounds.before[done, device, self.everyone]
        own = (states.totals * bounds.multipliers).sum(axis=1)
        self.values = own + least - bounds.offset  # [state], infinite where there is no way
        self.open = np.isfinite(self.values)
        self._walk(done, device, end)

    def _first_runs(self, states: States, caps: Floats) -> tuple[Ints, Ints]:
        """Return the device that goes on, and how far it can."""
        bounds = self.bounds
        device = np.where(states.done > 0, states.device, bounds.begin[0].argmin(axis=0))
        far = np.empty(len(device), dtype=np.intp)
        for index in np.unique(device):
            chosen = np.flatnonzero(device == index)
            far[chosen] = bounds.runs.ends(states.done[chosen], int(index), caps - states.totals[chosen])
        return device, far

    def _walk(self, done: Ints, device: Ints, end: Ints) -> None:
        bounds, rows = self.bounds, self.bounds.rows
        while True:
            self.totals += bounds.runs.sums[end, device] - bounds.runs.sums[done, device]
            self.ways.append((device, end))
            left = (end < self.n) & self.open
            if not left.any():
                return
            done = np.where(left, end, self.n)
            layer = np.minimum(end, self.n - 1)
            onward = bounds.cut[layer, device, :, self.everyone] + bounds.begin[layer, :, self.everyone]
            after = np.where(left, onward.argmin(axis=1), device)
            self.totals[:, : -rows.n_devices] += np.where(left[:, None], rows.cut[layer, device, after], 0.0)
            far = bounds.end[:, after, self.everyone] + bounds.too_far[layer, :, after].T
            device, end = after, np.where(left, far.argmin(axis=0), self.n)

    def devices(self, state: int, done: int) -> list[int]:
        """Return the devices of the layers from `done` on for one of the states."""
        found: list[int] = []
        for device, end in self.ways:
            found += [int(device[state])] * (int(end[state]) - done - len(found))
        return found
