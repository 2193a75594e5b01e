"""How splits are searched for."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import AfterValidator, PositiveFloat, PositiveInt

from tinysplit.common.choices import AUTO, DEFAULT_TIME_LIMIT_S, Copies, Slices, SliceSolver, check_solver


@dataclass(frozen=True, kw_only=True)
class Search:
    """How splits are searched for: whole layers by `solver`, divided ones by `slice_solver`, by default the exact one.

    Without `slices`, layers are divided by channels where one of them has more weights than any board's flash. With
    `assignment`, as `parse_assignment` takes it, nothing is searched for.
    """

    solver: Annotated[str, AfterValidator(check_solver)] = AUTO
    time_limit_s: PositiveFloat = DEFAULT_TIME_LIMIT_S
    copies: Copies = Copies.NEVER
    slices: Slices | None = None
    slice_solver: SliceSolver | None = None
    input_board: PositiveInt = 1  # number of the board, of a distributed network
    output_board: PositiveInt = 1
    assignment: str | None = None
