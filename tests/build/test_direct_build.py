"""Tests of programs build them without PlatformIO, to save its start-up time: they are the programs that it builds."""

import shutil
from pathlib import Path

import pytest

from example_folders.example import shared_example
from programs.firmware_build import build_folder
from virtual_stm32.symbols import load_program


@pytest.mark.slow
def test_the_compiler_alone_makes_the_program_of_platformio(tmp_path: Path) -> None:
    project, built = shared_example("nucleo_g071rb", "nucleo_f401re", baud=1_000_000)
    out = Path(shutil.copytree(built, tmp_path / "out", ignore=shutil.ignore_patterns(".pio")))
    build_folder(project, out).check()
    for board in project.boards:
        assert load_program(board.elf(out)) == load_program(board.elf(built))
