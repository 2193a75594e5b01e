"""`tinysplit info`: what a program, a generated folder or a connected board is."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from tinysplit.cli.basic_options import Json, emit
from tinysplit.common.errors import InputError
from tinysplit.common.project_files import MANIFEST_NAME
from tinysplit.project.manifest import Project
from tinysplit.weights_file.description import describe
from tinysplit.weights_file.file import MAGIC, read_weights_file
from tinysplit_hil.rig.note import note_of_elf, note_of_port
from tinysplit_hil.rig.ports import may_be_port


def info(
    target: Annotated[
        str, typer.Argument(help="An ELF file, a weights.bin, a generated folder, or the serial port of a board.")
    ],
    baud: Annotated[
        int | None,
        typer.Option(help="Baud rate of the port; by default the usual ones of both protocols.", min=1),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show what a program is: model, project hash, board, clock, baud rates, versions; or what a weights file has."""
    path = Path(target)
    if path.is_dir():
        notes = _notes_of_folder(path)
    elif path.is_file():
        notes = [_note_of_file(path)]
    elif may_be_port(target):
        notes = [note_of_port(target, baud)]
    else:
        raise InputError(f"{target} was not found: name a file, a folder, or a port of `tinysplit bench discover`")
    emit(as_json, {"programs": notes}, lambda console: _print(notes, console))


def _notes_of_folder(folder: Path) -> list[dict[str, Any]]:
    """Return the notes of all boards. Raises InputError where the folder is not built."""
    project = Project.read(folder)
    return [note_of_elf(board.built_elf(folder)) for board in project.boards]


def _note_of_file(path: Path) -> dict[str, Any]:
    """Return the facts of an ELF file or a weights file. Raises InputError for any other."""
    with path.open("rb") as stream:
        is_weights = stream.read(len(MAGIC)) == MAGIC
    return describe(read_weights_file(path), _signing_key(path)) if is_weights else note_of_elf(path)


def _signing_key(path: Path) -> str | None:
    """Return the public key of the owner of a weights file that lies in a generated folder."""
    folder = path.absolute().parents[2]  # above WEIGHTS_IN_PROJECT and the folder of the board
    return Project.read(folder).signing_key if (folder / MANIFEST_NAME).is_file() else None


def _print(notes: list[dict[str, Any]], console: Console) -> None:
    for note in notes:
        width = max(map(len, note), default=0)
        for name, value in note.items():
            console.print(f"{name:<{width}}  {_text(value, width)}", highlight=False, markup=False, soft_wrap=True)
        if note is not notes[-1]:
            console.print()


def _text(value: Mapping[str, Any] | list[Any] | str | float | None, indent: int) -> str:
    """Return a value; texts of a list stand on a line each, numbers on one."""
    if not isinstance(value, list):
        return str(value)
    if not value:
        return "none"
    separator = "\n" + " " * (indent + 2) if any(isinstance(each, str) for each in value) else ", "
    return separator.join(map(str, value))
