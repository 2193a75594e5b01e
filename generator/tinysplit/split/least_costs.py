"""What layers take at least, whichever kernels they have and wherever their neighbours are: the costs of bounds."""

from dataclasses import replace

from tinysplit.split.problem import KernelCosts, LayerCosts, Problem


def with_least_kernels(problem: Problem) -> Problem:
    """Return `problem` where each layer takes the least time and memory of its kernels, for which nothing decides."""
    if problem.smaller is None:
        return problem
    smaller = problem.smaller
    layers = _least_of(problem.layers, smaller.layers)
    pairs = {pair.producer: pair for pair in smaller.fused}
    for pair in problem.fused:
        other = pairs.get(pair.producer, pair)
        producer_bytes, consumer_bytes = (
            tuple(map(min, own, its)) for own, its in zip(pair.ram_bytes, other.ram_bytes, strict=True)
        )
        pairs[pair.producer] = replace(pair, producer_ram_bytes=producer_bytes, consumer_ram_bytes=consumer_bytes)
    return problem.with_costs(KernelCosts(layers, tuple(pairs[each] for each in sorted(pairs))), problem.alone)


def with_least_costs(problem: Problem) -> Problem:
    """Return `with_least_kernels` without fused layers: each takes the least RAM that it takes fused or alone."""
    problem = with_least_kernels(problem)
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
    return replace(some, layers=_least_of(some.layers, alone.layers), alone=None)


def _least_of(layers: tuple[LayerCosts, ...], others: tuple[LayerCosts, ...]) -> tuple[LayerCosts, ...]:
    return tuple(
        replace(
            own,
            flash_bytes=tuple(map(min, own.flash_bytes, other.flash_bytes)),
            ram_bytes=tuple(map(min, own.ram_bytes, other.ram_bytes)),
            seconds=tuple(map(min, own.seconds, other.seconds)),
        )
        for own, other in zip(layers, others, strict=True)
    )
