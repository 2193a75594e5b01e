"""One board of a project, which takes new weights over its host port while the others are silent."""

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import serial

from programs.firmware_build import linked_elf
from tinysplit.boards.catalog import load_board
from tinysplit.project.manifest import Project
from tinysplit_hil.rig.project_rig import project_rig
from tinysplit_hil.rig.rig import Rig
from tinysplit_hil.rig.virtual_clock import VirtualClock
from tinysplit_hil.wire.client import BoardClient
from virtual_stm32 import VirtualRig, open_registered


@contextmanager
def board_of(project: Project, folder: Path, index: int) -> Iterator[tuple[Rig, VirtualRig, BoardClient]]:
    """Open the port of one board alone, of all boards of a project with debug ports."""
    virtual = project_rig(project, folder, is_debuggable=True)
    own = one_board(project, index)
    with open_registered("update", virtual):
        port = serial.serial_for_url(f"virtual://update/{index}", project.host_baud, timeout=0)
        rig = Rig("virtual", "", "real", {own.boards[0].number: port}, VirtualClock(virtual))
        yield rig, virtual, next(iter(rig.clients(own).values()))
        port.close()


def with_one_slot(project: Project, folder: Path, scratch: Path, index: int) -> Path:
    """Return a copy of a folder in which the program of a board has no staging slot, as if it reached into it."""
    copied = scratch / "one_slot"
    shutil.copytree(folder, copied)
    board = project.boards[index]
    script = copied / board.directory / "linker.ld"
    text = re.sub(r"weights_staging = .*;", "weights_staging = 0;", script.read_text())
    assert text != script.read_text()
    script.write_text(text)
    linked_elf(copied / board.directory, load_board(board.name)).replace(board.elf(copied))
    return copied


def smallest(project: Project, folder: Path) -> int:
    """Return the index of the board with the smallest weights file, which is sent and written soonest."""
    return min(range(len(project.boards)), key=lambda index: project.boards[index].weights_path(folder).stat().st_size)


def one_board(project: Project, index: int) -> Project:
    """Return the manifest of a board, as if the project had no other."""
    return project.model_copy(update={"boards": (project.boards[index],)})
