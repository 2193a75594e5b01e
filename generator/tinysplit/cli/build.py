"""`tinysplit build`: the programs of a generated folder."""

from tinysplit.build.folder import build_folder
from tinysplit.build.report import print_build
from tinysplit.cli.basic_options import Folder, Json, emit, messages
from tinysplit.common.folder_lock import locked_folder
from tinysplit.project.manifest import Project


def build(folder: Folder, as_json: Json = False) -> None:
    """Build the project of every board and compare its memory use with the plan."""
    with locked_folder(folder):
        report = build_folder(Project.read(folder), folder, messages)
    emit(as_json, report.to_json(), lambda console: print_build(report, console))
    report.check()
