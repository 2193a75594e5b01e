"""`tinysplit build` and `library`: the programs of a generated folder, or its network as sources for other firmware."""

from pathlib import Path
from typing import Annotated

import typer

from tinysplit.build.folder import read_and_build
from tinysplit.build.report import print_build
from tinysplit.cli.basic_options import Folder, Force, Json, emit, messages
from tinysplit.cli.option import option
from tinysplit.common.folder_lock import locked_folder
from tinysplit.project.manifest import Project
from tinysplit.settings.programs import PREFIX
from tinysplit.settings.result_files import OUT


def build(folder: Folder, as_json: Json = False) -> None:
    """Build the project of every board and compare its memory use with the plan."""
    report = read_and_build(folder, messages)
    emit(as_json, report.to_json(), lambda console: print_build(report, console))
    report.check()


def library(
    folder: Folder,
    out: Annotated[Path, option(OUT, "Folder for the library: a new, an empty or an older one.")],
    board: Annotated[int | None, typer.Option(help="Only the library of the board of this number.", min=1)] = None,
    prefix: Annotated[str, option(PREFIX)] = "tinysplit",
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Write the network as C libraries for a firmware of your own, one for each board that computes a part of it."""
    from tinysplit.codegen.library import write_library

    with locked_folder(out):
        names = [
            str(name) for name in write_library(Project.read(folder), folder, out, board, prefix=prefix, force=force)
        ]
    emit(
        as_json,
        {"files": names},
        lambda console: console.print(
            f"{len(names)} files in {out}: include {prefix}.h", highlight=False, soft_wrap=True
        ),
    )
