"""Programs that check functions against twins on virtual boards, and name the first check that failed."""

from pathlib import Path

from programs.virtual_firmware import address_of, build
from tinysplit.boards.catalog import load_board
from virtual_stm32 import VirtualBoard, VirtualRig

# Random words (xorshift), and the number of the first check that failed: programs say what it is after all of them.
RANDOM_CHECKS = """
#include <stdint.h>

volatile uint32_t first_failure;
static uint32_t state = 1;
static uint32_t random(void) {
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return state;
}
"""


def first_failure(folder: Path, board_name: str, program: str, limit_ps: int) -> int:
    """Return `first_failure` of a program, which begins with `RANDOM_CHECKS`, after a time on a virtual board."""
    board = load_board(board_name)
    elf = build(folder, board, RANDOM_CHECKS + program)
    rig = VirtualRig([VirtualBoard(board, elf)], has_ideal_memory=True)
    rig.run_until(limit_ps)
    return rig.read_word(0, address_of("first_failure", elf))
