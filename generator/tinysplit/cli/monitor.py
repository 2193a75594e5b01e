"""`tinysplit monitor`: boards that run without a host, as they are."""

from typing import Annotated

import typer

from tinysplit.cli.basic_options import Folder, Json, emit, messages
from tinysplit.cli.options import Rig
from tinysplit.common.choices import VIRTUAL
from tinysplit.common.errors import ToolError
from tinysplit.project.manifest import Project


def monitor(
    folder: Folder,
    rig: Rig = VIRTUAL,
    seconds: Annotated[
        float, typer.Option("--seconds", help="Time between two looks, for the results a second.", min=0.01, max=3600.0)
    ] = 1.0,
    as_json: Json = False,
) -> None:
    """Show what boards without a host do: runs, failures, results and times. It does not disturb them."""
    from tinysplit.build.folder import note_outdated
    from tinysplit_hil.measure.monitor import print_watched, watch_folder, watched_to_json

    project = Project.read(folder)
    note_outdated(project, folder, messages)
    boards = watch_folder(project, folder, rig, seconds)
    emit(as_json, watched_to_json(boards), lambda console: print_watched(boards, console))
    if silent := [board for board in boards if board.error]:
        raise ToolError(f"{len(silent)} of {len(boards)} boards cannot be watched: {silent[0].error}")
