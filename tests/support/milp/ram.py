"""RAM constraints of the linear program: the same count as `evaluate.memory.ram_bytes`, step by step.

While layer s runs, a device stores each live tensor, that is, one that a later layer on the device reads. The device
that runs s needs the RAM of s instead of its inputs and output. A device that relays the output of s stores it as well.
"""

from collections.abc import Mapping

from milp.constraints import SplitProgram

Later = Mapping[int, int]  # by tensor: the variable for a device that still needs it


def add_ram(program: SplitProgram) -> None:
    """Add the RAM constraints of every device at every step."""
    problem = program.problem
    if problem.is_chain and problem.links is None:
        return
    later = [dict[int, int]() for _ in program.devices]
    relays = _relays(program)
    # Backward, so that the later readers of a tensor are known.
    for step in reversed(range(len(problem.layers))):
        for device in program.devices:
            needed = {tensor: variable for tensor, variable in later[device].items() if tensor <= step}
            _add_step(program, step, device, needed, relays.get((step, device)))
            _mark_inputs(program, step, device, later[device])


def _mark_inputs(program: SplitProgram, step: int, device: int, later: dict[int, int]) -> None:
    """Mark the inputs of `step` as live before it: where it runs, and where later layers read them."""
    here = program.on_device[step][device]
    for tensor in program.problem.predecessors[step]:
        if tensor not in later:
            later[tensor] = here
            continue
        both = program.variable()
        program.at_least(both, later[tensor])
        program.at_least(both, here)
        later[tensor] = both


def _relays(program: SplitProgram) -> dict[tuple[int, int], int]:
    """Return by (tensor, device) the variables for tensors that the device relays."""
    relays: dict[tuple[int, int], int] = {}
    for cut in program.cuts:
        for hop in cut.hops[1:]:
            key = (cut.tensor, hop.sender)
            if key not in relays:
                relays[key] = program.variable()
            program.at_least(relays[key], cut.variable)
    return relays


def _add_step(program: SplitProgram, step: int, device: int, needed: Later, relay: int | None) -> None:
    problem, here = program.problem, program.on_device[step][device]
    capacity = problem.devices[device].ram_bytes
    own = {step, *problem.predecessors[step]}
    held = {tensor: problem.held_bytes(tensor) for tensor in needed}
    running = problem.layers[step].ram_bytes[device]
    relayed = problem.held_bytes(step) if relay is not None else 0
    if sum(held.values()) + max(running, relayed) <= capacity:
        return
    kept: dict[int, float] = {}
    for tensor, variable in needed.items():
        kept[_elsewhere(program, variable, here) if tensor in own else variable] = held[tensor]
    # Bytes are integers: half a byte more is no relaxation, and rounding cannot tighten the constraints.
    program.constrain({**kept, here: kept.get(here, 0.0) + running}, high=capacity + 0.5)
    if relay is not None:
        program.constrain({**kept, relay: relayed}, high=capacity + 0.5)


def _elsewhere(program: SplitProgram, variable: int, here: int) -> int:
    """Return a variable that is 1 if `variable` is 1 and `here` is 0."""
    found = program.variable()
    program.constrain({found: 1.0, variable: -1.0, here: 1.0}, low=0.0)
    return found
