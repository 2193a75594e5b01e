"""Small boards and PlatformIO projects for the tests of the build."""

from pathlib import Path

from tinysplit.boards import Board, ClockTree, Device, Memory, Pin, Uart
from tinysplit.platformio_project import render_platformio_ini

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


def make_board(core: str = "cortex-m0plus") -> Board:
    """Return a board with the memories of the linker script above."""
    uart = Uart(
        "USART2",
        0x40004400,
        64_000_000,
        False,
        28,
        "USART2",
        "APBENR1",
        "RCC_APBENR1_USART2EN",
        Pin("PA2", 1),
        Pin("PA3", 1),
        "ST-LINK",
    )
    return Board(
        name="nucleo_g071rb",
        title="NUCLEO-G071RB (STM32G071RB)",
        device=Device(
            name="stm32g071rbt6",
            family="stm32g0",
            core=core,
            max_hz=64_000_000,
            flash=Memory("flash", 0x08000000, 128 * 1024),
            ram=(Memory("sram1", 0x20000000, 36 * 1024),),
            interrupts=(),
            vendor_header="stm32g0xx.h",
            vendor_define="STM32G071xx",
        ),
        clock=ClockTree(16_000_000, 1, 8, 2, 64_000_000, 1, 1, 1, 2, ()),
        host_uart=uart,
        link_uarts=(),
        platformio_board="nucleo_g071rb",
        published_cpm=1.0,
        published_flash_bytes=128 * 1024,
        published_ram_bytes=36 * 1024,
        published_hz=64_000_000,
    )


def make_project(directory: Path, board: Board, source: str = "") -> Path:
    """Write a project laid out as the generated ones: src, include, lib/tinysplit_firmware, linker.ld."""
    files = {
        "platformio.ini": render_platformio_ini(board),
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
