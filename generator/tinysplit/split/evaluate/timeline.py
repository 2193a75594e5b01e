"""What one inference does, step after step: formulas 2 and 4 of seed 000, taken apart."""

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tinysplit.split.problem import Assignment, Cut, Problem


class Step(NamedTuple):
    """A device is busy: it computes, talks to the host (`receiver` None for both) or sends to `receiver`."""

    device: int
    seconds: float
    computes: bool = False
    receiver: int | None = None


def steps(problem: "Problem", assignment: "Assignment") -> tuple[Step, ...]:
    """Return the steps of one inference in their order: every output is sent, link after link, once it is computed."""
    *taking, giving = problem.host_transfers(assignment) or (None,)
    cuts: dict[int, list[Cut]] = defaultdict(list)
    for cut in problem.cuts(assignment):
        cuts[cut.after_layer].append(cut)
    found = [Step(*transfer) for transfer in taking if transfer]
    for layer, device in enumerate(assignment):
        found.append(Step(device, problem.layers[layer].seconds[device], computes=True))
        hops = (hop for cut in cuts[layer] for hop in problem.hops(cut))
        found += (Step(hop.sender, hop.seconds, receiver=hop.receiver) for hop in hops)
    return (*found, Step(*giving)) if giving else tuple(found)
