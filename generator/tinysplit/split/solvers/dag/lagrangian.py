"""Lower bounds for every node of a frontier: weights for what may be the objective, and prices for what has a limit.

Let a way end with the totals x, limits b on some columns and the largest of others as objective z. For any weights w
of the objective columns that sum to one, and prices p, z >= w x >= w x + p (x - b): the cheapest way on, with each
column multiplied by its weight or price, bounds z from below (Lagrangian relaxation). Subgradient ascent finds good
ones: what the cheapest way uses too much of becomes dearer.
"""

from dataclasses import dataclass
from math import inf, isfinite

import numpy as np
from numpy.typing import NDArray

from tinysplit.split import clock
from tinysplit.split.solvers.dag.state_graph import Floats, Frontier, Ints

PATIENCE = 4  # steps that did not raise the bound before steps become shorter
SHORTENING = 0.7
CANCELLED = 1e-13  # of what the limits allow: what rounding may add when large prices nearly cancel
AIM_WITHOUT_INCUMBENT = 1.3  # of the bound
FIRST_TURN = 1.0  # of the weights, in their logarithm


@dataclass(frozen=True, eq=False)
class State:
    """Where a label stands that a bound is fitted to."""

    done: int  # layers
    node: int
    values: Floats  # [column]
    bound: float = -inf


@dataclass(frozen=True, eq=False)
class Target:
    """What is to be bounded: the largest of the columns of `is_objective`, under limits on the others."""

    limits: Floats
    is_objective: NDArray[np.bool_]

    @property
    def is_priced(self) -> NDArray[np.bool_]:
        """Columns with a limit that a price can stand for."""
        return ~self.is_objective & np.isfinite(self.limits) & (self.limits > 0)

    def weights(self) -> Floats:
        """Return equal weights and no prices."""
        return np.asarray(self.is_objective / self.is_objective.sum())


@dataclass(frozen=True, eq=False)
class Price:
    """Weights and prices by column, and what the cheapest way on from each node costs with them."""

    weights: Floats
    rest: list[Floats]  # [layers done][node]
    paid: float  # for all that the limits allow

    @classmethod
    def at(cls, frontier: Frontier, target: Target, weights: Floats, start: int = 0) -> "Price":
        """Return the bounds with these weights, for nodes with at least `start` layers done."""
        rest = [table[:, 0] for table in frontier.rest(weights[:, None], start)]
        priced = target.is_priced
        paid = float(weights[priced] @ target.limits[priced])
        return cls(weights, rest, paid * (1 + CANCELLED))

    def of(self, done: int, nodes: Ints, values: Floats) -> Floats:
        """Return an underestimate of the objective for each label: its node and its values by column."""
        return np.asarray(values @ self.weights + self.rest[done][nodes] - self.paid)

    def of_state(self, state: State) -> float:
        """Return the same for one."""
        return float(state.values @ self.weights + self.rest[state.done][state.node] - self.paid)


def root_of(frontier: Frontier, weights: Floats) -> State:
    """Return where the cheapest way begins."""
    costs = frontier.entry @ weights + frontier.rest(weights[:, None])[0][:, 0]
    node = int(np.argmin(costs))
    return State(0, node, frontier.entry[node], float(costs[node]))


def raise_bound(
    frontier: Frontier, target: Target, state: State, weights: Floats, aim: float, steps: int, deadline: float = inf
) -> Price:
    """Return the best bound for `state` that so many subgradient steps from `weights` find, fewer after `deadline`.

    Prices take steps that would reach `aim` if the bound were linear (Polyak); weights turn towards the largest of the
    objective columns.
    """
    best_weights, best, misses, stride = weights, -inf, 0, 1.0
    objective, priced = target.is_objective, target.is_priced
    for _ in range(steps):
        price = Price.at(frontier, target, weights, state.done)
        bound = price.of_state(state)
        if bound > best:
            best_weights, best, misses = weights, bound, 0
        else:
            misses += 1
        if misses == PATIENCE:
            stride, misses = stride * SHORTENING, 0
        total = state.values + frontier.cheapest(weights, price.rest, state.done, state.node)[0]
        goal = aim if isfinite(aim) else max(best, 0.0) * AIM_WITHOUT_INCUMBENT
        if bound >= goal or clock.now() > deadline:
            break
        turned = _turn(weights, total, objective, stride)
        weights = np.where(priced, _dearer(weights, total, target, stride * (goal - bound)), turned)
        if (weights == price.weights).all():
            break
    return Price.at(frontier, target, best_weights)


def _turn(weights: Floats, total: Floats, objective: NDArray[np.bool_], stride: float) -> Floats:
    """Return the weights of the objective columns with more for the largest."""
    most = float(total[objective].max(initial=0.0))
    if not most:
        return weights
    turned = np.where(objective, weights * np.exp(np.where(objective, FIRST_TURN * stride * total / most, 0.0)), 0.0)
    return np.asarray(turned / turned.sum())


def _dearer(weights: Floats, total: Floats, target: Target, rise: float) -> Floats:
    """Return prices that `rise` would come from, were the bound linear; columns count relative to their limits."""
    limits = np.where(target.is_priced, target.limits, 1.0)
    slope = np.where(target.is_priced, total / limits - 1, 0.0)
    slope = np.where((weights > 0) | (slope > 0), slope, 0.0)
    if not slope.any():
        return weights
    return np.maximum(0.0, weights + rise / (slope @ slope) * slope / limits)
