"""`tinysplit init`: writes the config file."""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from inspect import Parameter, Signature
from itertools import groupby
from pathlib import Path
from textwrap import wrap
from typing import Annotated, Any, get_args

import typer

from tinysplit.cli.basic_options import messages
from tinysplit.cli.config.checks import check_values
from tinysplit.cli.config.command import CONFIG_NAME
from tinysplit.cli.config.keys import Key, keys
from tinysplit.common.errors import InputError
from tinysplit.common.output_file import check_output_file, write_whole_file
from tinysplit.common.texts.quoting import toml_string

_WIDTH = 100
_NUMBER = re.compile(r"-?((0|[1-9]\d*)(\.\d+)?(e[+-]?\d+)?|inf)", re.ASCII)
_HEAD = f"""\
# {CONFIG_NAME}: defaults of the options of tinysplit's commands, which find it beside the model or in the current
# folder. An option on the command line wins. Paths are relative to this file. A line without # is in force.
"""

ConfigFolder = Annotated[Path, typer.Option(help=f"Folder to write {CONFIG_NAME} to.")]
Overwrite = Annotated[bool, typer.Option("--force", help=f"Overwrite {CONFIG_NAME}.")]


def _with_options_of_keys(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command an option for each key, none of which is needed."""
    own = [
        Parameter("folder", Parameter.KEYWORD_ONLY, default=Path(), annotation=ConfigFolder),
        Parameter("force", Parameter.KEYWORD_ONLY, default=False, annotation=Overwrite),
    ]
    options = [_not_needed(key.parameter) for key in keys().values()]
    command.__signature__ = Signature([*options, *own])  # type: ignore[attr-defined]
    command.__annotations__.clear()  # of the parameters that stand for all of them
    return command


def _not_needed(parameter: Parameter) -> Parameter:
    declared, option = get_args(parameter.annotation)
    option = copy(option)
    option.callback = _if_given(option.callback) if option.callback else None
    return Parameter(
        parameter.name, Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[declared | None, option]
    )


def _if_given(callback: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return the callback of an option that may be left out."""
    return lambda value: None if value is None else callback(value)


@_with_options_of_keys
def init(**values: Any) -> None:  # noqa: ANN401 (of all options)
    """Write tinysplit.toml: defaults of the options of all commands, with what each of them means."""
    folder, force = values.pop("folder"), values.pop("force")
    path = folder / CONFIG_NAME
    if path.is_dir():
        raise InputError(f"{path} is a folder: rename it, or name another folder with --folder")
    if path.is_file() and not force:
        raise InputError(f"{path} exists: edit it, or overwrite it with --force")
    check_output_file(path, force=force)
    check_values({name: value for name, value in values.items() if value is not None})
    write_whole_file(path, config_text(values, folder))
    messages.print(f"wrote {path}", highlight=False, markup=False, soft_wrap=True)


def config_text(values: Mapping[str, Any], folder: Path) -> str:
    """Return the file for `folder` with the values of parameters; keys whose value is None are commented out."""
    blocks = [_HEAD]
    for heading, group in groupby(keys().values(), key=lambda key: key.heading):
        blocks.append(f"\n# {heading}\n")
        blocks.extend(f"\n{_entry(key, values.get(key.parameter.name), folder)}" for key in group)
    return "".join(blocks)


def _entry(key: Key, value: object, folder: Path) -> str:
    return "".join(f"{line}\n" for line in (*_comment(key), _line(key, value, folder)))


def _comment(key: Key) -> Iterator[str]:
    return (f"# {line}" for line in wrap(key.help, _WIDTH))


def _line(key: Key, value: object, folder: Path) -> str:
    if value is not None:
        given = value if isinstance(value, list | bool) else str(value)
        return f"{key.name} = {_toml(key, key.moved(given, lambda path: _relative_to(folder, path)))}"
    default = f"<{key.expected}>" if key.default is None else _toml(key, key.default)
    return f"#{key.name} = {default}"


def _relative_to(folder: Path, path: str) -> str:
    """Return a path, relative to the current folder, as one relative to `folder`."""
    return path if Path(path).is_absolute() else Path(os.path.relpath(path, folder)).as_posix()


def _toml(key: Key, value: object) -> str:
    """Return a value of a key in TOML."""
    if isinstance(value, list):
        return f"[{', '.join(_toml(key, each) for each in value)}]"
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    return text if key.takes_numbers and _NUMBER.fullmatch(text) else toml_string(text)
