"""The check of weights files on virtual boards with the wait states of their flash: CRC-32 by the chip's unit."""

import zlib
from pathlib import Path

import pytest

from programs.virtual_firmware import build, clock_settings, symbols
from tinysplit.boards.board import Board
from tinysplit.boards.catalog import load_board
from virtual_stm32 import VirtualBoard, VirtualRig

CHECKED_BYTES = 64 << 10  # of flash, its begin; 128 KB take twice as long
TARGET_S = 0.010  # for 128 KB at 64 MHz
TARGET_HZ = 64_000_000
SECOND_PS = 10**12
PROGRAM = """
#include "clock.c"
#include "clock_source.c"
#include "clock_family.c"
#include "crc_unit.c"
const clock_settings_t board_clock = {{{clock}}};
volatile uint32_t found;

__attribute__((noinline)) void mark(void) {{ __asm volatile("" ::: "memory"); }}

void reset(void) {{
  clock_begin();
  mark();
  crc_unit_begin();
  found = crc_unit_add((const uint32_t *){start}u, {words}u);
  mark();
  for (;;) __asm volatile("wfi");
}}
"""


@pytest.mark.parametrize(
    "name",
    [
        "nucleo_g071rb",
        "nucleo_l073rz",
        "nucleo_f072rb",
        "nucleo_f103rb",
        "nucleo_f303re",
        "nucleo_wb55rg",
        "nucleo_wl55jc",
        "nucleo_u575zi_q",
        "nucleo_h563zi",
        "nucleo_l552ze_q",
        "nucleo_f401re",
        "nucleo_f746zg",
        "nucleo_l452re",
        "nucleo_g474re",
        "nucleo_h743zi",
    ],
)
def test_a_large_file_is_checked_in_time(name: str, tmp_path: Path) -> None:
    board = load_board(name)
    start = board.device.flash.start
    source = PROGRAM.format(clock=clock_settings(board), start=start, words=CHECKED_BYTES // 4)
    elf = build(tmp_path, board, source)
    rig = VirtualRig([VirtualBoard(board, elf)], is_debuggable=False)
    rig.mark(0, [symbols(elf)["mark"]])
    rig.run_until(SECOND_PS)
    (_, first, _), (_, last, _) = rig.marks(0)
    assert rig.read_word(0, symbols(elf)["found"]) == zlib.crc32(flash_of(board, elf))
    of_128_kb = 2 * (last - first)
    assert of_128_kb <= TARGET_S * TARGET_HZ


def flash_of(board: Board, elf: Path) -> bytes:
    """Return the first bytes of the flash."""
    rig = VirtualRig([VirtualBoard(board, elf)], is_debuggable=True)
    return bytes(rig.part(0).machine.emulator.flash[:CHECKED_BYTES])
