"""Programmers: their commands, what their output means, and the real ones as far as they go without a probe."""

import shutil
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from rigs.debugged_boards import need_target
from tinysplit.boards.board_files import board_names
from tinysplit.boards.debug_port import load_debug_port
from tinysplit.common.choices import ProgrammerName
from tinysplit.common.errors import ToolError
from tinysplit_hil.rig import mass_storage
from tinysplit_hil.rig.commands import run_command
from tinysplit_hil.rig.programmers import PROGRAMMERS, ProbeChoice, bank_command, failure, pyocd_target

SERIAL = "066EFF01"
PROBE, NO_SUCH_PROBE = ProbeChoice(SERIAL), ProbeChoice("NO_SUCH_PROBE")
G0 = load_debug_port("nucleo_g071rb")
ADDRESSES = (G0.idcode_address, G0.protection_address)
BOTH = (0x2000_6460, 0xFFFF_FEAA)
LIMIT_S = 120.0
NOT_CONNECTED = "the probe is not connected, or in use: check its cable and serial number (`tinysplit bench discover`)"
ST_INFO = """Found 2 stlink programmers
  version:    V2J40S27
  serial:     066EFF02
  flash:      131072 (pagesize: 2048)
  sram:       36864
  chipid:     0x0433
  descr:      F401xD/E
  version:    V2J40S27
  serial:     066EFF01
  flash:      131072 (pagesize: 2048)
  sram:       36864
  chipid:     0x0460
"""


def test_every_programmer_is_chosen_by_its_name() -> None:
    assert list(PROGRAMMERS) == list(ProgrammerName)


def test_device_ids_tell_the_known_boards_apart() -> None:
    names: dict[object, list[str]] = defaultdict(list)
    for name in board_names():
        port = load_debug_port(name)
        names[port.device_id, port.bank_flag].append(name)
    assert [own for own in names.values() if len(own) > 1] == [["bluepill_f103c8", "nucleo_f103rb"]]  # one die
    assert G0.is_part(0x2000_6460)
    assert not G0.is_part(0x2000_6466)


@pytest.mark.parametrize(("board", "value"), [("nucleo_l4r5zi", 1), ("nucleo_l4r5zi_dbank0", 0)])
def test_the_banks_of_a_flash_are_an_option_bit(board: str, value: int) -> None:
    port = load_debug_port(board)
    flag = port.bank_flag
    assert flag
    assert [flag.is_right(options) for options in (0xFFBFF8AA, 0xFFFFF8AA)] == [not value, bool(value)]
    assert bank_command(port, flag, PROBE).endswith(f"-ob DBANK={value}")
    other = bank_command(port, flag, ProbeChoice(None, "adapter driver dummy"))
    assert f"stm32l4x option_write 0 0x20 {value << 22:#x} 0x400000; stm32l4x option_load 0; shutdown" in other
    assert G0.bank_flag is None


@pytest.mark.parametrize("name", [ProgrammerName.PYOCD, ProgrammerName.CUBEPROGRAMMER, ProgrammerName.OPENOCD])
def test_commands_name_probe_and_image(name: ProgrammerName) -> None:
    (command,) = PROGRAMMERS[name].flash(G0, Path("a b/firmware.elf"), PROBE)
    expected = {
        ProgrammerName.PYOCD: f"pyocd flash -W -u {SERIAL} -t stm32g071rbtx a b/firmware.elf",
        ProgrammerName.CUBEPROGRAMMER: f"STM32_Programmer_CLI -c port=SWD sn={SERIAL} -d a b/firmware.elf -v -rst",
        ProgrammerName.OPENOCD: (
            f"openocd -f interface/stlink.cfg -c adapter serial {SERIAL} -c gdb_port disabled; telnet_port disabled; "
            "tcl_port disabled -f target/stm32g0x.cfg -c init; reset init; echo [flash write_image erase "
            "a\\ b/firmware.elf]; echo [verify_image a\\ b/firmware.elf]; reset run; shutdown"
        ),
    }
    assert " ".join(command) == expected[name]


