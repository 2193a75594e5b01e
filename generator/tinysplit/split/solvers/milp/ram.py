"""RAM as constraints of the linear program: what `evaluate.memory.ram_bytes` counts, step by step.

While layer s runs, a device keeps each tensor computed so far that a later layer there reads; the one that runs s has
its RAM in place of those that s itself reads and writes; and one that relays the output of s has that, too.
"""

from collections.abc import Mapping

from tinysplit.split.solvers.milp.constraints import SplitProgram

Later = Mapping[int, int]  # by tensor: the variable that a device still needs it


def add_ram(program: SplitProgram) -> None:
    """Ask for enough RAM on every device at every step; layers that fit nowhere alone are excluded already."""
    problem = program.problem
    if problem.is_chain and problem.links is None:
        return
    later = [dict[int, int]() for _ in program.devices]
    relays = _relays(program)
    # From the last step to the first, so that what is read later is known.
    for step in reversed(range(len(problem.layers))):
        for device in program.devices:
            needed = {tensor: variable for tensor, variable in later[device].items() if tensor <= step}
            _add_step(program, step, device, needed, relays.get((step, device)))
            _read(program, step, device, later[device])


def _read(program: SplitProgram, step: int, device: int, later: dict[int, int]) -> None:
    """Note that the inputs of `step` are needed before it where it runs, and where they are needed after it."""
    here = program.places[step][device]
    for tensor in program.problem.predecessors[step]:
        if tensor not in later:
            later[tensor] = here
            continue
        both = program.variable()
        program.covers(both, later[tensor])
        program.covers(both, here)
        later[tensor] = both


def _relays(program: SplitProgram) -> dict[tuple[int, int], int]:
    """Return the variables that (tensor, device) is passed on."""
    relays: dict[tuple[int, int], int] = {}
    for cut in program.cuts:
        for hop in cut.hops[1:]:
            place = (cut.tensor, hop.sender)
            if place not in relays:
                relays[place] = program.variable()
            program.covers(relays[place], cut.variable)
    return relays


def _add_step(program: SplitProgram, step: int, device: int, needed: Later, relay: int | None) -> None:
    problem, here = program.problem, program.places[step][device]
    room = problem.devices[device].ram_bytes
    own = {step, *problem.predecessors[step]}
    held = {tensor: problem.held_bytes(tensor) for tensor in needed}
    running = problem.layers[step].ram_bytes[device]
    passing = problem.held_bytes(step) if relay is not None else 0
    if sum(held.values()) + max(running, passing) <= room:
        return
    kept: dict[int, float] = {}
    for tensor, variable in needed.items():
        kept[_elsewhere(program, variable, here) if tensor in own else variable] = held[tensor]
    # Half a byte more changes nothing, and no rounding can make the rows stricter than they are.
    program.row({**kept, here: kept.get(here, 0.0) + running}, high=room + 0.5)
    if relay is not None:
        program.row({**kept, relay: passing}, high=room + 0.5)


def _elsewhere(program: SplitProgram, variable: int, here: int) -> int:
    """Return a variable that is 1 where `variable` is and `here` is not."""
    found = program.variable()
    program.row({found: 1.0, variable: -1.0, here: 1.0}, low=0.0)
    return found
