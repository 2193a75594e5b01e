"""A table that a reader of the report sorts by its columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, isfinite


@dataclass(frozen=True)
class Cell:
    """What a cell shows; a number has a `value` to sort by, None where it is not known, and a bar of `share` of it."""

    text: str
    value: float | None = None
    share: float = 0.0
    details: tuple[str, ...] = ()
    tooltip: str = ""
    is_marked: bool = False


@dataclass(frozen=True)
class Column:
    """A column with a cell for each row."""

    title: str
    cells: tuple[Cell, ...]
    is_number: bool = True


@dataclass(frozen=True)
class SortableTable:
    """Columns of equally many cells."""

    name: str
    columns: tuple[Column, ...]

    @property
    def rows(self) -> tuple[tuple[tuple[Cell, bool], ...], ...]:
        """The cells of each row, with whether they are numbers."""
        kinds = [column.is_number for column in self.columns]
        rows = zip(*(column.cells for column in self.columns), strict=True)
        return tuple(tuple(zip(row, kinds, strict=True)) for row in rows)


def numbers(title: str, values: Sequence[float | None], pattern: str, *, has_bars: bool = False) -> Column:
    """Return a column of numbers, with bars in proportion to the largest where wanted; infinity is "exact"."""
    largest = max((value for value in values if value is not None and isfinite(value)), default=0.0)

    def cell(value: float | None) -> Cell:
        if value is None:
            return Cell("-")
        if value == inf:
            return Cell("exact", value)
        share = max(value, 0.0) / largest if has_bars and largest > 0 else 0.0
        return Cell(format(value, pattern).replace(",", "\u202f"), value, share)

    return Column(title, tuple(map(cell, values)))
