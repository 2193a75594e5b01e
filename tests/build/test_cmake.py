"""CMake builds a board's project into the program that PlatformIO builds, up to the order of its functions."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from example_folders.example import shared_example
from tinysplit.boards.catalog import load_board
from tinysplit.build.elf import read_elf

TIME_LIMIT_S = 300
BOARDS = ("nucleo_g071rb", "nucleo_l452re")  # the second one runs code in RAM


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed")
@pytest.mark.parametrize("number", [1, 2])
def test_it_makes_the_same_program(number: int, tmp_path: Path) -> None:
    project, folder = shared_example(*BOARDS)
    board = project.board(number)
    source = shutil.copytree(folder / board.directory, tmp_path / "board", ignore=shutil.ignore_patterns(".pio"))
    for command in (["-B", "build", "--toolchain", "toolchain.cmake"], ["--build", "build"]):
        env = os.environ | {"CCACHE_BASEDIR": str(tmp_path)}  # absolute paths there count from where a command runs
        done = subprocess.run(
            ["cmake", *command], cwd=source, env=env, capture_output=True, text=True, check=False, timeout=TIME_LIMIT_S
        )
        assert done.returncode == 0, done.stderr
    own = load_board(board.name)
    made, expected = (
        read_elf(path, own.device, own.code_ram) for path in (source / "build" / "firmware.elf", board.elf(folder))
    )
    for name in ("weights_bytes", "arena_bytes", "stack_bytes", "layer_code_bytes", "shared_code_bytes"):
        assert getattr(made, name) == getattr(expected, name)
    # The order of the objects decides how many jumps between flash and RAM need a veneer.
    assert made.flash.used_bytes == pytest.approx(expected.flash.used_bytes, rel=0.01)
    assert made.ram_code_bytes == pytest.approx(expected.ram_code_bytes, rel=0.01)
