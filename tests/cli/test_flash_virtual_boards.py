"""`tinysplit flash` with the real OpenOCD on virtual boards, which boot what was flashed and measure."""

import json
import re
import shutil
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from commands.command_line import BAD_INPUT, TOOL, USAGE, run
from commands.served_boards import served, without_account
from example_folders import example
from rigs.bench import build_nothing
from rigs.debugged_boards import debugged, need_openocd
from tinysplit.boards.debug_port import load_debug_port
from tinysplit.cli.app import app
from tinysplit.common.choices import ProgrammerName
from tinysplit.common.errors import InputError
from tinysplit.project.manifest import Project
from tinysplit_hil.bench import images
from tinysplit_hil.rig.programmers import PROGRAMMERS, ProbeChoice
from tinysplit_hil.rig.rig_file import read_rig_file
from virtual_stm32 import ResetCause

BOARD = "nucleo_g071rb"
SAMPLES = ("--samples", str(example.SAMPLES), "--sample-count", "2", "--json")


@pytest.fixture(autouse=True)
def _openocd(monkeypatch: pytest.MonkeyPatch) -> None:
    need_openocd()
    monkeypatch.setattr(images, "RETRY_S", 0.01)


@pytest.mark.parametrize(
    "names",
    [
        pytest.param((BOARD, BOARD), marks=pytest.mark.nightly),
        pytest.param(("nucleo_f401re", "nucleo_h743zi"), marks=pytest.mark.nightly),
        pytest.param(("nucleo_l4r5zi", "nucleo_l412kb"), marks=pytest.mark.nightly),
    ],
    ids="+".join,
)
def test_boards_from_the_factory_are_flashed_and_measure_like_virtual_ones(
    names: tuple[str, str], tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(example.shared_example(*names)[1], tmp_path / "a $b; 'c' \"d\" \u00e9"))
    rig = tmp_path / "rig.toml"
    expected = without_account(json.loads(run("measure", str(folder), *SAMPLES)))
    with served(folder, "--debug", "--erased", "-o", str(rig), temporary=tmp_path):
        boards = tomllib.loads(rig.read_text())["board"]
        assert all("remote_bitbang" in board["openocd_adapter"] for board in boards)
        log = tmp_path / "production.jsonl"
        report = json.loads(run("flash", str(folder), "--rig", str(rig), "--production", str(log), "--json"))
        assert [board["verified"] for board in report["boards"]] == [True, True]
        assert [json.loads(line)["result"] for line in log.read_text().splitlines()] == ["pass", "pass"]
        report = json.loads(run("flash", str(folder), "--rig", str(rig), "--json"))
        assert [board["skipped"] for board in report["boards"]] == [True, True]
        assert without_account(json.loads(run("measure", str(folder), *SAMPLES, "--rig", str(rig)))) == expected


@pytest.mark.nightly
def test_a_cut_of_power_is_named_and_the_same_command_repairs(tmp_path: Path) -> None:
    project, folder = example.shared_example(BOARD, BOARD)
    with debugged(tmp_path, BOARD, BOARD, baud=project.host_baud) as boards:
        rig = boards.write_rig(tmp_path / "rig.toml")
        words = iter(range(1000))

        def programmed() -> None:
            if next(words, None) == 500:
                boards.rig.reset_board(1, ResetCause.BROWN_OUT, held_ps=10**10)

        boards.rig.part(1).programmed = programmed
        failed = CliRunner().invoke(app, ["flash", str(folder), "--rig", str(rig)])
        assert failed.exit_code == TOOL
        line = failed.stderr.splitlines()[-1]
        assert "1 of 2 boards have the new image, but not board 2 (nucleo_g071rb) at probe remote_bitbang port" in line
        assert "The same command again flashes only these" in line
        report = json.loads(run("flash", str(folder), "--rig", str(rig), "--json"))
        assert [board["skipped"] for board in report["boards"]] == [True, False]
        assert all(boards.has(board.elf(folder), board.number - 1) for board in project.boards)


