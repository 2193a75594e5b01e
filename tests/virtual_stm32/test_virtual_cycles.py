"""Cycles that peripherals see, of accesses in the middle of blocks and with operands that take time."""

from pathlib import Path

import pytest

from programs.virtual_firmware import assembler, build
from tinysplit.boards.catalog import load_board
from virtual_stm32 import ResetCause, VirtualBoard, VirtualRig

M0PLUS, M4, M7 = "nucleo_g071rb", "nucleo_f401re", "nucleo_h743zi"
MS_PS = 10**9


COUNTED = """#include "device.h"
void reset(void) {
  %s
  uint32_t first, second, seven = 7;
  __asm volatile("ldr %%0, [%%3]\\n %s\\n ldr %%1, [%%3]"
                 : "=&l"(first), "=l"(second), "+l"(seven) : "l"(&%s) : "r0");
  *(volatile uint32_t *)0x20000000 = second - first;
  for (;;) __asm volatile("wfi");
}
"""
TIMER = "RCC->APBENR1 |= 1; TIM2->ARR = 0xFFFFFFFF; TIM2->EGR = 1; TIM2->CR1 = 1;", "TIM2->CNT"
DWT = "CoreDebug->DEMCR |= 1u << 24; DWT->CYCCNT = 0; DWT->CTRL |= 1;", "DWT->CYCCNT"
NOPS, DIVISION = "nop\\n nop\\n nop", "udiv r0, %2, %2"


@pytest.mark.parametrize(
    ("board_name", "counter", "lines", "expected"),
    [
        (M0PLUS, TIMER, NOPS, 2 + 3),
        (M4, DWT, NOPS, 2 + 3),
        (M7, DWT, NOPS, 1 + 1),  # the first goes with the load, two together
        (M4, DWT, DIVISION, 2 + 5),
        (M7, DWT, DIVISION, 1 + 5),
    ],
)
def test_counters_count_the_cycles_between_two_reads(
    tmp_path: Path, board_name: str, counter: tuple[str, str], lines: str, expected: int
) -> None:
    board = load_board(board_name)
    source = COUNTED % (counter[0], lines, counter[1])
    rig = VirtualRig([VirtualBoard(board, build(tmp_path, board, source))], has_ideal_memory=True)
    rig.run_until(MS_PS)
    assert rig.read_word(0, 0x20000000) == expected


POLLING = (  # SysTick sets a flag after 20 000 cycles; the loop divides, and branches both ways in each iteration
    *("ldr r0, =0xE000E010", "ldr r1, =19999", "str r1, [r0, #4]", "movs r1, #0", "str r1, [r0, #8]", "movs r1, #7"),
    *("str r1, [r0]", "ldr r0, =0xE000E000", "ldr r7, =0xE000ED04", "movs r6, #1", "lsls r6, #26"),
    *("1: movs r3, #2", "2: {work}", "subs r3, #1", "bne 2b", "ldr r2, [r7]", "tst r2, r6", "beq 1b"),
    *("str r3, [r0, #16]", "lsrs r6, #1", "str r6, [r7]"),
)


@pytest.mark.parametrize(
    ("board_name", "work"), [(M0PLUS, "muls r2, r3"), (M4, "udiv r2, r6, r3"), (M7, "udiv r2, r6, r3")]
)
def test_skipped_iterations_take_the_same_cycles(tmp_path: Path, board_name: str, work: str) -> None:
    board = load_board(board_name)
    elf = build(tmp_path, board, assembler("cpsid i", *(line.format(work=work) for line in POLLING)))
    counts = []
    for finds_loops in (True, False):
        rig = VirtualRig([VirtualBoard(board, elf)], finds_loops=finds_loops, has_ideal_memory=True)
        rig.run_until(5 * MS_PS)
        counts.append(rig.cycles(0))
    assert counts[0] == counts[1] > 20_000


def test_the_branch_predictor_is_empty_after_a_reset(tmp_path: Path) -> None:
    board = load_board(M7)
    elf = build(tmp_path, board, assembler("movs r0, #9", "1: subs r0, #1", "bne 1b"))
    rig = VirtualRig([VirtualBoard(board, elf)], has_ideal_memory=True)
    rig.run_until(MS_PS)
    cycles = rig.cycles(0)
    rig.reset_board(0, ResetCause.PIN, at_ps=2 * MS_PS, held_ps=MS_PS)
    rig.run_until(5 * MS_PS)
    assert rig.start_count(0) == 2
    assert rig.cycles(0) == cycles
