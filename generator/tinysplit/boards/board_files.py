"""Where the files of boards are: those of this installation, folders of the user's, and files that were named.

A name is found in this order: a file that was named by its path, `boards/` beside the model or in the generated folder,
the folders of TINYSPLIT_BOARDS, and this installation. Names are those of files, in lower case and with `_` for `-`.
"""

import difflib
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tinysplit.common import package_files
from tinysplit.common.choices import ALL_BOARDS
from tinysplit.common.errors import InputError, UsageError
from tinysplit.settings.boards_and_links import BOARD, NEW
from tinysplit.settings.result_files import OUT

FOLDERS = "TINYSPLIT_BOARDS"
FOLDER = "boards"  # beside a model, and in a generated folder
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_SHIPPED = "a board that comes with tinysplit"

_named: dict[str, Path] = {}
_beside: list[Path] = []


def use_folder_beside(place: Path) -> None:
    """Find boards in the folder `boards` of `place`, too: the folder of a model, or a generated one."""
    folder = (place / FOLDER).absolute()
    if folder in _beside:
        _beside.remove(folder)
    if folder.is_dir():
        _beside.insert(0, folder)


def board_name(given: str) -> str:
    """Return the name of a board given by its name, in any case, or by the path of its file.

    Raises UsageError for a name that there is none of, InputError for a file that is missing or has no proper name.
    """
    if "/" in given or given.endswith(".toml") or given in {".", ".."}:
        path = Path(given).absolute()
        if path.is_dir():
            raise InputError(f"{given} is a folder: name a board or its file, as in {given.rstrip('/')}/NAME.toml")
        if not path.is_file():
            raise InputError(f"there is no board file {given}: `tinysplit boards {NEW.option} PART` writes one")
        name = _name_of(path)
        before = _named.setdefault(name, path)
        if before != path and before.is_file() and before.read_bytes() != path.read_bytes():
            raise InputError(f"{before} and {path} are both called {name}: rename one of them")
        _named[name] = path
        _check_only_one(name)
        return name
    name = normal_name(given)
    if name not in {*_own_files(), *_shipped()}:
        raise UsageError(_unknown(given, name), setting=BOARD)
    _check_twins(name)
    _check_only_one(name)
    return name


def check_new_file(path: Path) -> None:
    """Raise InputError for a path that cannot be the file of a user's own board: names are unlike those shipped."""
    if _name_of(path) in _shipped():
        raise InputError(f"{path} has the name of {_SHIPPED}: name another file with {OUT}")


def forget(name: str) -> None:
    """Forget the path by which a board was named: its file is refused."""
    _named.pop(name, None)


def board_names() -> list[str]:
    """Return the names of all boards, sorted.

    Raises InputError for a folder of TINYSPLIT_BOARDS that is missing, and for a folder with two files of one name.
    """
    names = sorted({*_own_files(), *_shipped()})
    for name in names:
        _check_twins(name)
    return names


def board_path(name: str) -> Path:
    """Return the file of a board. Raises UsageError for a name that there is none of."""
    return path_of(board_name(name))


def path_of(name: str) -> Path:
    """Return the file of a board by what `board_name` returns."""
    return _own_files().get(name) or _shipped()[name]


def own_board_paths(names: Iterable[str]) -> dict[str, Path]:
    """Return the files of those boards that do not come with this installation, by their names."""
    paths = _own_files()
    return {name: paths[name] for name in names if name in paths}


def named_path(name: str) -> str | None:
    """Return the path of a board that was named by it, None for others."""
    return str(_named[name]) if name in _named else None


def _own_files() -> Mapping[str, Path]:
    """Return the user's files by name."""
    files: dict[str, Path] = dict(_named)
    for folder in _folders():
        for path in sorted(folder.glob("*.toml")):
            files.setdefault(_name_of(path), path)
    return files


def _folders() -> Iterator[Path]:
    """Yield the folders of the user's files, the first ones before the others."""
    for folder in (*_beside, *_folders_of_variable()):
        if folder.resolve() != package_files.boards().resolve():
            yield folder


def _folders_of_variable() -> Iterator[Path]:
    for text in filter(None, os.environ.get(FOLDERS, "").split(os.pathsep)):
        folder = Path(text)
        if not folder.is_dir():
            raise InputError(f"{FOLDERS} names {text}, which is no folder: make it, or unset the variable")
        yield folder.absolute()


def _shipped() -> Mapping[str, Path]:
    return {path.stem: path for path in package_files.boards().glob("*.toml")}


def _name_of(path: Path) -> str:
    name = normal_name(path.stem)
    if name == ALL_BOARDS:
        raise InputError(f"{path}: `{ALL_BOARDS}` stands for all boards: give the file another name")
    if not _NAME.fullmatch(name):
        raise InputError(f"{path}: the name of a board file has letters, digits, - and _, and begins with a letter")
    return name


def normal_name(name: str) -> str:
    """Return the name of a board that is given in any case, and with - for _."""
    return name.lower().replace("-", "_")


def _check_twins(name: str) -> None:
    """Raise InputError for a folder in which two files have the same name, but for case and `-`; paths tell them."""
    for folder in _folders() if name not in _named else ():
        alike = [path for path in sorted(folder.glob("*.toml")) if normal_name(path.stem) == name]
        if len(alike) > 1:
            raise InputError(f"{alike[0]} and {alike[1].name} are both called {name}: rename one of them")


def _check_only_one(name: str) -> None:
    """Raise InputError for a file of the user's with the name of a board that comes with this installation."""
    own, shipped = _own_files().get(name), _shipped().get(name)
    if own and shipped and own.resolve() != shipped.resolve():
        raise InputError(f"{own} has the name of {_SHIPPED}: rename the file")


def _unknown(given: str, name: str) -> str:
    names = board_names()
    near = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
    suggestion = f"{'nearest' if near else 'known'}: {', '.join(near or names)}"
    return (
        f"there is no board {given!r}; {suggestion} (`tinysplit boards` lists all; for another one, `tinysplit boards "
        f"{NEW.option} PART` writes a file that {BOARD} takes)"
    )
