"""Cycles of virtual boards against hand counts by Arm's technical reference manuals."""

from pathlib import Path

import pytest

from tinysplit.boards.catalog import load_board
from tinysplit_hil.virtual import VirtualBoard, VirtualRig
from virtual_firmware import assembler, build

M0PLUS, M4, M7 = "nucleo_g071rb", "nucleo_f401re", "nucleo_h743zi"
MS_PS = 10**9


def run_to_sleep(folder: Path, board_name: str, *lines: str) -> int:
    """Return the cycles from reset to the end of WFI."""
    board = load_board(board_name)
    rig = VirtualRig([VirtualBoard(board, build(folder, board, assembler(*lines)))])
    rig.run_until(MS_PS)
    return rig.cycles(0)


def cycles(folder: Path, board_name: str, *lines: str) -> int:
    """Return the cycles of `lines`: WFI takes 2 cycles on M0+ (Arm DDI 0484C) and 1 on the others."""
    return run_to_sleep(folder, board_name, *lines) - (2 if board_name == M0PLUS else 1)


@pytest.mark.parametrize(
    ("lines", "m0plus", "m4"),
    [
        (("movs r0, #1", "adds r0, #2", "muls r0, r0"), 3, 3),
        (("ldr r1, =0x20000010", "str r0, [r1]", "ldr r2, [r1]", "adds r2, #1"), 2 + 2 + 2 + 1, 2 + 1 + 2 + 1),
        # Loads pipeline on M4 unless one gives the address of the next.
        (("ldr r1, =0x20000010", "ldr r2, [r1]", "ldr r3, [r1, #4]"), 6, 2 + 2 + 1),
        (("ldr r1, =0x20000010", "movs r0, r0", "ldr r2, [r1]", "ldr r3, [r1, #4]"), 7, 2 + 1 + 2 + 1),
        (("push {r0-r3}", "pop {r0-r3}"), 5 + 5, 5 + 5),
        (("b 1f", "1: nop"), 2 + 1, 2 + 1),
        (("b 1f", "nop", "1: nop"), 2 + 1, 2 + 1),
        (("movs r0, #5", "1: subs r0, #1", "bne 1b"), 1 + 5 + 4 * 2 + 1, 1 + 5 + 4 * 2 + 1),
        (("movs r0, #0", "bne 1f", "adds r0, #1", "1:"), 1 + 1 + 1, 3),
        (("bl 1f", "b 2f", "1: bx lr", "2:"), 3 + 2 + 2, 2 + 2 + 2),
        (("bl 1f", "b 2f", "1: push {r4, lr}", "pop {r4, pc}", "2:"), 3 + 3 + (3 + 2) + 2, 2 + 3 + (1 + 2 + 1) + 2),
        (("mrs r0, primask", "msr primask, r0", "dsb", "isb"), 12, 4),
    ],
    ids=lambda value: "; ".join(value) if isinstance(value, tuple) else "",
)
def test_hand_counted_snippets(tmp_path: Path, lines: tuple[str, ...], m0plus: int, m4: int) -> None:
    assert cycles(tmp_path / "m0plus", M0PLUS, *lines) == m0plus
    assert cycles(tmp_path / "m4", M4, *lines) == m4


@pytest.mark.parametrize(
    ("lines", "m4"),
    [
        (("movs r0, #7", "movs r1, #2", "udiv r0, r0, r1"), 1 + 1 + 7),
        (("movs r0, #0", "cmp r0, #0", "ite eq", "addeq r0, #1", "addne r0, #2"), 5),
        (("movs r0, #0", "cbz r0, 1f", "nop", "1:"), 1 + 2),
        (("movs r0, #1", "cbz r0, 1f", "nop", "1:"), 1 + 1 + 1),
        (("smlad r0, r1, r2, r3", "smlal r0, r1, r2, r3"), 2),
        (("ldr r1, =0x20000010", "ldrd r2, r3, [r1]", "strd r2, r3, [r1]"), 2 + 3 + 3),
        (("ldr r1, =0x20000010", "movs r0, #0", "str r0, [r1, r0]"), 2 + 1 + 2),
        # Loads pipeline across a page, where Unicorn begins a new block.
        (("ldr r1, =0x20000010", "b 1f", ".balign 1024", ".space 1022", "1: ldr r2, [r1]", "ldr r3, [r1, #4]"), 4 + 3),
        (("movs r0, #0", "it ne", "bne 1f", "nop", "1:"), 1 + 1 + 1 + 1),
    ],
    ids=lambda value: "; ".join(value) if isinstance(value, tuple) else "",
)
def test_hand_counted_snippets_of_armv7m(tmp_path: Path, lines: tuple[str, ...], m4: int) -> None:
    assert cycles(tmp_path, M4, *lines) == m4


