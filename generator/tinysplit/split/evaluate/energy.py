"""Energy of one inference (seed 000, section 6, names it as future work).

Every powered device draws its idle power for the whole period; while it computes, sends or receives, it draws the
power of that in its place. Where a device does two things at once the differences add up. Powered is what runs a layer
or passes a tensor on; the others are switched off.
"""

from tinysplit.split.evaluate.cuts import cuts, host_transfers, powered_devices
from tinysplit.split.evaluate.period import period_s
from tinysplit.split.problem import Assignment, Problem


def energy_j(problem: Problem, assignment: Assignment) -> float:
    """Return joules per inference; inputs come every `frame_period_s`, or as fast as `assignment` can take them."""
    interval_s = problem.frame_period_s or period_s(problem, assignment)
    powered = powered_devices(problem, assignment)
    active_j = sum(
        (problem.devices[device].run_w - problem.devices[device].idle_w) * layer.seconds[device]
        for layer, device in zip(problem.layers, assignment, strict=True)
    )
    talking_j = sum(
        (problem.devices[end].transfer_w - problem.devices[end].idle_w) * hop.seconds
        for cut in cuts(problem, assignment)
        for hop in problem.hops(cut)
        for end in (hop.sender, hop.receiver)
    )
    host_j = sum(
        (problem.devices[device].transfer_w - problem.devices[device].idle_w) * seconds
        for device, seconds in host_transfers(problem, assignment)
    )
    return active_j + talking_j + host_j + interval_s * sum(problem.devices[device].idle_w for device in powered)
