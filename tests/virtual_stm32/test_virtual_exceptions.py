"""Exceptions of virtual boards: cost, priorities, pre-emption, masking, sleeping."""

from itertools import pairwise
from pathlib import Path

import pytest

from programs.virtual_firmware import assembler, build
from tinysplit.boards.catalog import load_board
from virtual_stm32 import VirtualBoard, VirtualRig
from virtual_stm32.peripherals.reset import ResetCause

M0, M0PLUS, M4, M7 = "nucleo_f072rb", "nucleo_g071rb", "nucleo_f401re", "nucleo_h743zi"
MS_PS = 10**9
LOG = 0x20000000
PROGRAM = """
#include <stdint.h>
#define NVIC_ISER (*(volatile uint32_t *)0xE000E100)
#define NVIC_ISPR (*(volatile uint32_t *)0xE000E200)
#define NVIC_IPR0 (*(volatile uint32_t *)0xE000E400)
#define LOG ((volatile uint32_t *)0x20000000)
static inline void note(uint32_t value) { LOG[++LOG[0]] = value; }
%s
"""


def start(folder: Path, board_name: str, source: str, handlers: dict[int, str]) -> VirtualRig:
    board = load_board(board_name)
    rig = VirtualRig([VirtualBoard(board, build(folder, board, source, handlers))], has_ideal_memory=True)
    rig.run_until(MS_PS)
    return rig


def log(rig: VirtualRig) -> list[int]:
    count = rig.read_word(0, LOG)
    return [rig.read_word(0, LOG + 4 * index) for index in range(1, count + 1)]


RETURN = '\n__attribute__((naked)) void handler(void) { __asm volatile("bx lr"); }'


def spent(folder: Path, board_name: str, enabled: int, pending: int) -> int:
    """Return the cycles of a program with interrupts 0 and 1, whose handlers only return."""
    lines = (
        *("ldr r0, =0xE000E100", f"movs r1, #{enabled}", f"movs r3, #{pending}", "movs r2, #1", "lsls r2, #8"),
        *("str r1, [r0]", "adds r0, r0, r2", "nop", "str r3, [r0]", "b 1f", "nop", "1: nop"),
    )
    handlers = {16: "handler", 17: "handler"}
    return start(folder, board_name, assembler(*lines) + RETURN, handlers).cycles(0)


# Entry: Arm DDI 0432C, DDI 0484C, DDI 0439, DDI 0489 (12 with zero wait states). Exit: 10 by Arm DDI 0337 on ARMv7-M;
# no manual gives it for Cortex-M0 and M0+, nor their tail-chaining: assumed. BX takes 3, 2, 2 and 1 cycles.
@pytest.mark.parametrize(
    ("board_name", "entry", "bx", "leave", "tail_chain"),
    [(M0, 16, 3, 13, 11), (M0PLUS, 15, 2, 12, 10), (M4, 12, 2, 10, 6), (M7, 12, 1, 10, 6)],
)
def test_entry_exit_and_tail_chaining_cost_what_the_core_says(
    tmp_path: Path, board_name: str, entry: int, bx: int, leave: int, tail_chain: int
) -> None:
    without = spent(tmp_path / "none", board_name, enabled=0, pending=1)
    assert spent(tmp_path / "one", board_name, enabled=1, pending=1) - without == entry + bx + leave
    both = spent(tmp_path / "both", board_name, enabled=3, pending=3) - without
    assert both == entry + bx + tail_chain + bx + leave


TWO_HANDLERS = (
    PROGRAM
    % """
void low(void) { note(1); NVIC_ISPR = 2; __asm volatile("isb"); note(2); }
void high(void) { note(3); }
void reset(void) {
  LOG[0] = 0;
  NVIC_IPR0 = %s;
  NVIC_ISER = 3;
  NVIC_ISPR = 1;
  __asm volatile("isb");
  note(4);
  for (;;) __asm volatile("wfi");
}
"""
)


@pytest.mark.parametrize("board_name", [M0PLUS, M4])
def test_a_higher_priority_preempts_and_an_equal_one_waits(tmp_path: Path, board_name: str) -> None:
    handlers = {16: "low", 17: "high"}
    preempting = start(tmp_path / "a", board_name, TWO_HANDLERS % "0x40C0", handlers)
    assert log(preempting) == [1, 3, 2, 4]
    equal = start(tmp_path / "b", board_name, TWO_HANDLERS % "0x4040", handlers)
    assert log(equal) == [1, 2, 3, 4]
    lower = start(tmp_path / "c", board_name, TWO_HANDLERS % "0xC040", handlers)
    assert log(lower) == [1, 2, 3, 4]


def test_the_lowest_number_goes_first_among_equals_and_primask_holds_all_off(tmp_path: Path) -> None:
    source = (
        PROGRAM
        % """
    void first(void) { note(1); }
    void second(void) { note(2); }
    void reset(void) {
      LOG[0] = 0;
      NVIC_ISER = 3;
      __asm volatile("cpsid i");
      NVIC_ISPR = 2;
      NVIC_ISPR = 1;
      for (int i = 0; i < 100; i++) __asm volatile("nop");
      note(3);
      __asm volatile("cpsie i");
      note(4);
      for (;;) __asm volatile("wfi");
    }
    """
    )
    assert log(start(tmp_path, M0PLUS, source, {16: "first", 17: "second"})) == [3, 1, 2, 4]


