"""Lower bounds of what transfers take in the generated firmware, whether they are staged or not.

Staging depends on the RAM that all layers of a board leave free, which is not known before the end of a path. A staged
transfer costs its board copies and driver; one that is not staged costs it the time on the line. The smaller of the two
is the bound. The layers of one path through the network (all those of a chain) follow each other, so that a board is
occupied from its first of them to its last, as in the period `span`. The true period is computed for complete
assignments only.
"""

from collections.abc import Iterable, Iterator, Sequence
from math import inf, isfinite
from typing import NamedTuple

from tinysplit.split.problem import Problem
from tinysplit.timing.topology import NETWORK_INPUT, Cut


class LeastTransfer(NamedTuple):
    """A transfer over one link: the least seconds of each board, of the line, and between two of its kind."""

    sender: int
    receiver: int
    sender_s: float
    receiver_s: float
    wire_s: float
    cycle_s: float


class LayerActivity(NamedTuple):
    """When each device begins and ends what it does for a layer; the seconds of the slowest line, and of all this."""

    begins_s: tuple[float, ...]  # infinite for nothing
    ends_s: tuple[float, ...]  # infinitely early for nothing
    line_s: float
    clock_s: float


def longest_path(problem: Problem) -> frozenset[int]:
    """Return the layers of the path through the network that computes longest on the fastest devices."""
    longest = [0.0] * len(problem.layers)
    for layer, inputs in enumerate(problem.predecessors):
        least_s = min((s for s in problem.layers[layer].seconds if isfinite(s)), default=0.0)
        longest[layer] = least_s + max((longest[tensor] for tensor in inputs if tensor != NETWORK_INPUT), default=0.0)
    layer, path = len(problem.layers) - 1, set[int]()
    while layer != NETWORK_INPUT:
        path.add(layer)
        layer = max(problem.predecessors[layer], key=lambda tensor: -1 if tensor == NETWORK_INPUT else longest[tensor])
    return frozenset(path)


def least_transfers(problem: Problem, layer: int, device: int, cuts: Iterable[Cut]) -> Iterator[LeastTransfer]:
    """Yield the transfers of the output of `layer` from `device`; no board receives it twice."""
    parts, has = problem.handoff_parts, {device}
    for cut in cuts:
        for hop in problem.hops(cut):
            if hop.receiver in has:
                continue
            has.add(hop.receiver)
            wire_s = parts.wire_s[layer][hop.sender][hop.receiver]
            blocked_s = wire_s + parts.reply_s[hop.receiver][hop.sender]
            out_s = parts.out_s(layer, hop.sender)
            # A board that blocks also computes before the next tensor: it makes or reads this one.
            made_s = problem.layers[layer].seconds[device] if hop.sender == device else 0.0
            read_s = _least_reading_s(problem, layer, hop.receiver) if hop.receiver == cut.receiver else 0.0
            beside_s = max(min(parts.copy_s[layer][hop.sender], made_s), min(parts.copy_s[layer][hop.receiver], read_s))
            yield LeastTransfer(
                hop.sender,
                hop.receiver,
                min(out_s, blocked_s),
                min(parts.in_s(layer, hop.receiver), wire_s),
                wire_s,
                blocked_s + beside_s,
            )


def least_input_s(problem: Problem, device: int) -> float:
    """Return the least seconds of a device to take the network's input."""
    parts = problem.handoff_parts
    return min(parts.in_s(NETWORK_INPUT, device), parts.host_s[device][0])


def least_feeding_s(problem: Problem, device: int) -> float:
    """Return the least seconds between two inputs that the host sends to a device."""
    parts = problem.handoff_parts
    return parts.host_s[device][0] + min(
        parts.copy_s[NETWORK_INPUT][device], _least_reading_s(problem, NETWORK_INPUT, device)
    )


def least_output_s(problem: Problem, device: int) -> float:
    """Return the least seconds of a device to give the network's output."""
    parts = problem.handoff_parts
    return min(parts.output_s(device), parts.host_s[device][1])


def least_activity(
    problem: Problem, path: frozenset[int], layer: int, device: int, cuts: Sequence[Cut], *, keeps: bool
) -> LayerActivity:
    """Return what a layer on `device` with `cuts` after it does, from the start of the layer.

    `keeps`: a later layer on the same device reads the output. Layers that are not on `path` do nothing.
    """
    n_devices = len(problem.devices)
    begins, ends, clock_s = [inf] * n_devices, [-inf] * n_devices, 0.0
    sends = list(least_transfers(problem, layer, device, cuts))
    line_s = max((sent.cycle_s for sent in sends), default=0.0)
    output_s = least_output_s(problem, device) if layer == len(problem.layers) - 1 else 0.0
    if layer == len(problem.layers) - 1:
        made_s = min(problem.handoff_parts.copy_s[layer][device], problem.layers[layer].seconds[device])
        line_s = max(line_s, problem.handoff_parts.host_s[device][1] + made_s)
    if layer in path:
        begins[device], clock_s = 0.0, problem.layers[layer].seconds[device]
        ends[device] = clock_s + output_s + sum(sent.sender_s for sent in sends if sent.sender == device)
        if len(cuts) == 1 and not keeps:
            clock_s = _follow(sends, clock_s, begins, ends)
        elif cuts and not keeps:  # which of the devices has the next layer of the path is not known
            clock_s += min(_wire_s(problem, cut) for cut in cuts)
    return LayerActivity(tuple(begins), tuple(ends), line_s, clock_s)


def _follow(sends: Sequence[LeastTransfer], clock_s: float, begins: list[float], ends: list[float]) -> float:
    """Add the transfers of a tensor from device to device, from `clock_s` on, and return when it has arrived."""
    for sent in sends:
        ends[sent.sender] = max(ends[sent.sender], clock_s + sent.sender_s)
        clock_s += sent.wire_s
        begins[sent.receiver] = min(begins[sent.receiver], clock_s - sent.receiver_s)
        ends[sent.receiver] = max(ends[sent.receiver], clock_s)
    return clock_s


def _wire_s(problem: Problem, cut: Cut) -> float:
    wire_s = problem.handoff_parts.wire_s[cut.after_layer]
    return sum(wire_s[hop.sender][hop.receiver] for hop in problem.hops(cut))


def _least_reading_s(problem: Problem, tensor: int, device: int) -> float:
    """Return the seconds of the fastest layer that reads `tensor` on `device`."""
    return min(problem.layers[reader].seconds[device] for reader in problem.readers[tensor])
