"""Rules of time: numbers of cores and memories that no register gives, from files with a source for each.

`timing/` has one file a core and a family of boards. A rule is a table with its `value`, in cycles of the core unless
it says otherwise, `what` it means, its `sources` and its `evidence` on hardware. A timing file of the user replaces
values for boards of one part: docs/understand/virtual_boards.md.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

from tinysplit.boards.board import Board
from tinysplit.common.errors import InputError

VERSION = 1
_FOLDER = Path(__file__).parent / "timing"
_HEAD = ("version", "part")


@dataclass(frozen=True)
class Rule:
    """One number of a core or a family."""

    value: int | list[int]
    what: str
    sources: tuple[str, ...]
    evidence: str = ""
    without: int | None = None  # the value of a core or family without the rule, None for what none can do without


@lru_cache
def shipped_rules(name: str) -> Mapping[str, Rule]:
    """Return the rules of a core or a family by their names; none where there is no file."""
    path = _FOLDER / f"{name}.toml"
    if not path.exists():
        return {}
    tables = tomllib.loads(path.read_text())
    return {
        rule: Rule(
            table["value"], table["what"], tuple(table["sources"]), table.get("evidence", ""), table.get("without")
        )
        for rule, table in tables.items()
        if isinstance(table, dict)
    }


@dataclass(frozen=True)
class TimingFile:
    """Values that a board of `part` was measured to have, by core or family and by rule."""

    part: str
    changes: Mapping[str, Mapping[str, int]]

    def changes_of(self, board: Board, name: str) -> Mapping[str, int]:
        """Return what this file changes of a board's core or family: nothing unless it is of the board's part."""
        return self.changes.get(name, {}) if self.part == board.device.name else {}

    def values(self, board: Board, name: str) -> "Values":
        """Return the values of a board's core or family, with the changes of this file."""
        return Values.of(name, self.changes_of(board, name))


SHIPPED = TimingFile("", {})


@dataclass(frozen=True)
class Values:
    """The values of the rules of a core or a family."""

    numbers: Mapping[str, int]
    rows: Mapping[str, tuple[int, ...]]

    @classmethod
    def of(cls, name: str, changes: Mapping[str, int]) -> Self:
        """Return the shipped values of a core or a family, with changes."""
        shipped = {rule: each.value for rule, each in shipped_rules(name).items()}
        numbers = {rule: value for rule, value in shipped.items() if isinstance(value, int)}
        rows = {rule: tuple(value) for rule, value in shipped.items() if not isinstance(value, int)}
        return cls(numbers | dict(changes), rows)

    def cycles(self, rule: str) -> int:
        """Return the value of a rule that is a number."""
        return self.numbers[rule]

    def row(self, rule: str) -> tuple[int, ...]:
        """Return the value of a rule that is a row of numbers."""
        return self.rows[rule]


def read_timing_file(path: Path) -> TimingFile:
    """Read a timing file. Raises InputError where it is missing, of another version, or has rules that nobody knows."""
    try:
        tables: dict[str, Any] = tomllib.loads(path.read_text())
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}: `tinysplit bench report --adopt` writes timing files") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is no timing file: {error}") from None
    if tables.get("version") != VERSION or not isinstance(tables.get("part"), str):
        raise InputError(
            f"{path}: expected `version = {VERSION}` and a `part`: write it anew with `tinysplit bench report --adopt`"
        )
    changes = {name: table for name, table in tables.items() if name not in _HEAD}
    for name, table in changes.items():
        _check(f"{path}: {name}", table, Values.of(name, {}).numbers)
    return TimingFile(tables["part"], changes)


def _check(where: str, table: object, known: Mapping[str, int]) -> None:
    """Raise InputError unless `table` has values of known rules of a core or a family."""
    if not isinstance(table, dict) or not known:
        raise InputError(f"{where}: unknown core or family: expected one of {', '.join(known_tables())}")
    for rule, value in table.items():
        if rule not in known:
            raise InputError(f"{where}.{rule}: unknown rule: expected one of {', '.join(known)}")
        if not isinstance(value, int) or value < 0:
            raise InputError(f"{where}.{rule} = {value}: expected cycles, a number from 0 on")


def known_tables() -> list[str]:
    """Return the names of the cores and families that have rules."""
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))
