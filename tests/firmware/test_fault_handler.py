"""The fault handler for each core, entered with a frame on the stack, at its end, and below it.

QEMU enters it by faults of a Cortex-M4 (test_firmware_qemu.py), and has no MPU for ARMv6-M. Here a program on a virtual
board sets the stack pointer as an exception does, and jumps to the handler.
"""

import pytest

from programs.virtual_firmware import build
from session.shared_folder import made_once
from tinysplit.boards.catalog import load_board
from tinysplit_hil.wire.protocol import ErrorCode
from virtual_stm32 import VirtualBoard, VirtualRig

BOARDS = ("nucleo_g071rb", "nucleo_f401re", "nucleo_h743zi")
RUN_PS = 10**9
SPARE, STACK, STACK_END = 0x20000100, 0x20000200, 0x20000900
RESULT, WANTED = 0x20001000, 0x20001100  # code and program counter; stack pointer, and whether the guard is there
PC, GUARD = 0x08001234, 0x57AC4E4D
PROGRAM = f"""#include "device.h"
#include "faults.h"
#include "host_events.h"
#include "mpu.h"
__asm__(".global _spare_start; .set _spare_start, {SPARE}; .global _stack_start; .set _stack_start, {STACK};"
        ".global _estack; .set _estack, {STACK_END}");
void host_tell_fault(uint8_t code, uint32_t program_counter) {{
  *(volatile uint32_t *){RESULT + 4} = program_counter;
  *(volatile uint32_t *){RESULT} = code;
}}
void reset(void) {{
  uint32_t sp = *(volatile uint32_t *){WANTED};
  *(volatile uint32_t *){STACK} = {GUARD};
  if (sp >= {SPARE}) ((volatile uint32_t *)sp)[0] = 0, ((volatile uint32_t *)sp)[6] = {PC};
  mpu_begin();
  __asm volatile("mov sp, %0; ldr r0, =faults_handler; bx r0; .ltorg" ::"r"(sp) : "r0", "r1", "r2");
}}
"""


def report(name: str, sp: int) -> tuple[int, int]:
    """Return the code and the program counter that the handler sends with this stack pointer."""
    board = load_board(name)
    sources = ["faults.c", "mpu.c"]
    folder = made_once(f"handler-{name}", lambda out: build(out, board, PROGRAM, firmware=sources))
    rig = VirtualRig([VirtualBoard(board, folder / "program.elf")])
    rig.write_word(0, WANTED, sp)
    rig.write_word(0, RESULT, 0)
    rig.run_until(RUN_PS)
    return rig.read_word(0, RESULT), rig.read_word(0, RESULT + 4)


@pytest.mark.parametrize(
    ("sp", "code", "program_counter"),
    [
        (STACK_END - 32, ErrorCode.FAULT, PC),
        (STACK + 0x60, ErrorCode.FAULT, PC),
        (STACK, ErrorCode.STACK_OVERFLOW, PC),  # of a push that did not fit
        (STACK - 8, ErrorCode.STACK_OVERFLOW, 0),
        (STACK - 32, ErrorCode.STACK_OVERFLOW, 0),
        (SPARE, ErrorCode.STACK_OVERFLOW, 0),
        (SPARE - 0x400, ErrorCode.STACK_OVERFLOW, 0),  # below all RAM
    ],
)
@pytest.mark.parametrize("name", BOARDS)
def test_the_handler_tells_an_overflow_and_reads_only_frames_that_were_written(
    name: str, sp: int, code: ErrorCode, program_counter: int
) -> None:
    assert report(name, sp) == (code, program_counter)
