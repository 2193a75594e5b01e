"""What boards do with the time of an inference, and the energy that this takes."""

from collections.abc import Iterable

from tinysplit.boards.catalog import load_board
from tinysplit.common.file_schema import FileModel


class BoardActivity(FileModel):
    """Seconds of an inference in which board `board` (its number) runs and sleeps."""

    board: int
    run_s: float
    sleep_s: float

    def energy_j(self, name: str) -> float:
        """Return the joules of a board of this name, of its MCU alone."""
        power = load_board(name).power
        return power.run_w * self.run_s + power.idle_w * self.sleep_s

    @property
    def span_s(self) -> float:
        """Seconds in all."""
        return self.run_s + self.sleep_s


def energy_of(activities: Iterable[BoardActivity], names: dict[int, str]) -> float:
    """Return the joules of an inference; `names` are those of the boards by number."""
    return sum(each.energy_j(names[each.board]) for each in activities)
