"""One inference as a sequence of steps: the terms of Santamaria 2021, formulas 2 and 4."""

from itertools import groupby
from typing import NamedTuple

from tinysplit.split.evaluate.cuts import cuts, host_transfers
from tinysplit.split.problem import Assignment, Problem


class Step(NamedTuple):
    """A device computes, exchanges data with the host (`receiver` None for both), or sends to `receiver`."""

    device: int
    seconds: float
    computes: bool = False
    receiver: int | None = None


def steps(problem: Problem, assignment: Assignment) -> tuple[Step, ...]:
    """Return the steps of one inference in order; each output is sent, hop by hop, as soon as it is computed."""
    *inputs, output = host_transfers(problem, assignment) or (None,)
    hops = {
        layer: [hop for cut in group for hop in problem.hops(cut)]
        for layer, group in groupby(cuts(problem, assignment), key=lambda cut: cut.after_layer)
    }
    found = [Step(*transfer) for transfer in inputs if transfer]
    for layer, device in enumerate(assignment):
        found.append(Step(device, problem.layers[layer].seconds[device], computes=True))
        found += (Step(hop.sender, hop.seconds, receiver=hop.receiver) for hop in hops.get(layer, ()))
    return (*found, Step(*output)) if output else tuple(found)
