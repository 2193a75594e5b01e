"""Compares two measurements of a network: what became slower or faster, and what became different.

A time has changed when its median has changed by more than the threshold, and the 95 % intervals of both medians have
nothing in common. The second condition leaves out noise, the first one changes that nobody minds.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tinysplit.common.errors import CheckFailedError, InputError
from tinysplit.common.tables import counted
from tinysplit.common.units import PERCENT
from tinysplit_hil.measure.times import What
from tinysplit_hil.results.measurement_file import FileTime, Key, MeasurementFile, read_measurement

FEW_SAMPLES = 5  # the interval of fewer is too narrow
DEFAULT_THRESHOLD_PERCENT = 1.0
_SAME = "same"
_SHIPPED = "the shipped ones"
_MOST_NAMED = 4  # times in a note


@dataclass(frozen=True)
class TimeChange:
    """A time in both measurements."""

    before: FileTime
    after: FileTime
    threshold_percent: float

    @property
    def percent(self) -> float:
        """By how much the median has grown; infinite from 0."""
        before_s, after_s = self.before.median_s, self.after.median_s
        if before_s:
            return PERCENT * (after_s / before_s - 1)
        return float("inf") if after_s else 0.0

    @property
    def verdict(self) -> str:
        """The words `slower`, `faster` or `same`."""
        if self.percent > self.threshold_percent and self.after.median_low_s > self.before.median_high_s:
            return "slower"
        if self.percent < -self.threshold_percent and self.after.median_high_s < self.before.median_low_s:
            return "faster"
        return _SAME

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values, times in seconds."""
        return {
            "what": self.after.what.value,
            "number": self.after.number,
            "name": self.after.name,
            "boards": self.after.boards,
            "before_s": self.before.median_s,
            "after_s": self.after.median_s,
            "percent": self.percent if self.before.median_s else None,
            "verdict": self.verdict,
        }


@dataclass(frozen=True)
class Comparison:
    """All times of both measurements, what is different in their outputs, and what makes them differ by itself."""

    times: tuple[TimeChange, ...]
    different: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def changed(self) -> tuple[TimeChange, ...]:
        """The times that are slower or faster."""
        return tuple(time for time in self.times if time.verdict != _SAME)

    @property
    def slower(self) -> tuple[TimeChange, ...]:
        """The times that are slower."""
        return tuple(time for time in self.times if time.verdict == "slower")

    def check(self) -> None:
        """Raise CheckFailedError when something is slower or different."""
        slower = [f"{time.after.title} {time.percent:+.1f} %" for time in self.slower]
        parts = [f"slower: {', '.join(slower)}"] if slower else []
        if parts or self.different:
            raise CheckFailedError("; ".join([*parts, *self.different]))

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "times": [time.to_json() for time in self.times],
            "different": list(self.different),
            "notes": list(self.notes),
        }


def compare_files(before: Path, after: Path, threshold_percent: float) -> Comparison:
    """Compare two measurement files. Raises InputError when they cannot be read, or are of different networks."""
    first, last = read_measurement(before), read_measurement(after)
    if why_not := why_incomparable(first, last):
        raise InputError(f"{before} and {after} are of {why_not}")
    return compare(first, last, threshold_percent)


def why_incomparable(before: MeasurementFile, after: MeasurementFile) -> str:
    """Return of what different things two measurements are, which have no times to compare; empty where they have."""
    if (before.model.sha256, before.bits) != (after.model.sha256, after.bits):
        names = [f"{file.model.name}, {file.bits} bits" for file in (before, after)]
        return f"different networks ({'; '.join(names)}): measure the same model and bits twice"
    if len(before.boards) != len(after.boards):
        counts = f"{counted(len(before.boards), 'board')} and {counted(len(after.boards), 'board')}"
        return f"{counts}: compare splits over as many boards"
    return ""


def compare(before: MeasurementFile, after: MeasurementFile, threshold_percent: float) -> Comparison:
    """Compare two measurements; see `why_incomparable`."""
    old, new = ({time.key: time for time in file.times} for file in (before, after))
    times = tuple(TimeChange(old[key], time, threshold_percent) for key, time in new.items() if key in old)
    return Comparison(times, tuple(_different(before, after)), tuple(_notes(before, after)))


def _different(before: MeasurementFile, after: MeasurementFile) -> Iterator[str]:
    """Yield what is different in the outputs."""
    old, new = before.output.crc32, after.output.crc32
    differing = sorted((sample for sample in old.keys() & new.keys() if old[sample] != new[sample]), key=int)
    if differing:
        yield f"outputs differ in {len(differing)} of {len(old.keys() & new.keys())} samples, first in {differing[0]}"
    if wrong := sorted(set(after.output.differing) - set(before.output.differing)):
        yield f"{counted(len(wrong), 'output')} not bit-exact any more, first of sample {wrong[0] + 1}"
    failed = {failure.sample: failure.reason for failure in after.failures}
    for failure in before.failures:
        failed.pop(failure.sample, None)
    for sample, reason in sorted(failed.items())[:1]:
        yield f"{counted(len(failed), 'sample')} failed that did not before, first {sample}: {reason}"
    tops = before.output.top1, after.output.top1
    if None not in tops and tops[0] != tops[1]:
        yield f"top-1 {tops[0]:.4f} became {tops[1]:.4f}"


def _notes(before: MeasurementFile, after: MeasurementFile) -> Iterator[str]:
    """Yield why times may differ though nothing has become slower."""
    pairs: dict[str, tuple[object, object]] = {
        "project": (f"{before.project_hash:08x}", f"{after.project_hash:08x}"),
        "boards": (before.board_names, after.board_names),
        "baud rate": (before.baud, after.baud),
        "rig": (before.rig, after.rig),
        "memory": (before.memory, after.memory),
        "rules of time": (before.timing or _SHIPPED, after.timing or _SHIPPED),
        "tinysplit": (before.tinysplit_version, after.tinysplit_version),
        "calibration": (before.model.parameters_sha256[:8], after.model.parameters_sha256[:8]),
    }
    for old_board, new_board in zip(before.boards, after.boards, strict=True):
        pairs[f"part of board {new_board.number}"] = (old_board.device, new_board.device)
        pairs[f"compiler of board {new_board.number}"] = (old_board.compiler, new_board.compiler)
    differing = {name: pair for name, pair in pairs.items() if None not in pair and pair[0] != pair[1]}
    yield from (f"{name}: {old} became {new}" for name, (old, new) in differing.items())
    old, new = ({time.key: time.title for time in file.times} for file in (before, after))
    for where, titles in (("before", _only_in(old, new)), ("after", _only_in(new, old))):
        if titles:
            more = f" and {len(titles) - _MOST_NAMED} more" if len(titles) > _MOST_NAMED else ""
            yield f"only {where}: {', '.join(titles[:_MOST_NAMED])}{more}"
    few = min(time.count for file in (before, after) for time in file.times if time.what is What.I)
    if few < FEW_SAMPLES:
        yield f"{counted(few, 'sample')} only: too few for an interval, so noise may count as a change"


def _only_in(titles: Mapping[Key, str], others: Mapping[Key, str]) -> list[str]:
    return [title for key, title in titles.items() if key not in others]
