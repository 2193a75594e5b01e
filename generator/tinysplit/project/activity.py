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
    """Seconds of an inference in which board `board` (its number) runs, sleeps and is in stop mode.

    Its external memory is read for `external_s`.
    """

    board: Number
    run_s: Figure
    sleep_s: Figure  # differences: what is 0 may be a little less
    external_s: Figure = 0.0
    stop_s: Figure = 0.0

    @model_validator(mode="after")
    def _takes_time(self) -> Self:
        if self.span_s <= 0:
            raise ValueError(f"the time of board {self.board} is not above zero")
        return self

    @property
    def span_s(self) -> float:
        """Seconds in all."""
        return self.run_s + self.sleep_s + self.stop_s

    def during(self, seconds: float) -> "BoardActivity":
        """Return the same shares of another time."""
        share = seconds / self.span_s
        parts = {
            "run_s": self.run_s,
            "sleep_s": self.sleep_s,
            "external_s": self.external_s,
            "stop_s": self.stop_s,
        }
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
