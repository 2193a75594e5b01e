"""Memory that links take only in splits that use them: what solvers do not know, who see one limit a device.

Solvers see the flash of a device with links, and RAM without them. So the whole network on one device is considered
beside their splits, and a split whose links leave too little RAM is searched again with less.
"""

from collections.abc import Callable
from dataclasses import replace

from tinysplit.split.evaluate.evaluation import evaluate
from tinysplit.split.problem import Problem, is_better
from tinysplit.split.solution import Split
from tinysplit.split.solvers.no_split import NoSplitError

RAM_STEP_BYTES, SEARCHES = 512, 4  # RAM that is left out, twice as much in each search


def best_alone(problem: Problem) -> Split | None:
    """Return the best feasible device for the whole network, if it needs the memory that links would take."""
    n_layers = len(problem.layers)
    wholes = [evaluate(problem, (k,) * n_layers) for k, own in enumerate(problem.devices) if own.link_flash_bytes]
    best = min((whole for whole in wholes if whole.is_feasible), key=lambda whole: whole.value, default=None)
    if best is None:
        return None
    return Split(problem, best.assignment, best.value, len(wholes), "one board", 0.0)


def better(found: Split, alone: Split) -> Split:
    """Return the better one of both, which the other one cannot improve on."""
    if not is_better(alone.objective, found.objective):
        return found
    bound = min(alone.objective, found.lower_bound)
    return replace(alone, lower_bound=bound, explored=found.explored + alone.explored, spent_s=found.spent_s)


def find_linked(problem: Problem, find: Callable[[Problem], Split]) -> Split:
    """Return what `find` finds, a split that leaves room for the links in every RAM.

    Raises NoSplitError where `find` does, and where no such split is found.
    """
    try:
        found = find(problem)
    except NoSplitError:
        if not any(device.driver_bytes for device in problem.devices):
            raise
    else:
        if found.figures.is_feasible:
            return found
    for share in range(SEARCHES):
        found = replace(find(_with_less_ram(problem, RAM_STEP_BYTES << share)), problem=problem)
        if found.figures.is_feasible:
            return found
    raise NoSplitError(proved=False)


def _with_less_ram(problem: Problem, less_bytes: int) -> Problem:
    """Return the problem without the RAM that links might take, and without links that take any."""
    devices = (replace(own, ram_bytes=max(0, own.ram_bytes - less_bytes), driver_bytes=()) for own in problem.devices)
    return replace(problem, devices=tuple(devices))
