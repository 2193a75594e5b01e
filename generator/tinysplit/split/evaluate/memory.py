"""RAM that an assignment needs on every device: the layer that runs, and whatever else is still needed there.

A tensor is alive on its producer until its last reader there has run and it has been sent; on another device from its
arrival, right after it was computed, until its last reader there has run; on a device that passes it on, while it does.
"""

from collections import defaultdict
from dataclasses import replace
from math import inf

from tinysplit.split.evaluate.cuts import cuts
from tinysplit.split.problem import Assignment, Problem


def flash_bytes(problem: Problem, assignment: Assignment) -> tuple[int, ...]:
    """Return the flash that each device needs: the sum over its layers."""
    used = [0] * len(problem.devices)
    for layer, device in zip(problem.layers, assignment, strict=True):
        used[device] += layer.flash_bytes[device]
    return tuple(used)


def ram_bytes(problem: Problem, assignment: Assignment) -> tuple[int, ...]:
    """Return the most bytes that are alive at once on every device."""
    if problem.is_chain and problem.links is None:
        return _of_chain(problem, assignment)
    most = [0] * len(problem.devices)
    alive = _last_steps(problem, assignment)
    passing = _passing(problem, assignment)
    for step, (layer, owner) in enumerate(zip(problem.layers, assignment, strict=True)):
        own = {step, *problem.predecessors[step]}
        for device, tensors in enumerate(alive):
            kept = sum(
                problem.held_bytes(tensor)
                for tensor, last in tensors.items()
                if tensor <= step <= last and not (device == owner and tensor in own)
            )
            running = layer.ram_bytes[owner] if device == owner else 0
            most[device] = max(most[device], kept + running, kept + passing[device].get(step, 0))
    return tuple(most)


def within_ram(problem: Problem) -> Problem:
    """Return a chain without the ways on which some device has no RAM for what it passes on or gets.

    Where all links are alike there are none: what gets a tensor runs the layer that reads it.
    """
    if problem.links is None:
        return problem
    return replace(
        problem,
        transfer_seconds=tuple(
            tuple(
                tuple(
                    seconds if all(held <= problem.devices[hop.receiver].ram_bytes for hop in way) else inf
                    for seconds, way in zip(*row, strict=True)
                )
                for row in zip(table, routes, strict=True)
            )
            for held, table, routes in zip(
                map(problem.held_bytes, range(len(problem.layers))),
                problem.transfer_seconds,
                problem.links.routes,
                strict=True,
            )
        ),
    )


def _of_chain(problem: Problem, assignment: Assignment) -> tuple[int, ...]:
    """Return the same where nothing is alive beside the inputs and outputs of the layer that runs."""
    most = [0] * len(problem.devices)
    for layer, device in zip(problem.layers, assignment, strict=True):
        most[device] = max(most[device], layer.ram_bytes[device])
    return tuple(most)


def _last_steps(problem: Problem, assignment: Assignment) -> list[dict[int, int]]:
    """Return for every device the tensors that it holds and the layer after which it no longer needs them."""
    alive: list[dict[int, int]] = [{} for _ in problem.devices]
    for layer, device in enumerate(assignment):
        alive[device].setdefault(layer, layer)
        for tensor in problem.predecessors[layer]:
            alive[device][tensor] = layer
    return alive


def _passing(problem: Problem, assignment: Assignment) -> list[dict[int, int]]:
    """Return for every device the bytes that it passes on, by the layer that computed them."""
    passing: list[dict[int, int]] = [defaultdict(int) for _ in problem.devices]
    for cut in cuts(problem, assignment):
        for hop in problem.hops(cut)[1:]:
            passing[hop.sender][cut.after_layer] = problem.held_bytes(cut.after_layer)
    return passing
