"""The virtual boards of a generated folder, wired as its manifest says."""

from pathlib import Path

from tinysplit.boards.catalog import load_board
from tinysplit.project.manifest import Project
from tinysplit_hil.virtual.rig import VirtualBoard, VirtualRig, Wire


def project_rig(
    project: Project,
    folder: Path,
    *,
    has_ideal_memory: bool = False,
    is_debuggable: bool = False,
    is_erased: bool = False,
) -> VirtualRig:
    """Return the boards of `project` with the ELF files in `folder`, or with erased flash if `is_erased`.

    Raises InputError where these files are missing.
    """
    elfs = [None if is_erased else board.built_elf(folder) for board in project.boards]
    boards = [VirtualBoard(load_board(board.name), elf) for board, elf in zip(project.boards, elfs, strict=True)]
    index = {board.number: position for position, board in enumerate(project.boards)}
    wires = [
        Wire(*((index[number], uart) for number, uart in zip(link.boards, link.uarts, strict=True)))
        for link in project.links
    ]
    return VirtualRig(boards, wires, has_ideal_memory=has_ideal_memory, is_debuggable=is_debuggable)
