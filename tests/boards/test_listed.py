"""The list of boards: its file has what the boards' files say, and does not count where these have changed."""

import io
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from tinysplit.boards.board_files import board_names
from tinysplit.boards.catalog import load_boards
from tinysplit.boards.listed import ListedBoard, kept_list, list_text, print_boards
from tinysplit.common import package_files

LIST = package_files.boards() / "list.json"


def test_the_file_has_what_the_boards_have(request: pytest.FixtureRequest) -> None:
    text = list_text(load_boards())
    if request.config.getoption("--refresh-golden"):
        LIST.write_text(text)
    assert text == LIST.read_text(), "a board or family has changed: pytest tests/boards --refresh-golden"
    assert list(kept_list().values()) == [ListedBoard.of(board) for board in load_boards()]


@pytest.mark.parametrize("changed", ["nucleo_f446re.toml", "families/stm32f4.toml"])
def test_a_changed_file_is_read_in_place_of_the_list(
    changed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "boards"
    shutil.copytree(package_files.boards(), folder)
    monkeypatch.setattr(package_files, "boards", lambda: folder)
    assert "nucleo_f446re" in kept_list()
    (folder / changed).write_text((folder / changed).read_text() + "\n")
    assert not kept_list()


def test_without_the_file_no_board_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(package_files, "boards", lambda: tmp_path)
    assert kept_list() == {}


@pytest.mark.parametrize(
    "damage",
    [
        lambda _: "",
        lambda _: "[]",
        lambda text: text[: len(text) // 2],
        lambda text: text.replace('"boards": [', '"cards": ['),
        lambda text: text.replace('"host_uart"', '"uart"'),
        lambda text: "\udcff" + text,
    ],
)
def test_a_damaged_file_counts_as_none(
    damage: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "boards"
    shutil.copytree(package_files.boards(), folder)
    monkeypatch.setattr(package_files, "boards", lambda: folder)
    path = folder / LIST.name
    path.write_bytes(damage(path.read_text()).encode(errors="surrogateescape"))
    assert kept_list() == {}


def test_the_table_fits_120_columns() -> None:
    output = io.StringIO()
    print_boards(list(map(ListedBoard.of, load_boards())), Console(file=output, width=120))
    *lines, less_sure = output.getvalue().splitlines()
    assert len(lines) == len(board_names()) + 1
    assert less_sure.startswith(
        "note: times and energies of nucleo_h563zi, nucleo_l552ze_q, nucleo_u575zi_q are less sure: Cortex-M33 "
    )
    (row,) = (line for line in lines if "nucleo_l4r5zi " in line)
    assert row.split() == ["nucleo_l4r5zi", "m4", "120", "2048", "640", "44", "12", "2", "LPUART1"]
