"""Boards on ptys that are not those of the project, or no boards of ours at all: each is one clear line."""

from collections.abc import Callable
from pathlib import Path

import pytest

from rigs.bench import OTHER_HASH, SERIALS, Answers, Desk, FakeAnswers, Foreign, OtherBaud, desk_in
from rigs.fake_rig import HASH
from tinysplit.common.errors import InputError, ToolError
from tinysplit_hil.measure.boards import Boards
from tinysplit_hil.rig.rig import open_rig

FIRST, SECOND = SERIALS
GARBAGE = bytes(range(128, 256))


def failure(desk: Desk) -> str:
    """Return why the boards of a desk are not those of its project."""
    with pytest.raises((ToolError, InputError)) as caught, open_rig(str(desk.rig), desk.project, desk.out) as rig:
        Boards(desk.project, rig).check()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("make_board", "text"),
    [
        (lambda: Foreign(b""), "does not reply: check its power, firmware and wiring"),
        (
            lambda: Foreign(GARBAGE),
            "does not reply, but sends bytes that are no frames: it runs another program, or",
        ),
        (
            OtherBaud,
            "or has another baud rate than 921600 (`generate --host-baud`, within what",
        ),
        (
            lambda: Foreign(b"\r\nU-Boot 2024.01\r\nSTM32MP> "),
            "sends text ('STM32MP>'), as a boot loader or another program does: flash it",
        ),
    ],
    ids=["silence", "garbage", "another baud rate", "a boot loader"],
)
def test_a_board_that_does_not_speak_our_protocol(
    make_board: Callable[[], Answers], text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with desk_in(tmp_path / "desk", monkeypatch, make_board) as desk:
        line = failure(desk)
    assert line.startswith("board 1 (nucleo_g071rb) on /dev/pts/")
    assert text in line


def test_boards_of_a_project_that_are_not_in_its_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with desk_in(tmp_path / "desk", monkeypatch, FakeAnswers) as desk:
        desk.runs(FIRST, HASH, 1)
        desk.runs(SECOND, HASH, 0)
        assert failure(desk).endswith("runs the firmware of board 2: check that the ports are in board order")
        desk.runs(FIRST, OTHER_HASH)
        assert f"runs firmware of project {OTHER_HASH:08x} instead of {HASH:08x}: build and flash it" in failure(desk)


def test_three_boards_for_a_project_of_two(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with desk_in(tmp_path / "desk", monkeypatch, FakeAnswers) as desk:
        desk.rig.write_text(f'{desk.rig.read_text()}[[board]]\nserial_number = "066EFF03"\n')
        line = failure(desk)
    assert "rig.toml has 3 [[board]] tables, but the project has 2 boards: remove the others, or split with" in line


def test_a_board_whose_cable_is_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with desk_in(tmp_path / "desk", monkeypatch, FakeAnswers) as desk:
        text = desk.rig.read_text()
        port = text.rpartition('port = "')[2].split('"')[0]
        desk.rig.write_text(text.replace(port, "/dev/ttyACM99"))
        line = failure(desk)
    assert line.startswith("the port /dev/ttyACM99 cannot be opened")
    assert line.endswith("is the board connected? `tinysplit bench discover` lists the ports")
