"""Builds all projects of a generated folder."""

from pathlib import Path

from rich.console import Console

from tinysplit.boards.catalog import load_board
from tinysplit.build.platformio import build_projects
from tinysplit.build.report import BuildReport
from tinysplit.build.stamp import is_outdated
from tinysplit.build.weights import own_weights_file
from tinysplit.common.folder_lock import locked_folder
from tinysplit.common.progress import steps
from tinysplit.common.tables import counted
from tinysplit.project.chip_parts import check_application_parts
from tinysplit.project.manifest import Project


def read_and_build(folder: Path, messages: Console) -> BuildReport:
    """Build the projects of a generated folder that nobody else builds meanwhile.

    Raises InputError for another folder, ToolError while another command uses it; other errors are those of
    `build_projects`.
    """
    with locked_folder(folder):
        return build_folder(Project.read(folder), folder, messages)


def build_folder(project: Project, folder: Path, messages: Console) -> BuildReport:
    """Build the projects of all boards and read the sizes of their programs.

    The errors are those of `build_projects`, `own_weights_file` and `check_application_parts`.
    """
    for board in project.boards:
        own_weights_file(board, folder)
        interrupts = {interrupt.name for interrupt in load_board(board.name).device.interrupts}
        check_application_parts(folder / board.directory, board.firmware_parts, interrupts)
    directories = [folder / board.directory for board in project.boards]
    with steps(messages, f"building {counted(len(directories), 'project')}", len(directories)) as advance:
        done: list[Path] = []

        def count_built(directory: Path) -> None:
            done.append(directory)
            advance(len(done))

        build_projects(directories, count_built)
    return BuildReport.read(project, folder)


def note_outdated(project: Project, folder: Path, messages: Console) -> None:
    """Print a line for each board whose program is not that of its project's files, as after a change in one."""
    for board in project.boards:
        if is_outdated(folder / board.directory):
            note = f"note: {board.title} runs what was built from other files than those of {board.directory}: "
            messages.print(f"{note}`tinysplit build {folder}` builds it", highlight=False, markup=False, soft_wrap=True)
