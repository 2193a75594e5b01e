"""The exception of solvers without a split, and capacity checks that prove infeasibility before a search.

Solvers do not explain infeasibility: this takes further searches, which only `split/solve.py` starts.
"""

from math import isfinite

from tinysplit.common.errors import CheckFailedError
from tinysplit.split.problem import Problem


class NoSplitError(CheckFailedError):
    """A solver found no split: `proved` if the problem is infeasible, else time or candidates ran out."""

    def __init__(self, *, proved: bool) -> None:
        super().__init__("the problem is infeasible" if proved else "no feasible split was found in time")
        self.proved = proved


def check_capacity(problem: Problem) -> None:
    """Raise NoSplitError if `exceeds_capacity` proves infeasibility."""
    if exceeds_capacity(problem):
        raise NoSplitError(proved=True)


def exceeds_capacity(problem: Problem) -> bool:
    """Return whether single layers, the sum of flash or the number of layers exclude every assignment with links."""
    return bool(layers_without_device(problem)) or missing_flash_bytes(problem) > 0 or has_too_few_layers(problem)


def layers_without_device(problem: Problem) -> tuple[int, ...]:
    """Return the 0-based layers that no device can run: none has both the memory and a kernel."""
    return tuple(number for number, row in enumerate(problem.usable_seconds) if not any(map(isfinite, row)))


def missing_flash_bytes(problem: Problem) -> int:
    """Return how many bytes the layers need beyond the flash of all devices together, 0 or less if there are enough."""
    return sum(problem.least_flash_bytes) - sum(device.flash_bytes for device in problem.devices)


def has_too_few_layers(problem: Problem) -> bool:
    """Return whether every device must run a layer and there are fewer layers than devices."""
    return problem.must_use_all and len(problem.devices) > len(problem.layers)
