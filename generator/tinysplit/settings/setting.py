"""One choice of a user, and its names: of an option, of a key of tinysplit.toml, and of an argument of a script.

A message names a choice by the choice itself, f"{MAX_BOARDS} 0: a set has at least one board", which puts a mark there.
Whoever shows the message replaces the marks by the names of its face (`worded`): `--max-boards`, `max-boards` or
`max_boards`. `WEIGHTS("binary")` is a choice with its value: `--weights binary`, or `weights="binary"` in a script.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

_BEGIN, _VALUE, _END = "\uf8f0", "\uf8f1", "\uf8f2"  # of private use: in no text of a user
_MARK = re.compile(f"{_BEGIN}(\\w+)(?:{_VALUE}([^{_END}]*))?{_END}")


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


@dataclass(frozen=True)
class Setting:
    """A choice: `name` is that of the parameters of commands, from which those of option and key follow.

    `argument` is the name in scripts, where it is another one, and `values_in_scripts` has what they do in place of
    values. Of a switch with `has_off`, `--no-NAME` is an option, too. Numbers are `at_least` that, if anything.
    """

    name: str
    help: str = ""
    heading: Heading | None = None
    short: str = ""  # as in -b
    argument: str = ""
    is_switch: bool = False
    has_off: bool = False
    at_least: float | None = None
    values_in_scripts: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Make it known by its name. Raises ValueError for a second one of that name."""
        if self.name in SETTINGS:
            raise ValueError(f"{self.name} is declared twice")
        SETTINGS[self.name] = self

    def __str__(self) -> str:
        """Return its mark in a message."""
        return f"{_BEGIN}{self.name}{_END}"

    def __call__(self, value: object) -> str:
        """Return its mark with a value; `False` of a switch that can be turned off."""
        return f"{_BEGIN}{self.name}{_VALUE}{value}{_END}"

    @property
    def key(self) -> str:
        """The key of the config file."""
        return self.name.replace("_", "-")

    @property
    def option(self) -> str:
        """The long option."""
        return f"--{self.key}"


SETTINGS: dict[str, Setting] = {}
Face = Callable[[Setting, str | None], str]  # the name of a choice, with its value if there is one


def as_option(setting: Setting, value: str | None) -> str:
    """Return the name on the command line."""
    if setting.is_switch:
        return f"--no-{setting.key}" if value == "False" else setting.option
    return setting.option if value is None else f"{setting.option} {value}"


def as_key(setting: Setting, value: str | None) -> str:
    """Return the name in the config file."""
    if setting.is_switch:
        return f"{setting.key} = {'false' if value == 'False' else 'true'}"
    return setting.key if value is None else f'{setting.key} = "{value}"'


def as_argument(setting: Setting, value: str | None) -> str:
    """Return the name in scripts."""
    name = setting.argument or setting.name
    if setting.is_switch:
        return f"{name}={value or True}"
    return name if value is None else setting.values_in_scripts.get(value, f'{name}="{value}"')


def worded(text: str, face: Face = as_option) -> str:
    """Return a message with the names of a face in place of marks; it has no marks then."""
    return _MARK.sub(lambda found: face(SETTINGS[found[1]], found[2]) if found[1] in SETTINGS else found[1], text)


def setting_of(text: str) -> Setting | None:
    """Return the choice that a message begins with, None where it begins with another word."""
    found = _MARK.match(text)
    return SETTINGS.get(found[1]) if found else None