def test_names_of_parts_in_pyocd() -> None:
    names = [pyocd_target(load_debug_port(name).part) for name in ("nucleo_h743zi", "nucleo_l433rc_p", "nucleo_l412kb")]
    assert names == ["stm32h743xx", "stm32l433rctxp", "stm32l412kbux"]


@pytest.mark.parametrize(
    ("name", "output", "words"),
    [
        (
            ProgrammerName.OPENOCD,
            "Info : x\n0x40015800: 20006460 \n\n0x40022020: fffffeaa \n",
            (0x2000_6460, 0xFFFFFEAA),
        ),
        (
            ProgrammerName.PYOCD,
            "40015800:  20006460    | .d`|\n40022020:  fffffeaa    |....|",
            (0x2000_6460, 0xFFFFFEAA),
        ),
        (ProgrammerName.CUBEPROGRAMMER, "Reading 32-bit memory\n0x40015800 : 20006460\n", (0x2000_6460, None)),
        (ProgrammerName.ST_FLASH, ST_INFO, (0x460, None)),
        (ProgrammerName.ST_FLASH, "Found 0 stlink programmers", (None, None)),
    ],
)
def test_words_are_found_in_the_output(name: ProgrammerName, output: str, words: tuple[int | None, ...]) -> None:
    find = PROGRAMMERS[name].words
    assert find
    found = find(output, SERIAL, ADDRESSES)
    assert tuple(found.get(address) for address in ADDRESSES) == words


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ("Error: libusb_open() failed with LIBUSB_ERROR_ACCESS\nError: open failed", "no permission to open the probe"),
        ("Error: libusb_claim_interface() failed with LIBUSB_ERROR_BUSY\nError: open failed", "the probe is in use"),
        ("Error: Error on socket 'remote_bitbang_fill_buf': errno==104, message: Connection", "the probe is in use"),
        ("embedded:startup.tcl:28: Error: Can't find target/stm32h5x.cfg", "OpenOCD does not know the part: use ST's"),
        ("Error: Error on socket 'Failed to connect': errno==9, message: Bad file", "the probe is not connected"),
        ("Error: init mode failed (unable to connect to the target)", "the probe does not reach the part"),
        ("Error: stm32x device protected", "the flash is protected"),
        ("Error: No debug probe detected.", "the probe is not connected"),
        ("Info : a\nError: something new\n** Programming Failed **", "Error: something new"),
        ("checksum mismatch - attempting binary compare\ndiff 0", "the flash does not have what was written to it"),
        ("", "it ended without a message"),
    ],
)
def test_what_an_output_means(output: str, reason: str) -> None:
    assert failure(output).startswith(reason)


def installed(program: str) -> str:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    return program


@pytest.mark.parametrize("board", board_names())
def test_openocd_takes_the_commands_up_to_the_missing_probe(board: str, tmp_path: Path) -> None:
    """Its own error for options or scripts that it does not know comes before the one that no probe is there."""
    installed("openocd")
    need_target(board)
    programmer, port = PROGRAMMERS[ProgrammerName.OPENOCD], load_debug_port(board)
    (command,) = programmer.flash(port, tmp_path / "a b.elf", NO_SUCH_PROBE)
    done = run_command(command, LIMIT_S)
    assert done.exit_code == 1
    assert "Error: open failed" in done.output
    assert "clock speed" in done.output  # the target's file was read to its end
    assert failure(done.output) == NOT_CONNECTED


@pytest.mark.parametrize(("name", "program"), [(ProgrammerName.OPENOCD, "openocd"), (ProgrammerName.PYOCD, "pyocd")])
def test_reading_a_part_says_that_the_probe_is_missing(name: ProgrammerName, program: str) -> None:
    installed(program)
    with pytest.raises(ToolError, match="the probe is not connected, or in use"):
        PROGRAMMERS[name].read_words(NO_SUCH_PROBE, ADDRESSES)


