"""Layers that fit a device only fused with their neighbour: what solvers do not know, who see one RAM figure a layer.

Solvers see each layer with the least RAM, as if its neighbour were on the same device. Where a split with it does not
fit because two layers are apart, both possibilities are searched: joined on any device, and with the RAM of each alone.
"""

from collections.abc import Callable
from dataclasses import replace
from math import inf

from tinysplit.split.problem import FusedLayers, Problem
from tinysplit.split.solution import Split
from tinysplit.split.solvers.no_split import NoSplitError


def find_fused(problem: Problem, find: Callable[[Problem], Split]) -> Split:
    """Return the best split of `problem`, whose layers may be fused, by `find`, for which none are.

    Raises NoSplitError where `find` does.
    """
    found = find(with_least_ram(problem))
    apart = _needed_apart(problem, found)
    if apart is None:
        return replace(found, problem=problem)
    others = tuple(fused for fused in problem.fused if fused is not apart)
    alone = replace(problem, fused=others)
    fused = with_least_ram(replace(problem, fused=(apart,)))
    joined = replace(fused, fused=others, joined=problem.joined | {apart.producer})
    return replace(_best(found, [alone, joined], find), problem=problem)


def with_least_ram(problem: Problem) -> Problem:
    """Return `problem` without fused layers: each layer takes the least RAM that it takes fused or alone."""
    layers = list(problem.layers)
    for fused in problem.fused:
        for layer, ram_bytes in zip(fused.layers, fused.ram_bytes, strict=True):
            layers[layer] = replace(layers[layer], ram_bytes=tuple(map(min, layers[layer].ram_bytes, ram_bytes)))
    return replace(problem, layers=tuple(layers), fused=())


def _needed_apart(problem: Problem, found: Split) -> FusedLayers | None:
    """Return fused layers that `found` has on two devices, one of which lacks the RAM for its layer alone."""
    split = replace(found, problem=problem)
    if split.figures.is_feasible:
        return None
    return next(
        (fused for fused in problem.fused if len({found.assignment[layer] for layer in fused.layers}) > 1), None
    )


def _best(relaxed: Split, problems: list[Problem], find: Callable[[Problem], Split]) -> Split:
    """Return the best split of all `problems`, none of which has one below the bound of `relaxed`."""
    found, bounds, is_proved = [], [], True
    for problem in problems:
        try:
            found.append(find_fused(problem, find))
            bounds.append(found[-1].lower_bound)
        except NoSplitError as error:
            bounds.append(inf if error.proved else relaxed.lower_bound)
            is_proved = is_proved and error.proved
    if not found:
        raise NoSplitError(proved=is_proved)
    best = min(found, key=lambda split: split.objective)
    explored = relaxed.explored + sum(split.explored for split in found)
    spent_s = relaxed.spent_s + sum(split.spent_s for split in found)
    bound = min(best.objective, max(relaxed.lower_bound, min(bounds)))
    return replace(best, lower_bound=bound, explored=explored, spent_s=spent_s)
