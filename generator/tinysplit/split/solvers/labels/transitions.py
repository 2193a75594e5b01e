"""Transitions between states: the device that a layer runs on, and the devices that receive its output."""

from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, isfinite

import numpy as np

from tinysplit.split.problem import Problem
from tinysplit.split.solvers.labels.firmware_bounds import LayerActivity, least_activity
from tinysplit.split.solvers.labels.fused import FusedLayerCosts
from tinysplit.split.solvers.labels.links import LinkRam, neighbours
from tinysplit.split.solvers.labels.pending_tensors import PendingTensor, all_pending_tensors
from tinysplit.split.solvers.labels.resources import Resources
from tinysplit.split.solvers.labels.state_graph import Floats, Ints, Masks
from tinysplit.timing.topology import Cut, Hop

NOT_ASKED_FOR = LayerActivity((), (), 0.0, 0.0)


@dataclass(frozen=True)
class Move:
    """A layer on a device, its output sent to all that read it."""

    device: int
    needs: tuple[PendingTensor, ...]  # for the output; one, none after the last layer
    arriving: tuple[tuple[int, int], ...]  # (device, bytes): RAM that it needs meanwhile
    costs: tuple[float, ...]  # by resource
    powered: int  # devices that compute or relay, a bit each
    begins_s: tuple[float, ...]  # by device, from the start of the layer: its first act, infinite for none; or empty
    ends_s: tuple[float, ...]  # its last act, infinitely early for none
    line_s: float  # at least, of the slowest line in the firmware
    goes_on: bool  # the only layer that reads the output is on the same device
    link_bytes: tuple[int, ...]  # by device: RAM of its links for the output, without that of each link
    peers: tuple[int, ...]  # by device: those that it has links with, a bit each


@dataclass(frozen=True, eq=False)
class Moves:
    """All moves of a layer, and arrays of what they have: see `Step`."""

    every: Sequence[Move]

    @cached_property
    def costs(self) -> Floats:
        """By [move][resource]."""
        return np.array([move.costs for move in self.every])

    @cached_property
    def device(self) -> Ints:
        """By move."""
        return np.array([move.device for move in self.every], dtype=np.intp)

    @cached_property
    def powered(self) -> Masks:
        """By move."""
        return np.array([move.powered for move in self.every], dtype=np.uint64)

    @cached_property
    def begins_s(self) -> Floats:
        """By [move][device]."""
        return np.array([move.begins_s for move in self.every])

    @cached_property
    def ends_s(self) -> Floats:
        """By [move][device]."""
        return np.array([move.ends_s for move in self.every])

    @cached_property
    def line_s(self) -> Floats:
        """By move."""
        return np.array([move.line_s for move in self.every])

    @cached_property
    def link_bytes(self) -> Floats:
        """By [move][device]."""
        return np.array([move.link_bytes for move in self.every], dtype=float)

    @cached_property
    def peers(self) -> Masks:
        """By [move][device]."""
        return np.array([move.peers for move in self.every], dtype=np.uint64)


def what_moves_depend_on(problem: Problem, path: Collection[int], layer: int, held_bytes: int) -> Hashable:
    """Return all that `moves_of` reads of a layer: where that is equal, moves are, too. See `Resources` for `path`."""
    own, parts, links = problem.layers[layer], problem.handoff_parts, problem.links
    return (
        (layer == len(problem.layers) - 1, layer in path),
        (held_bytes, own.out_bytes, own.flash_bytes, own.seconds, problem.usable_seconds[layer]),
        tuple((problem.layers[each].seconds, problem.usable_seconds[each]) for each in problem.readers[layer]),
        (problem.transfer_seconds[layer], links and (links.direct[layer], links.relays[layer])),
        (parts.wire_s[layer], parts.copy_s[layer], parts.send_s[layer], parts.receive_s[layer]),
    )


def moves_of(
    costs: FusedLayerCosts, resources: Resources, links: LinkRam, layer: int, held_bytes: int, *, is_ordered: bool
) -> Iterator[Move]:
    """Yield all moves of `layer`, whose output takes `held_bytes` where it is kept."""
    problem = costs.least
    for device, seconds in enumerate(problem.usable_seconds[layer]):
        if not isfinite(seconds):
            continue
        for needs in _output_needs(problem, layer, is_ordered=is_ordered):
            receivers = [other for need in needs for other in need.devices() if other != device]
            cuts = [problem.cut(layer, device, receiver) for receiver in receivers]
            if all(isfinite(cut.seconds) for cut in cuts):
                keeps = any(device in need.devices() for need in needs)
                goes_on = keeps and not receivers
                activity = NOT_ASKED_FOR
                if resources.is_firmware:
                    activity = least_activity(problem, resources.path, layer, device, cuts, keeps=keeps)
                elif resources.has_spans:
                    activity = _activity(problem, layer, device, cuts)
                relays = {hop.sender for cut in cuts for hop in problem.hops(cut)[1:]}
                hops = sent_hops(problem, cuts)
                yield Move(
                    device,
                    needs,
                    _arriving(receivers, relays, held_bytes),
                    tuple(
                        resources.of_layer(problem.layers[layer].seconds[device], layer, device, cuts, activity.clock_s)
                    ),
                    sum(1 << powered for powered in {device, *relays}),
                    activity.begins_s,
                    activity.ends_s,
                    activity.line_s,
                    goes_on,
                    tuple(links.of_hops(layer, hops)),
                    tuple(neighbours(len(problem.devices), hops)),
                )


def sent_hops(problem: Problem, cuts: Iterable[Cut]) -> list[Hop]:
    """Return the hops of the cuts of one tensor; a device that already has it, as a relay, does not get it again."""
    hops: dict[int, Hop] = {}
    for cut in cuts:
        for hop in problem.hops(cut):
            hops.setdefault(hop.receiver, hop)
    return list(hops.values())


def _activity(problem: Problem, layer: int, device: int, cuts: Sequence[Cut]) -> LayerActivity:
    """Return when each device begins and ends what it does for the layer, one thing after the other."""
    n_devices = len(problem.devices)
    begins, ends, clock_s = [inf] * n_devices, [-inf] * n_devices, 0.0
    doing = [(device, problem.layers[layer].seconds[device])]
    doing += [(hop.sender, hop.seconds) for cut in cuts for hop in problem.hops(cut)]
    if problem.host_seconds and layer == len(problem.layers) - 1:
        doing.append((device, problem.host_seconds[device][1]))
    for who, seconds in doing:
        begins[who] = min(begins[who], clock_s)
        clock_s += seconds
        ends[who] = clock_s
    return LayerActivity(tuple(begins), tuple(ends), 0.0, clock_s)


def readers_on(problem: Problem, tensor: int) -> list[int]:
    """Return the devices that can run a layer that reads `tensor`."""
    return [
        device
        for device in range(len(problem.devices))
        if any(isfinite(problem.usable_seconds[reader][device]) for reader in problem.readers[tensor])
    ]


def _output_needs(problem: Problem, layer: int, *, is_ordered: bool) -> Iterator[tuple[PendingTensor, ...]]:
    n_readers = len(problem.readers[layer])
    if not n_readers:
        yield ()
        return
    for need in all_pending_tensors(readers_on(problem, layer), n_readers, is_ordered=is_ordered):
        yield (need,)


def _arriving(receivers: Sequence[int], relays: set[int], held_bytes: int) -> tuple[tuple[int, int], ...]:
    """Return the bytes that each device needs; a relayed tensor has a buffer of its own."""
    copies = [*receivers, *relays]
    return tuple((device, copies.count(device) * held_bytes) for device in dict.fromkeys(copies))
