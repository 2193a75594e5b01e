"""The kernels of layers by what an assignment gives each device: the same for searches and plans.

Layers have their fastest kernels. To minimise RAM, all those layers have kernels of little RAM whose fastest ones would
make the arena larger. Where kernels exceed the flash of a device, more of its layers have smaller ones: those first
that lose least time a byte.
"""

from collections.abc import Iterable, Iterator, Sequence
from math import isfinite

from tinysplit.memory.kernel_exchange import Loss, least_losses
from tinysplit.split.evaluate.memory import flash_bytes, layer_ram_bytes, linked_devices, ram_bytes
from tinysplit.split.problem import Assignment, KernelCosts, Problem


def with_kernels_of(problem: Problem, assignment: Assignment) -> Problem:
    """Return the problem with the costs of the kernels that layers have in the plan of `assignment`."""
    problem = problem.of(assignment)
    if problem.smaller is None:
        return problem
    smaller, small, limits = problem.smaller, frozenset[int](), tuple(each.ram_bytes for each in problem.devices)
    if problem.minimises_ram:
        limits = ram_bytes(problem.with_costs(smaller), assignment)
        small = _within(problem, smaller, assignment, small, limits)
    found = _with_small(problem, smaller, small)
    for_flash = _for_flash(found, smaller, assignment)
    if not for_flash:
        return found
    return _with_small(problem, smaller, _within(problem, smaller, assignment, small | for_flash, limits))


def _with_small(problem: Problem, smaller: KernelCosts, small: frozenset[int]) -> Problem:
    """Return the problem with smaller kernels of the layers `small`; pairs are fused where both have them, or none."""
    layers = tuple(smaller.layers[number] if number in small else layer for number, layer in enumerate(problem.layers))
    fused = (
        *(pair for pair in problem.fused if small.isdisjoint(pair.layers)),
        *(pair for pair in smaller.fused if small.issuperset(pair.layers)),
    )
    return problem.with_costs(KernelCosts(layers, fused), small=small)


def _for_flash(problem: Problem, smaller: KernelCosts, assignment: Assignment) -> frozenset[int]:
    """Return the layers with kernels of little flash: as few as each device needs."""
    small: set[int] = set()
    used, linked = flash_bytes(problem, assignment), linked_devices(problem, assignment)
    for index, device in enumerate(problem.devices):
        missing_bytes = used[index] - device.flash_bytes - (0 if index in linked else device.link_flash_bytes)
        if missing_bytes > 0:
            layers = [layer for layer, own in enumerate(assignment) if own == index]
            small.update(least_losses(_losses(problem, smaller, layers, index), missing_bytes))
    return frozenset(small)


def _losses(problem: Problem, smaller: KernelCosts, layers: Iterable[int], device: int) -> Iterator[Loss]:
    for layer in layers:
        own, other = problem.layers[layer], smaller.layers[layer]
        saved_bytes = own.flash_bytes[device] - other.flash_bytes[device]
        if saved_bytes > 0 and isfinite(own.seconds[device]):
            yield Loss((layer,), other.seconds[device] - own.seconds[device], saved_bytes)


def _within(
    problem: Problem, smaller: KernelCosts, assignment: Assignment, small: frozenset[int], limits: Sequence[int]
) -> frozenset[int]:
    """Return `small` with the layers that take more RAM than the limits of their devices, and those fused with them."""
    partners = {layer: pair.layers for pair in smaller.fused for layer in pair.layers}
    while True:
        used = layer_ram_bytes(_with_small(problem, smaller, small), assignment)
        large = {layer for layer, device in enumerate(assignment) if used[layer] > limits[device]}
        more = small | large | {other for layer in large & small for other in partners.get(layer, ())}
        if more == small:
            return small
        small = more
