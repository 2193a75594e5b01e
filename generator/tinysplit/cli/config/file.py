"""Reading of the config file: values as they would be on the command line, paths relative to the file."""

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path

from tinysplit.cli.config.keys import Argument, keys
from tinysplit.common.choices import RENAMED
from tinysplit.common.errors import InputError
from tinysplit.common.input_files.texts import read_toml_file


def read_config(path: Path) -> Mapping[str, Argument]:
    """Return the value of each key in the file. Raises InputError for no TOML, an unknown key or a wrong type."""
    try:
        data = read_toml_file(path)
    except OSError as error:
        what = "is a folder" if path.is_dir() else f"cannot be read ({error.strerror})"
        raise InputError(f"{path} {what}: rename it, or leave it out with --no-config") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is no text in UTF-8: save it in UTF-8") from None
    except ValueError as error:
        raise InputError(f"{path} is not TOML: {error}") from None
    return {name: _argument(path, name, value) for name, value in data.items()}


def _argument(path: Path, name: str, value: object) -> Argument:
    key = keys().get(name)
    if key is None:
        if name in RENAMED:
            raise InputError(f"{path}: {name} is now {RENAMED[name]}")
        near = get_close_matches(name, keys(), n=1)
        hint = f"did you mean {near[0]}?" if near else "`tinysplit init` writes a file with all keys"
        raise InputError(f"{path}: {name} is no known key: {hint}")
    try:
        argument = key.as_argument(value)
    except ValueError as error:
        raise InputError(f"{path}: {name} {error}") from None
    return key.moved(argument, lambda name: str(path.parent / name))
