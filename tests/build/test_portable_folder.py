"""A generated folder is the same wherever it is made and built, and PlatformIO's size line counts all of a program."""

import re
import runpy
import shutil
import subprocess
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from rich.console import Console

from example_folders.example import CALIBRATION, MODEL, build_example
from session import direct_builds
from session.shared_folder import made_once
from tinysplit import pipeline
from tinysplit.boards.catalog import load_board
from tinysplit.build.elf import read_elf
from tinysplit.build.folder import build_folder
from tinysplit.common import package_files
from tinysplit.context import Context
from tinysplit.costs.settings import CostSettings
from tinysplit.project.manifest import Project
from tinysplit.slices.settings import Search

BOARDS = ("nucleo_g071rb", "nucleo_l452re")  # the second one runs code in RAM

pytestmark = pytest.mark.usefixtures("by_platformio")


def built_example() -> tuple[Project, Path]:
    """Return the example as PlatformIO builds it, and its folder: do not write into it."""

    def make(out: Path) -> None:
        with direct_builds.left_out():
            build_example(out, *BOARDS)

    folder = made_once("by-platformio", make)
    return Project.read(folder), folder


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def programs(folder: Path) -> list[bytes]:
    project = Project.read(folder)
    build_folder(project, folder, Console(quiet=True))
    return [board.elf(folder).read_bytes() for board in project.boards]


def test_a_folder_that_is_made_twice_is_the_same_and_names_neither_place(tmp_path: Path) -> None:
    context = Context.load(MODEL, BOARDS, CostSettings(use_all=True), Console(quiet=True))
    cropped = context.of_quantized_file()
    split = pipeline.describe_split(cropped, pipeline.split_network(cropped, Search()))
    made = [tmp_path / "a", tmp_path / "b" / "c"]
    for folder in made:
        folder.parent.mkdir(exist_ok=True)
        pipeline.generate_folder(context, split, CALIBRATION, folder)
    first, second = map(files, made)
    assert first == second
    assert "board1_nucleo_g071rb/platformio.ini" in first
    assert [name for name, data in first.items() if str(tmp_path).encode() in data] == []
    own_places = {str(package_files.boards()).encode(), str(Path.home()).encode() + b"/"}
    assert [name for name, data in first.items() for place in own_places if place in data] == []


@pytest.mark.slow
def test_programs_that_are_built_in_two_places_are_the_same(tmp_path: Path) -> None:
    _, built = built_example()
    moved = Path(shutil.copytree(built, tmp_path / "another place" / "moved", ignore=shutil.ignore_patterns(".pio")))
    first = programs(moved)
    assert first == [board.elf(built).read_bytes() for board in Project.read(built).boards]
    for build in moved.glob("*/.pio"):
        shutil.rmtree(build)
    assert programs(moved) == first


@pytest.mark.slow
def test_debug_information_has_lines_and_the_folders_own_paths() -> None:
    project, folder = built_example()
    with project.boards[0].elf(folder).open("rb") as file:
        units = [unit.get_top_DIE() for unit in ELFFile(file).get_dwarf_info().iter_CUs()]
        names = {unit.attributes["DW_AT_name"].value: unit.attributes["DW_AT_comp_dir"].value for unit in units}
    assert names[b"src/network.c"] == b"."
    assert names[b"lib/tinysplit_firmware/src/schedule.c"] == b"."


@pytest.mark.slow
@pytest.mark.parametrize("number", [1, 2])
def test_the_size_line_counts_what_the_program_has(number: int) -> None:
    project, folder = built_example()
    board, own = project.board(number), load_board(project.board(number).name)
    script = runpy.run_path(str(package_files.boards() / "platform" / "size_line.py"))
    listed = subprocess.run(
        ["arm-none-eabi-size", "-A", "-d", board.elf(folder)], capture_output=True, text=True, check=True
    )
    flash_bytes, ram_bytes = (
        sum(
            int(match[1])
            for line in listed.stdout.splitlines()
            if (match := re.search(script["size_pattern"](names), line))
        )
        for names in (script["FLASH_SECTIONS"], script["RAM_SECTIONS"])
    )
    sizes = read_elf(board.elf(folder), own.device, own.code_ram)
    assert flash_bytes == sizes.flash.used_bytes
    assert ram_bytes == sum(use.used_bytes for use in sizes.ram)
