"""Rigs of labgrid: with a fake of the calls that are made, and with labgrid itself where it is installed."""

import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from commands.command_line import BAD_INPUT, TOOL, USAGE, run
from rigs.fake_rig import make_project
from tinysplit.boards.debug_port import load_debug_port
from tinysplit.common.choices import ProgrammerName
from tinysplit.common.errors import TinysplitError
from tinysplit_hil.rig.labgrid_targets import board_ports, programmer_of, run_on_target
from tinysplit_hil.rig.programmers import PROGRAMMERS, ProbeChoice
from tinysplit_hil.rig.rig_file import read_rig_file

FAKE = Path(__file__).parents[2] / "support" / "fake_labgrid"
RIG = """\
[labgrid]
environment = "lab.yaml"

[[board]]
target = "first"

[[board]]
target = "second"
"""
RAW = {"host": "farm", "port": 4001, "protocol": "raw"}
RFC2217 = {"host": "farm", "port": 4002, "protocol": "rfc2217"}
TARGETS: dict[str, Any] = {
    "first": {"resources": {"NetworkSerialPort": RAW, "NetworkUSBDebugger": {"path": "1-2.3"}}},
    "second": {"resources": {"NetworkSerialPort": RFC2217}},
    "here": {"resources": {"RawSerialPort": {"port": "/dev/ttyACM7"}}},
    "away": {"resources": {"NetworkSerialPort": {**RAW, "avail": False}}},
    "deaf": {"resources": {}},
}
URLS = ["socket://farm:4001", "rfc2217://farm:4002?ign_set_control"]


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A rig file, labgrid's environment beside it, and the fake in place of labgrid."""
    monkeypatch.syspath_prepend(str(FAKE))
    (tmp_path / "lab.yaml").write_text(json.dumps({"targets": TARGETS, "tools": {"openocd": "echo"}}))
    path = tmp_path / "rig.toml"
    path.write_text(RIG)
    yield path
    for name in [name for name in sys.modules if name.split(".")[0] == "labgrid"]:
        monkeypatch.delitem(sys.modules, name)


def ports_of(path: Path) -> list[str]:
    with board_ports(path, read_rig_file(path)) as ports:
        return ports


def test_ports_of_targets(rig: Path) -> None:
    assert ports_of(rig) == URLS


def test_a_board_may_have_a_port_of_its_own(rig: Path) -> None:
    rig.write_text(RIG.replace('target = "first"', 'target = "here"\n\n[[board]]\nport = "/dev/ttyACM0"'))
    assert ports_of(rig) == ["/dev/ttyACM7", "/dev/ttyACM0", URLS[1]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('target = "second"', 'target = "third"'), "has no target 'third' (it has first, second, here, away, deaf)"),
        (
            ('target = "second"', 'target = "deaf"'),
            "target 'deaf' of *lab.yaml has none of NetworkSerialPort, ",
        ),
        (('target = "second"', 'target = "first"'), "has the same target for two boards: first"),
        (('target = "second"', 'target = "away"'), "place is not acquired: is the place acquired (`labgrid-client acq"),
        (("lab.yaml", "no.yaml"), "no.yaml is missing: [labgrid] of the rig file names it"),
        (
            ('[labgrid]\nenvironment = "lab.yaml"', ""),
            "has a target of labgrid: name its file, [labgrid] en",
        ),
        (("environment", "config"), "is not a valid rig file (labgrid.environment is missing)"),
        (
            ('target = "second"', 'target = "second"\nserial_number = "FF"'),
            "a probe of its own or a target of labgrid",
        ),
    ],
)
def test_bad_rigs(rig: Path, change: tuple[str, str], message: str) -> None:
    rig.write_text(RIG.replace(*change))
    with pytest.raises(TinysplitError) as caught:
        ports_of(rig)
    assert message.partition("*")[0] in str(caught.value)
    assert message.rpartition("*")[2] in str(caught.value)
    assert "\n" not in str(caught.value)


def test_without_labgrid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "rig.toml"
    path.write_text(RIG)
    (tmp_path / "lab.yaml").write_text("{}")
    monkeypatch.setitem(sys.modules, "labgrid", None)
    make_project().write(tmp_path)
    line = run("flash", str(tmp_path), "--rig", str(path), "--dry-run")
    assert line.count("labgrid_targets") == 4
    with pytest.raises(TinysplitError, match=r"need the package labgrid: .*-m pip install 'labgrid>=24.0'"):
        ports_of(path)


def test_flashing_is_openocd_on_the_host_of_the_probe(rig: Path, capfd: pytest.CaptureFixture[str]) -> None:
    image = rig.parent / "firmware.elf"
    image.write_bytes(b"image")
    command = ["openocd", "-c", "adapter serial first", "-c", f"flash write_image {image}; verify_image {image}"]
    assert run_on_target(rig.parent / "lab.yaml", "first", str(image), command) == 0
    copy = rig.parent / "cache" / "firmware.elf"
    assert copy.read_bytes() == b"image"
    printed = capfd.readouterr().out
    assert printed == f"-c adapter usb location 1-2.3 -c flash write_image {copy}; verify_image {copy}\n"


