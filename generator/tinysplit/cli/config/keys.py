"""The keys of the config file: the options of `run` and `generate` that are those of a project, by their long names."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from inspect import Parameter, signature
from pathlib import Path
from types import NoneType
from typing import Any, cast, get_args, get_origin

from tinysplit.cli.run import generate, run
from tinysplit.cli.search_options import heading_position

# Options of a single run: what it writes, and what it does once.
_OF_ONE_RUN = {
    "as_json",
    "assign",
    "csv",
    "explain",
    "fail_fast",
    "force",
    "ideal_memory",
    "junit",
    "out",
    "pipelined",
    "replicate",
    "save",
    "split_file",
    "timeline",
    "timeline_svg",
    "timeline_trace",
    "vcd",
}
# Options that have the name of a key and a meaning of their own: they do not take its value.
_OWN_MEANING = {
    "arrivals": {"input-source"},  # by default that of the split
    "explore": {"baud", "bits", "board", "objective", "time-limit"},
    "generate": {"clock", "code-memory"},  # by default those of the split
    "quantize": {"board"},
    "report": {"samples"},  # of a network that is measured beside another
    "reset": {"board"},
    "split": {"rig"},
    "validate": {"sample-count"},
    "wiring": {"baud"},
}
# Keys that an option takes before that of its name: `generate` needs samples for calibration only.
_FIRST = {("explore", "models"): ("model",), ("generate", "samples"): ("calibration-samples",)}
_WORDS = {list: "a list of texts", bool: "true or false", int: "a whole number", float: "a number"}

Argument = str | bool | list[str]  # of an option, as on the command line


@dataclass(frozen=True)
class Key:
    """A key of the config file, declared as the option of the same name."""

    parameter: Parameter

    @property
    def name(self) -> str:
        """The long name of the option, without its dashes."""
        return key_name(self.parameter.name)

    @property
    def help(self) -> str:
        """What the option's help says."""
        return str(self._option.help)

    @property
    def heading(self) -> str:
        """The group of the option in --help."""
        return self._option.rich_help_panel or "Network"

    @property
    def position(self) -> int:
        """The place of the heading."""
        return heading_position(self.parameter)

    @property
    def default(self) -> Any:  # noqa: ANN401 (of any option)
        """The default of the option, None where there is none."""
        return None if self.parameter.default is Parameter.empty else self.parameter.default

    @property
    def expected(self) -> str:
        """What a value has to be."""
        if issubclass(self._type, StrEnum):
            return " or ".join(self._type)
        return "a whole number or auto" if self._is_number_or_auto else _WORDS.get(self._type, "text")

    @property
    def takes_numbers(self) -> bool:
        """Whether a number is one in TOML, too, and no text."""
        return self._type in {int, float} or self._is_number_or_auto

    @property
    def _is_number_or_auto(self) -> bool:
        return isinstance(self.default, str) and (self.default.isdecimal() or self._option.min is not None)

    def as_argument(self, value: object) -> Argument:
        """Return a value of the file as it would be on the command line.

        Raises ValueError for one of a wrong type, one that is empty, and a number that is too small or too large.
        """
        if self._type is bool:
            is_right = isinstance(value, bool)
        elif self._type is list:
            is_right = isinstance(value, list) and all(isinstance(each, str) for each in value)
        else:
            usual = (str, int) if self._is_number_or_auto else (str,)
            kinds = {int: (int,), float: (int, float)}.get(self._type, usual)
            is_right = isinstance(value, kinds) and not isinstance(value, bool)
        if not is_right or (issubclass(self._type, StrEnum) and value not in {*self._type}):
            raise ValueError(f"has to be {self.expected}")
        if value in ("", []) or (isinstance(value, list) and "" in value):
            raise ValueError("is empty: give it a value, or leave the line out")
        if isinstance(value, int | float):
            lowest, highest = self._option.min, self._option.max
            if lowest is not None and not value >= lowest:
                raise ValueError(f"{value} has to be at least {lowest:g}")
            if highest is not None and not value <= highest:
                raise ValueError(f"{value} has to be at most {highest:g}")
        return value if isinstance(value, bool | list) else str(value)

    def moved(self, value: Argument, move: Callable[[str], str]) -> Argument:
        """Return a value with its paths changed by `move`: those of options that take one, and files of boards."""
        if isinstance(value, list):
            return [move(each) if _names_file(each) else each for each in value]
        is_path = isinstance(value, str) and (self._type is Path or _names_file(value))
        return move(str(value)) if is_path else value

    @property
    def _option(self) -> Any:  # noqa: ANN401 (typer's information about an option or an argument)
        return get_args(self.parameter.annotation)[1]

    @property
    def _type(self) -> type:
        """The type without None; `list` for repeated options, whose entries are texts."""
        declared = get_args(self.parameter.annotation)[0]
        if any(get_origin(each) is list for each in (declared, *get_args(declared))):
            return list
        return cast("type", next((each for each in get_args(declared) if each is not NoneType), declared))


def _names_file(text: str) -> bool:
    return text.endswith(".toml")


@cache
def keys() -> Mapping[str, Key]:
    """Return all keys by their names, by headings; where both commands have an option, that of `run` counts."""
    parameters = {**signature(generate).parameters, **signature(run).parameters}
    every = [Key(each) for name, each in parameters.items() if name not in _OF_ONE_RUN]
    return {key.name: key for key in sorted(every, key=lambda key: key.position)}


def key_name(parameter: str) -> str:
    """Return the name of the key that has the value of a parameter of a command."""
    return parameter.replace("_", "-")


def keys_of(command: str, parameter: str) -> tuple[str, ...]:
    """Return the keys whose value a parameter of a command takes, the first that is there."""
    name = key_name(parameter)
    if name in _OWN_MEANING.get(command, ()):
        return ()
    return (*_FIRST.get((command, name), ()), name)
