"""`tinysplit info`: the note of ELF files, folders and running boards, in both protocols."""

import json
from pathlib import Path

import pytest

from commands.command_line import BAD_INPUT, TOOL, USAGE, run
from commands.served_boards import served
from example_folders import example
from tinysplit.boards.catalog import load_board
from tinysplit.build.elf import read_elf
from tinysplit.project.manifest import Project

BOARD = "nucleo_g071rb"


@pytest.fixture(scope="module")
def folder() -> Path:
    return example.shared_example(BOARD, BOARD)[1]


def programs(*arguments: str) -> list[dict[str, object]]:
    notes: list[dict[str, object]] = json.loads(run("info", *arguments, "--json"))["programs"]
    return notes


@pytest.mark.slow
def test_a_folder_and_its_programs_say_the_same(folder: Path) -> None:
    project = Project.read(folder)
    notes = programs(str(folder))
    assert [programs(str(board.elf(folder)))[0] for board in project.boards] == notes
    assert [note["board"] for note in notes] == [1, 2]
    assert notes[0] == {
        "tinysplit": project.tinysplit_version,
        "protocol": 2,
        "model": project.model.name,
        "model_sha256": project.model.sha256,
        "board": 1,
        "name": BOARD,
        "device": load_board(BOARD).device.name,
        "clock": "hsi",
        "core_hz": project.boards[0].core_hz,
        "host_protocol": "tinysplit",
        "host_baud": project.host_baud,
        "link_bauds": [project.baud],
        "project_hash": f"{project.project_hash:08x}",
    }


@pytest.mark.slow
def test_a_running_board_says_it(folder: Path, tmp_path: Path) -> None:
    with served(folder, "--tcp", "0", temporary=tmp_path) as boards:
        assert [programs(port)[0] for port in boards.ports] == programs(str(folder))


@pytest.mark.slow
def test_the_note_counts_in_flash(folder: Path) -> None:
    board = Project.read(folder).boards[0]
    use = read_elf(board.elf(folder), load_board(BOARD).device).flash
    assert use.used_bytes > len(json.dumps(programs(str(board.elf(folder)))[0], separators=(",", ":")))


@pytest.mark.slow
def test_it_is_printed(folder: Path) -> None:
    assert f"name           {BOARD}\n" in run("info", str(folder))


def test_a_file_that_is_no_program_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text.elf").write_text("text")
    assert "is not a readable ELF file" in run("info", str(tmp_path / "text.elf"), expect=BAD_INPUT)


def test_a_folder_that_is_none_of_ours_is_refused(tmp_path: Path) -> None:
    assert "is not a generated folder" in run("info", str(tmp_path), expect=BAD_INPUT)


def test_an_empty_name_is_refused() -> None:
    assert run("info", "", expect=USAGE).startswith("error: argument TARGET is empty, but needs a value")


def test_a_port_that_does_not_exist_is_named() -> None:
    assert "the port /dev/none cannot be opened" in run("info", "/dev/none", expect=TOOL)


def test_a_file_that_is_missing_is_none_of_a_port(tmp_path: Path) -> None:
    missing = tmp_path / "firmware.elf"
    assert f"{missing} was not found: name a file" in run("info", str(missing), expect=BAD_INPUT)
