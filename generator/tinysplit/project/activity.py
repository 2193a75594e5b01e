"""What boards do with the time of an inference, and the energy that this takes."""

from typing import Self

from pydantic import model_validator

from tinysplit.common.file_schema import Count, Figure, FileModel, Number, Watts
from tinysplit.timing.results import Activity


class ExternalPower(FileModel):
    """Power of an external memory in W: in standby, and what reading it takes more."""

    standby_w: Watts
    read_w: Watts


class BoardActivity(FileModel):
    """Seconds of an inference in which board `board` (its number) runs and sleeps, and its external memory is read."""

    board: Number
    run_s: Figure
    sleep_s: Figure  # differences: what is 0 may be a little less
    external_s: Figure = 0.0

    @model_validator(mode="after")
    def _takes_time(self) -> Self:
        if self.span_s <= 0:
            raise ValueError(f"the time of board {self.board} is not above zero")
        return self

    def energy_j(self, run_w: float, idle_w: float, external: "ExternalPower | None" = None) -> float:
        """Return the joules of a board that draws these powers, with those of an external memory that is in use."""
        own_j = run_w * self.run_s + idle_w * self.sleep_s
        return own_j + external.read_w * self.external_s + external.standby_w * self.span_s if external else own_j

    @property
    def span_s(self) -> float:
        """Seconds in all."""
        return self.run_s + self.sleep_s

    def during(self, seconds: float) -> "BoardActivity":
        """Return the same shares of another time."""
        share = seconds / self.span_s
        parts = {"run_s": self.run_s, "sleep_s": self.sleep_s, "external_s": self.external_s}
        return self.model_copy(update={name: share * part for name, part in parts.items()})


class EstimatedSpan(FileModel):
    """What a board, or the line to another one, does in the estimated inference, in seconds from its begin.

    `layers` are the first and the last layer that the board computes then, `cut` is the transfer.
    """

    activity: Activity
    board: Number
    layers: tuple[Count, Count] | None = None  # 0: the network's input, divided
    cut: Number | None = None
    start_s: Figure
    end_s: Figure
