"""No line of a generated project is longer than 120 columns."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from example_folders.example import CALIBRATION, MODEL
from programs.firmware_build import firmware_of
from tinysplit import pipeline
from tinysplit.boards.board import Board
from tinysplit.boards.catalog import load_boards
from tinysplit.codegen.board_files import render_board_files
from tinysplit.common.choices import Slices
from tinysplit.context import Context
from tinysplit.costs.settings import CostSettings
from tinysplit.slices.settings import Search

COLUMNS = 120
FIRMWARE = Path(__file__).parents[2] / "firmware"
# A board of each family.
BOARDS = ("nucleo_g071rb", "nucleo_f401re", "nucleo_f746zg", "nucleo_l4r5zi", "nucleo_h743zi")


def long_lines(text: str) -> Iterator[str]:
    """Yield the lines that are too long."""
    yield from (line for line in text.splitlines() if len(line) > COLUMNS)


def test_lines_of_the_firmware_are_short() -> None:
    files = [path for folder in FIRMWARE.iterdir() if folder.is_dir() for path in folder.glob("*.[ch]")]
    parts = [path for path in files if path.parent.name == "common" or path.parent.name.startswith("stm32")]
    assert parts
    found = {f"{path.parent.name}/{path.name}": [*long_lines(path.read_text())] for path in parts}
    assert {name: lines for name, lines in found.items() if lines} == {}


@pytest.mark.parametrize("bits", [8, 16])
def test_lines_of_a_project_are_short(bits: int, tmp_path: Path) -> None:
    settings = CostSettings(bits=bits, use_all=True)
    context = Context.load(MODEL, BOARDS, settings, Console(quiet=True))
    split = pipeline.describe_split(context, pipeline.split_network(context, Search(slices=Slices.NONE)))
    project = pipeline.generate_folder(context, split, CALIBRATION, tmp_path / "out")
    for board in project.boards:
        folder = tmp_path / "out" / board.directory
        files = {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}
        assert {"linker.ld", "platformio.ini", "src/network.c", "lib/tinysplit_firmware/src/main.c"} <= set(files)
        found = {name: lines for name, text in files.items() if (lines := list(long_lines(text)))}
        assert found == {}


@pytest.mark.parametrize("board", load_boards(), ids=lambda board: board.name)
def test_lines_of_a_board_are_short(board: Board) -> None:
    for arena in board.device.ram:
        texts = render_board_files(replace(firmware_of(board, board.link_uarts), arena=arena))
        assert [line for text in texts.values() for line in long_lines(text)] == []
