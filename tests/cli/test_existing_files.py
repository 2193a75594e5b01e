"""No command overwrites a file that tinysplit did not write, and it says so before it does anything else."""

from pathlib import Path

import pytest

from commands.command_line import BAD_INPUT, TOOL, run
from example_folders.example import MODEL, SAMPLES
from tinysplit.common.folder_lock import locked_folder

BOARDS = ("-b", "nucleo_g071rb", "-b", "nucleo_g071rb")
MEASURE = ("measure", "no folder", "-s", str(SAMPLES))
RUN = ("run", str(MODEL), *BOARDS, "-s", str(SAMPLES), "-o", "no folder")
COMMANDS = [
    ("split", str(MODEL), *BOARDS, "-o"),
    *((*command, option) for command in (MEASURE, RUN) for option in ("--save", "--csv", "--junit", "--vcd")),
    *((*MEASURE, option) for option in ("--timeline-svg", "--timeline-trace")),
    ("wiring", *BOARDS, "-o"),
    ("virtual", "no folder", "-o"),
    ("report", "no folder", "-o"),
    ("bench", "discover", "-o"),
    ("bench", "check", "--rig", "no rig.toml", "-o"),
    ("explore", str(MODEL), *BOARDS[:2], "--journal"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: f"{command[0]} {command[-1]}")
def test_a_file_of_the_user_is_kept(command: tuple[str, ...], tmp_path: Path) -> None:
    file = tmp_path / "thesis.txt"
    file.write_text("precious\n")
    assert str(file) in run(*command, str(file), expect=BAD_INPUT)
    assert file.read_text() == "precious\n"
    assert list(tmp_path.iterdir()) == [file]


def test_a_split_replaces_a_split_and_with_force_anything(tmp_path: Path) -> None:
    file = tmp_path / "split.json"
    run("split", str(MODEL), *BOARDS, "-o", str(file))
    first = file.read_text()
    run("split", str(MODEL), *BOARDS, "-o", str(file), "--use-all")
    assert file.read_text() != first
    file.write_text("precious")
    run("split", str(MODEL), *BOARDS, "-o", str(file), "--force")
    assert file.read_text().startswith("{")


def test_two_commands_in_one_folder_exclude_each_other(tmp_path: Path) -> None:
    out, split = str(tmp_path / "out"), str(tmp_path / "split.json")
    run("split", str(MODEL), *BOARDS, "-o", split)
    with locked_folder(tmp_path / "out"):
        for command in (
            ("generate", str(MODEL), "--split", split, "-s", str(SAMPLES), "-o", out),
            ("run", str(MODEL), *BOARDS, "-s", str(SAMPLES), "-o", out),
            ("build", out),
        ):
            assert "out is in use by another tinysplit command" in run(*command, expect=TOOL)
    assert not (tmp_path / "out").exists()
