"""A serial flash behind the QUADSPI of a virtual board: its time, by hand counts, and what stops the board.

80 MHz / 2: a command has 21 clocks before its first byte, a byte two, so 42 and 4 cycles of the core.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from programs.virtual_firmware import address_of, build
from tinysplit.boards.board import Board
from tinysplit.boards.catalog import load_board
from virtual_stm32 import VirtualBoard, VirtualRig
from virtual_stm32.errors import BoardStoppedError

MS_PS = 10**9
BURST, WORD, BYTE = 42, 16, 4
PROGRAM = """
#include "external_memory.c"

const external_memory_t board_external_memory = {{
  .jedec_id = 0xC22817, .size_bits = 23, .prescaler = 2, .select_high_cycles = 1, .status_bytes = 3,
  .status = {{0x40, 0, 2}}, .read_command = 0xEB, .command_lines = 1, .address_lines = 4, .data_lines = 4,
  .mode_byte = 0xAA, .dummy_cycles = 4,
}};

static void connect(GPIO_TypeDef *port, uint32_t pin) {{
  port->AFR[pin / 8] |= 10u << 4 * (pin % 8);
  port->MODER |= 2u << 2 * pin;
}}

void reset(void) {{
  uint32_t found;
  RCC->AHB2ENR |= 3;
  RCC->AHB3ENR |= RCC_AHB3ENR_QSPIEN;
  connect(GPIOA, 3);
  connect(GPIOA, 6);
  connect(GPIOA, 7);
  connect(GPIOB, 0);
  connect(GPIOB, 1);
  connect(GPIOB, 11);
  {begin};
  external_memory_check(&found);
  register uint32_t flash __asm("r2") = 0x90000000;
  __asm volatile("{lines}" : : "r"(flash) : "r0", "r1", "r3", "memory");
  for (;;) __asm volatile("wfi");
}}
"""


def rig_of(folder: Path, board: Board, *lines: str, begin: str = "external_memory_begin()") -> tuple[VirtualRig, Path]:
    elf = build(folder, load_board("disco_l496ag"), PROGRAM.format(lines="\\n".join(lines), begin=begin))
    return VirtualRig([VirtualBoard(board, elf)], has_ideal_memory=False), elf


PIECES = (
    (("ldr r0, [r2]",), BURST + WORD),
    (("ldrb r0, [r2]",), BURST + BYTE),
    (("ldr r0, [r2]", "ldr r1, [r2, #4]"), BURST + 2 * WORD - 2),  # the first load takes two cycles
    (("ldr r0, [r2]", "ldr r1, [r2]"), 2 * (BURST + WORD)),  # the word was taken from the FIFO
    (("ldr r0, [r2]", "ldr r1, [r2, #8]"), 2 * (BURST + WORD)),  # not the next one
    (("ldr r0, [r2]", ".rept 70", "nop", ".endr", "ldr r0, [r2, #4]", "ldr r1, [r2, #8]"), BURST + WORD),
)


def test_reads_wait_for_the_flash(tmp_path: Path) -> None:
    lines = []
    for number, (piece, _) in enumerate(PIECES):
        begin, end = f"begin_{number}", f"end_{number}"
        lines += [f"b {begin}", ".balign 64", f".global {begin}", f"{begin}:", *piece]
        lines += [f"b {end}", ".balign 64", f".global {end}", f"{end}: nop"]
    rig, elf = rig_of(tmp_path, load_board("disco_l496ag"), *lines)
    rig.mark(0, [address_of(f"{end}_{number}", elf) for number in range(len(PIECES)) for end in ("begin", "end")])
    rig.run_until(100 * MS_PS)
    marks = [stalls for _, _, stalls in rig.marks(0)]
    found = [(after - before).constants for before, after in zip(marks[::2], marks[1::2], strict=True)]
    assert found == [expected for _, expected in PIECES]


def test_another_flash_is_not_mapped(tmp_path: Path) -> None:
    board = load_board("disco_l496ag")
    assert board.external
    other = replace(board, external=replace(board.external, jedec_id=0xEF4017))
    rig, elf = rig_of(tmp_path, other, "nop")
    rig.run_until(2000 * MS_PS)
    assert rig.read_word(0, address_of("id_found", elf)) == 0xEF4017
    assert not rig.read_word(0, address_of("is_mapped", elf)) & 0xFF


def test_an_access_before_the_flash_is_mapped_stops_the_board(tmp_path: Path) -> None:
    rig, _ = rig_of(tmp_path, load_board("disco_l496ag"), "ldr r0, [r2]", begin="")
    with pytest.raises(BoardStoppedError, match="read of 4 bytes at 0x90000000, which is not mapped"):
        rig.run_until(MS_PS)
