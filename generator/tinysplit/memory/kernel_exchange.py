"""What it saves and loses to give a layer another kernel."""

from collections.abc import Iterable
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
    """Time that other kernels of a layer, or of all its tiles, lose, and the flash that they save."""

    numbers: tuple[int, ...]
    time: float  # in any unit
    flash_bytes: int


def least_losses(losses: Iterable[Loss], missing_bytes: int) -> frozenset[int]:
    """Return the layers that have other kernels so that `missing_bytes` are saved: all of them where that is too few.

    Those that lose least time a byte come first; those that turn out not to be needed are left out.
    """
    taken: list[Loss] = []
    for loss in sorted(losses, key=lambda each: each.time / each.flash_bytes):
        if missing_bytes > 0:
            taken.append(loss)
            missing_bytes -= loss.flash_bytes
    found: set[int] = set()
    for loss in sorted(taken, key=lambda each: -each.time):
        if missing_bytes + loss.flash_bytes <= 0:
            missing_bytes += loss.flash_bytes
        else:
            found.update(loss.numbers)
    return frozenset(found)
