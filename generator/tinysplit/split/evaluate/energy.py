"""Energy of one inference, which Santamaria 2021, section 6, names as future work.

A powered device, which runs a layer or relays a tensor, draws idle power for the whole period. While it computes, sends
or receives, it draws the power of that activity instead; for two simultaneous activities, their differences to idle
power add up. The other devices are switched off.
"""

from tinysplit.split.evaluate.cuts import cuts, host_transfers, powered_devices
from tinysplit.split.problem import Assignment, Problem


def energy_j(problem: Problem, assignment: Assignment, interval_s: float) -> float:
    """Return joules per inference, with an input every `interval_s`."""
    powered = powered_devices(problem, assignment)
    computing_j = sum(
        (problem.devices[device].run_w - problem.devices[device].between_w) * layer.seconds[device]
        for layer, device in zip(problem.layers, assignment, strict=True)
    )
    link_j = sum(
        (problem.devices[end].transfer_w - problem.devices[end].between_w) * hop.seconds
        for cut in cuts(problem, assignment)
        for hop in problem.hops(cut)
        for end in (hop.sender, hop.receiver)
    )
    host_j = sum(
        (problem.devices[device].transfer_w - problem.devices[device].between_w) * seconds
        for device, seconds in host_transfers(problem, assignment)
    )
    return computing_j + link_j + host_j + interval_s * sum(problem.devices[device].between_w for device in powered)
