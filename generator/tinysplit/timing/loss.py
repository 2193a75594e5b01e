"""Bytes that a line loses."""

from dataclasses import dataclass
from math import log1p
from random import Random

from tinysplit.common.errors import UsageError
from tinysplit.settings.search import LOSS_RATE

MOST = 0.01  # a byte: beyond, hardly a frame arrives


@dataclass(frozen=True)
class Loss:
    """Each byte on a link is lost with the probability `rate`, independent of all others."""

    rate: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        """Raise UsageError for a rate out of range."""
        if not 0 <= self.rate <= MOST:
            raise UsageError(f"{LOSS_RATE} {self.rate:g}: a link may lose 0 to {MOST:g} of its bytes")


class Losses:
    """Draws where the frames of a line lose their first byte."""

    def __init__(self, loss: Loss, line: str) -> None:
        self._log_kept = log1p(-loss.rate)
        self._random = Random(f"{loss.seed} {line}")  # noqa: S311 (no secret)

    @property
    def are_possible(self) -> bool:
        """Whether the line loses bytes at all."""
        return self._log_kept < 0

    def heard(self, n_bytes: int) -> int:
        """Return how many bytes of a frame arrive before the first that is lost; `n_bytes` if none is."""
        if not self._log_kept:
            return n_bytes
        return min(n_bytes, int(log1p(-self._random.random()) / self._log_kept))
