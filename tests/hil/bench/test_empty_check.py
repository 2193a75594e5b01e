"""Parts that take their flash for empty (PEMPTY of the L4, PROGEMPTY of the G0): virtual boards, the real OpenOCD."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from programs.virtual_firmware import build
from rigs.debugged_boards import COUNTING, LIMIT_S, Debugged, debugged, need_openocd, need_target
from tinysplit.boards.board_files import board_names
from tinysplit.boards.catalog import load_board
from tinysplit.boards.debug_port import EmptyFlag, load_debug_port
from tinysplit.common.choices import ProgrammerName
from tinysplit_hil.bench.empty_check import starts_program
from tinysplit_hil.rig.commands import run_command
from tinysplit_hil.rig.programmers import PROGRAMMERS, ProbeChoice
from virtual_stm32 import ResetCause

L4_SR, G0_ACR = EmptyFlag(0x40022010, 1 << 17, is_toggled=True), EmptyFlag(0x40022000, 1 << 16, is_toggled=False)
WB_ACR = EmptyFlag(0x5800_4000, 1 << 16, is_toggled=False)
FLAGS = {
    "nucleo_g071rb": G0_ACR,
    "nucleo_c031c6": G0_ACR,
    "nucleo_g0b1re": G0_ACR,
    "nucleo_l4r5zi": L4_SR,
    "nucleo_l4r5zi_dbank0": L4_SR,
    "nucleo_l412kb": L4_SR,
    "nucleo_l433rc_p": L4_SR,
    "nucleo_l452re": L4_SR,
    "nucleo_l476rg": L4_SR,  # where it is always 0
    "disco_l496ag": L4_SR,
    "nucleo_wb55rg": WB_ACR,
    "nucleo_wl55jc": WB_ACR,
}
OPENOCD = PROGRAMMERS[ProgrammerName.OPENOCD]
USUAL = ("nucleo_g071rb", "nucleo_l4r5zi")
BOARDS = [pytest.param(name, marks=() if name in USUAL else pytest.mark.nightly) for name in FLAGS]
G0 = "nucleo_g071rb"


def test_the_boards_that_have_the_flag() -> None:
    found = {name: load_debug_port(name).empty_flag for name in board_names()}
    assert {name: flag for name, flag in found.items() if flag} == FLAGS


def test_only_the_flag_is_cleared() -> None:
    assert L4_SR.clearing(0x0003_C3FB) == 0x0002_0000  # the other bits of FLASH_SR are cleared by writing 1
    assert G0_ACR.clearing(0x0005_0602) == 0x0004_0602  # those of FLASH_ACR are written as they are
    assert [flag.is_set(~flag.mask) for flag in (L4_SR, G0_ACR)] == [False, False]


def probe_of(boards: Debugged) -> ProbeChoice:
    return ProbeChoice(None, boards.probes[0].adapter)


def write_only(boards: Debugged, elf: Path) -> None:
    """Flash a board, and leave its flag as it is."""
    (command,) = OPENOCD.flash(load_debug_port(boards.boards[0].name), elf, probe_of(boards))
    assert run_command(command, LIMIT_S).exit_code == 0


def is_empty(boards: Debugged) -> bool:
    return boards.rig.part(0).machine.chip.flash.is_empty


def power_cycle(boards: Debugged) -> None:
    starts = boards.rig.start_count(0)
    boards.rig.reset_board(0, ResetCause.POWER_UP)
    boards.openocd("init; shutdown")  # time goes on while a debugger looks
    assert boards.rig.start_count(0) > starts


def counts_after(name: str, folder: Path, steps: Sequence[str]) -> bool:
    """Return whether a new board runs its program after these steps."""
    need_openocd()
    need_target(name)
    elf, port = build(folder / name, load_board(name), COUNTING), load_debug_port(name)
    erase = "init; reset halt; stm32l4x mass_erase 0; reset run; shutdown"
    with debugged(folder, name) as boards:
        for step in steps:
            match step:
                case "write":
                    write_only(boards, elf)
                case "erase":
                    assert boards.openocd(erase).exit_code == 0
                case "start":
                    assert starts_program(OPENOCD, port, probe_of(boards))
                case "reset":
                    assert boards.openocd("init; reset run; shutdown").exit_code == 0
                case "launch":
                    boards.openocd("init; reset halt; stm32l4x option_load 0; shutdown")
                case _:
                    power_cycle(boards)
    return boards.counts(elf)


@pytest.mark.parametrize("name", BOARDS)
def test_a_new_board_runs_what_was_flashed(name: str, tmp_path: Path) -> None:
    assert counts_after(name, tmp_path, ["write", "start"])


@pytest.mark.parametrize("name", BOARDS)
def test_programming_and_resets_leave_a_part_in_its_boot_loader(name: str, tmp_path: Path) -> None:
    assert not counts_after(name, tmp_path, ["write", "reset"])


@pytest.mark.parametrize(
    ("steps", "runs"),
    [
        ("write power", True),
        ("write launch", True),
        ("write start erase write", True),  # the flash is looked at when power comes
        ("write start erase power write", False),
        ("write start erase power write start", True),
        ("write start start", True),  # what is clear stays clear
    ],
)
@pytest.mark.parametrize("name", [G0, "nucleo_l452re"])
def test_power_and_option_bytes_decide(name: str, steps: str, runs: bool, tmp_path: Path) -> None:
    assert counts_after(name, tmp_path, steps.split()) == runs


def test_a_cut_of_power_behind_the_erased_page_0_is_repaired(tmp_path: Path) -> None:
    need_openocd()
    elf = build(tmp_path / "elf", load_board(G0), COUNTING)
    with debugged(tmp_path, G0) as boards:
        assert boards.flash(elf).exit_code == 0
        assert boards.openocd("init; reset halt; flash erase_sector 0 0 0; shutdown").exit_code == 0
        power_cycle(boards)
        assert is_empty(boards)
        assert boards.flash(elf).exit_code == 0
        assert not is_empty(boards)
    assert boards.counts(elf)


def test_a_board_without_the_check_runs_at_once(tmp_path: Path) -> None:
    assert counts_after("nucleo_f401re", tmp_path, ["write"])


def test_a_programmer_that_cannot_read_the_flag_knows_nothing() -> None:
    st_flash, port = PROGRAMMERS[ProgrammerName.ST_FLASH], load_debug_port(G0)
    assert not starts_program(st_flash, port, ProbeChoice("NO_SUCH_PROBE"))
    assert starts_program(st_flash, load_debug_port("nucleo_f401re"), ProbeChoice("NO_SUCH_PROBE"))


def test_commands_that_set_a_register() -> None:
    port, probe = load_debug_port("nucleo_l452re"), ProbeChoice("066EFF01")
    found = {
        name: " ".join(each.set_register(port, 0x40022010, 0x20000, probe))
        for name, each in PROGRAMMERS.items()
        if each.set_register
    }
    assert found == {
        ProgrammerName.OPENOCD: (
            "openocd -f interface/stlink.cfg -c adapter serial 066EFF01 -c gdb_port disabled; telnet_port disabled; "
            "tcl_port disabled -f target/stm32l4x.cfg -c init; mww 0x40022010 0x00020000; reset run; shutdown"
        ),
        ProgrammerName.PYOCD: (
            "pyocd commander -W -u 066EFF01 -t stm32l452retx -M attach -c write32 0x40022010 0x00020000 -c reset"
        ),
        ProgrammerName.CUBEPROGRAMMER: (
            "STM32_Programmer_CLI -c port=SWD sn=066EFF01 mode=HOTPLUG -w32 0x40022010 0x00020000 -rst"
        ),
    }
