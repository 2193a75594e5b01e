"""Rules of time: numbers of cores and memories that no register gives, from files with a source for each.

`timing/` has one file a core and a family of boards. A rule is a table with its `value`, in cycles of the core unless
it says otherwise, `what` it means, its `sources` and its `evidence` on hardware. A timing file of the user replaces
values for boards of one part: docs/understand/virtual_boards.md.
"""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

from tinysplit.boards.board import Board
from tinysplit.boards.devices import load_device
from tinysplit.common.errors import InputError

VERSION = 1
MOST_CYCLES = 100  # of a rule; shipped ones have at most 16, and with thousands boards do not reply in time
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
    choices: tuple[int, ...] = ()  # all values of what is no number of cycles; none where any will do


@lru_cache
def shipped_rules(name: str) -> Mapping[str, Rule]:
    """Return the rules of a core or a family by their names; none where there is no file."""
    path = _FOLDER / f"{name}.toml"
    if not path.exists():
        return {}
    tables = tomllib.loads(path.read_text())
    return {
        rule: Rule(
            table["value"],
            table["what"],
            tuple(table["sources"]),
            table.get("evidence", ""),
            table.get("without"),
            tuple(table.get("choices", ())),
        )
        for rule, table in tables.items()
        if isinstance(table, dict)
    }


@dataclass(frozen=True)
class TimingFile:
    """Values that a board of `part` was measured to have, by core or family and by rule."""

    part: str
    changes: Mapping[str, Mapping[str, int]]
    name: str = ""  # of the file, "" for the shipped rules

    @property
    def rules(self) -> str:
        """What this file changes, in a line; "" for the shipped rules."""
        values = [f"{name}.{rule} = {value}" for name, own in self.changes.items() for rule, value in own.items()]
        return f"{self.part}: {', '.join(values) or 'no rule'}" if self.name else ""

    def check_boards(self, boards: Iterable[Board]) -> None:
        """Raise InputError where none of these boards has the part of this file."""
        parts = dict.fromkeys(board.device.name for board in boards)
        if self.name and self.part not in parts:
            raise InputError(
                f"{self.name} is of {self.part}, not of {', '.join(parts)}: give the timing file of this part"
            )

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
    """Read a timing file. Raises InputError where it is missing or no timing file, and those of `timing_file_of`."""
    try:
        tables: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}: `tinysplit bench report --adopt` writes timing files") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is no timing file: it is no text") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is no timing file: {error}") from None
    return timing_file_of(str(path), tables)


def timing_file_of(where: str, tables: Mapping[str, Any]) -> TimingFile:
    """Return the tables of a timing file; `where` they come from begins each error.

    Raises InputError for another version, a part that nobody knows, rules that its core and family have not, and values
    that are no cycles.
    """
    part = tables.get("part")
    if tables.get("version") != VERSION or not isinstance(part, str):
        raise InputError(
            f"{where}: expected `version = {VERSION}` and a `part`: write it anew with `tinysplit bench report --adopt`"
        )
    try:
        device = load_device(part)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    own = (device.core, device.family)
    changes = {name: table for name, table in tables.items() if name not in _HEAD}
    for name, table in changes.items():
        if name not in own:
            raise InputError(f"{where}: {name}: {part} has no such core or family: expected {' or '.join(own)}")
        _check(f"{where}: {name}", name, table)
    return TimingFile(part, changes, where)


def _check(where: str, name: str, table: object) -> None:
    """Raise InputError unless `table` has values of rules of a core or a family."""
    if not isinstance(table, dict):
        raise InputError(f"{where}: expected a table of rules, [{name}], with lines as `rule = cycles`")
    known = Values.of(name, {}).numbers
    for rule, value in table.items():
        if rule not in known:
            expected = f"expected one of {', '.join(known)}" if known else f"{name} has none that is a number"
            raise InputError(f"{where}.{rule}: unknown rule: {expected}")
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= MOST_CYCLES:
            raise InputError(
                f"{where}.{rule} = {_toml(value)}: expected cycles, a whole number from 0 to {MOST_CYCLES}"
            )
        choices = shipped_rules(name)[rule].choices
        if choices and value not in choices:
            raise InputError(f"{where}.{rule} = {value}: expected one of {', '.join(map(str, choices))}")


def _toml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value)


def known_tables() -> list[str]:
    """Return the names of the cores and families that have rules."""
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))
