"""Memory that links take only in splits that use them: what solvers do not know, who see one limit a device.

Solvers see the flash of a device with links, and RAM without them. So the whole network on one device is considered
beside their splits, and a split whose links leave too little RAM is searched again with less.
"""

from collections.abc import Callable
from dataclasses import replace

from tinysplit.split.evaluate.evaluation import Evaluation, evaluate
from tinysplit.split.evaluate.memory import link_bytes
from tinysplit.split.problem import Problem, is_better
from tinysplit.split.solution import Split
from tinysplit.split.solvers.no_split import NoSplitError

SEARCHES = 8  # with less RAM each


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
    limited = problem
    for _ in range(SEARCHES):
        found = replace(find(limited), problem=problem)
        missing = _missing_bytes(found.figures)
        if not any(missing):
            return found
        devices = zip(limited.devices, missing, strict=True)
        limited = replace(limited, devices=tuple(replace(own, ram_bytes=own.ram_bytes - less) for own, less in devices))
    raise NoSplitError(proved=False)


def _missing_bytes(figures: Evaluation) -> tuple[int, ...]:
    """Return by how many bytes arena and links exceed the RAM of each device."""
    links = link_bytes(figures.problem, figures.assignment, figures.ram_bytes)
    devices = zip(figures.ram_bytes, links, figures.problem.devices, strict=True)
    return tuple(max(0, arena + link - device.ram_bytes) for arena, link, device in devices)
