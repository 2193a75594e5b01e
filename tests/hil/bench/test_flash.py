"""`tinysplit flash` with programmers that are scripts, and boards that answer on ptys."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console
from serial.tools import list_ports
from typer.testing import CliRunner

from commands.command_line import BAD_INPUT, CHECK_FAILED, TOOL, USAGE, run
from example_folders.example import CALIBRATION, MODEL
from programs.virtual_firmware import build
from rigs.bench import ACR, EMPTY, IDCODE, OPTIONS, OTHER_HASH, SERIALS, Desk, desk_in
from rigs.fake_rig import HASH
from tinysplit.boards.catalog import load_board
from tinysplit.boards.debug_port import load_debug_port
from tinysplit.build.report import BuildReport
from tinysplit.cli.app import app
from tinysplit.common.choices import ProgrammerName
from tinysplit.common.folder_lock import locked_folder
from tinysplit.project.manifest import Project
from tinysplit_hil.bench import flash
from tinysplit_hil.bench.empty_check import UNPLUG
from tinysplit_hil.bench.parts import ProbedPart, reason_in_options
from tinysplit_hil.rig.programmers import ProbeChoice
from tinysplit_hil.rig.rig_file import read_rig_file

FIRST, SECOND = SERIALS
TWO_G0 = ("-b", "nucleo_g071rb", "-b", "nucleo_g071rb")
LARGE = "const char weights[200000] = {1}; void reset(void) { for (;;) { *(volatile char *)0x20000000 = weights[2]; } }"


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(flash, "BOOT_S", 0.0)  # these boards run their image when the programmer ends
    with desk_in(tmp_path / "desk", monkeypatch) as laid:
        yield laid


def flash_boards(desk: Desk, *options: str) -> str:
    return run("flash", str(desk.out), "--rig", str(desk.rig), *options)


def fails(desk: Desk, *options: str) -> tuple[str, str]:
    """Return the table and the error of a command in which a board fails."""
    result = CliRunner().invoke(app, ["flash", str(desk.out), "--rig", str(desk.rig), *options])
    assert result.exit_code == TOOL, result.output
    return result.stdout, result.stderr.splitlines()[-1]


def program(elf: Path) -> str:
    return f"init; reset init; echo [flash write_image erase {elf}]; echo [verify_image {elf}]; reset run; shutdown"


def test_every_board_gets_its_image_by_its_probe(desk: Desk) -> None:
    table = flash_boards(desk)
    rows = [line.split() for line in table.splitlines()[1:]]
    assert [row[3] for row in rows] == [FIRST, SECOND]
    assert all("new image  programmer, CRC-32" in line for line in table.splitlines()[1:])
    # All parts are read before anything is written; then each tells whether it starts what was written.
    reads, rest = desk.calls[:2], sorted(desk.calls[2:], key=str)
    writes = [call for call in rest if "flash write_image" in call[-1]]
    flags = [call for call in rest if call not in writes]
    assert all(f"adapter serial {serial}" in call for serial, call in zip(SERIALS, sorted(reads), strict=True))
    assert [call[-1].count("mdw 0x40022000") for call in flags] == [1, 1]
    for board, serial, call in zip(desk.project.boards, SERIALS, writes, strict=True):
        assert call[:5] == ["openocd", "-f", "interface/stlink.cfg", "-c", f"adapter serial {serial}"]
        assert call[-4:] == [
            "-f", "target/stm32g0x.cfg", "-c", program(board.elf(desk.out))
        ]  # fmt: skip


def test_a_board_that_runs_the_image_is_skipped_unless_forced(desk: Desk) -> None:
    desk.runs(SECOND, HASH, 1)
    report = json.loads(flash_boards(desk, "--json"))
    assert desk.flashed == [FIRST]
    assert [board["skipped"] for board in report["boards"]] == [False, True]
    assert [board["verified"] for board in report["boards"]] == [True, True]
    calls = len(desk.calls)
    assert "skipped" in flash_boards(desk)
    assert len(desk.calls) == calls
    flash_boards(desk, "--force")
    assert desk.flashed == [FIRST, FIRST, SECOND]


@pytest.mark.parametrize(
    "command",
    [
        ("flash", "OUT", "--rig", "RIG"),
        ("flash", "OUT", "--rig", "RIG", "--force"),
        ("update", "OUT", "--rig", "RIG"),
        ("bench", "check", *TWO_G0, "--rig", "RIG", "--folder", "TEST"),
        ("bench", "reset", "--rig", "RIG", "--by", "host", "--host-baud", "115200"),
        ("wiring", *TWO_G0, "--rig", "RIG", "--folder", "TEST", "-o", "TEST.json"),
        ("run", str(MODEL), *TWO_G0, "--rig", "RIG", "--samples", str(CALIBRATION), "-o", "TEST"),
    ],
)
def test_ports_that_have_changed_places_are_found_before_anything_is_written(
    command: tuple[str, ...], desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ports = [str(board.port) for board in read_rig_file(desk.rig).board]
    by_id = tmp_path / "usb-STLINK"
    by_id.symlink_to(ports[0])
    desk.rig.write_text(desk.rig.read_text().replace(ports[0], str(by_id)))
    connected = [
        SimpleNamespace(device=port, serial_number=serial, vid=0x0483, pid=0x374B)
        for port, serial in zip(reversed(ports), SERIALS, strict=True)
    ]
    monkeypatch.setattr(list_ports, "comports", lambda: connected)
    names = {"OUT": desk.out, "RIG": desk.rig, "TEST": tmp_path / "test", "TEST.json": tmp_path / "wiring.json"}
    line = run(*(str(names.get(each, each)) for each in command), expect=TOOL).splitlines()[-1]
    assert line == (
        f"error: {desk.rig}: the port {by_id} of board 1 belongs to the probe {SECOND}, not to {FIRST}, which flashes"
        " it: remove `port`, and the port of the probe is taken, or correct it"
    )
    assert desk.flashed == []


def test_a_port_of_another_device_may_be_that_of_any_board(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    adapters = [
        SimpleNamespace(device=board.port, serial_number=serial, vid=0x0403, pid=0x6001)
        for board, serial in zip(read_rig_file(desk.rig).board, ("A50285BI", None), strict=True)
    ]
    monkeypatch.setattr(list_ports, "comports", lambda: adapters)
    flash_boards(desk)
    assert desk.flashed == [FIRST, SECOND]


def test_two_probes_of_one_serial_number_flash_nothing(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    twins = [SimpleNamespace(device=f"/dev/ttyACM{n}", serial_number=FIRST, location=f"1-{n}:1.2") for n in (0, 1)]
    monkeypatch.setattr(list_ports, "comports", lambda: twins)
    assert f"2 probes have the USB serial number {FIRST} (/dev/ttyACM0, /dev/ttyACM1)" in run(
        "flash", str(desk.out), "--rig", str(desk.rig), expect=TOOL
    )
    assert desk.flashed == []


def test_swapped_boards_are_both_flashed(desk: Desk) -> None:
    desk.runs(FIRST, HASH, 1)
    desk.runs(SECOND, HASH, 0)
    flash_boards(desk)
    assert desk.flashed == [FIRST, SECOND]


def test_a_failure_in_the_middle_names_the_board_and_the_same_command_repairs(desk: Desk) -> None:
    desk.set(SECOND, exit_code=1, prints="Info : erasing\n** Verify Failed **")
    table, line = fails(desk)
    assert "new image" in table.splitlines()[1]
    assert line == (
        f"error: 1 of 2 boards have the new image, but not board 2 (nucleo_g071rb) at probe {SECOND} (project"
        f" {OTHER_HASH:08x}): openocd failed: the flash does not have what was written to it: flash again, and check"
        " the supply. The same command again flashes only these"
    )
    desk.set(SECOND, exit_code=0)
    flash_boards(desk)
    assert desk.flashed == [FIRST, SECOND, SECOND]


@pytest.mark.parametrize("step", ["read", "flash"])
def test_a_board_that_is_unplugged_between_two_steps(desk: Desk, step: str) -> None:
    desk.set(SECOND, unplug_after=step)
    table, line = fails(desk)
    assert "no answer" in table.splitlines()[2]
    assert f"1 of 2 boards have the new image, but not board 2 (nucleo_g071rb) at probe {SECOND} (no answer): " in line
    assert ("the probe is not connected" if step == "read" else "the port failed") in line


def test_a_board_that_answers_nothing_after_flashing(desk: Desk) -> None:
    path = desk.project.board(1).elf(desk.out).with_suffix(".runs")
    path.write_text("")
    _, line = fails(desk)
    assert f"board 1 (nucleo_g071rb) at probe {FIRST} (no answer): board 1 (nucleo_g071rb) on /dev/pts/" in line
    assert "does not reply: check its power, firmware and wiring. " in line


@pytest.mark.parametrize("is_known", [True, False])
def test_a_board_that_may_be_in_its_boot_loader_is_to_be_unplugged(desk: Desk, is_known: bool) -> None:
    desk.project.board(1).elf(desk.out).with_suffix(".runs").write_text("")
    flag = {"0x40022000": ACR | EMPTY} if is_known else {}
    desk.set(FIRST, words={"0x40015800": IDCODE, "0x40022020": OPTIONS, **flag}, ignores_writes=True)
    _, line = fails(desk)
    assert f"does not reply: check its power, firmware and wiring; {UNPLUG}. The same command" in line


def test_the_flag_of_the_empty_check_is_cleared(desk: Desk) -> None:
    words = {"0x40015800": IDCODE, "0x40022020": OPTIONS, "0x40022000": ACR | EMPTY}
    desk.set(SECOND, words=words)
    flash_boards(desk)
    scripts = [call[-1] for call in desk.calls if f"adapter serial {SECOND}" in call]
    assert [script.rpartition("mww")[2] for script in scripts if "mww" in script] == [
        " 0x40022000 0x00040600; reset run; shutdown"
    ]
    assert not any("mww" in call[-1] for call in desk.calls if f"adapter serial {FIRST}" in call)


def test_a_programmer_that_hangs_is_stopped(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flash, "FLASH_LIMIT_S", 1.0)
    desk.set(FIRST, hangs=True)
    desk.runs(SECOND, HASH, 1)
    assert "openocd took more than 1 s and was stopped" in fails(desk)[1]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ({"0x40015800": 0x1000_6466}, "the part has device id 0x466, a nucleo_g071rb has 0x460: put the [[board]]s"),
        ({}, "its device id cannot be read: is it a nucleo_g071rb?"),
        ({"0x40015800": IDCODE, "0x40022020": OPTIONS - 0xEF}, "read-out protection is on: remove it, which erases"),
        ({"0x40015800": IDCODE, "0x40022020": OPTIONS & ~0xFF | 0xCC}, "read-out protection level 2 is on, for ever"),
    ],
)
def test_another_or_a_protected_part_is_named_before_anything_is_written(
    desk: Desk, words: dict[str, int], text: str
) -> None:
    desk.set(SECOND, words=words)
    line = run("flash", str(desk.out), "--rig", str(desk.rig), expect=TOOL)
    assert line.startswith(f"error: no board was flashed: board 2 (nucleo_g071rb) at probe {SECOND}: {text}")
    assert desk.flashed == []


def test_a_flash_with_other_banks_is_named_with_the_command_that_sets_them() -> None:
    part = ProbedPart(1, ProbeChoice(FIRST), load_debug_port("nucleo_l4r5zi_dbank0"))
    reason = reason_in_options(part, 0xFFFFF8AA)
    assert reason
    assert reason.startswith("its option bit DBANK is 1, that of a nucleo_l4r5zi_dbank0 is 0: set it, after which")
    assert reason.endswith(f"sn={FIRST} -ob DBANK=0")
    assert reason_in_options(part, 0xFFBFF8AA) is None


@pytest.mark.parametrize(
    ("state", "how"), [(0x2E, "which debug authentication alone can take back (AN6008)"), (0x5C, "for ever")]
)
def test_a_product_state_is_named(state: int, how: str) -> None:
    part = ProbedPart(1, ProbeChoice(FIRST), load_debug_port("nucleo_h563zi"))
    reason = f"its product state is {state:#x}, not Open, {how}: use another board"
    assert reason_in_options(part, 0x2D30_00F8 | state << 8) == reason
    assert reason_in_options(part, 0x2D30_EDF8) is None


def test_a_probe_that_vanished_is_named_before_anything_is_written(desk: Desk) -> None:
    (desk.folder / f"{SECOND}.json").rename(desk.folder / "gone")
    line = run("flash", str(desk.out), "--rig", str(desk.rig), expect=TOOL)
    assert f"no board was flashed: board 2 (nucleo_g071rb) at probe {SECOND}: the probe is not connected" in line
    assert desk.flashed == []


def test_dry_run_prints_the_commands_without_anything(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    desk.rig.write_text("".join(f'[[board]]\nserial_number = "{serial}"\n' for serial in SERIALS))
    lines = flash_boards(desk, "--dry-run").splitlines()
    assert [line for line in lines if line.startswith("#")] == [
        f"# board {number} (nucleo_g071rb) at probe {serial}" for number, serial in enumerate(SERIALS, 1)
    ]
    elf = desk.project.board(2).elf(desk.out)
    assert lines[-1] == (
        f"openocd -f interface/stlink.cfg -c 'adapter serial {SECOND}'"
        " -c 'gdb_port disabled; telnet_port disabled; tcl_port disabled' -f target/stm32g0x.cfg"
        f" -c '{program(elf)}'"
    )
    planned = json.loads(flash_boards(desk, "--dry-run", "--json", "--programmer", "st-flash"))
    write = ["st-flash", "--serial", FIRST, "--reset", "write", str(desk.project.board(1).elf(desk.out))[:-3] + "bin"]
    assert planned["boards"][0]["commands"][-1] == [*write, "0x08000000"]
    assert desk.calls == []


def test_an_image_that_does_not_fit(desk: Desk) -> None:
    large = build(desk.folder / "large", load_board("nucleo_h743zi"), LARGE)
    elf = desk.project.board(1).elf(desk.out)
    elf.write_bytes(large.read_bytes())
    line = run("flash", str(desk.out), "--rig", str(desk.rig), expect=CHECK_FAILED)
    assert line.startswith("error: board 1 (nucleo_g071rb): flash is over budget by 68")
    assert desk.calls == []


def test_an_old_image_is_built_again(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[Path] = []

    def build_folder(project: Project, folder: Path, _messages: Console) -> BuildReport:
        built.append(folder)
        return BuildReport.read(project, folder)

    monkeypatch.setattr(flash, "build_folder", build_folder)
    elf = desk.project.board(2).elf(desk.out)
    newer_s = elf.stat().st_mtime + 1
    os.utime(elf.with_suffix(".runs"), (newer_s, newer_s))  # beside the image: not a source
    flash_boards(desk)
    assert not built
    source = desk.out / desk.project.board(2).directory / "main.c"
    source.touch()
    os.utime(source, (newer_s, newer_s))
    flash_boards(desk)
    assert built == [desk.out]


def test_a_command_that_has_built_a_folder_and_holds_its_lock_flashes_it(desk: Desk) -> None:
    """A program that is linked already stays as it is when its folder is generated again, with newer sources."""
    elf = desk.project.board(2).elf(desk.out)
    source = desk.out / desk.project.board(2).directory / "main.c"
    source.touch()
    os.utime(source, (elf.stat().st_mtime + 1,) * 2)
    quiet = Console(quiet=True)
    with locked_folder(desk.out):
        report = flash.flash_rig(desk.project, desk.out, str(desk.rig), ProgrammerName.OPENOCD, quiet)
    assert report
    assert [board.is_skipped for board in report.boards] == [False, False]


def test_without_the_programmer(desk: Desk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    line = run("flash", str(desk.out), "--rig", str(desk.rig), expect=TOOL)
    assert line == "error: openocd is not on the PATH: install it (Debian: apt-get install openocd)"
    monkeypatch.setenv("PATH", str(desk.folder / "bin"))
    line = run("flash", str(desk.out), "--rig", str(desk.rig), "--programmer", "st-flash", expect=TOOL)
    assert line.endswith("st-flash is not on the PATH: install it (Debian: apt-get install stlink-tools), or use"
                         " --programmer openocd")  # fmt: skip


@pytest.mark.parametrize(
    ("rig", "code", "text"),
    [
        ("virtual", USAGE, "--rig virtual: virtual boards run their images without flashing: give a rig file"),
        ("nowhere.toml", BAD_INPUT, "rig nowhere.toml not found"),
    ],
)
def test_rigs_that_are_not_flashed(desk: Desk, rig: str, code: int, text: str) -> None:
    assert text in run("flash", str(desk.out), "--rig", rig, expect=code)


def test_a_board_without_a_serial_number_is_not_flashed(desk: Desk) -> None:
    desk.rig.write_text(f'[[board]]\nserial_number = "{FIRST}"\n[[board]]\nport = "/dev/ttyACM1"\n')
    line = run("flash", str(desk.out), "--rig", str(desk.rig), "--dry-run", expect=BAD_INPUT)
    assert "rig.toml has no serial_number for board 2 (nucleo_g071rb), by which it is flashed" in line
