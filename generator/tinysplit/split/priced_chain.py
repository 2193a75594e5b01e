"""The chain as arrays, and lower bounds for every state of it from prices for flash (Lagrangian relaxation)."""

from dataclasses import dataclass
from math import inf, isfinite

import numpy as np
from numpy.typing import NDArray

from tinysplit.split.problem import Assignment, Problem

PATIENCE = 4  # steps that did not raise the bound before steps become shorter
SHORTENING = 0.7
AIM_WITHOUT_INCUMBENT = 1.3  # of the bound with unlimited flash

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Chain:
    """A problem as arrays; where the last two layers stay together they are one layer here."""

    step_seconds: Floats  # [layer][device of the layer before][device]: transfer and computation
    flash_bytes: Floats  # [layer]: whole numbers, exact up to 2^53
    limits: Floats  # [device]: bytes of flash
    flash_left: Floats  # [layers done]: bytes of all layers that are left
    n_merged: int  # layers that the last one stands for

    @classmethod
    def of(cls, problem: Problem) -> "Chain":
        """Return `problem` as arrays."""
        seconds = np.array(problem.usable_seconds)
        flash_bytes = np.array([layer.flash_bytes for layer in problem.layers], dtype=float)
        transfers = np.array(problem.transfer_seconds)
        n_merged = 2 if problem.keep_last_two and len(seconds) > 1 else 1
        if n_merged > 1:
            seconds = np.vstack([seconds[:-2], seconds[-2] + seconds[-1]])
            flash_bytes = np.append(flash_bytes[:-2], flash_bytes[-2] + flash_bytes[-1])
        into = np.concatenate([np.zeros_like(transfers[:1]), transfers[: len(seconds) - 1]])
        flash_left = np.append(np.cumsum(flash_bytes[::-1])[::-1], 0.0)
        limits = np.array([device.flash_bytes for device in problem.devices], dtype=float)
        return cls(into + seconds[:, None, :], flash_bytes, limits, flash_left, n_merged)

    @property
    def n_layers(self) -> int:
        """Layers of the chain, the last two of the problem counted once where they are one."""
        return len(self.flash_bytes)

    def assignment(self, devices: list[int]) -> Assignment:
        """Return the device of every layer of the problem from those of the chain."""
        return (*devices, *devices[-1:] * (self.n_merged - 1))


@dataclass(frozen=True, eq=False)
class State:
    """Where a partial assignment stands: layers done, device of the last one, bytes free on every device."""

    done: int
    device: int
    free: Floats
    seconds: float
    bound: float


@dataclass(frozen=True, eq=False)
class PricedBound:
    """`rest` [layers done][device of the last]: cheapest way on if a byte on each device costs its price in seconds.

    For any prices, `rest - prices * free flash` is not above what the layers that are left cost.
    """

    prices: Floats
    rest: Floats
    devices: NDArray[np.intp]  # [layer][device of the layer before]: next device on the cheapest way

    @classmethod
    def at(cls, chain: Chain, prices: Floats, start: int = 0) -> "PricedBound":
        """Return the bound for `prices`, its tables filled from `start` layers done on."""
        n_devices = len(prices)
        rest = np.zeros((chain.n_layers + 1, n_devices))
        devices = np.zeros((chain.n_layers, n_devices), dtype=np.intp)
        step = chain.step_seconds + np.outer(chain.flash_bytes, prices)[:, None, :]
        everyone = np.arange(n_devices)
        for layer in range(chain.n_layers - 1, start - 1, -1):
            onward = step[layer] + rest[layer + 1]
            devices[layer] = onward.argmin(axis=1)
            rest[layer] = onward[everyone, devices[layer]]
        return cls(prices, rest, devices)

    def seconds_left(self, state: State) -> float:
        """Return an underestimate of what the layers left cost from `state` on."""
        return float(self.rest[state.done, state.device] - self.prices @ state.free)

    def overfull(self, chain: Chain, state: State) -> Floats:
        """Return by how many bytes the cheapest way on from `state` overfills each device."""
        excess = -state.free
        device, devices = state.device, self.devices.tolist()
        for layer in range(state.done, chain.n_layers):
            device = devices[layer][device]
            excess[device] += chain.flash_bytes[layer]
        return excess


def start_of(chain: Chain) -> State:
    """Return the state before the first layer."""
    return State(0, 0, chain.limits, 0.0, -inf)


def raise_bound(chain: Chain, state: State, prices: Floats, aim_s: float, steps: int) -> PricedBound:
    """Return the best bound for `state` that `steps` subgradient steps from `prices` find.

    Overfull devices become dearer, others cheaper; a step is as long as would reach `aim_s` seconds for the layers
    left if the bound were linear (Polyak), then shorter where that does not help.
    """
    best, best_s = PricedBound.at(chain, prices), -inf
    stride, misses = 1.0, 0
    for _ in range(steps):
        bound = PricedBound.at(chain, prices, state.done)
        seconds = bound.seconds_left(state)
        if not isfinite(seconds):
            break
        if seconds > best_s:
            best, best_s, misses = bound, seconds, 0
        else:
            misses += 1
        if misses == PATIENCE:
            stride, misses = stride * SHORTENING, 0
        aim = aim_s if isfinite(aim_s) else best_s * AIM_WITHOUT_INCUMBENT
        excess = bound.overfull(chain, state)
        slope = np.where((prices > 0) | (excess > 0), excess, 0.0)
        if seconds >= aim or not slope.any():
            break
        prices = np.maximum(0.0, prices + stride * (aim - seconds) / (slope @ slope) * slope)
    return PricedBound.at(chain, best.prices)
