"""The real OpenOCD flashes virtual boards through their debug ports, with its own flash drivers and loaders."""

import shutil
import subprocess
from pathlib import Path

import pytest

from programs.virtual_firmware import build
from rigs.debugged_boards import COUNTING, debugged, need_openocd, need_target
from tinysplit.boards.board_files import board_names
from tinysplit.boards.catalog import load_board
from tinysplit_hil.rig.programmers import OBJCOPY, failure
from virtual_stm32 import ResetCause, VirtualRig

# One board for each flash controller: double words, words, half-words, double words in two banks, flash words of 256
# bits.
CONTROLLERS = (
    "nucleo_g071rb",
    "nucleo_l073rz",
    "nucleo_f746zg",
    "nucleo_f072rb",
    "nucleo_f103rb",
    "nucleo_f303re",
    "nucleo_wb55rg",
    "nucleo_wl55jc",
    "nucleo_u575zi_q",
    "nucleo_h563zi",
    "nucleo_l552ze_q",
    "nucleo_f401re",
    "nucleo_l4r5zi",
    "nucleo_g431rb",
    "nucleo_g474re",
    "nucleo_h743zi",
)


@pytest.fixture(autouse=True)
def _openocd() -> None:
    need_openocd()


def counting(folder: Path, name: str) -> Path:
    return build(folder / name, load_board(name), COUNTING)


def check_flashing(name: str, folder: Path) -> None:
    need_target(name)
    elf = counting(folder, name)
    with debugged(folder, name) as boards:
        done = boards.flash(elf)
        assert "verified " in done.output
        assert done.exit_code == 0
        assert boards.has(elf)
    assert boards.counts(elf)


@pytest.mark.parametrize("name", CONTROLLERS)
def test_erases_programs_verifies_and_resets(name: str, tmp_path: Path) -> None:
    check_flashing(name, tmp_path)


def test_the_path_of_an_image_runs_no_commands(tmp_path: Path) -> None:
    """OpenOCD's own `program` evaluates the name of its file once more."""
    marker = tmp_path / "marker"
    names = (f"[exec touch {marker}]", "a} ; shutdown; {", "$HOME \"x\" 'y' #", "back\\slash;\nline", "grün")
    with debugged(tmp_path, CONTROLLERS[0]) as boards:
        elf = counting(tmp_path, CONTROLLERS[0])
        for name in names:
            path = tmp_path / "paths" / name / elf.name
            path.parent.mkdir(parents=True)
            shutil.copy(elf, path)
            done = boards.flash(path)
            assert done.exit_code == 0, done.output
            assert "verified " in done.output
            assert not marker.exists()


@pytest.mark.nightly
@pytest.mark.parametrize("name", sorted(set(board_names()) - set(CONTROLLERS)))
def test_every_other_board_is_flashed(name: str, tmp_path: Path) -> None:
    check_flashing(name, tmp_path)


LOCKS = {"nucleo_g071rb": "stm32l4x", "nucleo_f401re": "stm32f2x", "nucleo_h743zi": "stm32h7x"}  # drivers


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name == CONTROLLERS[0] else pytest.mark.slow) for name in LOCKS]
)
def test_read_out_protection_hides_the_flash_and_its_end_erases_it(name: str, tmp_path: Path) -> None:
    elf, driver = counting(tmp_path, name), LOCKS[name]
    with debugged(tmp_path, name) as boards:
        assert boards.flash(elf).exit_code == 0
        read = "catch {echo [mdw 0x08000000]}; shutdown"
        assert "0x08000000: " in boards.openocd(f"init; {read}").output
        done = boards.openocd(f"init; reset halt; {driver} lock 0; {read}")
        assert "0x08000000: " not in done.output
        assert boards.has(elf)
        done = boards.openocd(f"init; reset halt; {driver} unlock 0; reset halt; {read}")
        assert "0x08000000: ffffffff" in done.output


def test_read_out_protection_level_2_closes_the_debug_port(tmp_path: Path) -> None:
    options = "init; reset halt; stm32l4x option_write 0 0x20 0xcc 0xff; shutdown"
    with debugged(tmp_path, CONTROLLERS[0]) as boards:
        boards.openocd(options)
        done = boards.openocd("init; shutdown")
        assert done.exit_code == 1
        assert (
            failure(done.output)
            == "the probe does not reach the part: check the board's supply and the jumpers of its ST-LINK"
        )


# What goes wrong


NAME = CONTROLLERS[0]
LONGER = "const char more[4000] = {1};" + COUNTING.replace("2 *", "more[value % 9] + 1 +")


def test_an_image_that_is_too_large_is_named(tmp_path: Path) -> None:
    elf, moved = build(tmp_path / "large", load_board(NAME), LONGER), tmp_path / "moved.elf"
    subprocess.run(
        [OBJCOPY, "--change-addresses", f"{load_board(NAME).device.flash.size_bytes - 512}", elf, moved], check=True
    )
    with debugged(tmp_path, NAME) as boards:
        done = boards.flash(moved)
        assert done.exit_code == 1
        assert failure(done.output) == "the image does not fit into the flash"


CUT_PS = 10**10  # without supply


def cut_after(rig: VirtualRig, words: int) -> None:
    """Cut the supply once, after this number of words has been programmed."""
    part, left = rig.part(0), [words]

    def programmed() -> None:
        left[0] -= 1
        if left[0] == 0:
            rig.reset_board(0, ResetCause.BROWN_OUT, held_ps=CUT_PS)

    part.programmed = programmed


@pytest.mark.parametrize("words", [1, pytest.param(100, marks=pytest.mark.nightly)])
def test_after_a_cut_of_power_the_same_command_repairs(words: int, tmp_path: Path) -> None:
    elf = build(tmp_path / "longer", load_board(NAME), LONGER)
    with debugged(tmp_path, NAME) as boards:
        cut_after(boards.rig, words)
        done = boards.flash(elf)
        assert done.exit_code == 1
        assert not boards.has(elf)
        done = boards.flash(elf)
        assert done.exit_code == 0
        assert boards.has(elf)
    assert boards.counts(elf)


@pytest.mark.nightly
@pytest.mark.parametrize("after_ms", range(0, 400, 20))
def test_power_is_cut_at_any_moment(after_ms: int, tmp_path: Path) -> None:
    elf = build(tmp_path / "longer", load_board(NAME), LONGER)
    with debugged(tmp_path, NAME) as boards:
        boards.rig.reset_board(0, ResetCause.BROWN_OUT, boards.rig.time_ps + after_ms * 10**9, CUT_PS)
        if boards.flash(elf).exit_code:
            assert boards.flash(elf).exit_code == 0
        assert boards.has(elf)
    assert boards.counts(elf)
