"""What it saves and loses to give a layer another kernel."""

from collections.abc import Mapping
from typing import NamedTuple, Self

from tinysplit.kernels import TABLE_ERROR, Kernel


class Saving(NamedTuple):
    """Cycles that another kernel of a layer saves, and the flash that it takes more."""

    number: int
    kernel: Kernel
    cycles: float
    flash_bytes: int

    def exceeds(self, other: Self | None) -> bool:
        """Return whether it saves more than `other` of the same layer by more than the cost table's error."""
        return other is None or (1 - TABLE_ERROR) * self.cycles > other.cycles


class Loss(NamedTuple):
    """Cycles that other kernels of the tiles of a layer lose, and the flash that they save."""

    kernels: Mapping[int, Kernel]
    cycles: float
    flash_bytes: int
