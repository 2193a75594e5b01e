"""The way of the network's output back to the board that reads the input, where one host port serves all boards."""

from collections.abc import Sequence
from itertools import pairwise

from tinysplit.common.errors import UsageError
from tinysplit.network.graph import NETWORK_INPUT, Graph
from tinysplit.settings.programs import HOST_PROTOCOL
from tinysplit.split.problem import Assignment, Problem
from tinysplit.timing.topology import Cut, pair_of


def input_board(graph: Graph, assignment: Assignment) -> int:
    """Return the 0-based board that reads the network's input. Raises UsageError if there are several."""
    reading = sorted({assignment[layer] for layer, reads in enumerate(graph.predecessors) if NETWORK_INPUT in reads})
    if len(reading) > 1:
        numbers = " and ".join(str(board + 1) for board in reading)
        raise UsageError(
            f"boards {numbers} read the network's input, and the host of {HOST_PROTOCOL('mlperf')} talks to one board: "
            f"use fewer boards, or {HOST_PROTOCOL('tinysplit')}"
        )
    return reading[0]


def return_cuts(problem: Problem, cuts: Sequence[Cut], assignment: Assignment, receiver: int) -> tuple[Cut, ...]:
    """Return the cuts, hop by hop, that carry the network's output to `receiver`.

    They use the links of `cuts`, as few as possible, so that no wire is added: these connect all boards that compute.
    """
    output, sender = len(assignment) - 1, assignment[-1]
    pairs = {pair_of(cut.sender, cut.receiver) for cut in cuts}
    routes: dict[int, tuple[int, ...]] = {sender: (sender,)}
    for board in (reached := [sender]):
        for pair in sorted(pairs):
            other = sum(pair) - board
            if board in pair and other not in routes:
                routes[other] = (*routes[board], other)
                reached.append(other)
    route = routes[receiver]
    direct = (problem.links.direct if problem.links else problem.transfer_seconds)[output]
    out_bytes = problem.layers[output].out_bytes
    return tuple(Cut(output, a, b, out_bytes, direct[a][b]) for a, b in pairwise(route))
