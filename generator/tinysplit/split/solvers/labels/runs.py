"""Longest runs of consecutive layers on one device, by what the device or a limit has left of each resource."""

import numpy as np

from tinysplit.split.solvers.labels.state_graph import Floats, Ints, StateGraph

ROUNDING = 1e-11  # relative difference of sums of the same numbers in another order


class Runs:
    """How far layers can follow each other on one device, whatever the states between them are."""

    def __init__(self, graph: StateGraph, n_devices: int) -> None:
        n, n_resources = len(graph.steps), graph.entry.shape[1]
        least = np.full((n, n_devices, n_resources), np.inf)  # of a layer on a device
        for layer, step in enumerate(graph.steps):
            np.minimum.at(least[layer], step.device, step.costs)
        runs_on = np.isfinite(least).all(axis=2)
        self._closed = np.full((n + 1, n_devices), n)  # the next layer that cannot run on the device
        for layer in range(n - 1, -1, -1):
            self._closed[layer] = np.where(runs_on[layer], self._closed[layer + 1], layer)
        sums = np.cumsum(np.where(runs_on[..., None], least, 0.0), axis=0)
        self._sums = np.vstack([np.zeros((1, *sums.shape[1:])), sums]).transpose(1, 2, 0).copy()  # [..][layers done]
        self._used_by = [np.flatnonzero(totals[:, -1]) for totals in self._sums]  # resources, by device

    def ends(self, first: int | Ints, device: int, free: Floats) -> Ints:
        """Return the layer after the longest run from layer `first` on, [label]; `free` is [label][resource]."""
        ends: Ints = self._closed[first, device] + np.zeros(len(free), dtype=np.intp)
        for resource in self._used_by[device]:
            sums = self._sums[device, resource]
            limit = (sums[first] + free[:, resource]) * (1 + ROUNDING)
            ends = np.minimum(ends, sums.searchsorted(limit, side="right") - 1)
        return ends

    def farthest_ends(self, caps: Floats) -> Ints:
        """Return the ends of the longest runs, [first layer][device], with the resources `caps` left."""
        n_devices, _, n_sums = self._sums.shape
        firsts = np.arange(n_sums - 1)
        free = np.broadcast_to(caps, (len(firsts), len(caps)))
        return np.stack([self.ends(firsts, device, free) for device in range(n_devices)], axis=1)
