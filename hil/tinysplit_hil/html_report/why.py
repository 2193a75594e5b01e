"""Why a split was taken: the best of each kind, the next placements, latency by the cut, and what would be faster."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil

from tinysplit.common.units import MILLI, MS, PERCENT
from tinysplit.project.split_file import SplitFile
from tinysplit.split.explain.reasons import NamedValue
from tinysplit.split.problem import Objective
from tinysplit_hil.html_report.memory import AxisMark
from tinysplit_hil.html_report.sortable_table import Cell, Column, SortableTable, numbers
from tinysplit_hil.measure.timeline.picture import round_step

_LEFT, _WIDTH, _RIGHT, _TOP, _HEIGHT, _BOTTOM = 50, 540.0, 10, 14, 170.0, 40  # pixels
_BAR_SHARE, _NUMBER_WIDTH, _TICKS = 0.8, 26.0, 5


@dataclass(frozen=True)
class CutBar:
    """The latency with a cut after a layer."""

    x: float
    y: float
    width: float
    height: float
    is_taken: bool
    tooltip: str


@dataclass(frozen=True)
class CutChart:
    """Latency against the position of the cut between two boards. Lengths are in pixels."""

    bars: tuple[CutBar, ...]
    steps: tuple[AxisMark, ...]
    marks: tuple[AxisMark, ...]
    left: int = _LEFT
    bottom: float = _TOP + _HEIGHT
    width: float = _LEFT + _WIDTH + _RIGHT
    height: float = _TOP + _HEIGHT + _BOTTOM


@dataclass(frozen=True)
class Why:
    """What else was considered, and changes that would be faster; without any where nobody searched."""

    tables: tuple[SortableTable, ...]
    chart: CutChart | None


def why_of(split: SplitFile | None) -> Why | None:
    """Return what the search has considered; None of a split that was given, or of a file of before."""
    if split is None or split.reasons is None:
        return None
    reasons, unit = split.reasons, split.objective.unit
    kinds = tuple(NamedValue(name=name, value=value) for name, value in reasons.best_of_each_kind.items())
    own = _value(split)
    tables = (
        _table("best of each kind", unit, own, kinds),
        _table("next placements", unit, own, reasons.following),
        _table("what would be faster", unit, own, reasons.faster),
    )
    chart = _chart(split, reasons.by_cut) if any(value is not None for value in reasons.by_cut) else None
    return Why(tuple(table for table in tables if table.rows), chart)


def _table(name: str, unit: str, own: float, values: Sequence[NamedValue]) -> SortableTable:
    """Return placements or changes with their objective, and by how much it is more or less than that of the split."""
    names = tuple(Cell(each.name, is_marked=each.value == own) for each in values)
    differences = [PERCENT * (each.value / own - 1) if own else None for each in values]
    columns = (
        Column(name, names, is_number=False),
        numbers(unit, [MILLI * each.value for each in values], ".2f", has_bars=True),
        numbers("to this split, %", differences, "+.1f"),
    )
    return SortableTable(name, columns)


def _value(split: SplitFile) -> float:
    """Return the objective of the split, in seconds or joules."""
    figures = split.figures
    values = {Objective.LATENCY: figures.I, Objective.THROUGHPUT: figures.period_s, Objective.ENERGY: figures.energy_j}
    return values[split.objective] or 0.0


def _chart(split: SplitFile, by_cut: Sequence[float | None]) -> CutChart:
    largest = max(value for value in by_cut if value is not None)
    step = _WIDTH / len(by_cut)
    tick_ms = round_step(MS * largest, _TICKS)
    every = ceil(_NUMBER_WIDTH / step)
    return CutChart(
        bars=tuple(_bars(split, by_cut, largest, step)),
        steps=tuple(AxisMark(_LEFT + (index + 0.5) * step, str(index + 1)) for index in range(0, len(by_cut), every)),
        marks=tuple(
            AxisMark(_TOP + _HEIGHT * (1 - number * tick_ms / (MS * largest)), f"{number * tick_ms:g}")
            for number in range(int(MS * largest / tick_ms) + 1)
        ),
    )


def _bars(split: SplitFile, by_cut: Sequence[float | None], largest: float, step: float) -> Iterator[CutBar]:
    for number, value in enumerate(by_cut, 1):
        if value is None:
            continue
        height = _HEIGHT * value / largest
        taken = (1,) * number + (2,) * (len(by_cut) + 1 - number)
        yield CutBar(
            x=round(_LEFT + (number - 1 + (1 - _BAR_SHARE) / 2) * step, 1),
            y=round(_TOP + _HEIGHT - height, 1),
            width=round(_BAR_SHARE * step, 1),
            height=round(height, 1),
            is_taken=split.slices is None and split.assignment == taken,
            tooltip=f"cut after layer {number}: {MS * value:.2f} ms",
        )
