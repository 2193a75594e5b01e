"""All times of a measurement in one list: L, T, I, the period, and those of layers and cuts, with their statistics."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tinysplit.project.manifest import Project
from tinysplit_hil.measure.measure import Measurement
from tinysplit_hil.measure.statistics import TimeStatistics
from tinysplit_hil.measure.stream import Stream


class What(StrEnum):
    """What a time is of; I is from START to DONE, all else by the boards' clocks."""

    L = "L"
    T = "T"
    I = "I"  # noqa: E741 (the paper's name)
    PERIOD = "period"
    LAYER = "layer"
    CUT = "cut"


def title_of(what: What, number: int, name: str, boards: str) -> str:
    """Return what a time is of, in words; the arguments are fields of `MeasuredTime`."""
    if what is What.LAYER:
        return f"layer {number} {name} (board {boards})"
    return f"cut {number} ({boards})" if what is What.CUT else what.value


@dataclass(frozen=True)
class MeasuredTime:
    """A time in seconds beside its estimate; `number` is that of a layer or cut, 0 for all others.

    `name` is that of a layer; `boards` are numbers, "1" of a layer, "1->2" of a cut, "1,2" of the slowest copy.
    """

    what: What
    number: int
    name: str
    boards: str
    estimated_s: float
    seconds: TimeStatistics

    @property
    def title(self) -> str:
        """What the time is of, in words."""
        return title_of(self.what, self.number, self.name, self.boards)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values, statistics in seconds: a row of the measurement file and of the CSV file."""
        return {
            "what": self.what.value,
            "number": self.number,
            "name": self.name,
            "boards": self.boards,
            "estimated_s": self.estimated_s,
            **{key if key == "count" else f"{key}_s": value for key, value in self.seconds.to_json().items()},
        }


def times_of(project: Project, measurement: Measurement, stream: Stream | None) -> Iterator[MeasuredTime]:
    """Yield all times of a measurement. Of copies of the network, L, T and I are those of the slowest one."""
    slowest = ",".join(map(str, project.slowest.boards))
    yield MeasuredTime(What.L, 0, "", slowest, project.estimated_l_s, measurement.l_s)
    yield MeasuredTime(What.T, 0, "", slowest, project.estimated_t_s, measurement.t_s)
    yield MeasuredTime(What.I, 0, "", slowest, project.estimated_i_s, measurement.i_s)
    if stream and stream.intervals:
        every = ",".join(str(board.number) for board in project.boards)
        yield MeasuredTime(What.PERIOD, 0, "", every, project.estimated_period_s, stream.intervals)
    for time in measurement.layers:
        layer = time.layer
        yield MeasuredTime(What.LAYER, layer.number, layer.name, str(layer.board), layer.estimated_s, time.seconds)
    for sent in measurement.cuts:
        cut = sent.cut
        boards = f"{cut.from_board}->{cut.to_board}"
        yield MeasuredTime(What.CUT, cut.number, "", boards, cut.estimated_s, sent.seconds)
