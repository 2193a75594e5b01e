"""`tinysplit init`: writes a config file to fill in."""

import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from textwrap import wrap
from typing import Annotated

import typer

from tinysplit.cli.basic_options import messages
from tinysplit.cli.config.command import CONFIG_NAME
from tinysplit.cli.config.keys import Key, keys
from tinysplit.cli.option import option
from tinysplit.common.errors import InputError
from tinysplit.common.output_file import check_output_file, write_whole_file
from tinysplit.common.texts.quoting import toml_string
from tinysplit.settings.result_files import FORCE

_WIDTH = 100
_NUMBER = re.compile(r"-?((0|[1-9]\d*)(\.\d+)?(e[+-]?\d+)?|inf)", re.ASCII)
_HEAD = f"""\
# {CONFIG_NAME}: defaults of the options of tinysplit's commands, which find it beside the model or in the current
# folder. An option on the command line wins. Paths are relative to this file. A line without # is in force.
"""


def init(
    folder: Annotated[Path, typer.Option(help=f"Folder to write {CONFIG_NAME} to.")] = Path(),
    force: Annotated[bool, option(FORCE, f"Overwrite {CONFIG_NAME}.")] = False,
) -> None:
    """Write tinysplit.toml: the options of all commands as comments, with what each of them means."""
    path = folder / CONFIG_NAME
    if path.is_dir():
        raise InputError(f"{path} is a folder: rename it, or name another folder with --folder")
    if path.is_file() and not force:
        raise InputError(f"{path} exists: edit it, or overwrite it with --force")
    check_output_file(path, force=force)
    write_whole_file(path, config_text())
    messages.print(f"wrote {path}: remove the # of what you want to set", highlight=False, markup=False, soft_wrap=True)


def config_text() -> str:
    """Return the file: all keys, commented out."""
    blocks = [_HEAD]
    for heading, group in groupby(keys().values(), key=lambda key: key.heading):
        blocks.append(f"\n# {heading}\n")
        blocks.extend(f"\n{_entry(key)}" for key in group)
    return "".join(blocks)


def _entry(key: Key) -> str:
    return "".join(f"{line}\n" for line in (*_comment(key), _line(key)))


def _comment(key: Key) -> Iterator[str]:
    return (f"# {line}" for line in wrap(key.help, _WIDTH))


def _line(key: Key) -> str:
    default = f"<{key.expected}>" if key.default is None else _toml(key, key.default)
    return f"#{key.name} = {default}"


def _toml(key: Key, value: object) -> str:
    """Return a value of a key in TOML."""
    if isinstance(value, list):
        return f"[{', '.join(_toml(key, each) for each in value)}]"
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    return text if key.takes_numbers and _NUMBER.fullmatch(text) else toml_string(text)
