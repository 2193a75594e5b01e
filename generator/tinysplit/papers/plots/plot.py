"""Data of plots: curves and schedules in panels."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Curve:
    """A line through points; `x` and `y` have the same length."""

    name: str
    x: Sequence[float]
    y: Sequence[float]


@dataclass(frozen=True)
class Bar:
    """What a device does from `start_s` to `end_s` (seconds) for one input.

    `row` counts from 0; bars of one lane that overlap in time are in different rows.
    """

    lane: int
    row: int
    start_s: float
    end_s: float
    label: str
    number: int  # of the input, from 1


@dataclass(frozen=True)
class Panel:
    """Curves over a common axis, or bars of a schedule by lane."""

    title: str
    x_name: str
    y_name: str = ""
    curves: Sequence[Curve] = ()
    lanes: Sequence[str] = ()
    bars: Sequence[Bar] = ()


@dataclass(frozen=True)
class Plot:
    """A published figure: panels, and a caption that says what is computed from what, and what was not given."""

    source: str  # key of docs/reference/references.md
    title: str  # "Figure 3"
    caption: str
    panels: Sequence[Panel]


@dataclass(frozen=True)
class Work:
    """A layer or a stage that a device computes for one input, in seconds."""

    device: int
    start_s: float
    end_s: float
    label: str
    number: int  # of the input, from 1


def bars_of(works: Sequence[Work]) -> tuple[Bar, ...]:
    """Return the bars of a schedule with a lane for each device; overlapping ones get rows of their own."""
    ends_s: dict[tuple[int, int], float] = {}  # of the last bar by lane and row
    bars = []
    for work in sorted(works, key=lambda work: (work.start_s, work.number)):
        row = 0
        while overlap(work.start_s, ends_s.get((work.device, row), work.start_s)):
            row += 1
        ends_s[work.device, row] = work.end_s
        bars.append(Bar(work.device, row, work.start_s, work.end_s, work.label, work.number))
    return tuple(bars)


def overlap(start_s: float, end_s: float) -> bool:
    """Return whether work that starts at `start_s` does so before other work ends, by more than rounding."""
    return end_s - start_s > 1e-9 * max(1.0, abs(end_s))
