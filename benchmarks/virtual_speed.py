"""Speed of virtual boards on this machine: simulated instructions per second of a loop similar to a kernel's.

.venv/bin/python benchmarks/virtual_speed.py

Real memory has the wait states, prefetch and caches that the firmware sets, which also sets the regions of the MPU; the
loop's values are where arenas lie, in the RAM next to the core. Times are CPU seconds of one core.
"""

import argparse
import sys
import tempfile
import time
from itertools import product
from pathlib import Path

from bare_network import set_memory
from tinysplit.boards.catalog import load_board
from virtual_stm32 import BoardStoppedError, VirtualBoard, VirtualRig

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
from virtual_firmware import build

ROUNDS = 2_000_000
INSTRUCTIONS_PER_ROUND = 12
VALUES_OFFSET = 1024  # in the RAM next to the core, where arenas lie
PROGRAM = f"""
#include <stdint.h>
#include "mpu.h"
__asm__(".global _spare_start; .set _spare_start, %d");
void reset(void) {{
%s
  mpu_begin();
  __asm volatile(
      "movs r0, #0\\n movs r1, #3\\n ldr r3, =%d\\n ldr r4, ={ROUNDS}\\n"
      "1:\\n"
      "ldr r2, [r3]\\n muls r2, r1\\n adds r0, r2\\n str r0, [r3, #4]\\n"
      "ldr r2, [r3, #8]\\n muls r2, r1\\n adds r0, r2\\n str r0, [r3, #12]\\n"
      "adds r1, #1\\n mov r5, r1\\n subs r4, #1\\n bne 1b\\n"
      "bkpt #0\\n .ltorg\\n");
}}
"""


def main() -> None:
    """Print the speed of every core."""
    argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]).parse_args()
    with tempfile.TemporaryDirectory() as folder:
        boards = [load_board(name) for name in ("nucleo_g071rb", "nucleo_f401re", "nucleo_h743zi")]
        for board, is_ideal in product(boards, (True, False)):
            near = board.near_memory.start
            elf = build(
                Path(folder) / f"{board.name}_{is_ideal}",
                board,
                PROGRAM % (near, set_memory(board), near + VALUES_OFFSET),
                firmware=["mpu.c"],
            )
            rig = VirtualRig([VirtualBoard(board, elf)], has_ideal_memory=is_ideal)
            start = time.process_time()
            try:
                rig.run_until(10**15)
            except BoardStoppedError as end:
                spent = time.process_time() - start
                if "BKPT" not in str(end):
                    raise
                memory = "ideal memory" if is_ideal else "real memory"
                print(f"{board.device.core:14} {memory:12} {ROUNDS * INSTRUCTIONS_PER_ROUND / spent / 1e6:6.0f} MIPS")


if __name__ == "__main__":
    main()
