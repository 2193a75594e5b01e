"""What an assignment sends: the cuts between devices, the transfers of the host, and the devices that take part."""

from tinysplit.split.problem import Assignment, Problem
from tinysplit.timing.topology import NETWORK_INPUT, Cut


def cuts(problem: Problem, assignment: Assignment) -> tuple[Cut, ...]:
    """Return the cuts of `assignment` by layer, those of one layer in the order in which they are needed."""
    return tuple(
        problem.cut(layer, sender, receiver)
        for layer, sender in enumerate(assignment)
        for receiver in dict.fromkeys(assignment[reader] for reader in problem.readers[layer])
        if receiver != sender
    )


def transfers(problem: Problem, assignment: Assignment) -> tuple[Cut, ...]:
    """Return the cuts hop by hop; a tensor that a board already has, as a relay, is not sent to it again."""
    sent: set[tuple[int, int]] = set()
    found = []
    for cut in cuts(problem, assignment):
        for hop in problem.hops(cut):
            if (cut.after_layer, hop.receiver) not in sent:
                sent.add((cut.after_layer, hop.receiver))
                found.append(Cut(cut.after_layer, hop.sender, hop.receiver, cut.payload_bytes, hop.seconds))
    return tuple(found)


def host_transfers(problem: Problem, assignment: Assignment) -> tuple[tuple[int, float], ...]:
    """Return (device, seconds) of the inputs that the host sends, then of the output that it reads.

    Empty if the problem does not count host transfers.
    """
    if not problem.host_seconds:
        return ()
    receivers = dict.fromkeys(assignment[reader] for reader in problem.readers[NETWORK_INPUT])
    inputs = tuple((device, problem.host_seconds[device][0]) for device in receivers)
    return (*inputs, (assignment[-1], problem.host_seconds[assignment[-1]][1]))


def powered_devices(problem: Problem, assignment: Assignment) -> frozenset[int]:
    """Return the devices that run a layer or relay a tensor."""
    relays = (hop.sender for cut in cuts(problem, assignment) for hop in problem.hops(cut))
    return frozenset(assignment).union(relays)
