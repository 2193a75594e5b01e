"""The file that an exploration writes as it goes: one line of JSON a candidate, so that a stop loses nothing.

The first line says what all others depend on. A line that was cut off by a stop is dropped.
"""

import json
import os
from collections.abc import Iterable
from dataclasses import asdict
from math import inf
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tinysplit.common.errors import InputError
from tinysplit.explore.candidates import Candidate
from tinysplit.explore.evaluate import Outcome, Point

SCHEMA_VERSION = 1


class Journal:
    """Outcomes by candidate, on disk as soon as they are known; a context manager that closes the file."""

    def __init__(self, path: Path, conditions: dict[str, Any]) -> None:
        """Open `path`, new or begun under the same `conditions`.

        Raises InputError for another file, and for one begun under other conditions.
        """
        self.path = path
        self.outcomes: dict[Candidate, Outcome] = {}
        header = {"schema_version": SCHEMA_VERSION, **conditions}
        try:
            end = self._read(header) if path.exists() and path.stat().st_size else 0
            self._file = path.open("ab")
            self._file.truncate(end)
        except OSError as error:
            raise InputError(f"{path} cannot be written ({error.strerror}): name another file") from None
        if not end:
            self._write([header])

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    def add(self, outcomes: Iterable[Outcome]) -> None:
        """Keep outcomes; they are on disk when this returns."""
        new = {outcome.candidate: outcome for outcome in outcomes}
        self.outcomes |= new
        self._write([_to_json(outcome) for outcome in new.values()])

    def _write(self, lines: Iterable[dict[str, Any]]) -> None:
        self._file.write(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
        self._file.flush()
        os.fsync(self._file.fileno())

    def _read(self, header: dict[str, Any]) -> int:
        """Read what is there and return where its last whole line ends."""
        end = 0
        with self.path.open("rb") as file:
            for number, line in enumerate(file):
                if not line.endswith(b"\n"):
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
            raise InputError(f"{self.path}, line {number + 1}, is no line of an exploration: name a new file") from None
        if differing:
            what = differing.replace("_", " ")
            raise InputError(f"{self.path} was begun with another {what}: go on as it was begun, or name a new file")


def _to_json(outcome: Outcome) -> dict[str, Any]:
    points = [asdict(point) for point in outcome.points]
    return {**outcome.candidate._asdict(), "points": points, "why_not": outcome.why_not, "complete": outcome.complete}


def _from_json(data: dict[str, Any]) -> Outcome:
    candidate = Candidate(data["model"], data["bits"], data["baud"], tuple(data["boards"]))
    points = tuple(_point(point, len(candidate.boards)) for point in data["points"])
    if not isinstance(data["why_not"], str) or not isinstance(data["complete"], bool):
        raise TypeError
    return Outcome(candidate, points, data["why_not"], data["complete"])


def _point(data: dict[str, Any], n_boards: int) -> Point:
    """Return a point; ValueError or TypeError for figures that no split has: undefined, negative, no numbers."""
    point = Point(**{**data, "assignment": tuple(data["assignment"])})
    is_number = [type(figure) in {int, float} for figure in (point.latency_s, point.energy_j, point.period_s)]
    if not all(is_number) or type(point.proved) is not bool:
        raise TypeError
    if not all(0 <= figure < inf for figure in (point.latency_s, point.energy_j, point.period_s)):
        raise ValueError
    if not point.assignment or not all(type(board) is int and 0 <= board < n_boards for board in point.assignment):
        raise ValueError
    return point
