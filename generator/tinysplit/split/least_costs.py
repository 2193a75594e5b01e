"""What layers take at least, however an assignment places their neighbours: the costs of bounds."""

from dataclasses import replace

from tinysplit.split.problem import Problem


def with_least_costs(problem: Problem) -> Problem:
    """Return `problem` without fused layers: each layer takes the least RAM that it takes fused or alone."""
    if not problem.fused:
        return problem
    layers = list(problem.layers)
    for fused in problem.fused:
        for layer, ram_bytes in zip(fused.layers, fused.ram_bytes, strict=True):
            layers[layer] = replace(layers[layer], ram_bytes=tuple(map(min, layers[layer].ram_bytes, ram_bytes)))
    return replace(problem, layers=tuple(layers), fused=())
