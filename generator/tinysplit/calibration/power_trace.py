"""Currents of a board from a measured trace: a CSV file with columns for time, current and a marker of its state.

The header names the columns and their units, as in `time (ms),current (uA),marker`. The marker is `run` or `sleep`; 1
and 0 are the same, as of a pin that is high while a layer runs.
"""

import csv
import re
from collections.abc import Sequence
from io import StringIO
from itertools import groupby, pairwise
from pathlib import Path
from typing import NamedTuple

from tinysplit.common.errors import InputError
from tinysplit.common.input_files.limits import TRACE_BYTES, read_limited
from tinysplit.kernels.cost_table import MeasuredCurrents

_SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6}
_MILLIAMPERES = {"a": 1e3, "ma": 1.0, "ua": 1e-3}
_STATES = {"run": "run", "1": "run", "sleep": "sleep", "0": "sleep"}
_MOST_MA = 1000.0  # that a microcontroller may draw
_UNIT = re.compile(r"\(\s*([^)]+?)\s*\)")
_NEEDED = 10  # samples of a state, without those beside a change of state


class TraceSample(NamedTuple):
    """A sample of a trace: its line in the file, its time, the current until the next one, and the state."""

    line: int
    time_s: float
    current_ma: float
    state: str


def fit_currents(path: Path) -> MeasuredCurrents:
    """Return the mean currents of each state; samples beside a change of state do not count.

    Raises InputError, which names file and line or column, for a trace that cannot be one.
    """
    samples = read_trace(path)
    means = {state: _mean_ma(path, samples, state) for state in ("run", "sleep")}
    if means["sleep"] >= means["run"]:
        raise InputError(
            f"{path}: {means['sleep']:.4g} mA in sleep are not below {means['run']:.4g} mA in run: "
            "is the marker inverted?"
        )
    if means["run"] > _MOST_MA:
        raise InputError(f"{path}: {means['run']:.4g} mA in run, more than a microcontroller draws: is the unit right?")
    return MeasuredCurrents(run_ma=means["run"], sleep_ma=means["sleep"], samples=len(samples), source=path.name)


def read_trace(path: Path) -> Sequence[TraceSample]:
    """Return all samples. Raises InputError for a file that cannot be read or is no trace."""
    try:
        rows = list(csv.reader(StringIO(read_limited(path, TRACE_BYTES).decode(), newline="")))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path} cannot be read: {error}") from None
    if not rows:
        raise InputError(f"{path} is empty")
    header = [name.strip().lower() for name in rows[0]]
    time, second_s = _column(path, header, "time", _SECONDS)
    current, unit_ma = _column(path, header, "current", _MILLIAMPERES)
    marker, _ = _column(path, header, "marker", {})
    samples = []
    for line, row in enumerate(rows[1:], 2):
        if row:
            place = f"{path}, line {line}"
            values = [_number(place, row, column) for column in (time, current)]
            samples.append(TraceSample(line, second_s * values[0], unit_ma * values[1], _state(place, row, marker)))
    _check(path, samples)
    return samples


def _column(path: Path, header: Sequence[str], name: str, units: dict[str, float]) -> tuple[int, float]:
    """Return the index of a column, and what its unit is of the one that is used."""
    index = next((index for index, title in enumerate(header) if title.startswith(name)), None)
    if index is None:
        raise InputError(f"{path} has no column {name!r}: its header is {','.join(header)!r}")
    if not units:
        return index, 1.0
    match = _UNIT.search(header[index])
    unit = match[1].replace("µ", "u") if match else ""
    if unit not in units:
        raise InputError(f"{path}: the header {header[index]!r} needs a unit in parentheses: {', '.join(units)}")
    return index, units[unit]


def _number(place: str, row: Sequence[str], column: int) -> float:
    try:
        return float(row[column])
    except (IndexError, ValueError):
        raise InputError(f"{place}: column {column + 1} has no number: {','.join(row)!r}") from None


def _state(place: str, row: Sequence[str], column: int) -> str:
    text = row[column].strip().lower() if column < len(row) else ""
    if text not in _STATES:
        raise InputError(f"{place}: the marker {text!r} is none of {', '.join(_STATES)}")
    return _STATES[text]


def _check(path: Path, samples: Sequence[TraceSample]) -> None:
    for sample in samples:
        if not 0 <= sample.current_ma < float("inf"):
            raise InputError(f"{path}, line {sample.line}: a current of {sample.current_ma:g} mA")
    for before, after in pairwise(samples):
        if not before.time_s < after.time_s:
            raise InputError(f"{path}, line {after.line}: {after.time_s:g} s does not come after {before.time_s:g} s")


def _mean_ma(path: Path, samples: Sequence[TraceSample], state: str) -> float:
    """Return the mean over the time of a state, without the first and the last sample of each stay in it."""
    weighed = total_s = 0.0
    count = 0
    for key, group in groupby(pairwise(samples), key=lambda pair: pair[0].state):
        if key == state:
            for sample, after in list(group)[1:-1]:
                weighed += sample.current_ma * (after.time_s - sample.time_s)
                total_s += after.time_s - sample.time_s
                count += 1
    if count < _NEEDED:
        raise InputError(
            f"{path} has {count} samples in {state} away from changes of state: at least {_NEEDED} are needed"
        )
    return weighed / total_s
