"""Code that a program copies into RAM: without stalls on the code buses, at two cycles a word on the system bus."""

from pathlib import Path

import pytest

from programs.virtual_firmware import address_of, build
from tinysplit.boards.catalog import load_board
from virtual_stm32 import BoardStoppedError, Stalls, VirtualBoard, VirtualRig
from virtual_stm32.peripherals.reset import ResetCause

L4PLUS, L4, F4, H7 = "nucleo_l4r5zi", "nucleo_l412kb", "nucleo_f401re", "nucleo_h743zi"
RUN_PS = 20 * 10**9
LOOP_HALFWORDS, PASSES = 1024, 5  # twice the instruction cache of an L4

PROGRAM = """#include "device.h"
extern uint32_t ram_code_load[], ram_code_start[], ram_code_end[];
static volatile uint32_t done;
__attribute__((section(".ram_code"), naked)) void in_ram(void) {{
  __asm volatile(".balign 4; ldr r0, ={passes}; .global first; first: 1: subs r0, #1; .rept {nops}; nop; .endr;"
                 "bne.w 1b; .global last; last: bx lr; .ltorg");
}}
void reset(void) {{
  FLASH->ACR = 5;
  uint32_t *to = (uint32_t *){to};
  for (uint32_t i = 0; &ram_code_start[i] < ram_code_end; i++) to[i] = ram_code_load[i];
  {change}
  void (*volatile call)(void) = in_ram;
  call();
  done = 1;
  for (;;) __asm volatile("wfi");
}}
"""


def rig_of(folder: Path, board_name: str, to: str = "ram_code_start", change: str = "") -> tuple[VirtualRig, Path]:
    board = load_board(board_name)
    source = PROGRAM.format(passes=PASSES, nops=LOOP_HALFWORDS - 3, to=to, change=change)
    elf = build(folder, board, source.replace("ACR = 5", "ACR = 2") if board_name == F4 else source)
    return VirtualRig([VirtualBoard(board, elf)], has_ideal_memory=False), elf


def loop_cycles(rig: VirtualRig, elf: Path) -> tuple[int, Stalls]:
    """Return the cycles from the second pass of the loop to its end, and the stalls among them."""
    rig.mark(0, [address_of("first", elf), address_of("last", elf)])
    rig.run_until(RUN_PS)
    marks = rig.marks(0)
    assert len(marks) == PASSES  # the first pass begins in another block
    assert rig.read_word(0, address_of("done", elf)) == 1
    return marks[-1][1] - marks[0][1], marks[-1][2] - marks[0][2]


# An instruction a cycle; the branch has two halfwords, and takes two cycles where it is taken: not at the end.
LOOP_CYCLES = (PASSES - 1) * LOOP_HALFWORDS - 1


@pytest.mark.parametrize("to", ["ram_code_start", "0x20030000"])  # both are SRAM2
def test_code_on_the_code_buses_has_no_stalls(tmp_path: Path, to: str) -> None:
    rig, elf = rig_of(tmp_path, L4PLUS, to)
    assert address_of("in_ram", elf) >> 16 == 0x1000
    assert loop_cycles(rig, elf) == (LOOP_CYCLES, Stalls(0, 0, 0))


def test_code_on_the_system_bus_takes_two_cycles_a_word(tmp_path: Path) -> None:
    cycles, stalls = loop_cycles(*rig_of(tmp_path, F4))
    assert cycles == LOOP_CYCLES + stalls.code
    assert stalls.code > 0
    assert stalls.constants == stalls.values == 0


def test_the_memory_of_an_l4_has_8_kb_of_code(tmp_path: Path) -> None:
    rig, elf = rig_of(tmp_path, L4)
    assert loop_cycles(rig, elf) == (LOOP_CYCLES, Stalls(0, 0, 0))


@pytest.mark.parametrize("change", ["to[4] ^= 0x100;", "to[0] = 0;"])
def test_other_code_than_that_of_the_elf_file_is_refused(tmp_path: Path, change: str) -> None:
    rig, _ = rig_of(tmp_path, L4PLUS, change=change)
    with pytest.raises(BoardStoppedError, match=r"the code at 0x100000.. is not that of the ELF file, pc 0x1000"):
        rig.run_until(RUN_PS)


def test_code_that_was_not_copied_is_refused(tmp_path: Path) -> None:
    rig, _ = rig_of(tmp_path, L4PLUS, to="0x20000100")
    with pytest.raises(BoardStoppedError, match="the code at 0x10000000 is not that of the ELF file"):
        rig.run_until(RUN_PS)


def test_a_reset_copies_the_code_again(tmp_path: Path) -> None:
    rig, elf = rig_of(tmp_path, L4PLUS)
    rig.run_until(RUN_PS)
    rig.reset_board(0, ResetCause.BROWN_OUT)  # with other contents of RAM
    rig.run_until(2 * RUN_PS)
    assert rig.start_count(0) == 2
    assert rig.read_word(0, address_of("done", elf)) == 1


DIVIDING = """#include "device.h"
extern uint32_t ram_code_load[], ram_code_start[], ram_code_end[];
volatile uint32_t done;
__attribute__((section(".ram_code"), naked)) uint32_t divide(uint32_t dividend, uint32_t divisor);
uint32_t divide(uint32_t dividend, uint32_t divisor) {
  __asm volatile("udiv r0, r0, r1; mvn r0, #0; udiv r0, r0, r1; sdiv r0, r0, r1; bx lr");
}
void reset(void) {
  for (uint32_t i = 0; &ram_code_start[i] < ram_code_end; i++) ram_code_start[i] = ram_code_load[i];
  *(volatile uint32_t *)0xE000EDFCu |= 1u << 24; /* TRCENA */
  *(volatile uint32_t *)0xE0001FB0u = 0xC5ACCE55u;
  *(volatile uint32_t *)0xE0001000u |= 1u;
  uint32_t (*volatile call)(uint32_t, uint32_t) = divide;
  uint32_t start = *(volatile uint32_t *)0xE0001004u;
  call(0, 1);
  done = *(volatile uint32_t *)0xE0001004u - start;
  for (;;) __asm volatile("wfi");
}
"""


@pytest.mark.parametrize("name", [F4, L4PLUS])
def test_divisions_in_ram_take_the_time_of_their_operands_with_a_debug_port(name: str, tmp_path: Path) -> None:
    elf = build(tmp_path, load_board(name), DIVIDING)
    cycles = []
    for is_debuggable in (False, True):
        rig = VirtualRig([VirtualBoard(load_board(name), elf)], has_ideal_memory=True, is_debuggable=is_debuggable)
        rig.run_until(RUN_PS)
        cycles.append(rig.read_word(0, address_of("done", elf)))
    assert cycles[0] == cycles[1]
    assert cycles[0] > 5 + 31 // 4  # of the long division
