"""Flash and RAM that an assignment needs on every device.

A tensor is live on its producer until the last layer that reads it there has run and it has been sent; on a receiver
from its arrival, right after it was computed, until the last layer that reads it there has run; on a relay while it is
relayed.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from math import inf

from tinysplit.common.alignment import aligned
from tinysplit.memory.link_memory import all_link_bytes
from tinysplit.split.evaluate.cuts import cuts, transfers
from tinysplit.split.problem import Assignment, Problem


def flash_bytes(problem: Problem, assignment: Assignment) -> tuple[int, ...]:
    """Return the bytes of flash that each device needs: the sum over its layers."""
    used = [0] * len(problem.devices)
    for layer, device in zip(problem.layers, assignment, strict=True):
        used[device] += layer.flash_bytes[device]
    return tuple(used)


def ram_bytes(problem: Problem, assignment: Assignment) -> tuple[int, ...]:
    """Return the peak bytes of RAM on each device: the running layer, and all other live tensors.

    Of a distributed network, which has one assignment, the arenas are planned with its problem.
    """
    if problem.is_distributed:
        return problem.arena_bytes
    if problem.is_chain and problem.links is None:
        return _of_chain(problem, assignment)
    most = [0] * len(problem.devices)
    alive = [_LiveTensors(problem, last) for last in _last_readers(problem, assignment)]
    relayed = _relayed(problem, assignment)
    running_bytes = _running_bytes(problem, assignment)
    for step, owner in enumerate(assignment):
        for device, tensors in enumerate(alive):
            kept = tensors.beside(step) if device == owner else tensors.held_bytes[step]
            running = running_bytes[step] if device == owner else 0
            most[device] = max(most[device], kept + running, kept + relayed[device].get(step, 0))
    return tuple(most)


def layer_ram_bytes(problem: Problem, assignment: Assignment) -> tuple[int, ...]:
    """Return the bytes of RAM in use on the device of each layer while it runs."""
    if problem.is_distributed:
        return tuple(_running_bytes(problem, assignment))
    alive = [_LiveTensors(problem, last) for last in _last_readers(problem, assignment)]
    running_bytes = _running_bytes(problem, assignment)
    return tuple(running_bytes[step] + alive[owner].beside(step) for step, owner in enumerate(assignment))


def linked_devices(problem: Problem, assignment: Assignment) -> frozenset[int]:
    """Return the devices that send or receive tensors."""
    return frozenset(end for hop in transfers(problem, assignment) for end in (hop.sender, hop.receiver))


def link_bytes(problem: Problem, assignment: Assignment, arenas: Sequence[int]) -> tuple[int, ...]:
    """Return the bytes of RAM that links take of each device beside its arena of these bytes.

    Of a distributed network, with the records of its steps.
    """
    records = problem.record_bytes or (0,) * len(problem.devices)
    if not any(device.driver_bytes for device in problem.devices):
        return records
    peers: list[set[int]] = [set() for _ in problem.devices]
    tensors: list[list[int]] = [[] for _ in problem.devices]
    for hop in transfers(problem, assignment):
        for end, peer in ((hop.sender, hop.receiver), (hop.receiver, hop.sender)):
            peers[end].add(peer)
            tensors[end].append(hop.payload_bytes)
    free = [
        device.ram_bytes - aligned(arena) - record
        for device, arena, record in zip(problem.devices, arenas, records, strict=True)
    ]
    return tuple(
        records[index] + all_link_bytes(len(peers[index]), tensors[index], device.driver_bytes, free[index])
        for index, device in enumerate(problem.devices)
    )


def within_ram(problem: Problem) -> Problem:
    """Return a chain without the routes on which a relay or the receiver lacks RAM for the tensor.

    Without `links` there are none: the receiver runs the layer that reads the tensor.
    """
    if problem.links is None:
        return problem
    return replace(
        problem,
        transfer_seconds=tuple(
            tuple(
                tuple(
                    seconds if all(held <= problem.arena_limits[hop.receiver] for hop in route) else inf
                    for seconds, route in zip(*row, strict=True)
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
    """Return `ram_bytes` where only what the running layer takes is live, as in a chain."""
    most = [0] * len(problem.devices)
    for running, device in zip(_running_bytes(problem, assignment), assignment, strict=True):
        most[device] = max(most[device], running)
    return tuple(most)


def _running_bytes(problem: Problem, assignment: Assignment) -> list[int]:
    """Return the bytes of RAM that each layer takes while it runs, alone or fused with another."""
    running = [layer.ram_bytes[device] for layer, device in zip(problem.layers, assignment, strict=True)]
    for fused in problem.fused:
        device, other = (assignment[layer] for layer in fused.layers)
        if device == other:
            for layer, ram_bytes in zip(fused.layers, fused.ram_bytes, strict=True):
                running[layer] = min(running[layer], ram_bytes[device])
    return running


class _LiveTensors:
    """The tensors of a device, each with its last reader there; `held_bytes` are those of all of them, by layer."""

    def __init__(self, problem: Problem, last_readers: Mapping[int, int]) -> None:
        self._problem, self._last_readers = problem, last_readers
        changes = [0] * (len(problem.layers) + 1)
        for tensor, last in last_readers.items():
            changes[max(tensor, 0)] += problem.held_bytes(tensor)
            changes[last + 1] -= problem.held_bytes(tensor)
        self.held_bytes = list(accumulate(changes))

    def beside(self, step: int) -> int:
        """Return the bytes of those that are live while a layer runs on the device, without the layer's own."""
        own = {step, *self._problem.predecessors[step]} & self._last_readers.keys()
        live = (tensor for tensor in own if tensor <= step <= self._last_readers[tensor])
        return self.held_bytes[step] - sum(map(self._problem.held_bytes, live))


def _last_readers(problem: Problem, assignment: Assignment) -> list[dict[int, int]]:
    """Return for each device its live tensors, with the last layer that reads each of them."""
    alive: list[dict[int, int]] = [{} for _ in problem.devices]
    for layer, device in enumerate(assignment):
        alive[device].setdefault(layer, layer)
        for tensor in problem.predecessors[layer]:
            alive[device][tensor] = layer
    return alive


def _relayed(problem: Problem, assignment: Assignment) -> list[dict[int, int]]:
    """Return for each device the bytes that it relays, by the layer that computed them."""
    relayed: list[dict[int, int]] = [defaultdict(int) for _ in problem.devices]
    for cut in cuts(problem, assignment):
        for hop in problem.hops(cut)[1:]:
            relayed[hop.sender][cut.after_layer] = problem.held_bytes(cut.after_layer)
    return relayed
