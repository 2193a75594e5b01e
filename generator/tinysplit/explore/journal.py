"""The journal of an exploration: a file with one line of JSON per candidate, from which it can be resumed.

The first line has the conditions on which all others depend. An incomplete last line is dropped.
"""

import json
import os
from collections.abc import Iterable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from sys import float_info
from types import TracebackType
from typing import Any, Self

from tinysplit.common.errors import InputError
from tinysplit.common.input_files.limits import LINE_BYTES
from tinysplit.explore.candidates import SetCandidate
from tinysplit.explore.evaluate import EvaluatedSplit, Outcome
from tinysplit.settings.setting import worded

SCHEMA_VERSION = 3


class Journal:
    """Outcomes by candidate, written to disk immediately; a context manager that closes the file."""

    def __init__(self, path: Path, conditions: dict[str, Any]) -> None:
        """Open `path`, a new file or one started under the same `conditions`.

        Raises InputError for a file that is no journal, was started under other conditions, or cannot be written.
        """
        self.path = path
        self.outcomes: dict[SetCandidate, Outcome] = {}
        header = {"schema_version": SCHEMA_VERSION, **conditions}
        try:
            end = self._read(header) if path.exists() and path.stat().st_size else 0
            self._file = path.open("ab")
            self._file.truncate(end)
        except OSError as error:
            raise InputError(f"{path} cannot be written ({error.strerror}): give another file") from None
        if not end:
            self._write([header])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def add(self, outcomes: Iterable[Outcome]) -> None:
        """Add outcomes; they are on disk when this returns."""
        new = {outcome.candidate: outcome for outcome in outcomes}
        self.outcomes |= new
        self._write([_to_json(outcome) for outcome in new.values()])

    def _write(self, lines: Iterable[dict[str, Any]]) -> None:
        self._file.write(b"".join(map(_line, lines)))
        self._file.flush()
        os.fsync(self._file.fileno())

    def _read(self, header: dict[str, Any]) -> int:
        """Read all complete lines and return the offset of their end."""
        end = 0
        with self.path.open("rb") as file:
            for number, line in enumerate(iter(partial(file.readline, LINE_BYTES), b"")):
                if len(line) == LINE_BYTES:
                    raise self._foreign(number)
                if not line.endswith(b"\n"):
                    if not number and not _line(header).startswith(line):
                        raise self._foreign(number)
                    break
                self._take(number, line, header)
                end += len(line)
        return end

    def _take(self, number: int, line: bytes, header: dict[str, Any]) -> None:
        try:
            data = json.loads(line)
            if number:
                outcome = _from_json(data)
                self.outcomes[outcome.candidate] = outcome
                return
            differing = next((key for key in header if data.get(key) != header[key]), None)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise self._foreign(number) from None
        if differing:
            what = differing.replace("_", " ")
            raise InputError(f"{self.path} was started with another {what}: keep the old one, or give a new file")

    def _foreign(self, number: int) -> InputError:
        return InputError(f"{self.path}, line {number + 1}, is not part of a journal: give a new file")


def _line(data: dict[str, Any]) -> bytes:
    return json.dumps(data).encode() + b"\n"


def _to_json(outcome: Outcome) -> dict[str, Any]:
    return {
        **outcome.candidate._asdict(),
        "points": [asdict(point) for point in outcome.points],
        "why_not": worded(outcome.why_not),
        "complete": outcome.complete,
    }


def _from_json(data: dict[str, Any]) -> Outcome:
    candidate = SetCandidate(data["model"], data["bits"], data["baud"], tuple(data["boards"]))
    points = tuple(_point(point, len(candidate.boards)) for point in data["points"])
    if not isinstance(data["why_not"], str) or not isinstance(data["complete"], bool):
        raise TypeError
    return Outcome(candidate, points, data["why_not"], data["complete"])


def _point(data: dict[str, Any], n_boards: int) -> EvaluatedSplit:
    """Return a point; raises ValueError or TypeError for figures that are undefined, negative or no numbers."""
    point = EvaluatedSplit(**{**data, "assignment": tuple(data["assignment"]), "copies": tuple(data["copies"])})
    is_number = [type(figure) in {int, float} for figure in (point.latency_s, point.energy_j, point.period_s)]
    if not all(is_number) or type(point.proved) is not bool or not isinstance(point.division, str):
        raise TypeError
    if not all(0 <= figure <= float_info.max for figure in (point.latency_s, point.energy_j, point.period_s)):
        raise ValueError
    boards = (*point.assignment, *point.copies)
    if not point.assignment or not all(type(board) is int and 0 <= board < n_boards for board in boards):
        raise ValueError
    return point