def test_a_locked_part_is_named_before_anything_is_written(tmp_path: Path) -> None:
    _, folder = build_nothing(tmp_path / "out")
    with debugged(tmp_path, BOARD, BOARD) as boards:
        rig = boards.write_rig(tmp_path / "rig.toml")
        assert boards.openocd("init; reset halt; stm32l4x lock 0; shutdown", 1).exit_code == 0
        line = run("flash", str(folder), "--rig", str(rig), expect=TOOL)
        assert line.startswith("error: no board was flashed: board 2 (nucleo_g071rb) at probe remote_bitbang port ")
        remedy = line.partition("read-out protection is on: remove it, which erases the flash: openocd -c ")[2]
        assert remedy.endswith("-c 'init; reset halt; stm32l4x unlock 0; reset; shutdown'")
        assert not any(byte != 0xFF for byte in boards.contents(0))
        assert boards.openocd("init; reset halt; stm32l4x unlock 0; reset; shutdown", 1).exit_code == 0
        assert boards.flash(Project.read(folder).board(2).elf(folder), 1).exit_code == 0


def test_another_part_is_named_before_anything_is_written(tmp_path: Path) -> None:
    _, folder = build_nothing(tmp_path / "out")
    with debugged(tmp_path, BOARD, "nucleo_l452re") as boards:
        line = run("flash", str(folder), "--rig", str(boards.write_rig(tmp_path / "rig.toml")), expect=TOOL)
        assert "board 2 (nucleo_g071rb) at probe remote_bitbang port" in line
        assert "its device id cannot be read" in line
        assert not any(byte != 0xFF for index in range(2) for byte in boards.contents(index))


def test_boards_without_ports_are_verified_through_their_probes(tmp_path: Path) -> None:
    project, folder = build_nothing(tmp_path / "out")
    log = tmp_path / "production.jsonl"
    with debugged(tmp_path, BOARD, BOARD) as boards:
        rig = boards.write_rig(tmp_path / "rig.toml")
        rig.write_text(re.sub('^port = ".*"$', 'port = "none"', rig.read_text(), flags=re.MULTILINE))
        report = json.loads(run("flash", str(folder), "--rig", str(rig), "--production", str(log), "--json"))
        assert [board["verified"] for board in report["boards"]] == [True, True]
        assert all(boards.has(board.elf(folder), board.number - 1) for board in project.boards)
        boards.rig.flip_flash_bit(1, 0x08000000 + len(boards.contents(1).rstrip(b"\xff")) - 1, 0)
        report = json.loads(run("flash", str(folder), "--rig", str(rig), "--json"))
        assert [board["skipped"] for board in report["boards"]] == [True, False]
        assert "1, which passed at" in run("flash", *map(str, (folder, "--rig", rig, "--production", log)), expect=1)
        with pytest.raises(InputError, match="only `tinysplit flash` does without, for all boards"):
            read_rig_file(rig).board[0].port_name()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--weights-only",), "has its weights in C arrays"),
        (("--programmer", "st-flash"), "finds probes by serial_number"),
    ],
)
def test_what_boards_without_ports_cannot_have(tmp_path: Path, options: tuple[str, ...], message: str) -> None:
    _, folder = build_nothing(tmp_path / "out")
    rig = tmp_path / "rig.toml"
    rig.write_text("".join(f'[[board]]\nport = "none"\nopenocd_adapter = "a{n}"\n' for n in range(2)))
    assert message in run("flash", str(folder), "--rig", str(rig), *options, expect=BAD_INPUT)


def test_the_unique_id_of_each_family_is_read(tmp_path: Path) -> None:
    names = (BOARD, "nucleo_f401re", "nucleo_l452re", "nucleo_h743zi")
    openocd = PROGRAMMERS[ProgrammerName.OPENOCD]
    with debugged(tmp_path, *names) as boards:
        for index, name in enumerate(names):
            addresses = load_debug_port(name).unique_id
            words = openocd.read_words(ProbeChoice(None, boards.probes[index].adapter), addresses)
            assert words[addresses[0]] == index + 1
            assert set(words) == set(addresses)


def test_only_openocd_takes_an_adapter() -> None:
    programmer = PROGRAMMERS[ProgrammerName.ST_FLASH]
    with pytest.raises(InputError, match="--programmer st-flash finds probes by serial_number"):
        programmer.require([], [ProbeChoice(None, "adapter driver jlink")])


def test_erased_boards_need_a_debug_port(tmp_path: Path) -> None:
    assert "--erased needs --debug" in run("virtual", str(tmp_path), "--erased", expect=USAGE)
