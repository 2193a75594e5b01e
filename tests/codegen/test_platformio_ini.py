import json
import re
from pathlib import Path

import pytest
from platformio.project.config import ProjectConfig

from tinysplit.boards.board import Board
from tinysplit.boards.catalog import load_board, load_boards
from tinysplit.codegen.platformio_ini import STOCK_ENVIRONMENT, render_platformio_ini
from tinysplit.common import package_files
from tinysplit.common.project_files import ELF_IN_PROJECT, SYSTEM_ENVIRONMENT


def read(board: Board, folder: Path) -> ProjectConfig:
    """Return platformio.ini as PlatformIO reads it, which rejects unknown options."""
    path = folder / "platformio.ini"
    path.write_text(render_platformio_ini(board))
    config = ProjectConfig(str(path))
    config.validate()
    return config


@pytest.mark.parametrize("board", load_boards(), ids=lambda board: board.name)
def test_both_environments_use_the_same_flags(board: Board, tmp_path: Path) -> None:
    config = read(board, tmp_path)
    assert config.envs() == [SYSTEM_ENVIRONMENT, STOCK_ENVIRONMENT]
    system, stock = (config.get(f"env:{name}", "build_flags") for name in config.envs())
    assert system == stock
    flags = " ".join(system).split()
    assert f"-mcpu={board.device.core}" in flags
    assert flags.count("-O2") == 1
    assert render_platformio_ini(board).count("-O2") == 1


def test_stock_environment_is_that_of_the_board(tmp_path: Path) -> None:
    config = read(load_board("nucleo_g071rb"), tmp_path)
    names = ("platform", "platform_packages", "board", "framework")
    assert {name: config.get("env:stock", name) for name in names} == {
        "platform": "ststm32",
        "platform_packages": ["toolchain-gccarmnoneeabi@~1.120301.0"],
        "board": "nucleo_g071rb",
        "framework": ["cmsis"],
    }


def test_platformio_alone_does_not_build_where_tinysplit_builds(tmp_path: Path) -> None:
    folder = read(load_board("nucleo_g071rb"), tmp_path).get("platformio", "build_dir")
    assert Path(folder).parts[-2:] == (".pio", "run")
    assert not Path(tmp_path, ELF_IN_PROJECT).is_relative_to(Path(folder).absolute())


def test_it_names_nothing_of_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    board = load_board("nucleo_g071rb")
    text = render_platformio_ini(board)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert render_platformio_ini(board) == text
    assert not re.search(r"\w:?[/\\](home|usr|opt|tmp|work)|symlink|file:", text)
    assert read(board, tmp_path).default_envs() == [STOCK_ENVIRONMENT]


def test_the_system_environment_names_the_platform_that_tinysplit_installs(tmp_path: Path) -> None:
    config = read(load_board("nucleo_g071rb"), tmp_path)
    manifest = json.loads((package_files.boards() / "platform" / "platform.json").read_text())
    assert config.get("env:system", "platform") == manifest["name"]