def test_floating_point_needs_cpacr_and_is_counted(tmp_path: Path) -> None:
    switch_on = ("ldr r0, =0xE000ED88", "ldr r1, =0x00F00000", "str r1, [r0]", "dsb", "isb")
    without = cycles(tmp_path / "without", M4, *switch_on, "b 1f", "nop", "1:")
    calculation = ("vmov s0, r1", "vmul.f32 s1, s0, s0", "vfma.f32 s1, s0, s0", "vdiv.f32 s2, s1, s0")
    assert cycles(tmp_path / "with", M4, *switch_on, "b 1f", "nop", "1:", *calculation) == without + 1 + 1 + 3 + 14


def test_two_independent_instructions_pair_on_m7_and_dependent_ones_do_not(tmp_path: Path) -> None:
    independent = cycles(tmp_path / "a", M7, *["movs r0, #1", "movs r1, #2"] * 20)
    dependent = cycles(tmp_path / "b", M7, *["adds r0, #1", "adds r0, #2"] * 20)
    assert independent <= 21
    assert dependent >= 39


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (("b 1f", "nop", "nop", "1:"), 1 + 1),  # a taken branch takes one cycle more
        # SUBS and BNE go together, the first SUBS behind MOVS; the last BNE is not taken.
        (("movs r0, #5", "1: subs r0, #1", "bne 1b"), 1 + 5 + 4),
        (("movs r0, #0", "cbz r0, 1f", "nop", "nop", "1:"), 2 + 1),  # it waits for r0
        (("movs r0, #1", "cbz r0, 1f", "nop", "1:"), 2),  # NOP goes with WFI
        (("bl 1f", "b 2f", "1: bx lr", "2:"), 3 * (1 + 1)),
    ],
    ids=lambda value: "; ".join(value) if isinstance(value, tuple) else "",
)
def test_branches_of_m7(tmp_path: Path, lines: tuple[str, ...], expected: int) -> None:
    assert cycles(tmp_path, M7, *lines) == expected


COUNTED = """#include "device.h"
void reset(void) {
  %s
  uint32_t first, second;
  __asm volatile("ldr %%0, [%%2]\\n nop\\n nop\\n nop\\n ldr %%1, [%%2]" : "=&l"(first), "=l"(second) : "l"(&%s));
  *(volatile uint32_t *)0x20000000 = second - first;
  for (;;) __asm volatile("wfi");
}
"""


@pytest.mark.parametrize(
    ("board_name", "begin", "counter"),
    [
        (M0PLUS, "RCC->APBENR1 |= 1; TIM2->ARR = 0xFFFFFFFF; TIM2->EGR = 1; TIM2->CR1 = 1;", "TIM2->CNT"),
        (M4, "CoreDebug->DEMCR |= 1u << 24; DWT->CYCCNT = 0; DWT->CTRL |= 1;", "DWT->CYCCNT"),
    ],
)
def test_counters_count_the_cycles_between_two_reads(tmp_path: Path, board_name: str, begin: str, counter: str) -> None:
    board = load_board(board_name)
    rig = VirtualRig([VirtualBoard(board, build(tmp_path, board, COUNTED % (begin, counter)))])
    rig.run_until(MS_PS)
    assert rig.read_word(0, 0x20000000) == 2 + 3
