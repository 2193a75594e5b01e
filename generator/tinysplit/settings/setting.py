"""One choice of a user, and its names: of an option, of a key of tinysplit.toml, and of an argument of a script.

A message names a choice by the choice itself, f"{MAX_BOARDS} 65: a split has at most 64 boards", which puts a mark
there. Whoever shows the message replaces the marks by the names of its face (`worded`): an option for the command line,
`max_boards` for scripts. `WEIGHTS("binary")` is a choice with its value: an option and its value, or
`weights="binary"`. What scripts do in another way than commands is said twice (`either`).
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from typing_extensions import override

_BEGIN, _VALUE, _END = "\uf8f0", "\uf8f1", "\uf8f2"  # of private use: in no text of a user
_MARK = re.compile(f"{_BEGIN}(\\w+)(?:{_VALUE}([^{_END}]*))?{_END}")
_EITHER = re.compile(f"{_BEGIN}{_VALUE}([^{_VALUE}]*){_VALUE}([^{_VALUE}]*){_VALUE}{_END}")


class Heading(StrEnum):
    """Headings of --help and of the config file, in their order; options without one come before."""

    BOARDS = "Boards and links"
    COSTS = "Costs and limits"
    SEARCH = "Search"
    SAMPLES = "Samples"
    FIXED_POINT = "Fixed point"
    PROGRAMS = "Programs"
    MEASUREMENT = "Measurement"
    RESULT_FILES = "Files of results"


@dataclass(frozen=True, eq=False)
class Setting:
    """A choice: `name` is that of the parameters of commands, from which those of option and key follow.

    `help` may name other choices. `argument` is the name in scripts, where it is another one, and `values_in_scripts`
    has what they do in place of values. A switch with `has_off` can be turned off by an option, too. Numbers are
    `at_least`, `above` and `at_most` these, in all faces and in files.
    """

    name: str
    help: str = ""
    heading: Heading | None = None
    short: str = ""  # as in -b
    argument: str = ""
    is_switch: bool = False
    has_off: bool = False
    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None
    values_in_scripts: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Make it known by its name. Raises ValueError for a second one of that name."""
        if self.name in SETTINGS:
            raise ValueError(f"{self.name} is declared twice")
        SETTINGS[self.name] = self

    @override
    def __str__(self) -> str:
        """Return its mark in a message."""
        return f"{_BEGIN}{self.name}{_END}"

    def __call__(self, value: object) -> str:
        """Return its mark with a value; of a switch, `True` or `False`."""
        return f"{_BEGIN}{self.name}{_VALUE}{value}{_END}"

    @property
    def option(self) -> str:
        """The long option."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def off(self) -> str:
        """The option that turns a switch off."""
        return self.option.replace("--", "--no-", 1)


SETTINGS: dict[str, Setting] = {}
Face = Callable[[Setting, str | None], str]  # the name of a choice, with its value if there is one


def either(on_command_line: str, in_scripts: str) -> str:
    """Return the mark of words that differ by more than the names of choices."""
    return f"{_BEGIN}{_VALUE}{on_command_line}{_VALUE}{in_scripts}{_VALUE}{_END}"


def as_option(setting: Setting, value: str | None) -> str:
    """Return the name on the command line."""
    if setting.is_switch:
        return setting.off if value == "False" else setting.option
    return setting.option if value is None else f"{setting.option} {value}"


def as_argument(setting: Setting, value: str | None) -> str:
    """Return the name in scripts."""
    if value is not None and value in setting.values_in_scripts:
        return setting.values_in_scripts[value]
    name = setting.argument or setting.name
    return name if value is None else f"{name}={value}" if setting.is_switch else f'{name}="{value}"'


def worded(text: str, face: Face = as_option) -> str:
    """Return a message with the names of a face in place of marks; it has no marks then."""
    text = _EITHER.sub(lambda match: match[2 if face is as_argument else 1], text)
    return _MARK.sub(lambda match: face(SETTINGS[match[1]], match[2]) if match[1] in SETTINGS else match[1], text)


def begun_by(text: str) -> tuple[Setting, str] | None:
    """Return the choice that a message begins with, and what follows its name; None for one that begins otherwise."""
    match = _MARK.match(text)
    setting = SETTINGS.get(match[1]) if match else None
    if not match or not setting:
        return None
    return setting, f"{'' if match[2] is None else f' {match[2]}'}{text[match.end() :]}"
