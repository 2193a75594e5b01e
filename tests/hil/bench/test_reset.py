"""`tinysplit bench reset`, and baud rates that the port of an ST-LINK cannot do."""

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from serial.tools import list_ports

from commands.command_line import BAD_INPUT, TOOL, USAGE, run
from rigs.bench import SERIALS, Desk, desk_in
from rigs.fake_rig import HASH
from tinysplit.common.choices import ProgrammerName
from tinysplit_hil.bench.reset import reset_commands
from tinysplit_hil.rig.rig_file import read_rig_file
from tinysplit_hil.rig.stlink import check_port_baud

NAMED = "".join(f'[[board]]\nserial_number = "{serial}"\nname = "nucleo_g071rb"\n' for serial in SERIALS)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    with desk_in(tmp_path / "desk", monkeypatch) as laid:
        text = laid.rig.read_text()
        laid.rig.write_text(text.replace("[[board]]\n", '[[board]]\nname = "nucleo_g071rb"\n'))
        yield laid


def reset(desk: Desk, *options: str, expect: int = 0) -> str:
    return run("bench", "reset", "--rig", str(desk.rig), *options, expect=expect)


def test_all_boards_by_their_probes(desk: Desk) -> None:
    lines = reset(desk).splitlines()
    assert lines == [
        f"board {number} (nucleo_g071rb): reset by probe {serial} with openocd"
        for number, serial in enumerate(SERIALS, 1)
    ]
    assert len(desk.calls) == 2
    for call, serial in zip(sorted(desk.calls, key=lambda call: call[4]), SERIALS, strict=True):
        assert call[3:5] == ["-c", f"adapter serial {serial}"]
        assert call[-4:] == ["-f", "target/stm32g0x.cfg", "-c", "init; reset run; shutdown"]


def test_one_board(desk: Desk) -> None:
    report = json.loads(reset(desk, "--board", "2", "--json"))
    assert [(board["number"], SERIALS[1] in board["by"]) for board in report["boards"]] == [(2, True)]
    assert len(desk.calls) == 1
    line = reset(desk, "--board", "3", expect=USAGE)
    assert line == f"error: --board 3: {desk.rig} has the boards 1 to 2"


def test_boards_that_are_not_reset_are_named(desk: Desk) -> None:
    (desk.folder / f"{SERIALS[1]}.unplugged").touch()
    line = reset(desk, expect=TOOL)
    assert line.startswith(
        f"error: not reset: board 2 (nucleo_g071rb) at probe {SERIALS[1]}: the probe is not connected"
    )


def test_boards_that_reset_themselves(desk: Desk) -> None:
    for index, serial in enumerate(SERIALS):
        desk.runs(serial, HASH, index)
    assert reset(desk, "--by", "host").count("reset by itself, asked on /dev/") == 2
    assert desk.calls == []


def test_a_board_that_does_not_reply(desk: Desk) -> None:
    desk.runs(SERIALS[0], None)
    line = reset(desk, "--by", "host", "--board", "1", expect=TOOL)
    assert line.startswith("error: board 1 (nucleo_g071rb) on /dev/")
    assert "does not reply" in line


@pytest.mark.parametrize(
    ("text", "options", "code", "message"),
    [
        (
            NAMED,
            ("--programmer", "mass-storage"),
            USAGE,
            "invalid value for '--programmer': 'mass-storage' is not one of 'openocd', 'pyocd', 'st-flash', 'cubep",
        ),
        (
            '[[board]]\nport = "a"\n',
            (),
            BAD_INPUT,
            "has no serial_number for board 1, by which it is reset; `tin",
        ),
        ('[[board]]\nserial_number = "a"\n', (), BAD_INPUT, "has no name for board 1, which tells the part: add it"),
        (
            '[virtual]\ntime_file = "t"\nports = ["a"]\nnote = "n"\n[[board]]\nport = "a"\n',
            ("--by", "host"),
            BAD_INPUT,
            "has virtual boards of another process, whose time only a measurement shares",
        ),
    ],
)
def test_rigs_that_cannot_be_reset(
    text: str, options: tuple[str, ...], code: int, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "rig.toml"
    path.write_text(text)
    assert message in run("bench", "reset", "--rig", str(path), *options, expect=code)


def test_virtual_boards_are_not_reset() -> None:
    assert "virtual boards start with each measurement" in run("bench", "reset", "--rig", "virtual", expect=USAGE)


@pytest.mark.parametrize(
    ("programmer", "command"),
    [
        (ProgrammerName.PYOCD, ("pyocd", "reset", "-W", "-u", SERIALS[0], "-t", "stm32g071rbtx")),
        (ProgrammerName.ST_FLASH, ("st-flash", "--serial", SERIALS[0], "reset")),
        (
            ProgrammerName.CUBEPROGRAMMER,
            ("STM32_Programmer_CLI", "-c", "port=SWD", f"sn={SERIALS[0]}", "-rst"),
        ),
    ],
)
def test_commands_of_other_programmers(programmer: ProgrammerName, command: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "rig.toml"
    path.write_text(NAMED)
    assert reset_commands(path, [1], programmer) == {1: command}


def test_targets_of_labgrid_are_reset_on_their_hosts(tmp_path: Path) -> None:
    path = tmp_path / "rig.toml"
    path.write_text('[labgrid]\nenvironment = "lab.yaml"\n[[board]]\ntarget = "first"\nname = "nucleo_g071rb"\n')
    command = reset_commands(path, [], ProgrammerName.OPENOCD)[1]
    module, file = "tinysplit_hil.rig.labgrid_targets", str(tmp_path / "lab.yaml")
    assert command[1:7] == ("-m", module, file, "first", "", "openocd")


@pytest.mark.parametrize(
    ("pid", "baud", "message"),
    [
        (0x374B, 2_250_000, ""),
        (0x374B, 3_000_000, "the port /dev/ttyACM7 of an ST-LINK/V2-1 cannot do 3000000 baud, but 550 to 2250000: gen"),
        (0x374B, 300, "cannot do 300 baud, but 550 to 2250000"),
        (0x374E, 12_000_000, ""),
        (0x374E, 20_000_000, "of an STLINK-V3E cannot do 20000000 baud, but 732 to 16000000"),
        (0x6001, 20_000_000, ""),  # no ST-LINK
    ],
)
def test_baud_rates_of_ports(pid: int, baud: int, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    port = SimpleNamespace(device="/dev/ttyACM7", serial_number="1", vid=0x0483, pid=pid)
    monkeypatch.setattr(list_ports, "comports", lambda: [port])
    check_port_baud("/dev/ttyACM0", 20_000_000)
    if not message:
        check_port_baud("/dev/ttyACM7", baud)
        return
    with pytest.raises(Exception, match="host-baud") as caught:
        check_port_baud("/dev/ttyACM7", baud)
    assert message in str(caught.value)


def test_a_measurement_at_such_a_rate(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    project = desk.project.model_copy(update={"host_baud": 4_000_000})
    project.write(desk.out)
    ports = [
        SimpleNamespace(device=board.port, serial_number=board.serial_number, vid=0x0483, pid=0x374B)
        for board in read_rig_file(desk.rig).board
    ]
    monkeypatch.setattr(list_ports, "comports", lambda: ports)
    line = run("flash", str(desk.out), "--rig", str(desk.rig), expect=BAD_INPUT)
    assert "of an ST-LINK/V2-1 cannot do 4000000 baud, but 550 to 2250000" in line
    assert desk.flashed == []
