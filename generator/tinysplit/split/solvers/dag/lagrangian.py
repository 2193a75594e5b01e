"""Lagrangian lower bounds for every node of the state graph, with multipliers from subgradient ascent.

Let a path end with the resources x, limits b on some of them and the largest of others as objective z. For any weights
w of the objective's resources that sum to one, and multipliers p >= 0, z >= w x >= w x + p (x - b): the shortest path
with each resource multiplied by its weight or multiplier bounds z from below. Subgradient ascent raises the multiplier
of what the shortest path uses too much of.
"""

from dataclasses import dataclass
from math import inf, isfinite

import numpy as np
from numpy.typing import NDArray

from tinysplit.split import clock
from tinysplit.split.solvers.dag.state_graph import Floats, Ints, StateGraph

PATIENCE = 4  # steps without a higher bound, after which the step length is reduced
SHORTENING = 0.7
CANCELLED = 1e-13  # relative rounding error of the limits, where large multipliers nearly cancel
AIM_WITHOUT_INCUMBENT = 1.3  # times the bound
FIRST_TURN = 1.0  # of the weights, in their logarithm


@dataclass(frozen=True, eq=False)
class State:
    """The state of a label that multipliers are fitted to."""

    done: int  # layers
    node: int
    values: Floats  # [resource]
    bound: float = -inf


@dataclass(frozen=True, eq=False)
class Target:
    """The bounded problem: minimise the largest of the resources of `is_objective`, with limits on the others."""

    limits: Floats
    is_objective: NDArray[np.bool_]

    @property
    def is_limited(self) -> NDArray[np.bool_]:
        """Resources with a limit that can have a multiplier."""
        return ~self.is_objective & np.isfinite(self.limits) & (self.limits > 0)

    def weights(self) -> Floats:
        """Return equal weights and no multipliers."""
        return np.asarray(self.is_objective / self.is_objective.sum())


@dataclass(frozen=True, eq=False)
class LagrangianBound:
    """Weights and multipliers by resource, and the length of the shortest path from each node to the end with them."""

    weights: Floats
    rest: list[Floats]  # [layers done][node]
    offset: float  # multipliers times limits

    @classmethod
    def at(cls, graph: StateGraph, target: Target, weights: Floats, start: int = 0) -> "LagrangianBound":
        """Return the bounds with these weights, for nodes with at least `start` layers done."""
        rest = [table[:, 0] for table in graph.rest(weights[:, None], start)]
        limited = target.is_limited
        offset = float(weights[limited] @ target.limits[limited])
        return cls(weights, rest, offset * (1 + CANCELLED))

    def of(self, done: int, nodes: Ints, values: Floats) -> Floats:
        """Return a lower bound of the objective for each label: its node, and its values [label][resource]."""
        return np.asarray(values @ self.weights + self.rest[done][nodes] - self.offset)

    def of_state(self, state: State) -> float:
        """Return a lower bound of the objective for one label."""
        return float(state.values @ self.weights + self.rest[state.done][state.node] - self.offset)


def cheapest_root(graph: StateGraph, weights: Floats) -> State:
    """Return the state in which the shortest path begins."""
    costs = graph.entry @ weights + graph.rest(weights[:, None])[0][:, 0]
    node = int(np.argmin(costs))
    return State(0, node, graph.entry[node], float(costs[node]))


def subgradient_ascent(
    graph: StateGraph, target: Target, state: State, weights: Floats, aim: float, steps: int, deadline: float = inf
) -> LagrangianBound:
    """Return the best bound for `state` in `steps` subgradient steps from `weights`, fewer after `deadline`.

    Multipliers take steps that would reach `aim` if the bound were linear (Polyak); weights move towards the largest
    of the objective's resources.
    """
    best_weights, best, misses, stride = weights, -inf, 0, 1.0
    objective, limited = target.is_objective, target.is_limited
    for _ in range(steps):
        bound = LagrangianBound.at(graph, target, weights, state.done)
        value = bound.of_state(state)
        if value > best:
            best_weights, best, misses = weights, value, 0
        else:
            misses += 1
        if misses == PATIENCE:
            stride, misses = stride * SHORTENING, 0
        total = state.values + graph.cheapest(weights, bound.rest, state.done, state.node)[0]
        goal = aim if isfinite(aim) else max(best, 0.0) * AIM_WITHOUT_INCUMBENT
        if value >= goal or clock.now() > deadline:
            break
        turned = _turn(weights, total, objective, stride)
        weights = np.where(limited, _raised_multipliers(weights, total, target, stride * (goal - value)), turned)
        if (weights == bound.weights).all():
            break
    return LagrangianBound.at(graph, target, best_weights)


def _turn(weights: Floats, total: Floats, objective: NDArray[np.bool_], stride: float) -> Floats:
    """Return the weights of the objective's resources, with more for the largest."""
    most = float(total[objective].max(initial=0.0))
    if not most:
        return weights
    turned = np.where(objective, weights * np.exp(np.where(objective, FIRST_TURN * stride * total / most, 0.0)), 0.0)
    return np.asarray(turned / turned.sum())


def _raised_multipliers(weights: Floats, total: Floats, target: Target, rise: float) -> Floats:
    """Return multipliers that raise a linear bound by `rise`; resources count relative to their limits."""
    limits = np.where(target.is_limited, target.limits, 1.0)
    slope = np.where(target.is_limited, total / limits - 1, 0.0)
    slope = np.where((weights > 0) | (slope > 0), slope, 0.0)
    if not slope.any():
        return weights
    return np.maximum(0.0, weights + rise / (slope @ slope) * slope / limits)