def test_systick_wakes_from_wfi_every_load_plus_one_cycles(tmp_path: Path) -> None:
    source = (
        PROGRAM
        % """
    static volatile uint32_t *const systick = (volatile uint32_t *)0xE000E010;
    void tick(void) { note(*(volatile uint32_t *)0x40000024); }
    void reset(void) {
      LOG[0] = 0;
      *(volatile uint32_t *)0x4002103C |= 1;
      *(volatile uint32_t *)0x40000000 = 1;
      systick[1] = 999; systick[2] = 0; systick[0] = 7;
      while (LOG[0] < 5) __asm volatile("wfi");
      systick[0] = 0;
      for (;;) __asm volatile("wfi");
    }
    """
    )
    times = log(start(tmp_path, M0PLUS, source, {15: "tick"}))
    assert [later - earlier for earlier, later in pairwise(times)] == [1000] * 4


def test_registers_flags_and_floating_point_registers_survive_an_interrupt(tmp_path: Path) -> None:
    source = (
        PROGRAM
        % """
    void handler(void) {
      __asm volatile("vmov s0, r0\\n vmov s15, r0\\n movs r0, #0\\n movs r1, #0\\n movs r2, #0\\n movs r3, #0\\n"
                     "cmp r0, #1" ::: "r0", "r1", "r2", "r3");
      note(0x100);
    }
    void reset(void) {
      LOG[0] = 0;
      *(volatile uint32_t *)0xE000ED88 = 0xFu << 20;
      __asm volatile("dsb\\n isb");
      NVIC_ISER = 1;
      uint32_t a, b, c, d;
      __asm volatile(
          "movs r0, #11\\n movs r1, #12\\n vmov s0, r0\\n vmov s15, r1\\n ldr r4, =0xE000E200\\n movs r3, #1\\n"
          "cmp r3, #1\\n str r3, [r4]\\n b 1f\\n nop\\n 1: beq 2f\\n movs r0, #99\\n 2:\\n"
          "mov %0, r0\\n mov %1, r1\\n vmov %2, s0\\n vmov %3, s15\\n"
          : "=&r"(a), "=&r"(b), "=&r"(c), "=&r"(d) :: "r0", "r1", "r2", "r3", "r4", "memory");
      note(a); note(b); note(c); note(d);
      for (;;) __asm volatile("wfi");
    }
    """
    )
    assert log(start(tmp_path, M4, source, {16: "handler"})) == [0x100, 11, 12, 11, 12]


ERRORS = (
    PROGRAM
    % """
#define CCR (*(volatile uint32_t *)0xE000ED14)
#define WORD (*(volatile uint32_t *)0x08004008)
%s
void reset(void) {
  LOG[0] = 0;
  __asm volatile("cpsid i");
  %s
  note(WORD & 0);
  for (int i = 0; i < 10; i++) __asm volatile("nop");
  note(1);
  %s
  for (;;) __asm volatile("wfi");
}
"""
)
MASKS_FAULTS = '__asm volatile("msr faultmask, %0" :: "r"(1));'
CLEARS = "void nmi(void) { note(2); *(volatile uint32_t *)0x40022018 = 1u << 31; }"
KEEPS = "void nmi(void) { if (LOG[0] < 4) note(2); else *(volatile uint32_t *)0x40022018 = 1u << 31; }"


def with_torn_word(folder: Path, board_name: str, parts: tuple[str, str, str], handlers: dict[int, str]) -> VirtualRig:
    """Return a rig in which a program reads a word of flash whose error correction fails."""
    board = load_board(board_name)
    rig = VirtualRig([VirtualBoard(board, build(folder, board, ERRORS % parts, handlers))], is_debuggable=True)
    rig.part(0).machine.chip.flash.cells.tear(0x4000, 32)
    rig.reset_board(0, ResetCause.PIN)
    rig.run_until(MS_PS)
    return rig


def test_an_error_of_the_flash_raises_an_nmi_which_nothing_masks_until_it_is_cleared(tmp_path: Path) -> None:
    assert log(with_torn_word(tmp_path / "a", M0PLUS, (CLEARS, "", ""), {2: "nmi"})) == [0, 2, 1]
    assert log(with_torn_word(tmp_path / "b", M0PLUS, (KEEPS, "", ""), {2: "nmi"})) == [0, 2, 2, 2, 1]


def test_an_error_of_the_flash_of_an_h7_ends_the_program_unless_bus_faults_are_ignored(tmp_path: Path) -> None:
    assert log(with_torn_word(tmp_path / "a", M7, ("", "", ""), {})) == []
    ignoring = ("", "CCR |= 256;" + MASKS_FAULTS, "note(*(volatile uint32_t *)0x52002010 >> 26);")
    assert log(with_torn_word(tmp_path / "b", M7, ignoring, {})) == [0, 1, 1]
    masked = ("", MASKS_FAULTS, "")
    assert log(with_torn_word(tmp_path / "c", M7, masked, {})) == []
