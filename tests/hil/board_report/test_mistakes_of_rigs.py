"""`tinysplit bench report` names the mistakes of a rig before anything is built."""

from pathlib import Path

import pytest

from commands.command_line import BAD_INPUT, TOOL, run
from commands.served_boards import served
from example_folders import example
from rigs.debugged_boards import debugged, need_openocd

G0, F4 = "nucleo_g071rb", "nucleo_f401re"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def fails(*options: str, expect: int) -> str:
    """Return what `bench report` says of rig.toml; nothing is built."""
    line = run("bench", "report", "--rig", "rig.toml", *options, expect=expect)
    assert not list(Path().rglob("*.elf"))
    return line


@pytest.mark.parametrize(
    ("board", "options", "expect", "words"),
    [
        ('serial_number = "01"', (), BAD_INPUT, "rig.toml has no name for board 1: add it, or give --board for all"),
        ('serial_number = "01"\nname = "nucleo"', (), BAD_INPUT, "board 1, name: there is no board 'nucleo'"),
        (f'port = "/dev/x"\nname = "{G0}"', (), BAD_INPUT, f"has no serial_number for board 1 ({G0}), by which it is"),
        (f'serial_number = "01"\nname = "{G0}"', (), TOOL, "no serial port has the USB serial number 01 (connected: "),
        (
            f'serial_number = "01"\nname = "{G0}"\nport = "/dev/no_such_port"',
            (),
            TOOL,
            "the port /dev/no_such_port cannot be opened (No such file or directory): is the board connected?",
        ),
        (f'serial_number = "01"\nname = "{G0}"\nport = "none"', (), BAD_INPUT, 'a [[board]] has port = "none": only'),
        (
            f'serial_number = "01"\nname = "{G0}"',
            ("-b", G0, "-b", F4),
            BAD_INPUT,
            "rig.toml has 1 [[board]] table, but the project has 2 boards: list all of them",
        ),
        (f'serial_number = "01"\nname = "{G0}"', ("-b", F4), BAD_INPUT, f"has a {G0} where the project has board 1"),
    ],
)
def test_boards_and_ports(board: str, options: tuple[str, ...], expect: int, words: str) -> None:
    Path("rig.toml").write_text(f"[[board]]\n{board}\n")
    line = fails(*options, expect=expect)
    assert words in line
    assert not Path("board_report").exists()


def test_another_part(tmp_path: Path) -> None:
    need_openocd()
    with debugged(tmp_path, G0, F4) as boards:
        boards.write_rig(tmp_path / "rig.toml")
        line = fails("-b", G0, "-b", "nucleo_l452re", expect=TOOL)
    assert "board 2 (nucleo_l452re) at probe remote_bitbang port " in line
    assert "the part has device id 0x433, a nucleo_l452re has 0x462" in line
    assert f"board 1 ({G0})" not in line


@pytest.mark.slow
def test_boards_that_run_another_image_and_cannot_be_flashed(tmp_path: Path) -> None:
    _, folder = example.shared_example(G0, G0)
    with served(folder, "-o", "rig.toml", temporary=tmp_path):
        line = fails(expect=TOOL)
    assert f"board 1 ({G0}), board 2 ({G0}) of rig.toml run another image, and cannot be flashed: " in line
    assert "`tinysplit build board_report`, then serve `tinysplit virtual board_report -o rig.toml`" in line