def test_openocd_prints_each_word_and_goes_on_after_one_that_cannot_be_read() -> None:
    """The end of the script runs in the real OpenOCD, whose `mdw` is one that needs no probe."""
    installed("openocd")
    read, words = PROGRAMMERS[ProgrammerName.OPENOCD].read, PROGRAMMERS[ProgrammerName.OPENOCD].words
    assert read
    assert words
    script = read(PROBE, (0x1000_0000, *ADDRESSES))[-1].partition(" init;")[2]
    mdw = 'proc mdw {address} {if {$address == 0x10000000} {error fault}; return "$address: 20006460 \\n"}'
    done = run_command(("openocd", "-c", mdw, "-c", script), LIMIT_S)
    assert words(done.output, SERIAL, ADDRESSES) == dict.fromkeys(ADDRESSES, 0x2000_6460)


def test_st_flash_takes_its_command_up_to_the_missing_probe(tmp_path: Path) -> None:
    installed("st-flash")
    (tmp_path / "firmware.bin").write_bytes(bytes(64))
    _, command = PROGRAMMERS[ProgrammerName.ST_FLASH].flash(G0, tmp_path / "firmware.elf", PROBE)
    done = run_command(command, LIMIT_S)
    assert done.exit_code
    assert failure(done.output) == NOT_CONNECTED
    assert PROGRAMMERS[ProgrammerName.ST_FLASH].read_words(PROBE, ADDRESSES) == {}


def test_pyocd_takes_its_command_up_to_the_missing_probe_and_names_missing_packs(tmp_path: Path) -> None:
    installed("pyocd")
    programmer, h7 = PROGRAMMERS[ProgrammerName.PYOCD], load_debug_port("nucleo_h743zi")
    programmer.require([h7])
    (tmp_path / "firmware.elf").write_bytes(b"")
    (command,) = programmer.flash(h7, tmp_path / "firmware.elf", NO_SUCH_PROBE)
    assert failure(run_command(command, LIMIT_S).output) == NOT_CONNECTED
    no_part = load_debug_port("nucleo_g071rb")
    if "stm32g071rbtx" not in run_command(("pyocd", "json", "--targets"), LIMIT_S).output:
        with pytest.raises(ToolError, match=r"pyocd has no pack for stm32g071rbtx: `pyocd pack install stm32g071rbtx`"):
            programmer.require([no_part, h7])


def test_a_program_that_cannot_be_started_or_does_not_end(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match=r"cannot be started \(No such file or directory\)"):
        run_command((str(tmp_path / "nothing"),), LIMIT_S)
    with pytest.raises(ToolError, match=r"took more than 0.1 s and was stopped"):
        run_command((sys.executable, "-c", "import time; time.sleep(60)"), 0.1)


def test_an_image_is_copied_to_the_drive_of_its_probe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disks, drive = tmp_path / "by-id", tmp_path / "NODE_G071RB"
    disks.mkdir()
    drive.mkdir()
    (tmp_path / "sdb").touch()
    (disks / f"usb-MBED_microcontroller_{SERIAL}-0:0").symlink_to(tmp_path / "sdb")
    (tmp_path / "mounts").write_text(f"/dev/sda1 / ext4 rw 0 0\n{tmp_path / 'sdb'} {drive} vfat rw 0 0\n")
    monkeypatch.setattr(mass_storage, "DISKS", disks)
    monkeypatch.setattr(mass_storage, "MOUNTS", tmp_path / "mounts")
    (tmp_path / "firmware.bin").write_bytes(b"image")
    assert run_command(mass_storage.copy_to_drive(tmp_path / "firmware.bin", SERIAL), LIMIT_S).exit_code == 0
    assert (drive / "firmware.bin").read_bytes() == b"image"
    done = run_command(mass_storage.copy_to_drive(tmp_path / "firmware.bin", "066EFF02"), LIMIT_S)
    assert failure(done.output) == "the drive of its probe is not mounted: open it in the file manager"
