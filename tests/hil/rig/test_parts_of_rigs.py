"""Device id, revision and option bytes of the boards of a rig: of virtual ones, and through probes."""

from pathlib import Path

import pytest

from rigs.debugged_boards import debugged, need_openocd
from tinysplit.boards.board_files import board_names
from tinysplit.boards.debug_port import load_debug_port
from tinysplit.boards.device_identity import IDCODE
from tinysplit.common.choices import VIRTUAL
from tinysplit_hil.rig.devices import read_devices

BOARDS = {1: "nucleo_g071rb", 3: "nucleo_h743zi"}


def test_virtual_boards_are_as_their_files_say() -> None:
    names = dict(enumerate(board_names(), 1))
    for number, device in read_devices(VIRTUAL, names).items():
        port = load_debug_port(names[number])
        assert (device.device_id, device.revision) == (port.device_id, port.words.revision)
        options = device.registers[next(iter(port.option_registers))]
        assert port.protection(options) == port.unprotected
        assert port.bank_flag is None or port.bank_flag.is_right(options)


def test_the_option_bit_of_the_boost_is_read() -> None:
    device = read_devices(VIRTUAL, {1: "nucleo_h723zg"})[1]
    assert list(device.registers) == [IDCODE, "FLASH_OPTSR_CUR", "FLASH_OPTSR2_CUR"]
    assert device.registers["FLASH_OPTSR2_CUR"] == 1 << 2  # CPUFREQ_BOOST (RM0468)


def test_boards_are_read_through_their_probes(tmp_path: Path) -> None:
    need_openocd()
    with debugged(tmp_path, *BOARDS.values()) as boards:
        rig = boards.write_rig(tmp_path / "rig.toml")
        assert read_devices(str(rig), BOARDS) == read_devices(VIRTUAL, BOARDS)


def test_boards_that_nobody_can_ask_are_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rig = tmp_path / "rig.toml"
    rig.write_text('[[board]]\nport = "/dev/ttyACM0"\n\n[[board]]\nserial_number = "0001"\n')
    assert read_devices(str(rig), BOARDS) == {}
    monkeypatch.setenv("PATH", str(tmp_path))
    assert read_devices(str(rig), BOARDS) == {}
