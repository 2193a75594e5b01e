"""What boards do with the time of an inference, and the energy that this takes."""

from tinysplit.common.file_schema import FileModel


class BoardActivity(FileModel):
    """Seconds of an inference in which board `board` (its number) runs and sleeps."""

    board: int
    run_s: float
    sleep_s: float

    def energy_j(self, run_w: float, idle_w: float) -> float:
        """Return the joules of a board that draws these powers."""
        return run_w * self.run_s + idle_w * self.sleep_s

    @property
    def span_s(self) -> float:
        """Seconds in all."""
        return self.run_s + self.sleep_s
