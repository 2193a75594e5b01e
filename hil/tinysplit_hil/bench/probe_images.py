"""Which image each board has, as its probe reads it: of boards whose host port nobody reaches."""

from collections.abc import Sequence
from pathlib import Path

from tinysplit.boards.board import board_title
from tinysplit.common.choices import ProgrammerName
from tinysplit.common.errors import ToolError, UsageError
from tinysplit.common.input_files.elf_file import open_elf
from tinysplit.project.manifest import ProjectBoard
from tinysplit.settings.measurement import PROGRAMMER
from tinysplit_hil.bench.images import RunningImage
from tinysplit_hil.rig.programmers import ProbeChoice, Programmer
from tinysplit_hil.rig.rig_file import NO_PORT

_SECTION = ".checksum"  # of the ELF file: the word behind code and weights


def check_compares(programmer: Programmer) -> None:
    """Raise UsageError for a programmer that cannot verify a board without a port."""
    if not (programmer.verifies and programmer.set_register):
        raise UsageError(
            f"{PROGRAMMER} {programmer.name} does not compare the flash with the image, or reads no words: use "
            f'{PROGRAMMER} {ProgrammerName.OPENOCD} for boards with port = "{NO_PORT}"'
        )


def images_by_probe(
    boards: Sequence[tuple[ProjectBoard, Path, ProbeChoice]], programmer: Programmer
) -> dict[int, RunningImage]:
    """Return what boards have in flash, by number; each comes with its ELF file and its probe."""
    return {board.number: _image(board, elf, probe, programmer) for board, elf, probe in boards}


def _image(board: ProjectBoard, elf: Path, probe: ProbeChoice, programmer: Programmer) -> RunningImage:
    address, expected = _checksum(elf)
    try:
        found = programmer.read_words(probe, [address]).get(address)
    except ToolError as error:
        return RunningImage(is_new=False, project_hash=None, problem=error.message)
    is_new = found == expected
    title = board_title(board.number, board.name)
    problem = "" if is_new else f"{title} has another checksum in its flash than {elf.name}"
    return RunningImage(is_new, None, problem, has_program=is_new)


def _checksum(elf: Path) -> tuple[int, int]:
    """Return address and value of the checksum of a program."""
    with open_elf(elf, ToolError, "build it first") as file:
        section = file.get_section_by_name(_SECTION)
        if section is None:
            raise ToolError(f"{elf} has no section {_SECTION}: build it again")
        return int(section["sh_addr"]), int.from_bytes(section.data()[:4], "little")
