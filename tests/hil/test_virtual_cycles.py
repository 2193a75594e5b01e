"""Cycles that peripherals see, of accesses in the middle of blocks and with operands that take time."""

from pathlib import Path

import pytest

from tinysplit.boards.catalog import load_board
from tinysplit_hil.virtual import VirtualBoard, VirtualRig
from virtual_firmware import build

M0PLUS, M4 = "nucleo_g071rb", "nucleo_f401re"
MS_PS = 10**9


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
