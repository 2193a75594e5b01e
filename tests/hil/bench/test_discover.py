"""`tinysplit bench discover` and `udev`, with ST-LINKs as pyserial lists them."""

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from serial.tools import list_ports

from commands.command_line import BAD_INPUT, TOOL, USAGE, run
from rigs.bench import SERIALS, Desk, desk_in
from tinysplit_hil.bench import discover
from tinysplit_hil.rig.rig_file import read_rig_file
from tinysplit_hil.rig.stlink import PRODUCTS

FIRST, SECOND = SERIALS
NONE = (
    "error: no ST-LINK with a serial port is plugged in: connect the boards by USB, with cables that carry data"
    " (`lsusb -d 0483:` lists them)"
)


def listed(device: str, serial: str | None, vid: int | None = 0x0483, pid: int = 0x374B) -> SimpleNamespace:
    return SimpleNamespace(device=device, serial_number=serial, vid=vid, pid=pid)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    ports = [
        listed("/dev/ttyS0", None, vid=None),
        listed("/dev/ttyUSB0", "A50285BI", vid=0x0403, pid=0x6001),
        listed("/dev/ttyACM2", SECOND, pid=0x3753),
        listed("/dev/ttyACM1", SECOND, pid=0x3753),
        listed("/dev/ttyACM0", FIRST),
    ]
    monkeypatch.setattr(list_ports, "comports", lambda: ports)
    monkeypatch.setenv("COLUMNS", "200")
    with desk_in(tmp_path / "desk", monkeypatch) as laid:
        yield laid


def test_boards_are_listed_and_written_as_a_rig_file(desk: Desk, tmp_path: Path) -> None:
    desk.set(SECOND, words={"0x5c001000": 0x2003_6450})
    path = tmp_path / "rig.toml"
    rows = run("bench", "discover", "-o", str(path)).splitlines()
    assert rows[1].split() == [FIRST, "ST-LINK/V2-1", "/dev/ttyACM0", "0x460", "nucleo_g071rb"]
    assert rows[2].split()[-4:] == ["/dev/ttyACM1", "/dev/ttyACM2", "0x450", "nucleo_h743zi"]
    assert path.read_text().splitlines()[-4:] == [
        f'serial_number = "{SECOND}"', 'port = "/dev/ttyACM1"', "# other ports: /dev/ttyACM2", 'name = "nucleo_h743zi"'
    ]  # fmt: skip
    assert "/dev/ttyACM0" not in path.read_text()  # another board may have it tomorrow
    rig = read_rig_file(path)
    assert [(board.serial_number, board.port, board.name) for board in rig.board] == [
        (FIRST, None, "nucleo_g071rb"),
        (SECOND, "/dev/ttyACM1", "nucleo_h743zi"),
    ]


@pytest.mark.parametrize(
    ("options", "boards"),
    [
        ({"0x40022020": 0xFFFFF8AA}, ["nucleo_l4r5zi"]),
        ({"0x40022020": 0xFFBFF8AA}, ["nucleo_l4r5zi_dbank0"]),
        ({}, ["nucleo_l4r5zi", "nucleo_l4r5zi_dbank0"]),
    ],
)
def test_banks_of_the_flash_tell_boards_apart(desk: Desk, options: dict[str, int], boards: list[str]) -> None:
    desk.set(FIRST, words={"0xe0042000": 0x1001_6470} | options)
    found = json.loads(run("bench", "discover", "--json"))["boards"]
    assert found[0]["boards"] == boards


@pytest.mark.usefixtures("desk")
def test_a_port_of_several_is_written_by_a_name_that_lasts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "by-id").mkdir()
    link = tmp_path / "by-id" / f"usb-STLINK-V3_{SECOND}-if02"
    link.symlink_to("/dev/ttyACM1")
    monkeypatch.setattr(discover, "_BY_ID", link.parent)
    run("bench", "discover", "-o", str(tmp_path / "rig.toml"))
    assert [board.port for board in read_rig_file(tmp_path / "rig.toml").board] == [None, str(link)]


@pytest.mark.usefixtures("desk")
def test_a_probe_without_a_serial_number_is_listed_and_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nameless = [listed("/dev/ttyACM3", None)]
    monkeypatch.setattr(list_ports, "comports", lambda: [*nameless, listed("/dev/ttyACM0", FIRST)])
    table = run("bench", "discover", "-o", str(tmp_path / "rig.toml"))
    assert "/dev/ttyACM3             without a USB serial number no programmer can choose it: update its" in table
    assert [board.serial_number for board in read_rig_file(tmp_path / "rig.toml").board] == [FIRST]
    monkeypatch.setattr(list_ports, "comports", lambda: nameless)
    line = run("bench", "discover", "-o", str(tmp_path / "none.toml"), expect=TOOL)
    assert "error: no probe can be written into a rig file: without a USB serial number" in line
    assert not (tmp_path / "none.toml").exists()


@pytest.mark.usefixtures("desk")
def test_two_probes_of_one_serial_number_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    ports = [listed("/dev/ttyACM0", FIRST), listed("/dev/ttyACM1", FIRST), listed("/dev/ttyACM2", FIRST)]
    for port, place in zip(ports, ("1-1:1.2", "1-1:1.4", "1-2:1.2"), strict=True):
        port.location = place
    monkeypatch.setattr(list_ports, "comports", lambda: ports)
    assert run("bench", "discover", expect=TOOL) == (
        f"error: 2 probes have the USB serial number {FIRST} (/dev/ttyACM0, /dev/ttyACM1, /dev/ttyACM2), by which they"
        " cannot be told apart: plug in one of them only"
    )
    monkeypatch.setattr(list_ports, "comports", lambda: ports[:2])
    assert FIRST in run("bench", "discover")


def test_what_cannot_be_read_is_said(desk: Desk) -> None:
    desk.set(FIRST, words={"0xe0042000": 0x1000_6413})
    (desk.folder / f"{SECOND}.unplugged").touch()
    found = json.loads(run("bench", "discover", "--json"))["boards"]
    assert [(board["device_id"], board["boards"]) for board in found] == [(0x413, []), (None, [])]
    assert found[0]["note"] == "its part is none that is known"
    assert found[1]["note"].startswith("the probe is not connected, or in use")


def test_without_a_programmer_ports_are_listed(desk: Desk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    table = run("bench", "discover")
    assert "/dev/ttyACM0" in table
    assert "device ids are not read without a programmer: install it (Debian: apt-get install openocd)" in table
    assert desk.calls == []


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_nothing_is_plugged_in(options: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_ports, "comports", lambda: [listed("/dev/ttyS0", None, vid=None)])
    assert run("bench", "discover", *options, expect=TOOL) == NONE


def test_udev_rules_cover_all_probes() -> None:
    rules = [line for line in run("bench", "udev").splitlines() if not line.startswith("#")]
    assert all(any(f'=="{product:04x}"' in rule for rule in rules) for product in PRODUCTS)
    assert all('GROUP="dialout"' in rule for rule in rules)


def test_a_missing_command_is_one_line() -> None:
    assert run("bench", expect=USAGE).startswith("error: missing command: see `")


def test_a_rig_file_that_cannot_be_written(desk: Desk) -> None:
    line = run("bench", "discover", "-o", str(desk.folder / "no" / "rig.toml"), expect=BAD_INPUT)
    assert "rig.toml cannot be written: there is no folder" in line