def test_registers_are_set_on_the_host_of_the_probe(rig: Path) -> None:
    programmer = programmer_of(rig, read_rig_file(rig), PROGRAMMERS[ProgrammerName.OPENOCD])
    assert programmer.set_register
    command = programmer.set_register(load_debug_port("nucleo_g071rb"), 0x40022000, 0x600, ProbeChoice("first"))
    environment = str(rig.parent / "lab.yaml")
    assert command[1:7] == ("-m", "tinysplit_hil.rig.labgrid_targets", environment, "first", "", "openocd")
    assert command[-1] == "init; mww 0x40022000 0x00000600; reset run; shutdown"


def test_commands_of_a_dry_run(rig: Path) -> None:
    make_project().write(rig.parent)
    lines = run("flash", str(rig.parent), "--rig", str(rig), "--dry-run").splitlines()
    assert [line.partition(" at ")[2] for line in lines if line.startswith("#")] == ["probe first", "probe second"]
    assert all(f"tinysplit_hil.rig.labgrid_targets {rig.parent / 'lab.yaml'} " in line for line in lines[1:3])
    assert "target/stm32g0x.cfg" in lines[2]


def test_other_programmers_do_not_reach_the_probes(rig: Path) -> None:
    make_project().write(rig.parent)
    options = ("--rig", str(rig), "--programmer", "pyocd", "--dry-run")
    line = run("flash", str(rig.parent), *options, expect=USAGE)
    assert line == f"error: {rig} has targets of labgrid, which are flashed with openocd: leave out --programmer"


POWER_RIG = '[labgrid]\nenvironment = "lab.yaml"\n[[board]]\ntarget = "powered"\n'


def write_powered(folder: Path) -> Path:
    """Return the rig file of a board whose power is a file."""
    commands = {"cmd_off": f"rm {folder}/on", "cmd_on": f"touch {folder}/on", "delay": 0.0}
    drivers = {"ExternalPowerDriver": commands}
    powered = {"resources": {"RawSerialPort": {"port": "/dev/ttyACM7"}}, "drivers": drivers}
    (folder / "lab.yaml").write_text(json.dumps({"targets": {"powered": powered}}))
    path = folder / "rig.toml"
    path.write_text(POWER_RIG)
    return path


def check_power(path: Path) -> None:
    assert "reset by the power of target powered" in run("bench", "reset", "--rig", str(path), "--by", "power")
    assert (path.parent / "on").exists()
    (path.parent / "on").unlink()
    line = run("bench", "reset", "--rig", str(path), "--by", "power", expect=TOOL)  # there is nothing to switch off
    assert line.startswith(f"error: labgrid with {path.parent / 'lab.yaml'}: ")


def test_power_is_switched_by_labgrid(rig: Path) -> None:
    (rig.parent / "on").touch()
    check_power(write_powered(rig.parent))


def test_boards_without_a_power_driver(rig: Path) -> None:
    options = ("bench", "reset", "--rig", str(rig), "--by", "power")
    line = run(*options, expect=BAD_INPUT)
    assert line.endswith("has no power driver, such as NetworkPowerDriver: add one")
    rig.write_text('[[board]]\nport = "a"\n')
    line = run(*options, expect=BAD_INPUT)
    assert line == f"error: {rig} has no target of labgrid for board 1, which switches its power"


def test_other_rigs_keep_their_programmer(tmp_path: Path) -> None:
    path = tmp_path / "rig.toml"
    path.write_text('[[board]]\nserial_number = "FF"\n')
    pyocd = PROGRAMMERS[ProgrammerName.PYOCD]
    assert programmer_of(path, read_rig_file(path), pyocd) is pyocd


@pytest.mark.skipif(importlib.util.find_spec("labgrid") is None, reason="needs pip install labgrid")
def test_ports_of_labgrid_itself(tmp_path: Path) -> None:
    targets = {name: TARGETS[name] for name in ("second", "here")}
    first = {"resources": {"NetworkSerialPort": RAW}}
    (tmp_path / "lab.yaml").write_text(json.dumps({"targets": {"first": first, **targets}}))
    path = tmp_path / "rig.toml"
    path.write_text(RIG + '[[board]]\ntarget = "here"\n')
    assert ports_of(path) == [*URLS, "/dev/ttyACM7"]
    (tmp_path / "on").touch()
    check_power(write_powered(tmp_path))
    (tmp_path / "lab.yaml").write_text(json.dumps({"targets": {"first": first, **targets}}))
    path.write_text(RIG.replace("second", "third"))
    with pytest.raises(TinysplitError, match="has no target 'third' \\(it has first, second, here\\)"):
        ports_of(path)
