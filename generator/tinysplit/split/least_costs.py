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


def with_least_of_all(problem: Problem) -> Problem:
    """Return `with_least_costs` where each layer also takes no more than on a device that has the whole network."""
    if not problem.alone:
        return with_least_costs(problem)
    some, alone = (with_least_costs(each) for each in (problem, problem.of((0,) * len(problem.layers))))
    layers = tuple(
        replace(
            own,
            flash_bytes=tuple(map(min, own.flash_bytes, other.flash_bytes)),
            ram_bytes=tuple(map(min, own.ram_bytes, other.ram_bytes)),
            seconds=tuple(map(min, own.seconds, other.seconds)),
        )
        for own, other in zip(some.layers, alone.layers, strict=True)
    )
    return replace(some, layers=layers, alone=(), alone_fused=())
