"""Symmetry: devices are interchangeable if swapping them changes no cost, so that one order of them suffices."""

from collections.abc import Sequence
from dataclasses import replace

from tinysplit.split.problem import Problem
from tinysplit.timing.handoff import Handoff
from tinysplit.timing.topology import Hop, Links, pair_of


def earlier_interchangeable(problem: Problem, link_counts: Sequence[int] = ()) -> tuple[tuple[int, ...], ...]:
    """Return for each device the interchangeable ones with lower numbers, which may have as many links.

    Solvers use a device only after those: every other assignment has a symmetric one of the same cost.
    """
    devices = range(len(problem.devices))
    return tuple(
        tuple(
            other
            for other in range(device)
            if (not link_counts or link_counts[other] == link_counts[device])
            and _are_interchangeable(problem, other, device)
        )
        for device in devices
    )


def _are_interchangeable(problem: Problem, a: int, b: int) -> bool:
    if problem.devices[a] != replace(problem.devices[b], name=problem.devices[a].name):
        return False
    if problem.host_seconds and problem.host_seconds[a] != problem.host_seconds[b]:
        return False
    swapped = list(range(len(problem.devices)))
    swapped[a], swapped[b] = b, a
    if problem.handoff and not _hand_off_alike(problem.handoff, swapped):
        return False
    return (
        all(each.on((a,)) == each.on((b,)) for each in (problem.costs, problem.alone) if each)
        and all(
            table[i][h] == table[swapped[i]][swapped[h]]
            for table in problem.transfer_seconds
            for i in (a, b)
            for h in swapped
        )
        and (problem.links is None or _are_linked_alike(problem.links, swapped))
    )


def _hand_off_alike(parts: Handoff, swapped: Sequence[int]) -> bool:
    """Return whether all parts of transfers stay the same if each device is replaced by its `swapped`."""
    pairs = (*parts.wire_s, parts.reply_s)
    rows = (*parts.copy_s, *parts.send_s, *parts.receive_s, parts.host_s)
    return all(
        table[i][h] == table[k][swapped[h]] for table in pairs for i, k in enumerate(swapped) for h in swapped
    ) and all(row[i] == row[k] for row in rows for i, k in enumerate(swapped))


def _are_linked_alike(links: Links, swapped: Sequence[int]) -> bool:
    """Return whether all routes and half-duplex links stay the same if each device is replaced by its `swapped`."""
    return links.half_duplex == {pair_of(swapped[i], swapped[h]) for i, h in links.half_duplex} and all(
        way_to == tuple(Hop(swapped[hop.sender], swapped[hop.receiver], hop.seconds) for hop in routes[i][h])
        for routes in links.routes
        for i, row in enumerate(swapped)
        for h, way_to in enumerate(routes[row][k] for k in swapped)
    )
