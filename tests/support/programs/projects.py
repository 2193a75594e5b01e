"""Small PlatformIO projects for the tests of the build."""

import re
from pathlib import Path

from tinysplit.boards.catalog import load_board
from tinysplit.codegen.platformio_ini import render_platformio_ini

LINKER_SCRIPT = """\
ENTRY(reset)
MEMORY
{
    FLASH (rx) : ORIGIN = 0x08000000, LENGTH = 128K
    RAM (rwx) : ORIGIN = 0x20000000, LENGTH = 36K
}
SECTIONS
{
    .vectors : { KEEP(*(.vectors*)) } > FLASH
    .text : { *(.text*) *(.rodata*) } > FLASH
    .weights : { KEEP(*(.weights*)) } > FLASH
    .data : { *(.data*) } > RAM AT > FLASH
    .bss (NOLOAD) : { *(.bss*) *(COMMON) } > RAM
    /DISCARD/ : { *(.isr_vector) *(.ARM.exidx*) }
}
"""

VECTORS = """
#include "blink.h"
void reset(void);
void reset(void) { blink(); }
void SysTick_Handler(void) __attribute__((weak));
__attribute__((section(".vectors"), used)) void (*const vectors[])(void) = {reset, SysTick_Handler};
"""


def make_project(directory: Path, source: str = "", board_name: str = "nucleo_g071rb") -> Path:
    """Write a project laid out as the generated ones: src, include, lib/tinysplit_firmware, linker.ld."""
    files = {
        "platformio.ini": re.sub(r"extra_scripts =\n(    .*\n)+", "", render_platformio_ini(load_board(board_name))),
        "linker.ld": LINKER_SCRIPT,
        "include/board.h": "#define BOARD_HZ 64000000u\n",
        "src/main.c": source + VECTORS,
        "lib/tinysplit_firmware/blink.h": "void blink(void);\n",
        "lib/tinysplit_firmware/blink.c": '#include "blink.h"\n#include "board.h"\n#include <stdint.h>\n'
        "uint32_t blinks;\nvoid blink(void) { blinks = BOARD_HZ / (blinks + 1u); }\n"
        "void SysTick_Handler(void);\nvoid SysTick_Handler(void) { blinks++; }\n",
    }
    for name, text in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return directory
