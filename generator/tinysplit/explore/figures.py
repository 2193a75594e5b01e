"""Latency, period, energy and power of a split: analytical, simulated, or bounds of them."""

from dataclasses import dataclass
from math import isfinite


@dataclass(frozen=True)
class Figures:
    """I and the time between two outputs while inputs wait, in seconds, and joules per inference."""

    latency_s: float
    period_s: float
    energy_j: float

    @property
    def fits(self) -> bool:
        """Whether a split may exist: lower bounds are infinite where none does."""
        return isfinite(self.latency_s)

    def least(self, other: "Figures") -> "Figures":
        """Return the lesser one of each figure."""
        return Figures(
            min(self.latency_s, other.latency_s),
            min(self.period_s, other.period_s),
            min(self.energy_j, other.energy_j),
        )

    def power_w(self, frame_period_s: float) -> float:
        """Return the mean power of all boards with an input every `frame_period_s`; 0: whenever one is taken."""
        interval_s = frame_period_s or self.period_s
        return self.energy_j / interval_s if interval_s else 0.0
