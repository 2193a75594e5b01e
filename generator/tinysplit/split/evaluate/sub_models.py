"""Sub-models of an assignment: maximal runs of consecutive layers on one device."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class SubModel:
    """A maximal run of consecutive layers on one device; all numbers from 0, `last` included."""

    device: int
    first: int
    last: int


def sub_models(assignment: Sequence[int]) -> tuple[SubModel, ...]:
    """Return the sub-models of `assignment` (0-based device of every layer) in the order of the layers."""
    ends = [layer for layer, (device, following) in enumerate(pairwise(assignment)) if device != following]
    ends.append(len(assignment) - 1)
    starts = [0, *(end + 1 for end in ends[:-1])]
    return tuple(SubModel(assignment[first], first, last) for first, last in zip(starts, ends, strict=True))
