"""How splits are searched for."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator

from tinysplit.common.choices import (
    AUTO,
    DEFAULT_TIME_LIMIT_S,
    Copies,
    Slices,
    SliceSolver,
    check_seconds,
    check_solver,
)
from tinysplit.common.errors import UsageError
from tinysplit.common.file_schema import in_range
from tinysplit.common.settings_class import settings_class
from tinysplit.settings.search import ASSIGN, INPUT_AT, OUTPUT_AT, REPLICATE, SLICES, SOLVER, TIME_LIMIT


@settings_class
@dataclass(frozen=True, kw_only=True)
class Search:
    """How splits are searched for: whole layers by `solver`, divided ones by `slice_solver`, by default the exact one.

    Without `slices`, layers are divided by rows or channels where that is better and nothing excludes it. With
    `assignment`, as `parse_assignment` takes it, nothing is searched for.
    """

    solver: Annotated[str, AfterValidator(check_solver)] = AUTO
    time_limit_s: Annotated[float, in_range(TIME_LIMIT)] = DEFAULT_TIME_LIMIT_S
    copies: Copies = Copies.NEVER
    slices: Slices | None = None
    slice_solver: SliceSolver | None = None
    input_board: Annotated[int, in_range(INPUT_AT)] | None = None  # number of the board, of a distributed network
    output_board: Annotated[int, in_range(OUTPUT_AT)] | None = None
    assignment: str | None = None

    @property
    def divides_layers(self) -> bool:
        """Whether layers were asked to be divided over boards."""
        return self.slices not in {None, Slices.NONE}

    def check(self, n_boards: int) -> None:
        """Raise UsageError for choices that contradict each other, and for a board beyond the number of boards."""
        check_seconds(TIME_LIMIT, self.time_limit_s)
        for setting, number in ((INPUT_AT, self.input_board), (OUTPUT_AT, self.output_board)):
            if number and number > n_boards:
                raise UsageError(f"{setting} {number}: the number of boards is {n_boards}")
        if self.slice_solver and self.slices is Slices.NONE:
            raise UsageError(f"{SOLVER} {self.slice_solver} divides layers, which {SLICES('none')} excludes")
        asked = {
            str(SLICES): self.divides_layers,
            REPLICATE(True): self.copies is Copies.ALWAYS,
        }
        for name in (name for name, is_asked in asked.items() if is_asked and self.assignment is not None):
            raise UsageError(f"{ASSIGN} {self.assignment}: nothing is searched for: leave {name} out")
