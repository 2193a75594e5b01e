"""Copies of constants in the RAM of the devices of an assignment: what they need, and what layers lose without them."""

from collections.abc import Sequence
from typing import NamedTuple, Self

from tinysplit.split.evaluate.memory import layer_ram_bytes
from tinysplit.split.problem import Assignment, Problem


class Copy(NamedTuple):
    """The copy of a layer's constants: its device, the RAM in use with it, and the seconds that it saves."""

    layer: int
    device: int
    ram_bytes: int
    saved_s: float

    @classmethod
    def all(cls, problem: Problem, assignment: Assignment) -> tuple[Self, ...]:
        """Return the copies that the layers expect."""
        wanted = [
            (layer, device, costs.constants[device])
            for layer, (costs, device) in enumerate(zip(problem.layers, assignment, strict=True))
            if costs.constants and costs.constants[device].size_bytes
        ]
        used = layer_ram_bytes(problem, assignment) if wanted else ()
        return tuple(cls(layer, device, used[layer] + own.size_bytes, own.saved_s) for layer, device, own in wanted)


def ram_with_copies(copies: Sequence[Copy], limits: Sequence[int]) -> tuple[int, ...]:
    """Return for each device the most bytes of RAM while a layer runs beside its copy.

    Copies that do not fit into the `limits` of their devices do not count: there are none.
    """
    most = [0] * len(limits)
    for copy in copies:
        if copy.ram_bytes <= limits[copy.device]:
            most[copy.device] = max(most[copy.device], copy.ram_bytes)
    return tuple(most)


def lost_seconds(copies: Sequence[Copy], limits: Sequence[int]) -> dict[int, float]:
    """Return by how much layers are slower whose copies do not fit into the `limits` of their devices."""
    return {copy.layer: copy.saved_s for copy in copies if copy.ram_bytes > limits[copy.device]}
